// Completion in the search boxes: a combobox after the ARIA pattern (https://www.w3.org/WAI/ARIA/apg/patterns/combobox/). Arrows
// move, Tab completes, Enter searches, Escape closes.
import { all, on } from "./dom.js";

const PAUSE = 120; // milliseconds without a key before the server is asked

const list = document.createElement("ul");
list.id = "completions";
list.className = "search-list";
list.role = "listbox";
list.ariaLabel = "Completions";

let box = null; // the field that the list is of, while it is open
let found = null; // what the server last said of it
let active = -1; // the option that Tab takes
let asked = 0; // counts the questions: only the last one is answered
let pause = 0;

const options = () => all("li", list);

const mark = (place) => {
  active = place;
  options().forEach((option, n) => option.setAttribute("aria-selected", n === active));
  const option = options()[active];
  option?.scrollIntoView({ block: "nearest" });
  if (option) box.setAttribute("aria-activedescendant", option.id);
  else box.removeAttribute("aria-activedescendant");
};

const close = () => {
  clearTimeout(pause);
  asked += 1;
  if (!box) return;
  box.setAttribute("aria-expanded", "false");
  box.removeAttribute("aria-activedescendant");
  list.remove();
  box = null;
};

const option = ({ label, about }, n) => {
  const line = document.createElement("li");
  line.id = `completion-${n}`;
  line.role = "option";
  const name = document.createElement("b");
  name.textContent = label;
  const what = document.createElement("span");
  what.textContent = about;
  line.append(name, what);
  return line;
};

const open = (field, answer) => {
  close();
  if (!answer.items.length) return;
  [box, found] = [field, answer];
  list.replaceChildren(...answer.items.map(option));
  field.parentElement.append(list);
  field.setAttribute("aria-expanded", "true");
  mark(0);
};

const ask = async (field) => {
  const question = (asked += 1);
  const { value, selectionStart } = field;
  const query = new URLSearchParams({ q: value, at: selectionStart });
  const response = await fetch(`/letters/completions?${query}`).catch(() => null);
  const answer = response?.ok ? await response.json() : { items: [] };
  if (question === asked && document.activeElement === field) open(field, { ...answer, value });
};

// Nothing is offered where nothing was begun, so that Tab leads on.
const isBegun = ({ value, selectionStart }) => /[^\s(-]$/.test(value.slice(0, selectionStart));

// What does not fit what was typed since is not taken for it.
const narrow = (field) => {
  if (field.selectionStart < found.from) return close();
  const typed = field.value.slice(found.from, field.selectionStart).toLowerCase().replace(/^"/, "");
  const items = found.items.filter(({ label }) => label.toLowerCase().includes(typed));
  if (items.length < found.items.length) open(field, { ...found, items });
};

const askSoon = (field) => {
  if (box === field) narrow(field);
  clearTimeout(pause);
  asked += 1; // an answer that is still to come is one to less than was typed
  if (isBegun(field)) pause = setTimeout(() => ask(field), PAUSE);
  else close();
};

const take = (place) => {
  const [field, { from, to, items, value }] = [box, found];
  const { text, leads_on: leadsOn } = items[place];
  const end = to + field.value.length - value.length; // with what was typed since
  field.setRangeText(text + (!leadsOn && end >= field.value.length ? " " : ""), from, end, "end");
  close();
  if (leadsOn) ask(field);
};

const keys = {
  ArrowDown: () => mark((active + 1) % options().length),
  ArrowUp: () => mark((active + options().length - 1) % options().length),
  Tab: () => take(active),
  Escape: close,
};

const prepare = () =>
  all("[data-search]:not([role])").forEach((field) => {
    field.setAttribute("role", "combobox");
    field.setAttribute("aria-autocomplete", "list");
    field.setAttribute("aria-expanded", "false");
    field.setAttribute("aria-controls", list.id);
  });

on("keydown", "[data-search]", (field, event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  if (event.key === "Enter") close();
  else if (box && Object.hasOwn(keys, event.key) && !(event.key === "Tab" && event.shiftKey)) {
    keys[event.key]();
    event.preventDefault();
  } else if (!box && event.key === "ArrowDown") {
    ask(field);
    event.preventDefault();
  }
});

on("input", "[data-search]", (field) => askSoon(field));

on("focusout", "[data-search]", close);

// The field keeps the focus.
on("mousedown", ".search-list", (_, event) => event.preventDefault());

on("click", ".search-list li", (line) => take(options().indexOf(line)));

document.addEventListener("htmx:afterSettle", prepare);

prepare();

// What was typed while this was fetched.
const typed = document.activeElement;
if (typed?.matches("[data-search]") && typed.value !== typed.defaultValue) askSoon(typed);
