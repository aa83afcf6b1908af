// The payload of a letter: lines with numbers, parts of JSON that fold, and a value that is chosen to be copied.
import { all, on, one } from "./dom.js";

const shown = new WeakMap(); // of a payload: its lines, each with its path and where what it opens ends

const lines = () => shown.get(one("#payload")) ?? [];

const split = (pre) => {
  const made = [];
  const begin = () => {
    const line = document.createElement("span");
    line.className = "code-line";
    line.dataset.line = made.push(line);
    return line;
  };
  let line = begin();
  [...pre.childNodes].forEach((node) => {
    if (node.nodeType !== Node.TEXT_NODE) return line.append(node);
    node.data.split(/(?<=\n)/).forEach((part) => {
      line.append(part.replace(/\n$/, ""));
      if (!part.endsWith("\n")) return;
      const end = document.createElement("span");
      end.className = "code-end";
      end.append("\n");
      line.append(end);
      line = begin();
    });
  });
  if (!line.firstChild) made.pop();
  pre.replaceChildren(...made);
  return made.map((element) => ({ element }));
};

const step = (key) => (/^[\p{L}_][\p{L}\p{N}_]*$/u.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`);

// What each line of JSON, one value in each, says and opens.
const readStructure = (made) => {
  const open = [];
  made.forEach((line, n) => {
    const text = line.element.textContent.trim();
    if (/^[\]}]/.test(text)) {
      const opener = open.pop();
      Object.assign(line, { path: opener?.path ?? "", from: opener?.n ?? n });
      if (opener) made[opener.n].end = n;
      return;
    }
    const parent = open.at(-1);
    const key = one(".code-k", line.element)?.textContent;
    const own = parent?.isList ? `[${parent.count}]` : key ? step(JSON.parse(key)) : "";
    if (parent) parent.count += 1;
    Object.assign(line, { path: (parent?.path ?? "") + own, key, depth: open.length });
    if (/[[{]$/.test(text)) open.push({ n, path: line.path, isList: text.endsWith("["), count: 0, line });
  });
};

const countIn = (made, { depth, end }, n) => made.slice(n + 1, end).filter((line) => line.depth === depth + 1).length;

const isFolded = (line) => line.element.classList.contains("is-folded");

// A folded line says how much is in it, and how it ends.
const mark = (made) =>
  made.forEach((line, n) => {
    if (!line.end) return;
    const count = countIn(made, line, n);
    line.element.classList.add("is-foldable");
    line.element.dataset.rest = ` ${count} ${count === 1 ? "value" : "values"} ${made[line.end].element.textContent.trim()}`;
  });

const paint = () => {
  let until = -1;
  lines().forEach((line, n) => {
    line.element.hidden = n <= until;
    if (n > until && isFolded(line)) until = line.end;
  });
};

const fold = (line, isTo) => {
  if (!line?.end) return;
  line.element.classList.toggle("is-folded", isTo);
  paint();
};

// Opens what hides a line.
export const reveal = (element) => {
  const at = lines().findIndex((line) => line.element === element);
  lines().forEach((line, n) => n < at && line.end >= at && line.element.classList.remove("is-folded"));
  paint();
  element?.scrollIntoView({ block: "nearest" });
};

const chosen = () => lines().findIndex((line) => line.element.classList.contains("is-at"));

const choose = (n) => {
  const line = lines()[n];
  all("#payload .is-at").forEach((element) => element.classList.remove("is-at"));
  one("#payload-path").hidden = !line?.path;
  if (!line) return;
  line.element.classList.add("is-at");
  line.element.scrollIntoView({ block: "nearest" });
  one("#payload-path code").textContent = line.path.replace(/^\./, "");
};

// The text of a value that begins there: a string without its quotes, all else as JSON.
const valueAt = (n) => {
  const { from = n, key } = lines()[n];
  const end = lines()[from].end ?? from;
  const text = lines().slice(from, end + 1).map(({ element }) => element.textContent).join("").trim().replace(/,$/, "");
  const value = (lines()[from].key ?? key) ? text.slice((lines()[from].key ?? key).length).replace(/^:\s*/, "") : text;
  return value.startsWith('"') ? JSON.parse(value) : value;
};

const COPIES = { path: () => one("#payload-path code").textContent, value: () => valueAt(chosen()) };

on("click", "[data-copies]", async (button) => {
  const text = COPIES[button.dataset.copies]();
  (await import("./copy.js")).copy(button, text);
});

const numberOf = (element) => lines().findIndex((line) => line.element === element);

on("click", "#payload.is-json .code-line", (element, { offsetX, target }) => {
  if (!getSelection().isCollapsed) return;
  const line = lines()[numberOf(element)];
  const isInMargin = target === element && offsetX < parseFloat(getComputedStyle(element).paddingLeft);
  if (isInMargin && line.end) fold(line, !isFolded(line));
  else choose(numberOf(element));
});

const visibleFrom = (n, step) => {
  let to = n + step;
  while (lines()[to]?.element.hidden) to += step;
  return lines()[to] ? to : n;
};

const MOVES = {
  ArrowDown: (n) => choose(n < 0 ? 0 : visibleFrom(n, 1)),
  ArrowUp: (n) => choose(n < 0 ? 0 : visibleFrom(n, -1)),
  ArrowLeft: (n) => fold(lines()[n], true),
  ArrowRight: (n) => fold(lines()[n], false),
};

on("keydown", "#payload.is-json", (_, event) => {
  if (!Object.hasOwn(MOVES, event.key) || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
  MOVES[event.key](chosen());
  event.preventDefault();
});

on("click", "[data-fold]", () => {
  const outer = lines().filter((line) => line.end && line.depth === 1);
  const isTo = outer.some((line) => !isFolded(line));
  outer.forEach((line) => line.element.classList.toggle("is-folded", isTo));
  paint();
});

const begin = () => {
  const pre = one("#payload.is-json, #payload.is-text");
  if (!pre || shown.has(pre)) return;
  const made = split(pre);
  shown.set(pre, made);
  pre.classList.add("is-numbered");
  if (!pre.matches(".is-json")) return;
  readStructure(made);
  mark(made);
  one("[data-fold]").hidden = !made.some((line) => line.end && line.depth === 1);
};

document.addEventListener("htmx:afterSettle", begin);
begin();
