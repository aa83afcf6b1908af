// Makes quicker and handier what also works without it: live parts, times, keys, selection, the chart's brush, copying.
import "./attention.js";
import { on, one } from "./dom.js";
import "./keys.js";
import "./live.js";
import "./menus.js";
import "./refresh.js";
import "./requests.js";
import "./rows.js";
import "./times.js";

// What only some pages have is fetched when there is something of it. Whoever uses a page by a program waits for it.
const PARTS = {
  chart: ".chart-bars",
  edit: "#text",
  jobs: "#jobs",
  keep: ".confirm-box, .note-form",
  pace: ".pace-box",
  payload: "#payload",
  unsaved: "[data-unsaved]",
};
export const fetchParts = () =>
  Promise.all(Object.entries(PARTS).map(([name, at]) => one(at) && import(`./${name}.js`)));

document.addEventListener("htmx:afterSettle", fetchParts);
fetchParts();

// What somebody types in is fetched when they are there.
on("focusin", "[data-find]", () => import("./find.js"));
on("focusin", "[data-search]", () => import("./search.js"));

on("click", "[data-copy], [data-copy-text], [data-copy-this]", async (button) => (await import("./copy.js")).copyFor(button));
