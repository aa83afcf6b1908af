// Times: how long ago goes on, what is due counts down, and a time of day is the local one, with UTC where one points at it. Somebody may choose
// UTC everywhere.
import { all, keep, kept, on, one } from "./dom.js";

const UNITS = [
  ["y", 31536000, 63072000],
  ["d", 86400, 86400],
  ["h", 3600, 3600],
  ["min", 60, 60],
  ["s", 1, 0],
];

// As `number::span` of the server.
const span = (seconds) => {
  const [unit, length] = UNITS.find(([, , from]) => seconds >= from);
  return `${Math.floor(seconds / length).toLocaleString("en")} ${unit}`;
};

const KEY = "dlo-times";

const isLocal = () => kept(KEY) !== "utc";

const MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(" ");

const two = (number) => String(number).padStart(2, "0");

const clock = (at) => `${two(at.getHours())}:${two(at.getMinutes())}`;

const day = (at) => `${at.getDate()} ${MONTHS[at.getMonth()]}`;

const zone = (at) => {
  const minutes = -at.getTimezoneOffset();
  const [sign, size] = [minutes < 0 ? "-" : "+", Math.abs(minutes)];
  return `UTC${sign}${Math.floor(size / 60)}${size % 60 ? `:${two(size % 60)}` : ""}`;
};

const isElsewhere = (at) => at.getTimezoneOffset() !== 0;

const LOCAL = {
  full: (at) => `${day(at)} ${at.getFullYear()}, ${clock(at)}:${two(at.getSeconds())} ${zone(at)}`,
  compact: (at) => {
    const now = new Date();
    if (at.toDateString() === now.toDateString()) return `${clock(at)}:${two(at.getSeconds())}`;
    return at.getFullYear() === now.getFullYear() ? `${day(at)} ${clock(at)}` : `${day(at)} ${at.getFullYear()}`;
  },
  axis: (at) => (clock(at) === "00:00" ? day(at) : clock(at)),
};

const write = (element, text) => {
  if (element.textContent !== text) element.textContent = text;
};

// What the server wrote, to be shown again, and what was made of it, to see whether it has written something else.
const written = new WeakMap();

const localize = (element) => {
  const at = new Date(element.getAttribute("datetime") ?? element.dataset.at);
  if (Number.isNaN(at.getTime()) || !isElsewhere(at)) return;
  const was = written.get(element) ?? {};
  const text = element.textContent === was.shown ? was.text : element.textContent;
  const title = element.title === was.hint ? was.title : element.title;
  const form = LOCAL[element.dataset.form];
  if (form) write(element, isLocal() ? form(at) : text);
  if (title) element.title = isLocal() ? `${LOCAL.full(at)} · ${title}` : title;
  written.set(element, { text, title, shown: element.textContent, hint: element.title });
};

// By the clock of this page: the machine's may be set differently from the server's.
const starts = new WeakMap();

// Seconds since then, or until then where they are less than none.
const secondsFrom = (time, said) => {
  const now = performance.now() / 1000;
  if (starts.get(time)?.said !== said) starts.set(time, { said, at: now - Number(said) });
  return now - starts.get(time).at;
};

const AGES = {
  short: (seconds) => span(seconds),
  ago: (seconds) => (seconds < 1 ? "now" : `${span(seconds)} ago`),
};

const tick = () => {
  all("[data-age]").forEach((time) => {
    const seconds = Math.max(0, Math.floor(secondsFrom(time, time.dataset.age)));
    write(time, AGES[time.dataset.form](seconds));
  });
  all("[data-due]").forEach((time) => {
    const left = Math.round(-secondsFrom(time, `-${time.dataset.due}`));
    write(time, left > 0 ? `in ${span(left + Math.min(left / 60, 60))}` : "now");
  });
};

const showTimes = () => {
  all("time[datetime], [data-form='axis']").forEach(localize);
  tick();
  const choice = one("[data-times]");
  if (!choice) return;
  choice.hidden = !isElsewhere(new Date());
  write(choice, isLocal() ? `Local time, ${zone(new Date())}` : "Times in UTC");
};

on("click", "[data-times]", () => {
  keep(KEY, isLocal() ? "utc" : "local");
  showTimes();
});

document.addEventListener("htmx:afterSwap", showTimes);
document.addEventListener("htmx:oobAfterSwap", showTimes);
document.addEventListener("dlo:refreshed", showTimes);
setInterval(tick, 1000);
showTimes();
