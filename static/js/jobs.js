// The figures of a job go on while somebody is at one of its buttons, and none does anything else by then.
import { all } from "./dom.js";
import { catchUp, fetchMorphing, isBusy, update } from "./refresh.js";
import { isOwn } from "./requests.js";

const does = (part) => all("form", part).map((form) => form.getAttribute("action")).join();

const follow = async (part, text) => {
  if (!(await fetchMorphing()) || !part.isConnected) return;
  const page = new DOMParser().parseFromString(text, "text/html");
  const now = page.getElementById(part.id);
  if (now && does(part) !== does(now)) catchUp(part);
  else update(part, page);
};

document.addEventListener("htmx:beforeSwap", ({ detail }) => {
  const { target, requestConfig } = detail;
  if (!isOwn(requestConfig) || !all(".job-acts", target).some(isBusy)) return;
  detail.shouldSwap = false;
  follow(target, detail.serverResponse);
});
