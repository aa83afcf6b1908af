// Buttons that copy what an element shows, or an address.
import { on, one } from "./dom.js";

const MARKED_FOR = 1500;

const copy = async (button, text) => {
  await navigator.clipboard.writeText(text);
  button.classList.add("is-copied");
  setTimeout(() => button.classList.remove("is-copied"), MARKED_FOR);
};

on("click", "[data-copy]", (button) => copy(button, one(button.dataset.copy)?.textContent ?? ""));

on("click", "[data-copy-text]", (button) => copy(button, new URL(button.dataset.copyText, location).href));
