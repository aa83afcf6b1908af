// The chart's brush: a stretch of the chart becomes the time range of the list. It is moved by pointer and by keys.
import { all, on, one } from "./dom.js";

const BAR_WIDTH = 10; // in units of the drawing

const brush = { chart: null, from: 0, to: 0 };

const countBars = (chart) => chart.viewBox.baseVal.width / BAR_WIDTH;

const within = (chart, bar) => Math.max(0, Math.min(countBars(chart) - 1, bar));

const barAt = (chart, x) => {
  const box = chart.getBoundingClientRect();
  return within(chart, Math.floor(((x - box.left) / box.width) * countBars(chart)));
};

// Says what a bar stands for, beside it.
const tell = (chart, bar) => {
  const tip = one(".chart-tip", chart.parentElement);
  if (!tip) return;
  const its = all("a", chart).find((link) => Number(one("rect", link).getAttribute("x")) === bar * BAR_WIDTH);
  tip.textContent = its?.getAttribute("aria-label") ?? "";
  tip.classList.toggle("is-right", bar * 2 > countBars(chart));
};

const hush = (chart) => tell(chart, -1);

const range = () => {
  const { from, step } = brush.chart.dataset;
  const edge = (bar) => new Date((Number(from) + bar * Number(step)) * 1000);
  return [edge(Math.min(brush.from, brush.to)), edge(Math.max(brush.from, brush.to) + 1)];
};

const draw = () => {
  const mark = one(".chart-brush", brush.chart);
  mark.setAttribute("x", Math.min(brush.from, brush.to) * BAR_WIDTH);
  mark.setAttribute("width", (Math.abs(brush.to - brush.from) + 1) * BAR_WIDTH);
  const [since, until] = range().map((time) => time.toISOString().slice(0, 16).replace("T", " "));
  const said = one("[data-chart-said]");
  if (said) said.textContent = `${since} to ${until} UTC`;
};

const apply = () => {
  const [since, until] = range().map((time) => time.toISOString().replace(".000", ""));
  const url = new URL(brush.chart.dataset.list, location);
  url.searchParams.set("since", since);
  url.searchParams.set("until", until);
  if (!one("#results")) return location.assign(url);
  const address = url.pathname + url.search;
  htmx.ajax("GET", address, { target: "#main", swap: "outerHTML show:none" });
};

on("pointerdown", ".chart-bars", (chart, event) => {
  if (event.button) return;
  event.preventDefault();
  brush.chart = chart;
  brush.from = brush.to = barAt(chart, event.clientX);
  chart.setPointerCapture(event.pointerId);
  draw();
});

on("pointermove", ".chart-bars", (chart, event) => {
  tell(chart, barAt(chart, event.clientX));
  if (!chart.hasPointerCapture(event.pointerId)) return;
  brush.to = barAt(chart, event.clientX);
  draw();
});

on("pointerup", ".chart-bars", (chart, event) => {
  if (chart.hasPointerCapture(event.pointerId)) apply();
});

on("pointerout", ".chart-bars", hush);

on("focusout", ".chart-bars", hush);

on("click", ".chart-bars", (_, event) => event.preventDefault());

on("keydown", ".chart-bars", (chart, event) => {
  const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  if (event.key === "Enter" && brush.chart === chart) apply();
  else if (step) {
    if (brush.chart !== chart) Object.assign(brush, { chart, from: countBars(chart), to: countBars(chart) });
    brush.to = within(chart, brush.to + step);
    if (!event.shiftKey) brush.from = brush.to;
    draw();
    tell(chart, brush.to);
  } else return;
  event.preventDefault();
});
