// What calls for attention is seen from another tab: how many error groups do in the title, a dot in the icon where some
// are critical, and a notification of the desktop where somebody has asked for it.
import { keep, kept, on, one } from "./dom.js";

const KEY = "dlo-desktop";

const counts = () => one("#side")?.dataset ?? {};

const wants = () => globalThis.Notification?.permission === "granted" && kept(KEY) === "on";

let known = null; // critical groups when it was looked last

const notify = (critical) => {
  if (known !== null && critical > known && wants()) {
    const text = critical === 1 ? "1 critical error group" : `${critical} critical error groups`;
    const notification = new Notification("Dead Letter Office", { body: `${text} open`, tag: "dlo-critical" });
    notification.onclick = () => {
      focus();
      location.assign("/groups?importance=critical");
    };
  }
  known = critical;
};

const show = () => {
  const { attention, critical } = counts();
  if (attention === undefined) return;
  const title = document.title.replace(/^\([\d,]+\) /, "");
  const whole = attention === "0" ? title : `(${Number(attention).toLocaleString("en")}) ${title}`;
  if (document.title !== whole) document.title = whole;
  const icon = one("link[rel=icon]");
  const wanted = critical === "0" ? icon.dataset.calm : icon.dataset.alarm;
  if (icon.getAttribute("href") !== wanted) icon.setAttribute("href", wanted);
  notify(Number(critical));
  const choice = one("[data-desktop]");
  if (!choice) return;
  choice.hidden = !globalThis.Notification || Notification.permission === "denied";
  choice.ariaPressed = String(wants());
};

on("click", "[data-desktop]", async () => {
  const isOn = wants();
  if (!isOn && (await Notification.requestPermission()) !== "granted") return show();
  keep(KEY, isOn ? "off" : "on");
  show();
});

document.addEventListener("htmx:afterSwap", show); // before anybody sees what was swapped in
document.addEventListener("htmx:afterSettle", show); // with the title that came with it
document.addEventListener("htmx:oobAfterSwap", show);
document.addEventListener("dlo:refreshed", show);
show();
