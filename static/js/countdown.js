// What is due counts down.
import { all } from "./dom.js";

const UNITS = [
  ["d", 86400],
  ["h", 3600],
  ["min", 60],
  ["s", 1],
];

// By the clock of this page: the machine's may be set differently from the server's.
const ends = new WeakMap();

const span = (seconds) => {
  const [unit, length] = UNITS.find(([, length]) => seconds >= length) ?? ["s", 1];
  return `${Math.floor(seconds / length)} ${unit}`;
};

setInterval(() => {
  const now = performance.now() / 1000;
  all("[data-due]").forEach((time) => {
    if (!ends.has(time)) ends.set(time, now + Number(time.dataset.due));
    const left = Math.round(ends.get(time) - now);
    const text = left > 0 ? `in ${span(left)}` : "now";
    if (time.textContent !== text) time.textContent = text;
  });
}, 1000);
