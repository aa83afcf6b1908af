// What closes by itself: menus, popovers and toasts; and fields that submit when they change.
import { all, on, one } from "./dom.js";

// Closes all menus but that one; says whether any was open.
export const closeMenus = (except = null) => {
  const open = all("details.menu-box[open]").filter((menu) => menu !== except);
  open.forEach((menu) => (menu.open = false));
  return open.length > 0;
};

// Closes what lies above the page; says whether anything did. All else that closes it is the browser's.
export const closePopovers = () => {
  const open = all(":popover-open");
  open.forEach((popover) => popover.hidePopover());
  return open.length > 0;
};

document.addEventListener("click", (event) => closeMenus(event.target.closest?.("details.menu-box")));

on("change", "[data-submits]", (select) => select.form.requestSubmit(one("button", select.form)));

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
