// Keyboard shortcuts; templates/_help.html lists them.
import { all, isChanged, on, one } from "./dom.js";
import { closePopovers, isFilledIn, leaveMenu } from "./menus.js";
import { act, delay, focusAgain, isListShown, open, toggle, walk } from "./rows.js";

const PATIENCE = 1500; // how long after g the key may come that says where to

// When g was pressed, by the keyboard's time: a page that is slow to hear of it forgets nothing.
let went = -Infinity;

// The list of shortcuts: those that do something on this page.
const isOff = (element) => element.matches(":disabled, [aria-disabled=true]");

const openHelp = () => {
  all("#help [data-where]").forEach((line) => (line.hidden = all(line.dataset.where).every(isOff)));
  one("#help").showModal();
};

const keys = {
  "/": () => find(),
  j: () => (isListShown() ? walk(1) : one("#letter-next")?.click()),
  k: () => (isListShown() ? walk(-1) : one("#letter-previous")?.click()),
  "[": () => turn(-1),
  "]": () => turn(1),
  f: () => one("[data-find]")?.select(),
  o: open,
  x: toggle,
  r: () => act("r"),
  R: delay,
  d: () => act("d"),
  h: () => act("h"),
  a: () => act("a"),
  z: () => act("z"),
  s: () => act("s"),
  m: () => act("m"),
  e: () => one('.letter-view [data-key="e"]')?.click(),
  u: () => one('.toast-box [data-key="u"]')?.click(),
  "?": openHelp,
  g: ({ timeStamp }) => (went = timeStamp),
  Escape: () => closePopovers() || leaveMenu() || leave(),
};

// Held down, others than these would do to the next row what was meant for one.
const isHeld = ({ key, repeat }) => repeat && Object.hasOwn(keys, key) && !"jk[]".includes(key);

// To the part of the letter before or behind the one that is shown.
const turn = (step) => {
  const tabs = all(".letter-tabs a");
  tabs[tabs.findIndex((tab) => tab.ariaCurrent === "page") + step]?.click();
};

// What asks once more is left before what it asks about.
const leave = () => (one(".confirm-box [data-close]") ?? one("[data-close]"))?.click();

// A question is left at once, from a field of it too, unless something was typed there.
const isQuestionLeft = (field) => field.closest(".confirm-box") && (field.matches("select") || !isChanged(field));

// The search of the page goes before the one in its frame.
const find = () => (one("#main [data-search]") ?? one("[data-search]"))?.select();

const isTyping = (element) => element.matches("textarea, select, input:not([type=checkbox], [type=radio])");

document.addEventListener("keydown", (event) => {
  if ((event.ctrlKey || event.metaKey) && !event.altKey && event.key.toLowerCase() === "k" && !one("dialog[open]")) {
    find();
    event.preventDefault();
    return;
  }
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || one("dialog[open]")) return;
  if (isTyping(event.target)) {
    const isCompleted = event.target.getAttribute("aria-expanded") === "true";
    if (event.key !== "Escape" || isCompleted) return;
    if (isQuestionLeft(event.target)) leave();
    else if (!leaveMenu(event.target)) {
      event.target.blur();
      focusAgain();
    }
    return;
  }
  if (event.key !== "Escape" && isFilledIn()) return;
  if (isHeld(event)) {
    event.preventDefault();
    return;
  }
  const target = event.timeStamp - went < PATIENCE && one(`[data-go="${CSS.escape(event.key)}"]`);
  went = -Infinity;
  if (target) target.click();
  else if (Object.hasOwn(keys, event.key)) keys[event.key](event);
  else return;
  event.preventDefault();
});

on("click", "[data-opens=help]", openHelp);
