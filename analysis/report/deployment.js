// Deployment: quality against seconds, money or tokens, which system is best within bounds that a person sets, and how
// sure that is. The controls stay while the rest is drawn again, so that a slider can be dragged.
"use strict";

const COSTS = {
  seconds: { label: "seconds", short: "seconds", unit: "seconds an episode", said: seconds },
  cost: { label: "money", short: "USD", unit: "USD an episode", said: usd },
  tokens: { label: "tokens", short: "tokens", unit: "tokens an episode", said: (value) => (value === null ? "–" : `${count(Math.round(value))} tokens`) },
};
const PLACES = { mean: "mean", p50: "median", p90: "90th percentile", p95: "95th percentile", p99: "99th percentile" };

function usd(value) {
  return value === null ? "–" : `${plainNumber(value)} USD`;
}

const Deployment = {
  async draw(params) {
    const { hasEpisodes } = Report.data;
    const data = hasEpisodes ? await Data.load("deployment") : null;
    if (Views.current().name !== "deployment") return;
    const condition = data && data.conditions.find(({ name }) => name === Report.condition);
    if (!condition || !condition.systems.length) {
      document.getElementById("deployment-title").textContent = "Quality against seconds, money and tokens";
      fill("deployment-body", element("p", { class: "lead" }, hasEpisodes ? "Nothing was scored here yet."
        : "These are published means. They come without seconds, tokens or money, so quality cannot be weighed against them, and no system can be named within bounds. A run of one's own has all of these."));
      return;
    }
    Deployment.frame(condition);
    const state = Deployment.state(params, condition);
    Deployment.drawControls(state, condition);
    DeploymentBounds.show(state.bounds, condition);
    const choice = Choosing.choose(condition, state.bounds);
    DeploymentBounds.drawVerdict(choice, state.bounds, condition);
    Deployment.drawFigure(state, condition, choice);
    DeploymentTable.draw(state, condition, choice, params);
    Deployment.drawNotes(data, condition);
  },

  // The parts that stay: made anew only where another condition is shown.
  frame(condition) {
    const body = document.getElementById("deployment-body");
    if (body.dataset.condition === condition.name && body.childElementCount > 1) return;
    body.dataset.condition = condition.name;
    body.replaceChildren(
      element("p", { class: "lead" }, "Up is better, left costs less. The dotted line joins the systems that no other beats in both."),
      element("div", { id: "deployment-controls", class: "controls" }),
      element("div", { id: "deployment-legend", class: "legend" }),
      element("div", { id: "deployment-plot", class: "chart" }),
      element("p", { id: "deployment-note", class: "note" }),
      DeploymentBounds.made(condition),
      element("div", { id: "deployment-table" }),
      element("div", { id: "deployment-notes" }));
  },

  // What the address says, as far as it can be shown.
  state(params, condition) {
    const known = Object.keys(COSTS).filter((cost) => condition.systems.some((system) => !system.reference && system.quality !== null && system[cost] !== null));
    const cost = known.includes(params.against) ? params.against : known[0] || "seconds";
    const at = Object.hasOwn(PLACES, params.at ?? "") ? params.at : "mean";
    const entries = condition.systems.filter((system) => system.quality !== null && system[cost] !== null && system.llm !== "none" && Report.data.rows[system.row].llm !== "none")
      .map((system) => ({ system, row: Report.data.rows[system.row], value: system[cost][at], quality: system.quality }));
    const positive = entries.map(({ value }) => value).filter((value) => value > 0);
    const apart = positive.length > 1 && Math.max(...positive) / Math.min(...positive) > 10;
    const log = params.axis === "log" || (params.axis !== "linear" && apart);
    const number = (text, scale = 1) => (text !== undefined && text !== "" && Number(text) >= 0 ? Number(text) / scale : null);
    const bounds = { seconds: number(params.seconds), cost: number(params.usd), quality: number(params.quality, 100) };
    return { known, cost, at, entries, log, bounds };
  },

  drawControls(state, condition) {
    const cost = (name) => Figures.toggle(`deployment-by-${name}`, COSTS[name].label, state.cost === name, () => Views.change({ against: name }),
      state.known.includes(name) ? {} : { disabled: true, title: "Not known of any system" });
    const axis = (name, on) => Figures.toggle(`deployment-axis-${name}`, name, on, () => Views.change({ axis: name }));
    const places = Object.entries(PLACES).map(([value, label]) => ({ value, label }));
    redraw("deployment-controls",
      Figures.choices("Quality against", ...Object.keys(COSTS).map(cost)),
      Figures.choices("Axis", axis("linear", !state.log), axis("log", state.log)),
      Figures.select("deployment-at", "at the", places, state.at, (at) => Views.change({ at: at === "mean" ? null : at })));
    document.getElementById("deployment-title").textContent = `Quality against ${COSTS[state.cost].label}`;
    const rows = condition.systems.map((system) => Report.data.rows[system.row]).filter((row) => row.llm !== "none");
    const llms = [...new Set(rows.map((row) => row.llm))];
    const workflows = [...new Set(rows.map((row) => row.workflow))];
    const outline = (row) => Figures.svg("svg", { width: 14, height: 14, viewBox: "-8 -8 16 16", "aria-hidden": "true" },
      Figures.svg("path", { d: Figures.outline(marker(row.workflow), 5), fill: row.reference ? "none" : cssColour("--soft"), stroke: cssColour("--soft"), "stroke-width": 1.6 }));
    fill("deployment-legend",
      element("div", {}, element("b", {}, "LLM"), ...llms.map((llm) => { const swatch = element("span", { class: "swatch" }); swatch.style.background = llmColour(llm); return element("span", {}, swatch, calm(llm)); })),
      element("div", {}, element("b", {}, "workflow"), ...workflows.map((workflow) => element("span", {}, outline(rows.find((row) => row.workflow === workflow)), calm(workflow)))));
  },

  drawFigure(state, condition, choice) {
    const box = document.getElementById("deployment-plot");
    if (!state.entries.length) {
      box.replaceChildren();
      fill("deployment-note", "Nothing to draw: what the systems took is not known.");
      return;
    }
    const { cost, at, bounds } = state;
    const oracle = condition.systems.map((system) => Report.data.rows[system.row]).find((row) => row.workflow === "oracle");
    const x = at === "mean" && cost !== "tokens" ? bounds[cost] : null;
    const drawn = DeploymentChart.draw(box, {
      entries: state.entries, log: state.log, best: choice.best, bounds: { x, quality: bounds.quality }, said: COSTS[cost].said,
      faded: new Set([...choice.beyond, ...choice.leftOut.filter(({ system }) => !system.reference)].map(({ system }) => system)), oracle: oracle ? overall(oracle).mean : null,
      axis: `${COSTS[cost].unit}, ${PLACES[at]}${state.log ? ", log axis" : ""}`,
      name: `Average score of ${plural(state.entries.length, "system")} against ${COSTS[cost].unit}, ${PLACES[at]}; the numbers are in the table below`,
    });
    const unknown = condition.systems.filter((system) => system.quality !== null && system[cost] === null);
    fill("deployment-note", "Bars are 95 % intervals. ",
      state.entries.some(({ system }) => system.reference) ? "Hollow markers are references: they see the gold. " : null,
      drawn.beyond ? `The oracle, ${percent(overall(oracle).mean)} %, lies above this figure. ` : null,
      unknown.length ? `Not drawn, since ${cost === "cost" ? "the price" : "the number"} is not known: ${listed(unknown.map(({ row }) => calm(Report.data.rows[row].system)), 4)}. ` : null,
      drawn.unlabelled ? "Where names would cover each other they are left away: point at a marker, or look into the table below." : null);
  },

  // How the times were taken, and what else has to be said beside the numbers.
  drawNotes(data, condition) {
    const driven = condition.systems.filter((system) => Report.data.rows[system.row].llm !== "none");
    const settled = driven.length > 0 && driven.every(({ connections }) => connections === data.paperConnections);
    const llms = new Map(); // what is said alike of several LLMs is said once
    for (const system of driven) {
      const { llm } = Report.data.rows[system.row];
      for (const note of system.notes) {
        const text = note.startsWith(`${llm}: `) ? note.slice(llm.length + 2) : note;
        llms.set(text, new Set([...(llms.get(text) || []), llm]));
      }
    }
    const notes = [...llms].map(([text, names]) => `${[...names].join(", ")}: ${text}`);
    fill("deployment-notes",
      settled ? element("p", { class: "note" }, `Times were taken at ${plural(data.paperConnections, "connection")} an LLM, as in the paper.`) : null,
      notes.length ? element("ul", { class: "note" }, ...notes.map((note) => element("li", {}, calm(note)))) : null,
      element("p", { class: "note" }, "Seconds are of the episode itself; time in a queue for a free connection and before a try again stand apart. Money is by the prices in the grid; a price that is not known is –, never 0."));
  },
};

// Fill a box of controls and leave the focus where it was.
function redraw(id, ...children) {
  const focused = document.activeElement?.id;
  fill(id, ...children);
  if (focused && document.activeElement?.id !== focused) document.getElementById(focused)?.focus();
}

Views.add("deployment", { title: "Deployment", draw: Deployment.draw });
