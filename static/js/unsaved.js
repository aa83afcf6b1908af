// What was typed into a form is not lost by a key or a click that leads away: it is asked first. Of what the browser does by
// itself (reload, back, closing), the browser asks.
import { all, isChanged, on, one } from "./dom.js";
import { submit } from "./requests.js";

const form = () => one("[data-unsaved]");

let sent = null; // the form, once it is on its way
let passes = null; // the link or form that may lead away
let goOn = null; // what was about to be done

const isUnsaved = () => {
  const edited = form();
  if (!edited || edited === sent) return false;
  const isRefused = "changed" in edited.dataset || one(".form-wrong, .form-conflict", edited);
  return isRefused || all("input, select, textarea", edited).some(isChanged);
};

const ask = (event, element, go) => {
  event.preventDefault();
  event.stopImmediatePropagation();
  goOn = () => ((passes = element), go());
  one("#unsaved").showModal();
};

const leads = (link, event) =>
  !link.target && !link.hasAttribute("download") && !(event.button || event.ctrlKey || event.metaKey || event.shiftKey) &&
  !(link.hash && link.pathname === location.pathname && link.search === location.search);

// Before anything else hears of it.
document.addEventListener(
  "click",
  (event) => {
    const link = event.target.closest?.("a[href]");
    if (link && link !== passes && leads(link, event) && isUnsaved()) ask(event, link, () => link.click());
  },
  true,
);

document.addEventListener(
  "submit",
  (event) => {
    const { target, submitter } = event;
    if (target === form() || target === passes || target.method === "dialog" || !isUnsaved()) return;
    ask(event, target, () => submit(target, submitter));
  },
  true,
);

on("click", "#unsaved [data-leave]", () => {
  one("#unsaved").close();
  goOn?.();
});

document.addEventListener("submit", (event) => {
  if (event.target === form() && !event.defaultPrevented) sent = event.target;
});

// Whoever stays, as the server did not answer, and types on is asked again.
on("input", "[data-unsaved]", () => (sent = passes = null));

addEventListener("beforeunload", (event) => {
  if (!passes && isUnsaved()) event.preventDefault();
});

addEventListener("pageshow", () => (sent = passes = null));
