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
