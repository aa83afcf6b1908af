// What closes or goes by itself: menus, popovers, toasts and marks at fields; and fields that submit when they change.
import { all, on, one } from "./dom.js";

// Closes all menus but that one.
const closeMenus = (except) => all("details.menu-box[open]").forEach((menu) => (menu.open = menu === except));

const OPEN = ":is(.menu-box, .note-form)[open]";
const FIELD = "input:not([type=hidden]), select, textarea";
const FORM = `${OPEN}:has(${FIELD})`;

// Whether keys are meant for what was opened, wherever the focus is.
export const isFilledIn = () => Boolean(one(FORM));

// Closes what is open, or the one that a field is in, and gives the focus back to its button; says whether there was any.
export const leaveMenu = (field = null) => {
  const menu = field ? field.closest(OPEN) : one(OPEN);
  if (!menu) return false;
  menu.open = false;
  one("summary", menu).focus();
  return true;
};

// Whoever opens it goes on in its first field; what a key has opened has the focus where the key wants it.
document.addEventListener(
  "toggle",
  ({ target }) => {
    if (!target.matches(FORM) || document.activeElement !== one("summary", target)) return;
    (one("[type=radio]:checked", target) ?? one(FIELD, target)).focus();
  },
  true,
);

// Closes what lies above the page; says whether anything did. All else that closes it is the browser's.
export const closePopovers = () => {
  const open = all(":popover-open");
  open.forEach((popover) => popover.hidePopover());
  return open.length > 0;
};

document.addEventListener("click", (event) => closeMenus(event.target.closest?.("details.menu-box")));

// htmx sends the name only of a button that was clicked.
on("change", "[data-submits]", (select) => one("button", select.form).click());

// What was refused is marked until it is changed.
on("input", "[aria-invalid]", (field) => {
  field.ariaInvalid = null;
  const marks = field.getAttribute("aria-describedby")?.split(" ") ?? [];
  all(".form-wrong", field.form ?? document).forEach((mark) => marks.includes(mark.id) && mark.remove());
});

// Toasts go by themselves, unless one is at them or they tell of a failure.
const SHOWN_FOR = 15000;

let timer = 0;

const fade = () => {
  clearTimeout(timer);
  timer = setTimeout(() => {
    const toast = one(".toast-box:not(.is-failed)");
    if (toast?.matches(":hover, :focus-within")) fade();
    else toast?.remove();
  }, SHOWN_FOR);
};

on("click", "[data-dismiss]", (button) => button.closest(".toast-box, .health-item").remove());

new MutationObserver(fade).observe(one("#toasts"), { childList: true });
fade();
