// What every other module needs of the page.

export const one = (selector, within = document) => within.querySelector(selector);

export const all = (selector, within = document) => [...within.querySelectorAll(selector)];

// Handles an event of all elements that match, also of those that come later.
export const on = (type, selector, handle) =>
  document.addEventListener(type, (event) => {
    const found = event.target.closest?.(selector);
    if (found) handle(found, event);
  });

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
