// Makes quicker and handier what also works without it: live news, keys, selection, the brush, copying.
"use strict";
(() => {
  const root = document.documentElement;
  root.classList.add("js");
  const one = (selector, within = document) => within.querySelector(selector);
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const on = (type, selector, handle) =>
    document.addEventListener(type, (event) => {
      const found = event.target.closest?.(selector);
      if (found) handle(found, event);
    });

  // ---- news: say that something is new, at most once a second, and only while somebody looks ----
  const live = { source: null, timer: 0, pause: 1000 };
  const listen = () => {
    clearTimeout(live.timer);
    if (live.source || document.hidden) return;
    live.source = new EventSource("/events");
    live.source.addEventListener("tidings", ({ data }) => {
      live.pause = 1000;
      if (one("#side")?.dataset.tidings !== data) htmx.trigger(document.body, "dlo:tidings");
    });
    live.source.addEventListener("error", () => {
      hush();
      live.timer = setTimeout(listen, live.pause * (1 + Math.random()));
      live.pause = Math.min(live.pause * 2, 60000);
    });
  };
  const hush = () => {
    clearTimeout(live.timer);
    live.source?.close();
    live.source = null;
  };
  document.addEventListener("visibilitychange", () => (document.hidden ? hush() : listen()));
  addEventListener("pagehide", hush);
  addEventListener("pageshow", listen);

  // ---- rows: walking, selecting ----
  let place = 0; // the row one was at, kept while the list is replaced
  let byKeys = false; // whether one walks by keys, and so wants the focus back after that
  const links = () => all(".row > a");
  const boxes = () => all(".row > input");
  const rowOf = (element) => element?.closest?.(".row");
  const here = () => {
    const index = links().findIndex((link) => rowOf(link) === rowOf(document.activeElement));
    return index >= 0 ? index : links().findIndex((link) => link.ariaCurrent);
  };
  const walk = (step) => {
    const rows = links();
    const from = here();
    place = Math.max(0, Math.min(rows.length - 1, from < 0 ? place : from + step));
    byKeys = true;
    rows[place]?.focus();
    rows[place]?.scrollIntoView({ block: "nearest" });
  };
  const countSelected = () => {
    const selected = all(".row > :checked").length;
    const text = one("[data-selected]");
    if (text) text.textContent = selected ? `${selected} selected` : text.dataset.selected;
    all("[data-n]").forEach((label) => (label.textContent = selected ? ` ${selected}` : ""));
    const every = one("[data-selects-all]");
    if (every) {
      every.checked = selected > 0 && selected === boxes().length;
      every.indeterminate = selected > 0 && !every.checked;
    }
  };
  let lastBox = null;
  on("click", ".row > input", (box, event) => {
    if (event.shiftKey && lastBox?.isConnected) {
      const range = [boxes().indexOf(lastBox), boxes().indexOf(box)].sort((a, b) => a - b);
      boxes().slice(range[0], range[1] + 1).forEach((other) => (other.checked = box.checked));
    }
    lastBox = box;
  });
  on("change", ".row > input", countSelected);
  on("change", "[data-selects-all]", (every) => {
    boxes().forEach((box) => (box.checked = every.checked));
    countSelected();
  });
  const toggle = () => {
    const box = boxes()[here()];
    if (!box) return;
    box.checked = !box.checked;
    lastBox = box;
    countSelected();
  };
  // Acts on what is selected, else on the row one is at, else on the letter that is open.
  const act = (key) => {
    if (!one("#bulk")) {
      one(`main [data-key="${key}"]`)?.click();
      return;
    }
    const row = rowOf(document.activeElement);
    byKeys = byKeys || Boolean(row);
    place = Math.max(0, here());
    if (!one(".row > :checked") && (!row || one("a", row).ariaCurrent)) {
      one(`.letter [data-key="${key}"]`)?.click();
      return;
    }
    if (!one(".row > :checked")) one("input", row).checked = true;
    one(`#bulk [data-key="${key}"]`)?.click();
  };

  // ---- keys ----
  const isTyping = (element) => element.matches("textarea, select, input:not([type=checkbox], [type=radio])");
  let went = -Infinity; // when g was pressed, by the keyboard's time: a page that is slow to hear of it forgets nothing
  const keys = {
    "/": () => one('[data-key="/"]')?.select(),
    j: () => walk(1),
    k: () => walk(-1),
    o: () => links()[here()]?.click(),
    x: toggle,
    r: () => act("r"),
    d: () => act("d"),
    h: () => act("h"),
    e: () => one('.letter [data-key="e"]')?.click(),
    u: () => one('.toast [data-key="u"]')?.click(),
    "?": () => one("#help").showModal(),
    g: ({ timeStamp }) => (went = timeStamp),
    Escape: () => (closeMenus(null) ? null : one("[data-close]")?.click()),
  };
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || one("dialog[open]")) return;
    if (isTyping(event.target)) {
      if (event.key === "Escape" && !closeMenus(null)) event.target.blur();
      return;
    }
    const target = event.timeStamp - went < 1500 && one(`[data-go="${CSS.escape(event.key)}"]`);
    went = -Infinity;
    if (target) target.click();
    else if (Object.hasOwn(keys, event.key)) keys[event.key](event);
    else return;
    event.preventDefault();
  });

  // ---- menus, help, copying ----
  const closeMenus = (except) => {
    const open = all("details.menu[open]").filter((menu) => menu !== except);
    open.forEach((menu) => (menu.open = false));
    return open.length > 0;
  };
  document.addEventListener("click", (event) => closeMenus(event.target.closest?.("details.menu")));
  on("click", "[data-opens]", (button) => one(`#${button.dataset.opens}`).showModal());
  on("click", "[data-dismiss]", (button) => button.closest(".toast").remove());
  on("change", "[data-submits]", (select) => select.form.requestSubmit(one("button", select.form)));
  const copy = async (button, text) => {
    await navigator.clipboard.writeText(text);
    button.classList.add("copied");
    setTimeout(() => button.classList.remove("copied"), 1500);
  };
  on("click", "[data-copy]", (button) => copy(button, one(button.dataset.copy)?.textContent ?? ""));
  on("click", "[data-copy-text]", (button) => copy(button, new URL(button.dataset.copyText, location).href));

  // ---- the brush: a stretch of the chart becomes the time of the list ----
  const brush = { chart: null, from: 0, to: 0 };
  const bars = (chart) => chart.viewBox.baseVal.width / 10;
  const barAt = (chart, x) => {
    const box = chart.getBoundingClientRect();
    return Math.max(0, Math.min(bars(chart) - 1, Math.floor(((x - box.left) / box.width) * bars(chart))));
  };
  const range = () => {
    const { from, step } = brush.chart.dataset;
    const edge = (bar) => new Date((Number(from) + bar * Number(step)) * 1000);
    return [edge(Math.min(brush.from, brush.to)), edge(Math.max(brush.from, brush.to) + 1)];
  };
  const draw = () => {
    const mark = one(".brush", brush.chart);
    mark.setAttribute("x", Math.min(brush.from, brush.to) * 10);
    mark.setAttribute("width", (Math.abs(brush.to - brush.from) + 1) * 10);
    const [since, until] = range().map((time) => time.toISOString().slice(0, 16).replace("T", " "));
    const said = one("[data-chart-said]");
    if (said) said.textContent = `${since} to ${until} UTC`;
  };
  const take = () => {
    const [since, until] = range().map((time) => time.toISOString().replace(".000", ""));
    const url = new URL(brush.chart.dataset.list, location);
    url.searchParams.set("since", since);
    url.searchParams.set("until", until);
    if (!one("#results")) return location.assign(url);
    const address = url.pathname + url.search;
    htmx.ajax("GET", address, { target: "#main", swap: "outerHTML show:none", values: { part: "main" } });
  };
  on("pointerdown", ".chart", (chart, event) => {
    if (event.button) return;
    event.preventDefault();
    brush.chart = chart;
    brush.from = brush.to = barAt(chart, event.clientX);
    chart.setPointerCapture(event.pointerId);
    draw();
  });
  on("pointermove", ".chart", (chart, event) => {
    if (!chart.hasPointerCapture(event.pointerId)) return;
    brush.to = barAt(chart, event.clientX);
    draw();
  });
  on("pointerup", ".chart", (chart, event) => {
    if (chart.hasPointerCapture(event.pointerId)) take();
  });
  on("click", ".chart", (_, event) => event.preventDefault());
  on("keydown", ".chart", (chart, event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (event.key === "Enter" && brush.chart === chart) take();
    else if (step) {
      if (brush.chart !== chart) Object.assign(brush, { chart, from: bars(chart), to: bars(chart) });
      brush.to = Math.max(0, Math.min(bars(chart) - 1, brush.to + step));
      if (!event.shiftKey) brush.from = brush.to;
      draw();
    } else return;
    event.preventDefault();
  });

  // ---- what came in by htmx ----
  document.addEventListener("htmx:configRequest", ({ detail }) => {
    // The page may have moved on since the form was made, by opening a letter beside the list.
    if (detail.verb === "post") detail.parameters.back = location.pathname + location.search;
  });
  const settle = () => {
    const letter = one("#pane .letter")?.dataset.letter;
    links().forEach((link) => {
      link.ariaCurrent = letter && one("input", rowOf(link)).value === letter ? "true" : null;
    });
    all(".chart").forEach((chart) => (chart.tabIndex = 0));
    countSelected();
  };
  // Whoever used what is gone now must not find themselves at the top of the page.
  const refocus = () => {
    if (document.activeElement !== document.body) return;
    if (byKeys) links()[Math.min(place, links().length - 1)]?.focus();
    else one("#main").focus({ preventScroll: true });
  };
  let listAt = 0; // how far the list was scrolled before a letter took its place on a small screen
  document.addEventListener("htmx:beforeSwap", ({ detail }) => {
    if (detail.target.id === "pane" && one(".list")?.offsetParent) listAt = scrollY;
  });
  document.addEventListener("htmx:afterSettle", ({ detail }) => {
    settle();
    refocus();
    if (detail.target.id === "pane" && matchMedia("(max-width: 1180px)").matches) scrollTo(0, one("#pane .letter") ? 0 : listAt);
  });
  settle();

  // ---- what is due counts down ----
  const units = [["d", 86400], ["h", 3600], ["min", 60], ["s", 1]];
  const span = (seconds) => {
    const [unit, length] = units.find(([, length]) => seconds >= length) ?? ["s", 1];
    return `${Math.floor(seconds / length)} ${unit}`;
  };
  const ends = new WeakMap(); // by the clock of this page: the machine's may be set differently from the office's
  setInterval(() => {
    const now = performance.now() / 1000;
    all("[data-due]").forEach((time) => {
      if (!ends.has(time)) ends.set(time, now + Number(time.dataset.due));
      const left = Math.round(ends.get(time) - now);
      const text = left > 0 ? `in ${span(left)}` : "now";
      if (time.textContent !== text) time.textContent = text;
    });
  }, 1000);

  // ---- toasts go by themselves, unless one is at them ----
  let fading = 0;
  const fade = () => {
    clearTimeout(fading);
    fading = setTimeout(() => {
      const toast = one(".toast:not(.failed)");
      if (toast?.matches(":hover, :focus-within")) fade();
      else toast?.remove();
    }, 15000);
  };
  new MutationObserver(fade).observe(one("#toasts"), { childList: true });
  fade();
})();
