// Editing beside the original: what differs is marked on both sides, and both are scrolled as one.
import { all, on, one } from "./dom.js";

const MOST = 4_000_000; // pairs of lines that are compared

// For each line of both whether it is in the other, in the same order.
const common = (a, b) => {
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head += 1;
  let tail = 0;
  while (tail < a.length - head && tail < b.length - head && a.at(-1 - tail) === b.at(-1 - tail)) tail += 1;
  const [inA, inB] = [a, b].map((lines) => lines.map((_, n) => n < head || n >= lines.length - tail));
  const [wide, high] = [a.length - head - tail, b.length - head - tail];
  if (!wide || !high || wide * high > MOST) return [inA, inB];
  const best = Array.from({ length: wide + 1 }, () => new Uint16Array(high + 1));
  for (let i = wide - 1; i >= 0; i -= 1)
    for (let j = high - 1; j >= 0; j -= 1)
      best[i][j] = a[head + i] === b[head + j] ? best[i + 1][j + 1] + 1 : Math.max(best[i + 1][j], best[i][j + 1]);
  for (let i = 0, j = 0; i < wide && j < high; ) {
    if (a[head + i] === b[head + j]) {
      inA[head + i] = inB[head + j] = true;
      i += 1;
      j += 1;
    } else if (best[i + 1][j] >= best[i][j + 1]) i += 1;
    else j += 1;
  }
  return [inA, inB];
};

const draw = (element, isCommon, tag, textOf) => {
  const parts = isCommon.map((common, n) => {
    const part = document.createElement(common ? "span" : tag);
    part.append(textOf(n));
    return part;
  });
  element.replaceChildren(...parts);
};

const behind = () => one(".edit-behind");

const original = () => one("#original");

let came = []; // the lines of the original

const compare = () => {
  const lines = one("#text").value.split("\n");
  const [inOriginal, inCopy] = common(came, lines);
  draw(original(), inOriginal, "del", (n) => `${came[n]}\n`);
  draw(behind(), inCopy, "ins", () => "");
};

const follow = (leader, ...followers) => {
  followers.forEach((follower) => {
    follower.scrollTop = leader.scrollTop;
    follower.scrollLeft = leader.scrollLeft;
  });
};

// A field cannot mark its lines; what lies behind it has as many, and does.
const begin = () => {
  if (!original() || behind()) return;
  came = original().textContent.split("\n");
  const layer = document.createElement("div");
  layer.className = "edit-behind";
  one("#text").before(layer);
  one("#text").addEventListener("scroll", ({ target }) => follow(target, layer, original()));
  original().addEventListener("scroll", ({ target }) => follow(target, one("#text"), layer));
  compare();
};

on("input", "#text", () => original() && compare());

// There is one more row for a header that is new, up to as many as it says.
on("input", "[data-new-header] input", (field) => {
  const row = field.closest("[data-new-header]");
  const rows = all("[data-new-header]");
  if (!field.value || row !== rows.at(-1) || rows.length >= Number(row.dataset.newHeader)) return;
  const next = row.cloneNode(true);
  all("input, select", next).forEach((input) => {
    if (input.matches("input")) input.value = "";
    input.name = input.name.replace(/\d+$/, (number) => Number(number) + 1);
  });
  row.after(next);
});

document.addEventListener("htmx:afterSettle", begin);
begin();
