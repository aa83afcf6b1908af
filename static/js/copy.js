// Buttons that copy: what an element shows, an address, or what they carry.
import { one } from "./dom.js";

const MARKED_FOR = 1500;

// Browsers lend the clipboard only to pages of HTTPS and of this machine.
const put = async (text) => {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const field = document.createElement("textarea");
  field.className = "visually-hidden";
  field.value = text;
  document.body.append(field);
  field.select();
  const isDone = document.execCommand("copy");
  field.remove();
  if (!isDone) throw new Error("the browser does not copy");
};

// Says so at the button, and to screen readers.
const say = (button, word) => {
  button.dataset.said = word;
  one("#said").textContent = word;
  setTimeout(() => {
    delete button.dataset.said;
    one("#said").textContent = "";
  }, MARKED_FOR);
};

export const copy = async (button, text) => {
  try {
    await put(text);
    say(button, "Copied");
  } catch {
    say(button, "Not copied");
  }
  button.focus();
};

const textOf = ({ dataset }) => {
  if (dataset.copy) return one(dataset.copy)?.textContent ?? "";
  return dataset.copyThis ?? new URL(dataset.copyText, location).href;
};

export const copyFor = (button) => copy(button, textOf(button));
