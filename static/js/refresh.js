// Brings what is shown up to date in place: the page is asked for again, and its live parts are changed to what it says
// now. Nothing moves that is pointed at or worked with; rows come in only when they are asked for.
import { all, isChanged, one } from "./dom.js";
import { isOwn } from "./requests.js";
import { countSelected, focusAgain, links, rowOf } from "./rows.js";

let isAsking = false;
let hasMissed = false;
let swaps = 0; // an answer that was asked for before the last one is of a page that is gone

document.addEventListener("htmx:afterSwap", ({ detail }) => {
  if (detail.target.matches("#main, #results, #pane")) swaps += 1;
});

// htmx has what comes begin with the attributes of what goes; a height that a script has set is none of the page's.
document.addEventListener("htmx:beforeSwap", ({ detail }) => {
  all("[data-fresh=rows][style]", detail.target).forEach((list) => list.removeAttribute("style"));
});

// Whether somebody points at it, works with it or reads something in it that opens.
export const isBusy = (part) =>
  part.matches(":hover") ||
  part.contains(document.activeElement) ||
  one("details[open]", part) ||
  all("input:not([type=hidden]), select, textarea", part).some(isChanged) ||
  (!getSelection().isCollapsed && part.contains(getSelection().anchorNode));

// What stays in its place as long as this is the same.
const shape = (part) => all("*", part).map((element) => element.localName + element.id).join();

const FIELDS = "input, select, textarea, details[open]"; // belong to whoever fills them in

// It is fetched when something has changed for the first time; null: it cannot be had.
let morphing = null;
export const fetchMorphing = () =>
  (morphing ??= new Promise((fetched, failed) => {
    const script = document.createElement("script");
    Object.assign(script, { src: new URL("../idiomorph.min.js", import.meta.url), onload: fetched, onerror: failed });
    document.head.append(script);
  }).catch(() => (morphing = null)));

// A text that nobody has changed is the page's, also where somebody is at it: it would be saved over what is there now.
const renew = (field, now) => {
  if (field.name !== now?.name || field.innerHTML === now.innerHTML || isChanged(field)) return;
  if (field.matches("select:focus")) return void catchUp(field);
  field.innerHTML = now.innerHTML; // options that are moved would be chosen in turn
  if (field.matches("textarea")) field.value = field.defaultValue;
};

const morph = (old, now) => {
  const theirs = all("select, textarea", now);
  all("select, textarea", old).forEach((field, place) => renew(field, theirs[place]));
  const beforeNodeMorphed = (node) => !node.matches?.(FIELDS);
  Idiomorph.morph(old, now, { callbacks: { beforeNodeMorphed } });
  htmx.process(old);
};

// All of them, those that are folded into one too.
const rowsOf = (list) => all("[id^=row-]", list);

// A row that is missing has left the list, unless the page does not reach as far as it did: newer ones push rows to the next.
const leaving = (list, now) => {
  const there = new Set(rowsOf(now).map((row) => row.id));
  const rows = rowsOf(list);
  const reachesAll = (now.dataset.reach ?? "~") >= list.dataset.reach;
  const last = reachesAll ? rows.length : rows.findLastIndex((row) => there.has(row.id));
  return rows.slice(0, Math.max(0, last)).filter((row) => !there.has(row.id));
};

const GLIDE = 160; // milliseconds in which rows close up

// What stays glides to its new place, and the list keeps its height: nothing under it moves.
const closeUp = (list, remove) => {
  const places = new Map([...list.children].map((row) => [row, row.offsetTop]));
  list.style.minHeight = `${list.offsetHeight}px`;
  remove();
  if (matchMedia("(prefers-reduced-motion: reduce)").matches) return;
  [...list.children].forEach((row) => {
    const by = places.get(row) - row.offsetTop;
    if (by) row.animate([{ transform: `translateY(${by}px)` }, { transform: "none" }], GLIDE);
  });
};

const clear = (list) => {
  const gone = rowsOf(list).filter((row) => row.classList.contains("is-gone"));
  if (!gone.length) return;
  closeUp(list, () => {
    gone.forEach((row) => row.remove());
    all(".list-run", list).forEach((run) => {
      const left = rowsOf(run).length;
      one("[data-run-n]", run).textContent = left;
      if (!left) run.remove();
    });
  });
};

