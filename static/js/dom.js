// What every other module needs of the page.

export const one = (selector, within = document) => within.querySelector(selector);

export const all = (selector, within = document) => [...within.querySelectorAll(selector)];

// Handles an event of all elements that match, also of those that come later.
export const on = (type, selector, handle) =>
  document.addEventListener(type, (event) => {
    const found = event.target.closest?.(selector);
    if (found) handle(found, event);
  });

// Whether a field holds something else than what the page came with.
export const isChanged = (field) => {
  if (field.matches("select")) {
    const usual = [...field.options].findLast((option) => option.defaultSelected) ?? field.options[0];
    return field.selectedOptions[0] !== usual;
  }
  if (field.matches("[type=checkbox], [type=radio]")) return field.checked !== field.defaultChecked;
  return (field.value ?? "") !== (field.defaultValue ?? "").replace(/\r\n?/g, "\n");
};

// What this browser keeps for its user; nothing where it keeps nothing.
export const kept = (key) => {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
};

export const keep = (key, value) => {
  try {
    localStorage.setItem(key, value);
  } catch {
    // It holds until the page is left.
  }
};
