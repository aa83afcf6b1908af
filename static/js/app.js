// Makes quicker and handier what also works without it: live counts, keys, selection, the chart's brush, copying.
import "./chart.js";
import "./copy.js";
import "./countdown.js";
import "./keys.js";
import "./live.js";
import "./menus.js";
import "./pace.js";
import "./requests.js";
import "./rows.js";
import "./search.js";
import "./swaps.js";
import "./toasts.js";

document.documentElement.classList.add("has-js");