const updateRows = (list, page) => {
  const box = one("#results .list-box", page);
  const now = page.getElementById(list.id) ?? box;
  if (!now) return;
  const rows = new Map(rowsOf(list).map((row) => [row.id, row]));
  const gone = leaving(list, now);
  rowsOf(now).forEach((row) => rows.has(row.id) && morph(rows.get(row.id), row));
  gone.forEach((row) => {
    row.classList.add("is-gone");
    row.title = "Not in this list any more";
  });
  const leave = () => {
    if (isBusy(list)) return;
    clear(list);
    if (rowsOf(list).length) return;
    // Where none is left, what is there now moves nothing.
    list.closest(".list-box").replaceWith(box);
    htmx.process(box);
  };
  list.onpointerleave = leave;
  leave();
};

// What was not shown now is shown a little later.
const miss = () => document.dispatchEvent(new Event("dlo:missed"));

const LEFT = ["pointerleave", "focusout", "toggle"]; // by these nobody may be at a part any more

const behind = new WeakSet(); // parts that show what was, as somebody is at them

export const catchUp = (part) => {
  if (behind.has(part)) return;
  behind.add(part);
  const look = () => {
    if (isBusy(part)) return;
    LEFT.forEach((event) => part.removeEventListener(event, look, true));
    behind.delete(part);
    if (part.isConnected) miss();
  };
  LEFT.forEach((event) => part.addEventListener(event, look, true));
};

export const update = (part, page) => {
  if (part.dataset.fresh === "rows") return updateRows(part, page);
  const now = page.getElementById(part.id);
  if (!now) return;
  if (isBusy(part) && shape(part) !== shape(now)) return catchUp(part);
  morph(part, now);
};

const refresh = async () => {
  if (!one("[data-fresh]")) return;
  if (isAsking) return void (hasMissed = true);
  const [address, before] = [location.href, swaps];
  isAsking = true;
  const asked = fetch(address, { cache: "no-store", headers: { "dlo-refresh": "1" } });
  const [answer] = await Promise.all([asked, fetchMorphing()]).catch(() => []);
  const text = await answer?.text().catch(() => null);
  isAsking = false;
  if (hasMissed || !text || !morphing || answer.status >= 500) miss();
  hasMissed = false;
  if (!answer?.ok || answer.redirected || !text || !morphing || swaps !== before || location.href !== address) return;
  const page = new DOMParser().parseFromString(text, "text/html");
  all("[data-fresh]").forEach((part) => part.isConnected && update(part, page));
  document.dispatchEvent(new Event("dlo:refreshed"));
};

document.addEventListener("dlo:changes", refresh);

// What has to be put right when htmx has replaced a part of the page.
const NARROW = "(width <= 1180px)"; // where a letter takes the place of the list, as in css/pages/letters.css

let listAt = 0; // how far the list was scrolled before a letter took its place

const settle = () => {
  const letter = one("#pane .letter-view")?.dataset.letter;
  links().forEach((link) => {
    link.ariaCurrent = letter && one("input", rowOf(link)).value === letter ? "true" : null;
  });
  all(".chart-bars").forEach((chart) => (chart.tabIndex = 0));
  countSelected();
};

// Whoever used what is gone now must not find themselves at the top of the page; what asks once more is answered next.
const refocus = () => {
  if (document.activeElement !== document.body) return;
  const question = one(".confirm-box [data-does]");
  if (question) question.focus();
  else if (!focusAgain()) one("#main").focus({ preventScroll: true });
};

document.addEventListener("htmx:configRequest", ({ detail: { verb, elt, parameters } }) => {
  // The page may have moved on since the form was made, by opening a letter beside the list. What undoes something elsewhere knows
  // a way back by itself.
  if (verb === "post" && (one("#pane") || !elt.closest(".toast-box"))) parameters.back = location.pathname + location.search;
});

// A question that was left is not asked again on the way back.
document.addEventListener("htmx:beforeHistoryUpdate", ({ detail }) => {
  if (detail.requestConfig.elt.matches(".confirm-box [data-close]")) detail.history.type = "replace";
});

document.addEventListener("htmx:beforeSwap", ({ detail }) => {
  if (detail.target.id === "pane" && one(".list-box")?.offsetParent) listAt = scrollY;
});

document.addEventListener("htmx:afterSettle", ({ detail }) => {
  settle();
  // What comes by itself moves nobody.
  if (!isOwn(detail.requestConfig)) refocus();
  if (detail.target.id === "pane" && matchMedia(NARROW).matches) scrollTo(0, one("#pane .letter-view") ? 0 : listAt);
});

document.addEventListener("dlo:refreshed", settle);

settle();
