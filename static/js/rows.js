// The rows of a list: walking and selecting them, and acting on them.
import { all, on, one } from "./dom.js";

let place = 0; // the row one was at, kept while the list is replaced
let byKeys = false; // whether one walks by keys, and so wants the focus back after that
let lastBox = null; // where a range begins that is selected with Shift

export const links = () => all(".list-row > a");

const boxes = () => all(".list-row > input");

export const rowOf = (element) => element?.closest?.(".list-row");

const here = () => {
  const index = links().findIndex((link) => rowOf(link) === rowOf(document.activeElement));
  return index >= 0 ? index : links().findIndex((link) => link.ariaCurrent);
};

export const walk = (step) => {
  const rows = links();
  const from = here();
  place = Math.max(0, Math.min(rows.length - 1, from < 0 ? place : from + step));
  byKeys = true;
  rows[place]?.focus();
  rows[place]?.scrollIntoView({ block: "nearest" });
};

export const open = () => links()[here()]?.click();

// Gives the focus back to a row, if one was walking by keys.
export const focusAgain = () => {
  if (byKeys) links()[Math.min(place, links().length - 1)]?.focus();
  return byKeys;
};

export const toggle = () => {
  const box = boxes()[here()];
  if (!box) return;
  box.checked = !box.checked;
  lastBox = box;
  countSelected();
};

// Acts on what is selected, else on the row one is at, else on the letter that is open.
export const act = (key) => {
  if (!one("#bulk")) {
    one(`main [data-key="${key}"]`)?.click();
    return;
  }
  const row = rowOf(document.activeElement);
  byKeys = byKeys || Boolean(row);
  place = Math.max(0, here());
  if (!one(".list-row > :checked") && (!row || one("a", row).ariaCurrent)) {
    one(`.letter-view [data-key="${key}"]`)?.click();
    return;
  }
  if (!one(".list-row > :checked")) one("input", row).checked = true;
  one(`#bulk [data-key="${key}"]`)?.click();
};

export const countSelected = () => {
  const selected = all(".list-row > :checked").length;
  const text = one("[data-selected]");
  if (text) text.textContent = selected ? `${selected} selected` : text.dataset.selected;
  all("[data-n]").forEach((label) => (label.textContent = selected ? ` ${selected}` : ""));
  const matching = one("[data-matching]:checked");
  if (text && matching) text.textContent = `${matching.dataset.matching} selected`;
  const every = one("[data-selects-all]");
  if (!every) return;
  every.checked = selected > 0 && selected === boxes().length;
  every.indeterminate = selected > 0 && !every.checked;
};

on("click", ".list-row > input", (box, event) => {
  if (event.shiftKey && lastBox?.isConnected) {
    const [first, last] = [boxes().indexOf(lastBox), boxes().indexOf(box)].sort((a, b) => a - b);
    boxes()
      .slice(first, last + 1)
      .forEach((other) => (other.checked = box.checked));
  }
  lastBox = box;
});

on("change", ".list-row > input", countSelected);

// All that match means all rows, and none of them alone.
on("change", "[data-matching]", (matching) => {
  boxes().forEach((box) => (box.checked = matching.checked));
  countSelected();
});

on("change", ".list-row > input", (box) => {
  const matching = one("[data-matching]");
  if (matching && !box.checked) matching.checked = false;
});

on("change", "[data-selects-all]", (every) => {
  const matching = one("[data-matching]");
  if (matching && !every.checked) matching.checked = false;
  boxes().forEach((box) => (box.checked = every.checked));
  countSelected();
});
