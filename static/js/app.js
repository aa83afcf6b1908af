// Makes quicker and handier what also works without it: live parts, times, keys, selection, the chart's brush, copying.
import "./attention.js";
import "./chart.js";
import "./copy.js";
import "./edit.js";
import "./find.js";
import "./help.js";
import "./keys.js";
import "./live.js";
import "./menus.js";
import "./pace.js";
import "./payload.js";
import "./refresh.js";
import "./requests.js";
import "./rows.js";
import "./search.js";
import "./swaps.js";
import "./times.js";
import "./toasts.js";

