// The page of the API: finds calls, writes the command for what is filled in, and makes the call with the rights of whoever looks.
import { all, one } from "./dom.js";

const LONGEST = 200000; // characters of an answer that are shown
const TOLD = ["location", "etag", "retry-after", "x-request-id"]; // headers of an answer that say something

const calls = all(".api-call");

const isFilled = (field) => (field.type === "checkbox" ? field.checked : field.value);

const fields = (form, place) => all(`[data-in="${place}"]`, form).filter(isFilled);

const address = (call) => {
  const form = one("form", call);
  const filled = all('[data-in="path"]', form).reduce(
    (path, field) => path.replace(`{${field.name}}`, encodeURIComponent(field.value || field.placeholder)),
    call.dataset.path,
  );
  const query = new URLSearchParams(fields(form, "query").map((field) => [field.name, field.value]));
  return query.size ? `${filled}?${query}` : filled;
};

const body = (call) => one("textarea", call)?.value ?? "";

const headers = (call) => ({
  ...(body(call) && { "content-type": "application/json" }),
  ...Object.fromEntries(fields(one("form", call), "header").map((field) => [field.name, field.value])),
});

const quoted = (word) => (/^[\w./:=@%+,-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`);

const command = (call) => {
  const { method } = call.dataset;
  const words = ["curl", ...(method === "GET" ? [] : ["-X", method]), location.origin + address(call)];
  Object.entries(headers(call)).forEach(([name, value]) => words.push("-H", `${name}: ${value}`));
  if (body(call)) words.push("--data", body(call));
  return words.map(quoted).join(" ");
};

const readable = (text, type) => {
  if (!/json/.test(type)) return text;
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
};

const show = (call, status, about, text) => {
  const answer = one(".api-answer", call);
  one("b", answer).textContent = status;
  one("span", answer).textContent = about;
  const whole = text.length > LONGEST ? `${text.slice(0, LONGEST)}\n… ${text.length - LONGEST} more characters` : text;
  one("pre", answer).textContent = whole;
  one("pre", answer).hidden = !whole;
  answer.hidden = false;
};

const send = async (call) => {
  const began = performance.now();
  const { method } = call.dataset;
  const request = { method, headers: headers(call), cache: "no-store", ...(body(call) && { body: body(call) }) };
  const answer = await fetch(address(call), request);
  const text = await answer.text();
  const told = TOLD.filter((name) => answer.headers.has(name)).map((name) => `${name}: ${answer.headers.get(name)}`);
  const about = [`${Math.round(performance.now() - began)} ms`, ...told].join(" · ");
  show(call, `${answer.status} ${answer.statusText}`, about, readable(text, answer.headers.get("content-type") ?? ""));
};

calls.forEach((call) => {
  const form = one("form", call);
  form.addEventListener("input", () => (one(".command-box code", call).textContent = command(call)));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const button = one(".api-send button", call);
    button.disabled = true;
    send(call)
      .catch((error) => show(call, "No answer", error.message, ""))
      .finally(() => (button.disabled = false));
  });
});

// A link to a call opens it.
const openNamed = () => {
  const details = one("details", document.getElementById(location.hash.slice(1)) ?? document.createElement("p"));
  if (details) details.open = true;
};

addEventListener("hashchange", openNamed);
openNamed();

one("#api-find").addEventListener("input", ({ target }) => {
  const words = target.value.toLowerCase().split(/\s+/).filter(Boolean);
  calls.forEach((call) => {
    const text = `${call.id} ${call.dataset.method} ${one("h3", call).textContent}`.toLowerCase();
    const isFound = words.every((word) => text.includes(word));
    call.hidden = !isFound;
    one(`[data-call="${call.id}"]`).hidden = !isFound;
  });
  all(".api-section").forEach((section) => (section.hidden = !one(".api-call:not([hidden])", section)));
});
