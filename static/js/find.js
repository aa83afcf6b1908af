// Finds a text in the payload, and leads from one place of it to the next.
import { on, one } from "./dom.js";
import { reveal } from "./payload.js";

const MOST = 1000; // places that are marked

let places = [];
let at = 0;

const escape = (text) => text.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&");

const textNodes = (element) => {
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  const nodes = [];
  for (let from = 0; walker.nextNode(); from += walker.currentNode.length) nodes.push({ node: walker.currentNode, from });
  return nodes;
};

const rangeOf = (nodes, from, to) => {
  const range = new Range();
  const begin = nodes.findLast((it) => it.from <= from);
  const end = nodes.findLast((it) => it.from < to);
  range.setStart(begin.node, from - begin.from);
  range.setEnd(end.node, to - end.from);
  return range;
};

const placesOf = (payload, text) => {
  if (!payload || !text) return [];
  const nodes = textNodes(payload);
  const found = [...payload.textContent.matchAll(new RegExp(escape(text), "gi"))].slice(0, MOST);
  return found.map((match) => rangeOf(nodes, match.index, match.index + match[0].length));
};

const show = (text) => {
  CSS.highlights?.set("found", new Highlight(...places));
  CSS.highlights?.set("found-now", new Highlight(...places.slice(at, at + 1)));
  const more = places.length === MOST ? "+" : "";
  one("[data-found]").textContent = !text ? "" : places.length ? `${at + 1} of ${places.length}${more}` : "not found";
  const parent = places[at]?.startContainer.parentElement;
  if (parent) reveal(parent.closest(".code-line") ?? parent);
};

const find = (field, step) => {
  places = placesOf(one("#payload"), field.value);
  at = places.length ? (at + step + places.length) % places.length : 0;
  show(field.value);
};

on("input", "[data-find]", (field) => {
  at = 0;
  find(field, 0);
});

on("keydown", "[data-find]", (field, event) => {
  if (event.key !== "Enter") return;
  event.preventDefault();
  find(field, event.shiftKey ? -1 : 1);
});

// What was typed before this was here.
const typed = document.activeElement;
if (typed?.matches("[data-find]") && typed.value) find(typed, 0);
