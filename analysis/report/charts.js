// The figures. Colours follow the LLM and markers the workflow, the same everywhere on the page.
"use strict";

const CONFIG = { displayModeBar: false, responsive: true };

function baseLayout() {
  return {
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", showlegend: false, dragmode: false,
    font: { family: cssColour("--sans"), size: 13, color: cssColour("--soft") },
    hoverlabel: { bgcolor: cssColour("--card"), bordercolor: cssColour("--strong-line"), font: { family: cssColour("--sans"), size: 13, color: cssColour("--ink") }, align: "left" },
    margin: { l: 8, r: 8, t: 8, b: 8 },
  };
}

// Plotly reads a few tags in its texts; names from data must stay what they are.
const plain = (text) => String(text).replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

function withAlpha(hex, alpha) {
  const [red, green, blue] = [1, 3, 5].map((place) => parseInt(hex.slice(place, place + 2), 16));
  return `rgba(${red},${green},${blue},${alpha})`;
}

function drawRadars() {
  const { groups, tasks, workflows } = Report.data;
  const levels = groups.map((group, place) => ({ label: `${plain(group.domain)}<br>${group.level}`, group, place })).filter(({ group }) => group.level);
  const axes = levels.length >= 3
    ? levels.map(({ label, place }) => ({ label, found: (row) => row.averages[place] }))
    : tasks.map((task, place) => ({ label: plain(task.short), found: (row) => row.tasks[place] }));
  const section = document.getElementById("radars");
  section.hidden = axes.length < 3;
  if (section.hidden) return;
  const contenders = rowsShown().filter((row) => row.llm !== "none");
  const top = roundedTop(Math.max(...contenders.flatMap((row) => axes.map((axis) => axis.found(row)?.mean ?? 0))));
  fill("radars-lead", `Mean score, percent, one panel a workflow. All panels share the scale from 0 to ${100 * top}.`);
  const panels = workflows.filter((workflow) => contenders.some((row) => row.workflow === workflow)).map((workflow) => {
    const plot = element("div", { class: "plot", role: "img", "aria-label": `Radar of ${workflow}; the numbers are in the score table` });
    const mark = workflow === "direct" ? element("span", {}, " · no tools") : null;
    return { workflow, plot, panel: element("div", { class: "panel" }, element("h3", {}, workflow, mark), plot) };
  });
  fill("radar-panels", ...panels.map(({ panel }) => panel));
  for (const { workflow, plot } of panels) drawRadar(plot, contenders.filter((row) => row.workflow === workflow), axes, top);
}

function drawRadar(plot, rows, axes, top) {
  const traces = rows.map((row) => {
    const shares = axes.map((axis) => axis.found(row)?.mean ?? null);
    const colour = llmColour(row.llm);
    return {
      type: "scatterpolar", mode: "lines+markers", name: plain(llmShort(row.llm)), fill: "toself",
      r: [...shares, shares[0]].map((share) => (share === null ? null : 100 * share)),
      theta: [...axes, axes[0]].map((axis) => axis.label),
      line: { color: colour, width: 2 }, fillcolor: withAlpha(colour, 0.12),
      marker: { color: colour, size: rows.length > 4 ? 5 : 7, symbol: marker(row.workflow) },
      hovertemplate: "%{theta} %{r:.1f}<extra>%{fullData.name}</extra>",
    };
  });
  const grid = cssColour("--line");
  Plotly.react(plot, traces, {
    ...baseLayout(), margin: { l: 54, r: 54, t: 40, b: 40 },
    polar: {
      bgcolor: "rgba(0,0,0,0)", gridshape: "linear",
      radialaxis: { range: [0, 100 * top], tickvals: [50 * top, 100 * top], ticktext: [String(50 * top), ""], angle: 90, tickangle: 90, gridcolor: grid, linecolor: "rgba(0,0,0,0)", tickfont: { size: 11, color: cssColour("--faint") }, ticks: "" },
      angularaxis: { direction: "clockwise", rotation: 90, gridcolor: grid, linecolor: cssColour("--strong-line"), tickfont: { size: 12 } },
    },
  }, CONFIG);
}

