// What was typed or chosen stays, where the page comes anew because another of its forms was sent, or a question opened or
// left: else a canary would turn into all at once by a click on Acknowledge, and a note be gone after Cancel.
import { all, isChanged } from "./dom.js";

const FIELDS = "input:not([type=hidden]), select, textarea";

const NONE = () => false;

let stays = NONE; // which forms are on the page that comes, too
let kept = []; // of their fields
let back = []; // fields of the page that has come that hold what was kept

const isHere = (path) => new URL(path, location).pathname === location.pathname;

document.addEventListener("htmx:beforeRequest", ({ detail }) => {
  const { verb, path, triggeringEvent } = detail.requestConfig;
  const sent = detail.elt.closest("form");
  if (verb === "post") stays = (form) => form !== sent;
  else if (detail.target?.id !== "main" || !triggeringEvent) return;
  else stays = isHere(path) ? (form) => form.matches("[method=post]:not(.confirm-box)") : NONE;
});

document.addEventListener("htmx:beforeSwap", ({ detail }) => {
  if (detail.target.id !== "main" || !detail.shouldSwap) return;
  kept = all("#main form").filter(stays).flatMap((form) => all(FIELDS, form).filter((field) => field.name && isChanged(field)));
  stays = NONE;
});

const isSame = (was) => (field) =>
  field.name === was.name && field.type === was.type && (!was.matches("[type=checkbox], [type=radio]") || field.value === was.value);

const action = (form) => form.getAttribute("action");

const putBack = (was) => {
  const forms = all("#main form").filter((form) => action(form) === action(was.form)); // several may lead to one address
  const field = forms.flatMap((form) => all(FIELDS, form)).find(isSame(was));
  if (!field) return null;
  if (was.matches("[type=checkbox], [type=radio]")) field.checked = was.checked;
  else field.value = was.value;
  const folded = field.closest("details");
  if (folded) folded.open = true;
  return field;
};

document.addEventListener("htmx:afterSwap", ({ detail }) => {
  if (detail.target.id !== "main") return; // which is told of each part that has come
  back.push(...kept.map(putBack).filter((field) => field?.closest(".confirm-box")));
  kept = [];
});

// What is shown of them is asked for again, by what listens to nothing before.
document.addEventListener("htmx:afterSettle", ({ detail }) => {
  if (detail.target.id !== "main") return;
  back.forEach((field) => field.dispatchEvent(new Event("input", { bubbles: true })));
  back = [];
});
