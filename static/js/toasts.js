// Toasts go by themselves, unless one is at them or they tell of a failure.
import { on, one } from "./dom.js";

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

on("click", "[data-dismiss]", (button) => button.closest(".toast-box").remove());

new MutationObserver(fade).observe(one("#toasts"), { childList: true });
fade();
