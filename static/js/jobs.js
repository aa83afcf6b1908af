// The figures of a job go on while somebody is at one of its buttons, and none does anything else by then.
import { all, on, one } from "./dom.js";
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

// Whoever pauses a job by a key goes on at what resumes it; held down, the key does not.
let resumes = ""; // where that is sent

on("keydown", ".job-acts button", ({ form }, event) => {
  if (event.key !== "Enter" && event.key !== " ") return;
  const action = form.getAttribute("action");
  if (event.repeat) event.preventDefault();
  else resumes = action.endsWith("/pause") ? action.replace(/pause$/, "resume") : "";
});

document.addEventListener("htmx:afterSwap", ({ detail }) => {
  if (detail.target.id !== "main" || !resumes) return;
  one(`.job-acts form[action="${resumes}"] button`)?.focus();
  resumes = "";
});
