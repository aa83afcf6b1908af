// What was typed or chosen stays, where the page comes anew because another of its forms was sent: else a canary would turn
// into all at once by a click on Acknowledge.
import { all, isChanged } from "./dom.js";

const FIELDS = "input:not([type=hidden]), select, textarea";

let sent = null; // the form that was sent last, as long as its page has not come
let kept = []; // of the other forms

document.addEventListener("htmx:beforeRequest", ({ detail }) => {
  if (detail.requestConfig.verb === "post") sent = detail.elt.closest("form");
  else if (detail.target?.id === "main" && detail.requestConfig.triggeringEvent) sent = null; // somebody went elsewhere
});

document.addEventListener("htmx:beforeSwap", ({ detail }) => {
  if (detail.target.id !== "main" || !detail.shouldSwap) return;
  const others = sent ? all("#main form").filter((form) => form !== sent) : [];
  kept = others.flatMap((form) => all(FIELDS, form).filter((field) => field.name && isChanged(field)));
  sent = null;
});

const isSame = (was) => (field) =>
  field.name === was.name && field.type === was.type && (!was.matches("[type=checkbox], [type=radio]") || field.value === was.value);

const action = (form) => form.getAttribute("action");

const putBack = (was) => {
  const forms = all("#main form").filter((form) => action(form) === action(was.form)); // several may lead to one address
  const field = forms.flatMap((form) => all(FIELDS, form)).find(isSame(was));
  if (!field) return;
  if (was.matches("[type=checkbox], [type=radio]")) field.checked = was.checked;
  else field.value = was.value;
  const folded = field.closest("details");
  if (folded) folded.open = true;
  // What is shown of it is asked for again.
  if (field.closest(".confirm-box")) field.dispatchEvent(new Event("input", { bubbles: true }));
};

document.addEventListener("htmx:afterSwap", ({ detail }) => {
  if (detail.target.id !== "main") return;
  kept.forEach(putBack);
  kept = [];
});
