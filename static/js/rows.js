// The rows of a list: walking and selecting them, and acting on them.
import { all, on, one } from "./dom.js";

let place = 0; // the row one was at, kept while the list is replaced
let heirs = []; // that row, those behind it, and those before it: the first that is still there has its place
let byKeys = false; // whether one walks by keys, and so wants the focus back after that
let asksWhen = false; // whether the question that comes next is about when
let lastBox = null; // where a range begins that is selected with Shift

const isFolded = (element) => element.closest(".list-run:not(.is-open) > .run-rows");

// Those of the list; what is similar to a letter is a part of that.
export const links = () => all(".list-row:not(.letter-view .list-row) > a").filter((link) => !isFolded(link));

// One for each of these links.
const boxes = () => all(".list-row > input").filter((box) => !isFolded(box));

// Those of letters or groups themselves.
const itemBoxes = () => all(".list-row > input[name]");

const ofRun = (box) => all(".run-rows input", box.closest(".list-run"));

// What folds rows stands for all of them.
const spread = (box) => {
  if (box.matches("[data-run]")) ofRun(box).forEach((other) => (other.checked = box.checked));
};

const gather = (box) => {
  const selected = ofRun(box).filter(({ checked }) => checked).length;
  box.checked = selected > 0 && selected === ofRun(box).length;
  box.indeterminate = selected > 0 && !box.checked;
};

// Whether there are rows to walk: where it is narrow, a letter takes the place of the list.
export const isListShown = () => links().some((link) => link.checkVisibility());

export const rowOf = (element) => element?.closest?.(".list-row");

const here = () => {
  const index = links().findIndex((link) => rowOf(link) === rowOf(document.activeElement));
  return index >= 0 ? index : links().findIndex((link) => link.ariaCurrent || rowOf(link).matches(":target"));
};

const names = () => links().map((link) => one("input", rowOf(link))?.value ?? link.href);

const remember = (index) => {
  place = Math.max(0, index);
  heirs = [...names().slice(place), ...names().slice(0, place).reverse()];
};

// Where one was, in the list as it is now.
const again = () => {
  const now = names();
  const heir = heirs.find((name) => now.includes(name));
  return heir ? now.indexOf(heir) : Math.min(place, now.length - 1);
};

export const walk = (step) => {
  const rows = links();
  const from = here();
  const to = Math.max(0, Math.min(rows.length - 1, from < 0 ? again() : from + step));
  byKeys = true;
  rows[to]?.focus();
  rows[to]?.scrollIntoView({ block: "nearest" });
  follow();
};

let isFollowing = false; // whether the letter beside the list is on its way

// Opens the letter one has come to, where one is open beside the list; of those walked past meanwhile, the last.
const follow = () => {
  const link = links()[here()];
  if (isFollowing || !link?.matches("#rows a") || link.ariaCurrent || !one("#pane .letter-view")) return;
  isFollowing = true;
  const end = () => {
    isFollowing = false;
    if (links()[here()] !== link) follow();
  };
  // A walk is one step of the history. What fails is said of the request.
  htmx.ajax("GET", link.href, { source: link, target: "#pane", swap: "outerHTML show:none", replace: "true" }).then(end, end);
};

export const open = () => links()[here()]?.click();

// Gives the focus back to a row, if one was walking by keys.
export const focusAgain = () => {
  if (byKeys) links()[again()]?.focus();
  return byKeys;
};

export const toggle = () => {
  const box = isListShown() && boxes()[here()];
  if (!box) return;
  box.checked = !box.checked;
  lastBox = box;
  box.dispatchEvent(new Event("change", { bubbles: true }));
};

const SELECTED = ".list-row > :checked";

// The checkbox of the row one is at, unless its letter is open.
const boxHere = () => {
  const row = rowOf(document.activeElement);
  return row && !one("a", row).ariaCurrent ? one("input", row) : null;
};

// Whether rows are meant, which have to be seen, and not the letter that is open.
const meansRows = () => isListShown() && Boolean(one(SELECTED) ?? boxHere());

// Acts on what is selected, else on the row one is at, else on the letter that is open.
export const act = (key) => {
  asksWhen = false;
  if (!one("#bulk")) {
    one(`main [data-key="${key}"]`)?.click();
    return;
  }
  byKeys = byKeys || Boolean(rowOf(document.activeElement));
  remember(here());
  const isOfRows = meansRows();
  const button = one(`${isOfRows ? "#bulk" : ".letter-view"} [data-key="${key}"]`);
  if (!button) return;
  if (isOfRows && !one(SELECTED)) toggle();
  button.click();
};

// When what is selected, or open, is to be retried: the choice of that, which Enter carries out.
export const delay = () => {
  const choice = meansRows() && one("#bulk [name=delay]");
  if (choice) {
    if (!one(SELECTED)) toggle();
    return choice.focus();
  }
  const menu = one("[data-later]");
  if (menu) {
    menu.open = true;
    return one(":checked", menu)?.focus();
  }
  if (!one(".group-page, #bulk[action='/groups/actions']")) return;
  act("r");
  asksWhen = true;
};

document.addEventListener("htmx:afterSettle", () => {
  const when = asksWhen && one(".confirm-box [name=delay]");
  if (!when) return;
  asksWhen = false;
  when.focus();
});

on("keydown", "#bulk [name=delay], .confirm-box [name=delay]", (choice, event) => {
  if (event.key !== "Enter") return;
  event.preventDefault();
  one("[data-key=r], [data-does]", choice.form).click();
});

export const countSelected = () => {
  all("[data-run]").forEach(gather);
  const selected = itemBoxes().filter(({ checked }) => checked).length;
  const n = one("[data-matching]:checked")?.dataset.matching ?? selected;
  const text = one("[data-selected]");
  if (text) text.textContent = n ? `${n} selected` : text.dataset.selected;
  all("[data-n]").forEach((label) => (label.textContent = n ? ` ${n}` : ""));
  const every = one("[data-selects-all]");
  if (!every) return;
  every.checked = selected > 0 && selected === itemBoxes().length;
  every.indeterminate = selected > 0 && !every.checked;
};

on("focusin", ".list-row", () => remember(here()));

on("click", ".list-row > input", (box, event) => {
  if (event.shiftKey && lastBox?.isConnected) {
    const [first, last] = [boxes().indexOf(lastBox), boxes().indexOf(box)].sort((a, b) => a - b);
    boxes()
      .slice(first, last + 1)
      .forEach((other) => ((other.checked = box.checked), spread(other)));
  }
  lastBox = box;
});

on("change", "[data-run]", spread);

on("click", ".run-head > a", (link, event) => {
  event.preventDefault();
  event.stopPropagation();
  link.ariaExpanded = String(link.closest(".list-run").classList.toggle("is-open"));
});

// All that match means all rows, and none of them alone.
on("change", "[data-matching], [data-selects-all], .list-row > input", (box) => {
  const matching = one("[data-matching]");
  if (matching && !box.checked) matching.checked = false;
  if (!rowOf(box)) itemBoxes().forEach((other) => (other.checked = box.checked));
  countSelected();
});
