// Brings what is shown up to date in place: the page is asked for again, and its live parts are changed to what it says
// now. Nothing moves that is pointed at or worked with; rows come in only when they are asked for.
import { all, one } from "./dom.js";

let isAsking = false;
let hasMissed = false;
let swaps = 0; // an answer that was asked for before the last one is of a page that is gone

document.addEventListener("htmx:afterSwap", ({ detail }) => {
  if (detail.target.matches("#main, #results, #pane")) swaps += 1;
});

// Whether somebody points at it, works with it or reads something in it that opens.
const isBusy = (part) =>
  part.matches(":hover") ||
  part.contains(document.activeElement) ||
  one("details[open], :checked", part) ||
  (!getSelection().isCollapsed && part.contains(getSelection().anchorNode));

// What stays in its place as long as this is the same.
const shape = (part) => all("*", part).map((element) => element.localName + element.id).join();

const FIELDS = "input, select, textarea, details[open]"; // belong to whoever fills them in

const morph = (old, now) => {
  const beforeNodeMorphed = (node) => !node.matches?.(FIELDS);
  Idiomorph.morph(old, now, { callbacks: { beforeNodeMorphed } });
  htmx.process(old);
};

// All of them, those that are folded into one too.
const rowsOf = (list) => all("[id^=row-]", list);

// A row that is not on this page any more has left the list, unless newer ones have pushed it to the next page.
const leaving = (list, now) => {
  const there = new Set(rowsOf(now).map((row) => row.id));
  const rows = rowsOf(list);
  const last = "whole" in now.dataset ? rows.length : rows.findLastIndex((row) => there.has(row.id));
  return rows.slice(0, Math.max(0, last)).filter((row) => !there.has(row.id));
};

const clear = (list) => {
  rowsOf(list).forEach((row) => row.classList.contains("is-gone") && row.remove());
  all(".list-run", list).forEach((run) => {
    const left = rowsOf(run).length;
    one("[data-run-n]", run).textContent = left;
    if (!left) run.remove();
  });
};

const updateRows = (list, now) => {
  const rows = new Map(rowsOf(list).map((row) => [row.id, row]));
  const gone = leaving(list, now);
  rowsOf(now).forEach((row) => rows.has(row.id) && morph(rows.get(row.id), row));
  gone.forEach((row) => row.classList.add("is-gone"));
  if (!isBusy(list)) clear(list);
  else list.addEventListener("pointerleave", () => isBusy(list) || clear(list), { once: true });
};

const update = (part, now) => {
  if (part.dataset.fresh === "rows") updateRows(part, now);
  else if (!isBusy(part) || shape(part) === shape(now)) morph(part, now);
};

// What was not shown now is shown a little later.
const miss = () => document.dispatchEvent(new Event("dlo:missed"));

const refresh = async () => {
  if (!one("[data-fresh]")) return;
  if (isAsking) return void (hasMissed = true);
  const [address, before] = [location.href, swaps];
  isAsking = true;
  const answer = await fetch(address, { cache: "no-store", headers: { "dlo-refresh": "1" } }).catch(() => null);
  const text = await answer?.text().catch(() => null);
  isAsking = false;
  if (hasMissed || !text || answer.status >= 500) miss();
  hasMissed = false;
  if (!answer?.ok || answer.redirected || !text || swaps !== before || location.href !== address) return;
  const page = new DOMParser().parseFromString(text, "text/html");
  all("[data-fresh]").forEach((part) => {
    const now = page.getElementById(part.id);
    if (part.isConnected && now) update(part, now);
  });
  document.dispatchEvent(new Event("dlo:refreshed"));
};

document.addEventListener("dlo:changes", refresh);
