// The button of a question says what it does, as it is chosen.
import { all, on, one } from "./dom.js";

const says = (form) => {
  const button = form.querySelector("[data-does]");
  const way = form.querySelector("[name=pace]:checked");
  if (!button || !way) return;
  // It may be folded away.
  const edit = form.querySelector("[name=merge_patch]")?.value.trim();
  button.textContent = way.dataset.says.replace("#", form.querySelector("[name=first]").value) + (edit ? ", edited" : "");
};

on("input", "[name=merge_patch]", (edit) => says(edit.form));

on("change", ".pace-box input", (input) => {
  const way = input.closest(".pace-way").querySelector("[name=pace]");
  if (input !== way) way.checked = true;
  says(input.form);
});

const begin = () => all(".confirm-box").forEach(says);

// What the server refuses is marked.
const mark = () => {
  const wrong = one("#toasts [data-wrong]")?.dataset.wrong.split(" ") ?? [];
  all(".pace-box input:not([type=radio])").forEach((field) => {
    field.ariaInvalid = wrong.includes(field.name) ? "true" : null;
  });
  one(".pace-box [aria-invalid]")?.select();
};

document.addEventListener("htmx:afterSettle", ({ detail }) => {
  begin();
  if (detail.target.id === "toasts") mark();
});
begin();