function drawResponses() {
  const { types } = Report.data;
  const rows = rowsShown().filter((row) => row.recorded).sort((a, b) => (overall(a).mean ?? -1) - (overall(b).mean ?? -1));
  const colours = TYPE_COLOURS[theme()];
  const narrow = window.innerWidth < 600;
  const names = rows.map((row) => (narrow ? [row.workflow, llmShort(row.llm)].filter(Boolean).map(plain).join("<br>") : `${plain(systemName(row))}\u2002`));
  const traces = types.map((type, place) => ({
    type: "bar", orientation: "h", name: `${type.key}, ${type.name}`, y: rows.map((_, index) => index),
    x: rows.map((row) => (100 * row.types[place]) / row.recorded),
    text: rows.map((row) => ((100 * row.types[place]) / row.recorded >= (narrow ? 12 : 4.5) ? percent(row.types[place] / row.recorded) : "")),
    textposition: "inside", insidetextanchor: "middle", textangle: 0, textfont: { size: narrow ? 11 : 12, color: ["AM", "GE", "RE", "ME"].includes(type.key) ? "#1c2126" : "#ffffff" },
    marker: { color: colours[type.key], line: { color: cssColour("--paper"), width: 1.5 } },
    customdata: rows.map((row) => [row.types[place], row.recorded, plain(row.system)]),
    hovertemplate: "%{customdata[2]}<br>%{x:.1f} %: %{customdata[0]} of %{customdata[1]} episodes<extra>%{fullData.name}</extra>",
  }));
  const plot = document.getElementById("response-chart");
  plot.style.height = `${rows.length * (narrow ? 40 : 34) + 46}px`;
  Plotly.react(plot, traces, {
    ...baseLayout(), barmode: "stack", bargap: 0.28, margin: { l: 8, r: 28, t: 4, b: 34 },
    xaxis: { range: [0, 100], fixedrange: true, ticksuffix: " %", gridcolor: cssColour("--line"), zeroline: false },
    yaxis: { automargin: true, fixedrange: true, tickmode: "array", tickvals: rows.map((_, index) => index), ticktext: names, tickfont: { color: cssColour("--ink"), size: narrow ? 11 : 13 }, ticks: "" },
  }, CONFIG);
}

function drawDeployment() {
  const rows = rowsShown().filter((row) => row.llm !== "none" && overall(row).mean !== null && row.use.seconds > 0);
  const section = document.getElementById("deployment");
  section.hidden = rows.length === 0;
  if (section.hidden) return;
  const plot = document.getElementById("deployment-chart");
  const size = { width: plot.clientWidth, height: window.innerWidth < 600 ? 400 : 480 };
  plot.style.height = `${size.height}px`;
  const scale = deploymentScale(rows);
  const frame = { ...size, l: 52, r: 22, t: 18, b: 48 };
  const oracle = rowsShown().find((row) => row.workflow === "oracle");
  const lines = oracle && overall(oracle).mean !== null && overall(oracle).mean <= scale.top ? [oracleLine(overall(oracle).mean)] : [];
  Plotly.react(plot, [frontier(rows), ...rows.map(deploymentPoint)], {
    ...baseLayout(), margin: { l: frame.l, r: frame.r, t: frame.t, b: frame.b },
    xaxis: { type: scale.log ? "log" : "linear", range: scale.x, fixedrange: true, title: { text: `mean seconds an episode${scale.log ? " (log scale)" : ""}`, standoff: 10, font: { size: 13 } }, gridcolor: cssColour("--line"), zeroline: false, ...(scale.log ? { dtick: "D2", tickformat: "~g" } : {}) },
    yaxis: { range: [0, 100 * scale.top], fixedrange: true, title: { text: "average score, percent", standoff: 8, font: { size: 13 } }, gridcolor: cssColour("--line"), zeroline: false },
    shapes: lines.map(({ shape }) => shape),
    annotations: [...lines.map(({ label }) => label), ...labels(rows, scale, frame)],
  }, CONFIG);
  const beyond = oracle && !lines.length ? ` The oracle, ${percent(overall(oracle).mean)}, lies above this figure.` : "";
  fill("deployment-note", "Bars are 95 % intervals. The dotted line joins the systems that no other beats in both quality and time. "
    + (rows.some((row) => row.baseline) ? "Hollow markers are answers without tools." : "") + beyond);
}

function deploymentScale(rows) {
  const times = rows.map((row) => row.use.seconds);
  const [least, most] = [Math.min(...times), Math.max(...times)];
  const log = most / least > 10;
  const highs = rows.map((row) => overall(row).high ?? overall(row).mean);
  const x = log ? [Math.log10(least) - 0.25, Math.log10(most) + 0.3] : [0, most * 1.15];
  return { log, x, top: roundedTop(Math.max(...highs) * 1.02) };
}

