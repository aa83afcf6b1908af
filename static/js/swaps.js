// What has to be put right when htmx has replaced a part of the page.
import { all, one } from "./dom.js";
import { isOwn } from "./requests.js";
import { countSelected, focusAgain, links, rowOf } from "./rows.js";

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

document.addEventListener("htmx:configRequest", ({ detail }) => {
  // The page may have moved on since the form was made, by opening a letter beside the list.
  if (detail.verb === "post") detail.parameters.back = location.pathname + location.search;
});

document.addEventListener("htmx:beforeSwap", ({ detail }) => {
  if (detail.target.id === "pane" && one(".list-box")?.offsetParent) listAt = scrollY;
});

// What is brought up to date by itself stays as it is while somebody is at it.
document.addEventListener("htmx:beforeSwap", ({ detail }) => {
  const { target } = detail;
  if (target.matches("[data-keeps-open]") && target.querySelector("details[open], :focus")) detail.shouldSwap = false;
});

document.addEventListener("htmx:afterSettle", ({ detail }) => {
  settle();
  // What comes by itself moves nobody.
  if (!isOwn(detail.requestConfig)) refocus();
  if (detail.target.id === "pane" && matchMedia(NARROW).matches) scrollTo(0, one("#pane .letter-view") ? 0 : listAt);
});

document.addEventListener("dlo:refreshed", settle);

settle();
