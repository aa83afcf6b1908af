// What was typed, chosen or picked stays, where the page comes anew because another of its forms was sent, or a question
// opened or left: else a canary would turn into all at once by a click on Acknowledge, and a note be gone after Cancel.
import { all, isChanged, one } from "./dom.js";
import { catchUp } from "./refresh.js";

const FIELDS = "input:not([type=hidden]), select, textarea";

const NONE = () => false;

let stays = NONE; // which forms are on the page that comes, too
let kept = []; // of their fields
let back = []; // fields of the page that has come that hold what was kept
let left = null; // what the question is about that is left

// What is brought up to date by itself stays as it is while somebody is at it, and follows when they leave.
document.addEventListener("htmx:beforeSwap", ({ detail }) => {
  const { target } = detail;
  if (!target.matches("[data-keeps-open]") || !one("details[open], :focus", target)) return;
  detail.shouldSwap = false;
  catchUp(target);
});

const action = (form) => form.getAttribute("action");

// The search and the groups that it asks about: where the answer would have gone.
const about = (question) => {
  const { searchParams } = new URL(action(question), location);
  return [searchParams.get("q"), ...searchParams.getAll("group")].join();
};

const isHere = (path) => new URL(path, location).pathname === location.pathname;

document.addEventListener("htmx:beforeRequest", ({ detail }) => {
  const { verb, path, triggeringEvent } = detail.requestConfig;
  const sent = detail.elt.closest("form");
  if (verb === "post") stays = (form) => form !== sent;
  if (verb === "post" || detail.target?.id !== "main" || !triggeringEvent) return;
  left = detail.elt.matches(".confirm-box [data-close]") ? about(sent) : null;
  stays = isHere(path) ? (form) => form.matches("[method=post]:not(.confirm-box)") : NONE;
});

document.addEventListener("htmx:beforeSwap", ({ detail }) => {
  if (detail.target.id !== "main" || !detail.shouldSwap) return;
  kept = all("#main form").filter(stays).flatMap((form) => all(FIELDS, form).filter((field) => field.name && isChanged(field)));
  stays = NONE;
});

const isSame = (was) => (field) =>
  field.name === was.name && field.type === was.type && (!was.matches("[type=checkbox], [type=radio]") || field.value === was.value);

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

// By their ids, or else all that match.
const wasPicked = (box) => (box.name === "id" ? left.includes(box.value) : !left.startsWith("id:"));

document.addEventListener("htmx:afterSwap", ({ detail }) => {
  if (detail.target.id !== "main") return; // which is told of each part that has come
  if (left !== null) all(".list-row > [name=id], [data-matching]").filter(wasPicked).forEach((box) => box.click());
  left = null;
  back.push(...kept.map(putBack).filter((field) => field?.closest(".confirm-box")));
  kept = [];
});

// What is shown of them is asked for again, by what listens to nothing before.
document.addEventListener("htmx:afterSettle", ({ detail }) => {
  if (detail.target.id !== "main") return;
  back.forEach((field) => field.dispatchEvent(new Event("input", { bubbles: true })));
  back = [];
});
