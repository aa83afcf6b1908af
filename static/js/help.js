// The list of shortcuts: those that do something on this page.
import { all, on, one } from "./dom.js";

export const openHelp = () => {
  all("#help [data-where]").forEach((line) => (line.hidden = !one(line.dataset.where)));
  one("#help").showModal();
};

on("click", "[data-opens=help]", openHelp);
