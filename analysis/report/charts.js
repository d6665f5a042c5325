// Charts: plotly is loaded when the first of them comes into view.
"use strict";

const LEAST = { radar: 460, scatter: 460, lines: 360 }; // least width in pixels of a chart beside others
const waiting = new IntersectionObserver((entries) => {
  for (const { isIntersecting, target } of entries) if (isIntersecting) drawChart(target).catch(showFault);
}, { rootMargin: "200px" });

function chartGroup(charts, title) {
  const plots = charts.map((chart) => {
    const plot = h("div", { class: "plot waiting", role: "img", "aria-label": `Chart: ${chart.title}` });
    plot.style.minHeight = `${chart.figure.layout.height}px`;
    plot.chart = chart;
    waiting.observe(plot);
    return plot;
  });
  const save = (plot, format) => h("button",
    { type: "button", "aria-label": `${plot.chart.title} as ${format.toUpperCase()}`, onclick: () => saveChart(plot,
    format) }, format.toUpperCase());
  const panels = plots.map((plot) => h("figure", { class: "chart" },
    h("figcaption", {}, h("h3", { class: plot.chart.title === title ? "unseen" : null }, plot.chart.title),
    h("span", { class: "links" }, save(plot, "svg"), save(plot, "png"))), plot));
  const box = h("div", { class: "panels" }, panels);
  box.style.setProperty("--least", `${LEAST[charts[0].kind] || 2000}px`);
  return h("div", { class: "group" }, legend(charts, plots), box, charts[0].note ? h("p", { class: "note" },
    charts[0].note) : null);
}

const GLYPHS = { circle: "●", square: "■", diamond: "◆", "triangle-up": "▲", cross: "✚", star: "★", pentagon: "⬟",
  hexagon: "⬢", "triangle-down": "▼", x: "✖" };

// The legend of a group, once; in radars an entry hides and shows its line everywhere.
function legend(charts, plots) {
  const entries = new Map(charts.flatMap((chart) => chart.legend).map((entry) => [entry.join("\0"), entry]));
  const nodes = [...entries.values()].map(([label, colour, symbol]) => {
    const mark = h("span", { class: symbol ? null : "square", "aria-hidden": "true" }, GLYPHS[symbol] || "");
    mark.style[symbol ? "color" : "background"] = coloured(colour);
    if (charts[0].kind !== "radar") return h("span", {}, mark, label);
    const button = h("button", { type: "button", "aria-pressed": "true", onclick: () => {
      const on = button.getAttribute("aria-pressed") !== "true";
      button.setAttribute("aria-pressed", String(on));
      for (const plot of plots) {
        const lines = plot.chart.figure.data.flatMap((trace, number) => (trace.meta === label ? [number] : []));
        const there = window.Plotly && !plot.classList.contains("waiting");
        if (there && lines.length) window.Plotly.restyle(plot, { visible: on }, lines);
      }
    } }, mark, label);
    return button;
  });
  return nodes.length > 1 ? h("div", { class: "legend" }, nodes) : null;
}

const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// Plotly's template of the theme.
function template() {
  const axis = { gridcolor: css("--line"), linecolor: css("--strong"), tickcolor: css("--strong") };
  const polar = { bgcolor: "rgba(0,0,0,0)", radialaxis: axis, angularaxis: axis };
  return { layout: { paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", font: { color: css("--ink"),
    family: css("--sans"), size: 12.5 }, xaxis: axis, yaxis: axis, polar,
    hoverlabel: { bgcolor: css("--card"), bordercolor: css("--strong"), font: { color: css("--ink") },
      align: "left" } } };
}

// A copy with the colours of the theme; a missing value stays one.
const themed = (part) => (typeof part === "string" ? coloured(part) : Array.isArray(part) ? part.map(themed)
  : part && typeof part === "object"
    ? Object.fromEntries(Object.entries(part).map(([key, one]) => [key, themed(one)])) : part);

let queue = Promise.resolve(); // one chart at a time: the first is there soon, and the page stays responsive

// Draw a chart, unless it is drawn; the promise is kept when it is there.
function drawChart(plot) {
  waiting.unobserve(plot);
  if (!plot.done) {
    plot.textContent = window.Plotly ? "" : "…";
    plot.done = queue.then(() => script("assets/plotly.min.js")).then(() => drawNow(plot));
    queue = plot.done.catch(() => null);
  }
  return plot.done;
}

async function drawNow(plot) {
  await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
  const { data, layout } = themed(plot.chart.figure);
  for (const trace of data.filter((one) => one.type === "bar" && one.text)) {
    trace.insidetextfont = { color: inkOn(trace.marker.color) };
  }
  if (plot.clientWidth < 520) narrow(data, layout);
  plot.textContent = "";
  plot.classList.remove("waiting");
  const settings = { displayModeBar: false, responsive: true, typesetMath: false };
  await window.Plotly.newPlot(plot, data, { ...layout, template: template() }, settings);
}

// On a phone labels are short and margins small.
function narrow(data, layout) {
  const short = (label) => (label.length > 17 ? `${label.slice(0, 16)}…` : label);
  layout.font = { size: 10.5 };
  for (const axis of [layout.xaxis, layout.yaxis]) if (axis?.ticktext) axis.ticktext = axis.ticktext.map(short);
  for (const { textfont, marker } of data) if (marker && textfont) [textfont.size, marker.size] = [9.5, 8];
  if (layout.polar) layout.margin = { l: 58, r: 58, t: 30, b: 30 };
}

async function saveChart(plot, format) {
  await drawChart(plot);
  await window.Plotly.downloadImage(plot, { format, filename: plot.chart.name, width: plot.clientWidth,
    height: plot.clientHeight, scale: format === "png" ? 3 : 1 });
}
