// The button of a question says what it does, as it is chosen.
import { all, isChanged, on, one } from "./dom.js";

const says = (form) => {
  const button = form.querySelector("[data-does]");
  const way = form.querySelector("[name=pace]:checked"); // none where it is better to wait
  if (!button || !form.querySelector("[name=pace]")) return;
  button.dataset.usual ??= button.textContent.trim();
  const does = way?.dataset.says.replace("#", form.querySelector("[name=first]").value) ?? button.dataset.usual;
  const edit = form.querySelector("[name=merge_patch]")?.value.trim(); // perhaps folded away
  button.textContent = does + (edit ? ", edited" : "");
};

on("input", "[name=merge_patch]", (edit) => says(edit.form));

on("change", ".pace-box input", (input) => {
  const way = input.closest(".pace-way").querySelector("[name=pace]");
  if (input !== way) way.checked = true;
  says(input.form);
});

const begin = () => all(".confirm-box").forEach(says);

// What is suggested for another queue is chosen as it would be for that one, unless somebody has chosen.
const suggest = (facts) => {
  const ways = all("[name=pace]", facts.closest("form"));
  if (ways.some(isChanged)) return;
  const suggested = one("[data-way]", facts).dataset.way;
  ways.forEach((way) => (way.checked = way.defaultChecked = way.value === suggested));
};

// What the server refuses is marked.
const mark = () => {
  const wrong = one("#toasts [data-wrong]")?.dataset.wrong.split(" ") ?? [];
  all(".pace-box input:not([type=radio])").forEach((field) => {
    field.ariaInvalid = wrong.includes(field.name) ? "true" : null;
  });
  one(".pace-box [aria-invalid]")?.select();
};

document.addEventListener("htmx:afterSettle", ({ detail }) => {
  if (detail.target.matches(".confirm-facts")) suggest(detail.target);
  begin();
  if (detail.target.id === "toasts") mark();
});
begin();
