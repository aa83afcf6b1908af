// The button of a question says what it does, as it is chosen.
import { all, on } from "./dom.js";

const says = (form) => {
  const button = form.querySelector("[data-does]");
  const way = form.querySelector("[name=pace]:checked");
  if (!button || !way) return;
  button.textContent = way.dataset.says.replace("#", form.querySelector("[name=first]").value);
};

on("change", ".pace-box input", (input) => {
  const way = input.closest(".pace-way").querySelector("[name=pace]");
  if (input !== way) way.checked = true;
  says(input.form);
});

const begin = () => all(".confirm-box").forEach(says);

document.addEventListener("htmx:afterSettle", begin);
begin();