function deploymentPoint(row) {
  const found = overall(row);
  const colour = llmColour(row.llm);
  const bars = found.low === null ? {} : {
    error_y: { type: "data", symmetric: false, array: [100 * (found.high - found.mean)], arrayminus: [100 * (found.mean - found.low)], color: withAlpha(colour, 0.45), thickness: 1.5, width: 0 },
  };
  return {
    type: "scatter", mode: "markers", name: plain(systemName(row)), x: [row.use.seconds], y: [100 * found.mean],
    marker: { color: colour, size: 12, symbol: marker(row.workflow) + (row.baseline ? "-open" : ""), line: { color: row.baseline ? colour : cssColour("--paper"), width: row.baseline ? 2 : 1 } },
    hovertemplate: `${plain(row.system)}<br>%{y:.1f} at %{x:.3~g} s (median ${seconds(row.use.median)})<br>${plural(found.n, "episode")}<extra></extra>`, ...bars,
  };
}

function frontier(rows) {
  const unbeaten = rows.filter((row) => !rows.some((other) => other !== row
    && other.use.seconds <= row.use.seconds && overall(other).mean >= overall(row).mean
    && (other.use.seconds < row.use.seconds || overall(other).mean > overall(row).mean)));
  unbeaten.sort((a, b) => a.use.seconds - b.use.seconds);
  return {
    type: "scatter", mode: "lines", hoverinfo: "skip", x: unbeaten.map((row) => row.use.seconds), y: unbeaten.map((row) => 100 * overall(row).mean),
    line: { color: cssColour("--faint"), width: 1.5, dash: "dot" },
  };
}

function oracleLine(mean) {
  const y = 100 * mean;
  return {
    shape: { type: "line", xref: "paper", x0: 0, x1: 1, y0: y, y1: y, line: { color: cssColour("--faint"), width: 1, dash: "dash" } },
    label: { xref: "paper", x: 0, xanchor: "left", y, yanchor: mean > 0.9 ? "top" : "bottom", showarrow: false, text: `oracle ${percent(mean)}: the gold programs, without an LLM`, font: { size: 12, color: cssColour("--soft") } },
  };
}

// Each label takes the first place around its marker where it covers no marker and no label set before.
function labels(rows, scale, frame) {
  const narrow = frame.width < 600;
  const inner = { width: frame.width - frame.l - frame.r, height: frame.height - frame.t - frame.b };
  const along = (row) => ((scale.log ? Math.log10(row.use.seconds) : row.use.seconds) - scale.x[0]) / (scale.x[1] - scale.x[0]);
  const points = rows.map((row) => ({ row, x: along(row) * inner.width, y: (1 - overall(row).mean / scale.top) * inner.height }));
  const taken = points.map(({ x, y }) => ({ left: x - 8, right: x + 8, top: y - 8, bottom: y + 8 }));
  const clash = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
  return [...points].sort((a, b) => a.y - b.y).map(({ row, x, y }) => {
    const text = narrow ? row.workflow : systemName(row);
    const width = text.length * 6.6 + 4;
    const offsets = [];
    for (const far of [0, 16, 32, 48]) {
      for (const [dx, dy] of [[12 + width / 2, -far], [-12 - width / 2, -far], [12 + width / 2, far], [-12 - width / 2, far], [0, -18 - far], [0, 18 + far]]) offsets.push({ dx, dy, far });
    }
    const boxes = offsets.map(({ dx, dy, far }) => ({ dx, dy, far, left: x + dx - width / 2, right: x + dx + width / 2, top: y + dy - 8, bottom: y + dy + 8 }));
    const inside = (box) => box.left >= -4 && box.right <= inner.width + 16 && box.top >= -10 && box.bottom <= inner.height;
    const box = boxes.find((place) => inside(place) && !taken.some((other) => clash(place, other))) || boxes.find(inside) || boxes[0];
    taken.push(box);
    return {
      x: scale.log ? Math.log10(row.use.seconds) : row.use.seconds, y: 100 * overall(row).mean, text: plain(text), ax: box.dx, ay: box.dy,
      showarrow: true, arrowhead: 0, arrowwidth: box.far ? 0.8 : 0.001, arrowcolor: box.far ? cssColour("--faint") : "rgba(0,0,0,0)", standoff: 8,
      font: { size: 12, color: llmColour(row.llm) }, borderpad: 0,
    };
  });
}
