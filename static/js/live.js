// Tells the page that something has changed, while somebody looks at it and does not want it to stand still; where nobody
// does, once a minute, for what can be seen of another tab. Says when the server is not heard of any more.
import { on, one } from "./dom.js";

const QUICKEST = 1000; // between two changes of the page; what changes all the time is shown less and less often
const SLOWEST = 10000;
const UNSEEN = 60000;
const CHECKS = 5000;

const GAP = 8; // pixels between what is said of an action and of the server

const SHORTEST_PAUSE = 1000;
const LONGEST_PAUSE = 15000;
const CUT_AFTER = 2000; // a shorter break, as of a restart, is nobody's concern
const SILENCE = 25000; // the server says something every 10 s

let isPaused = false;
let isUntold = false; // whether the server says that the database is away, and could not say more
let heard = null; // what the server says has changed, as of its last event
let known = null; // as of what is shown
let gap = QUICKEST;
let shownAt = 0; // a page is new when it is opened
let showTimer = 0;

let source = null;
let timer = 0;
let pause = SHORTEST_PAUSE;
let cutTimer = 0;
let heardAt = 0;
let isCut = false;

const now = () => performance.now();

const shown = () => {
  clearTimeout(showTimer);
  showTimer = 0;
  shownAt = now();
  if (isPaused || isAway()) return;
  known = heard;
  htmx.trigger(document.body, "dlo:changes");
};

const change = () => {
  if (showTimer || isPaused) return;
  const quiet = now() - shownAt;
  gap = quiet > 3 * gap ? QUICKEST : Math.min(gap * 1.5, SLOWEST);
  showTimer = setTimeout(shown, Math.max(0, gap - quiet));
};

// A page that comes as a whole knows what it says; one that is only brought up to date has parts of different moments.
const arrive = () => {
  known = one("#side")?.dataset.changes ?? null;
};

// Whether the database is away: what is asked for now would fail.
export const isAway = () => isUntold || Boolean(one("#health[data-away]"));

// The button that says so and lets the page stand still.
export const showState = () => {
  const button = one("#live");
  if (!button) return;
  const state = isCut ? "cut" : isAway() ? "away" : isPaused ? "paused" : "live";
  button.dataset.state = state;
  one("span:last-child", button).textContent = button.dataset[state];
};

on("click", "#live", () => {
  isPaused = !isPaused;
  showState();
  if (!isPaused) shown();
});

// What is said of an action stands above what lies over the page.
new ResizeObserver(([{ target }]) => {
  const isOver = one("#health-room")?.hasAttribute("data-late") && target.offsetHeight > 0;
  one("#toasts").style.setProperty("--under", `${isOver ? target.offsetHeight + GAP : 0}px`);
}).observe(one(".health-stack"));

// Above the page it would push away what somebody is about to press.
const layOver = () => {
  const room = one("#health-room");
  if (!room || room.hasAttribute("data-late")) return;
  room.style.minHeight = `${room.getBoundingClientRect().height}px`;
  room.setAttribute("data-late", "");
};

on("click", "#health-room [data-details]", () => {
  const room = one("#health-room");
  room.removeAttribute("data-late");
  room.style.minHeight = "";
  scrollTo({ top: 0 });
});

const show = (cut) => {
  clearTimeout(cutTimer);
  cutTimer = 0;
  isCut = cut;
  showState();
  const notice = one("#connection");
  if (!notice || notice.hidden !== cut) return;
  layOver();
  notice.hidden = !cut;
};

const hearOfHealth = (data) => {
  const was = isAway();
  isUntold = data === "away";
  const isOther = !isUntold && one("#health")?.dataset.health !== data;
  const hidden = !isUntold || Boolean(one("#health[data-away]"));
  if (isOther || one("#away").hidden !== hidden) layOver();
  one("#away").hidden = hidden;
  showState();
  if (isOther) htmx.trigger(document.body, "dlo:health");
  else if (was && !isUntold) change();
};

const hear = () => {
  heardAt = now();
  pause = SHORTEST_PAUSE;
  show(false);
};

// Whoever is signed out finds a page to sign in at, in place of this one.
const leaveIfSignedOut = async () => {
  const answer = await fetch("/banner", { cache: "no-store" }).catch(() => null);
  if (answer?.redirected) location.reload();
  if (answer?.status !== 503) return;
  hearOfHealth("away");
  clearTimeout(cutTimer);
  cutTimer = 0;
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
  heardAt = now();
  source = new EventSource("/events");
  source.addEventListener("open", () => {
    hear();
    document.dispatchEvent(new Event("dlo:connected"));
  });
  source.addEventListener("changes", ({ data }) => {
    hear();
    heard = data;
    if (known !== heard) change();
  });
  source.addEventListener("health", ({ data }) => {
    hear();
    hearOfHealth(data);
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
setInterval(() => source && now() - heardAt > SILENCE && lose(), SILENCE / 5);

document.addEventListener("visibilitychange", () => {
  if (!document.hidden) return listen();
  clearTimeout(cutTimer);
  cutTimer = 0;
  stop();
});
setInterval(() => document.hidden && one("#side") && shown(), UNSEEN);

// Some of what a page checks is said by nobody.
setInterval(() => !document.hidden && one("[data-checks]") && change(), CHECKS);

// What one has done oneself is not waited for.
document.addEventListener("htmx:beforeRequest", ({ detail }) => {
  if (detail.requestConfig.verb === "post") gap = QUICKEST;
});
document.addEventListener("htmx:oobAfterSwap", ({ detail }) => {
  if (detail.target.id === "side") arrive();
  showState();
});
document.addEventListener("dlo:missed", change);
document.addEventListener("htmx:afterSettle", ({ detail }) => {
  if (detail.elt.id !== "health") return;
  const isStill = isAway();
  showState();
  if (!isStill) change();
});

addEventListener("pagehide", stop);
addEventListener("pageshow", listen);
arrive();
