// Tells the page that something has changed: at most once a second, and only while somebody looks at it. Says when the
// server is not heard of any more.
import { on, one } from "./dom.js";

const SHORTEST_PAUSE = 1000;
const LONGEST_PAUSE = 15000;
const CUT_AFTER = 2000; // a shorter break, as of a restart, is nobody's concern
const SILENCE = 25000; // the server says something every 10 s

let source = null;
let timer = 0;
let pause = SHORTEST_PAUSE;
let cutTimer = 0;
let heardAt = 0;
let isCut = false;

const show = (cut) => {
  clearTimeout(cutTimer);
  cutTimer = 0;
  isCut = cut;
  const notice = one("#connection");
  if (notice) notice.hidden = !cut;
};

const hear = () => {
  heardAt = performance.now();
  pause = SHORTEST_PAUSE;
  show(false);
};

// Whoever is signed out finds a page to sign in at, in place of this one.
const leaveIfSignedOut = async () => {
  const answer = await fetch("/banner", { cache: "no-store" }).catch(() => null);
  if (answer?.redirected) location.reload();
};

const lose = () => {
  stop();
  leaveIfSignedOut();
  cutTimer ||= setTimeout(() => show(true), CUT_AFTER);
  timer = setTimeout(listen, pause * (1 + Math.random()));
  pause = Math.min(pause * 2, LONGEST_PAUSE);
};

const listen = () => {
  clearTimeout(timer);
  if (source || document.hidden || !one("#side")) return;
  heardAt = performance.now();
  source = new EventSource("/events");
  source.addEventListener("open", hear);
  source.addEventListener("changes", ({ data }) => {
    hear();
    if (one("#side")?.dataset.changes !== data) htmx.trigger(document.body, "dlo:changes");
  });
  source.addEventListener("health", ({ data }) => {
    hear();
    if (one("#health")?.dataset.health !== data) htmx.trigger(document.body, "dlo:health");
  });
  source.addEventListener("error", lose);
};

const stop = () => {
  clearTimeout(timer);
  source?.close();
  source = null;
};

// Whether the server is not heard of.
export const isLost = () => isCut;

// Listens again at once, where the server was not heard of: somebody says that it is there.
export const listenAgain = () => {
  if (!isCut) return;
  stop();
  listen();
};

on("click", "[data-listen-again]", listenAgain);

// A server that hangs does not end the stream.
setInterval(() => source && performance.now() - heardAt > SILENCE && lose(), SILENCE / 5);

document.addEventListener("visibilitychange", () => {
  if (!document.hidden) return listen();
  clearTimeout(cutTimer);
  cutTimer = 0;
  stop();
});
addEventListener("pagehide", stop);
addEventListener("pageshow", listen);
