// Says of somebody's request that it runs or failed, and offers to try again. Nothing that was entered is lost.
import { on, one } from "./dom.js";
import { isAway, isLost, listenAgain } from "./live.js";

const SHOWN_AFTER = 200;
const SLOW_AFTER = 5000;
const PATIENCE = 10000; // for the answer whether the server is there

const running = new Map(); // requests, and how they are shown: "" or a word
let repeat = null; // what "Try again" does
let unanswered = null; // a request that failed and whose answer is being put into the page

// What the page asks for by itself fails without a word: the banner says that the server is gone. htmx names no event for
// what it does as an element comes, or every few seconds.
export const isOwn = ({ triggeringEvent, elt } = {}) =>
  triggeringEvent ? triggeringEvent.type.startsWith("dlo:") : /\b(load|every)\b/.test(elt?.getAttribute("hx-trigger"));

const paint = () => {
  const words = [...running.values()].map(({ word }) => word);
  const busy = one("#busy");
  busy.hidden = !words.some(Boolean);
  busy.textContent = words.includes("slow") ? busy.dataset.slow : busy.dataset.busy;
};

const begin = (request) => {
  const shown = { word: "" };
  const set = (word) => () => ((shown.word = word), paint());
  shown.timers = [setTimeout(set("busy"), SHOWN_AFTER), setTimeout(set("slow"), SLOW_AFTER)];
  running.set(request, shown);
  request.classList?.add("htmx-request");
};

const end = (request) => {
  if (!running.has(request)) return;
  running.get(request).timers.forEach(clearTimeout);
  running.delete(request);
  request.classList?.remove("htmx-request");
  paint();
};

const fail = (text, verb, again) => {
  one("#toasts [data-unanswered]")?.remove();
  const toast = one("#unanswered").content.firstElementChild.cloneNode(true);
  toast.className = "toast-box is-failed";
  toast.dataset.unanswered = verb;
  one("p", toast).textContent = text;
  one("#toasts").append(toast);
  repeat = again;
};

// Who wanted to see something can do so now; what was to be done has still not been.
document.addEventListener("dlo:connected", () => one("#toasts [data-unanswered=get]")?.remove());

const again = ({ elt, verb, path, formData, target, triggeringEvent }) => {
  if (!elt.isConnected) htmx.ajax(verb, path, { values: formData, target: "#main", swap: "outerHTML show:none" });
  else if (elt.matches("form")) submit(elt, triggeringEvent?.submitter);
  else if (elt.matches("a")) elt.click();
  else htmx.ajax(verb, path, { source: elt, values: formData, target, event: triggeringEvent });
};

// What was pressed is pressed again; where it has been replaced meanwhile, as it was.
export const submit = (form, submitter) => {
  if (!submitter) return form.requestSubmit();
  const isThere = submitter.form === form;
  const button = isThere ? submitter : submitter.cloneNode();
  if (!isThere) {
    button.hidden = true;
    form.append(button);
  }
  button.click();
  if (!isThere) button.remove();
};

const said = (what, verb) => (verb === "get" ? what : `${what} ${one("#unanswered").dataset.unknown}`);

// What follows a field does not take the place of what somebody has asked for.
const isBeside = ({ triggeringEvent }) =>
  /^(input|change)$/.test(triggeringEvent?.type) && one("#toasts [data-unanswered]");

const htmxFailed = (what) => ({ detail }) => {
  const config = detail.requestConfig;
  if (isOwn(config) || isBeside(config)) return;
  fail(said(one("#unanswered").dataset[what], config.verb), config.verb, () => again(config));
};

on("click", "[data-try-again]", (button) => {
  button.closest(".toast-box").remove();
  const todo = repeat;
  repeat = null;
  todo?.();
});

// A request whose place the next one takes is no error. htmx writes into the console what is named here.
const cutQuietly = (detail) => {
  const { xhr } = detail;
  const { onabort } = xhr;
  xhr.onabort = () => {
    detail.error = "";
    onabort.call(xhr);
  };
};

document.addEventListener("htmx:beforeSend", ({ detail }) => {
  const { xhr } = detail;
  cutQuietly(detail);
  if (isOwn(detail.requestConfig)) return;
  begin(xhr);
  // htmx tells it of the element that asked, which may be gone by then.
  xhr.addEventListener("loadend", () => end(xhr));
});

document.addEventListener("htmx:afterRequest", ({ detail }) => detail.xhr.status && listenAgain());

document.addEventListener("htmx:sendError", htmxFailed("gone"));
document.addEventListener("htmx:timeout", htmxFailed("slow"));

// Errors of the server, or of a proxy before it, whose answer is no part of a page.
document.addEventListener("htmx:beforeSwap", ({ detail }) => {
  const { xhr, requestConfig } = detail;
  unanswered = null;
  if (xhr.status < 400) return;
  if (isOwn(requestConfig)) return void (detail.shouldSwap = false);
  if (xhr.status < 500) return;
  if (xhr.responseText.includes("toast-box")) return void (unanswered = requestConfig);
  detail.shouldSwap = false;
  htmxFailed("gone")({ detail });
});

document.addEventListener("htmx:afterSwap", ({ detail }) => {
  const toast = detail.target.id === "toasts" && unanswered && one("#toasts .toast-box.is-failed");
  if (!toast) return;
  const config = unanswered;
  unanswered = null;
  repeat = () => again(config);
  one("p", toast).after(one("#unanswered").content.querySelector("[data-try-again]").cloneNode(true));
});

// What leads to another page: whether the server is there is asked first, or this page with all that was entered would be
// gone with it.
const isThere = async () => {
  if (isAway()) throw new Error("there is no database");
  const answer = await fetch("/healthz", { cache: "no-store", signal: AbortSignal.timeout(PATIENCE) });
  if (answer.status >= 502) throw new Error(`a proxy answers ${answer.status}`);
};

const leave = async (element, verb, go, retry) => {
  if (running.has(element)) return;
  begin(element);
  try {
    await isThere();
    if (!running.has(element)) begin(element); // somebody has typed on
    go();
  } catch {
    end(element);
    fail(one("#unanswered").dataset[isAway() ? "away" : "gone"], verb, retry);
  }
};

let passes = null; // the form that is sent now

document.addEventListener("submit", (event) => {
  const { target: form, submitter } = event;
  if (event.defaultPrevented || form.method === "dialog" || passes === form) {
    passes = null;
    return;
  }
  event.preventDefault();
  const send = () => submit(form, submitter);
  leave(form, form.method, () => ((passes = form), send()), send);
});

const isElsewhere = (link) =>
  link.target || link.hasAttribute("download") || link.origin !== location.origin || (link.hash && link.pathname === location.pathname);

// While the server is there, links need no question.
on("click", "a[href]", (link, event) => {
  if (!(isLost() || isAway()) || event.defaultPrevented || event.button || event.ctrlKey || event.metaKey || event.shiftKey) return;
  if (isElsewhere(link)) return;
  event.preventDefault();
  leave(link, "get", () => location.assign(link.href), () => link.click());
});

// Whoever comes back by the history, or types on, is on the page.
addEventListener("pageshow", () => [...running.keys()].forEach(end));
on("input", "form", end);
