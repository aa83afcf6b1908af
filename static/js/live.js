// Tells the page that something has changed: at most once a second, and only while somebody looks at it.
import { one } from "./dom.js";

const SHORTEST_PAUSE = 1000;
const LONGEST_PAUSE = 60000;

let source = null;
let timer = 0;
let pause = SHORTEST_PAUSE;

const listen = () => {
  clearTimeout(timer);
  if (source || document.hidden) return;
  source = new EventSource("/events");
  source.addEventListener("changes", ({ data }) => {
    pause = SHORTEST_PAUSE;
    if (one("#side")?.dataset.changes !== data) htmx.trigger(document.body, "dlo:changes");
  });
  source.addEventListener("health", ({ data }) => {
    if (one("#health")?.dataset.health !== data) htmx.trigger(document.body, "dlo:health");
  });
  source.addEventListener("error", () => {
    stop();
    timer = setTimeout(listen, pause * (1 + Math.random()));
    pause = Math.min(pause * 2, LONGEST_PAUSE);
  });
};

const stop = () => {
  clearTimeout(timer);
  source?.close();
  source = null;
};

document.addEventListener("visibilitychange", () => (document.hidden ? stop() : listen()));
addEventListener("pagehide", stop);
addEventListener("pageshow", listen);
