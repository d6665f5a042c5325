// Radars: a panel a workflow, at most six LLMs in one, or each system in a small one of its own. Raw means, or divided by
// the best ranked system of each axis or by a system of choice, as analysis/matching.py does it.
"use strict";

const TOGETHER = 6;
const LONGEST_LABEL = 16;

function drawProfiles(params) {
  const kinds = { level: levelAxes(), task: taskAxes() };
  const fallback = kinds.level.length >= 3 ? "level" : "task";
  const by = kinds[params.by]?.length >= 3 ? params.by : fallback;
  const axes = kinds[by];
  const contenders = rowsShown().filter((row) => row.llm !== "none" && axes.some((axis) => rawValue(axis, row) !== null));
  if (axes.length < 3 || !contenders.length) {
    fill("radars-lead", contenders.length ? `A radar needs three axes or more, and there ${axes.length === 1 ? "is one task" : `are ${axes.length} tasks`}: the dots above say it all.` : "No system has a score yet.");
    for (const id of ["radars-controls", "radars-llms", "radars-legend", "radar-panels", "radars-numbers"]) fill(id);
    return;
  }
  const llms = Report.data.llms.map((llm) => llm.name).filter((llm) => contenders.some((row) => row.llm === llm));
  const many = llms.length > TOGETHER;
  const each = params.each ? params.each === "yes" : many;
  const on = chosenLlms(params, llms, contenders);
  const base = params.base === "best" || contenders.some((row) => row.system === params.base) ? params.base : "";
  const values = profileValues(rowsShown(), axes, base);
  drawProfileControls(by, kinds, base, each, contenders);
  drawLlmButtons(llms, on, each);
  const shown = contenders.filter((row) => each || on.includes(row.llm));
  const most = Math.max(0, ...shown.flatMap((row) => values.get(row)).filter((value) => value !== null));
  const scale = { top: base ? Figures.holding(Math.max(1, most)) : roundedTop(most), base, axes, values };
  const what = base ? `Multiples of ${base === "best" ? "the best ranked system on each axis" : base}; the ring is 1.` : "Mean score, percent.";
  fill("radars-lead", `${what} All panels have the same scale, from 0 to ${base ? Number(scale.top.toPrecision(3)) : 100 * scale.top}.`);
  const workflows = Report.data.workflows.filter((workflow) => shown.some((row) => row.workflow === workflow));
  fill("radar-panels", ...(each ? smallPanels(workflows, shown, scale) : widePanels(workflows, shown, scale)));
  fill("radars-numbers", Figures.folded("The same numbers as a table", profileTable(shown, scale)));
}

const levelAxes = () => Report.data.groups.map((group, place) => ({ group, place })).filter(({ group }) => group.level).map(({ group, place }) => ({
  lines: [group.domain, group.level], label: `${group.domain} ${group.level}`, found: (row) => row.averages[place] }));
const taskAxes = () => Report.data.tasks.map((task, place) => ({ lines: [task.short], label: task.name, found: (row) => row.tasks[place] }));

// A level of which the system lacks a task has no value.
function rawValue(axis, row) {
  const found = axis.found(row);
  return found && found.tasks === found.ofTasks ? found.mean : null;
}

// A value over a base of 0 is none: nothing can be said in multiples of nothing.
function profileValues(rows, axes, base) {
  const over = base && rows.filter((row) => (base === "best" ? !row.reference : row.system === base));
  const bases = axes.map((axis) => (base ? Math.max(0, ...over.map((row) => rawValue(axis, row) ?? 0)) : 1));
  return new Map(rows.map((row) => [row, axes.map((axis, place) => {
    const value = rawValue(axis, row);
    return value === null || !(bases[place] > 0) ? null : value / bases[place];
  })]));
}

// Those that the address names, else those with the best averages.
function chosenLlms(params, llms, contenders) {
  if (params.llms !== undefined) {
    const places = params.llms.split("-").map(Number);
    return Report.data.llms.map((llm) => llm.name).filter((llm, place) => llms.includes(llm) && places.includes(place)).slice(0, TOGETHER);
  }
  const best = (llm) => Math.max(...contenders.filter((row) => row.llm === llm && !row.reference).map((row) => overall(row).mean ?? -1));
  return [...llms].sort((a, b) => best(b) - best(a)).slice(0, TOGETHER);
}

function drawProfileControls(by, kinds, base, each, contenders) {
  const axes = kinds.level.length >= 3 && kinds.task.length >= 3 ? Figures.choices("Axes",
    Figures.toggle("radar-level", "domain and level", by === "level", () => Views.change({ by: null }, true)),
    Figures.toggle("radar-task", "task", by === "task", () => Views.change({ by: "task" }, true))) : null;
  const layout = Figures.choices("Panels",
    Figures.toggle("radar-together", "together", !each, () => Views.change({ each: "no" }, true)),
    Figures.toggle("radar-each", "one each", each, () => Views.change({ each: "yes" }, true)));
  const systems = contenders.map((row) => ({ value: row.system, label: row.system }));
  const over = Figures.select("radar-base", "Values", [{ value: "", label: "raw, percent" }, { value: "best", label: "over the best on each axis" },
    { group: "over one system", options: systems }], base, (chosen) => Views.change({ base: chosen }, true));
  fill("radars-controls", over, layout, axes);
}

// More than six in one panel cannot be read, so a seventh waits until another goes.
function drawLlmButtons(llms, on, each) {
  const places = (names) => names.map((name) => Report.data.llms.findIndex((llm) => llm.name === name)).join("-") || "none";
  const full = on.length >= TOGETHER;
  const buttons = llms.map((llm, place) => {
    const shown = on.includes(llm);
    const change = shown ? on.filter((other) => other !== llm) : [...on, llm];
    const line = lineSample(llm);
    return Figures.toggle(`radar-llm-${place}`, [line, llmShort(llm)], shown, () => Views.change({ llms: places(change) }, true),
      { title: llm, disabled: !shown && full });
  });
  fill("radars-llms", each ? null : Figures.choices("LLMs shown", ...buttons));
  fill("radars-legend", !each && full && llms.length > TOGETHER ? element("p", { class: "note", "aria-live": "polite" }, "Six at most are shown together; switch one off to see another.") : null);
}

// Colours come round after eight; then the line is broken.
function dashes(llm) {
  const place = Report.data.llms.filter((known) => known.name !== "none").findIndex((known) => known.name === llm);
  return place >= LLM_COLOURS.light.length ? "5 3" : null;
}

const lineSample = (llm) => Figures.svg("svg", { class: "sample", width: 18, height: 10, "aria-hidden": "true" },
  Figures.svg("line", { x1: 0, x2: 18, y1: 5, y2: 5, stroke: llmColour(llm), "stroke-width": 3, "stroke-dasharray": dashes(llm) }));

// Wide enough for the labels beside the axes.
function roomy(axes, radius) {
  const longest = Math.max(...axes.flatMap((axis) => axis.lines.map((line) => Math.min(line.length, LONGEST_LABEL))));
  return { width: Math.round(Math.max(2 * radius + 150, 2 * (radius + 18 + 7.6 * longest))), height: 2 * radius + 104, radius, labels: true };
}

function widePanels(workflows, shown, scale) {
  if (!workflows.length) return [element("p", { class: "note" }, "All LLMs are switched off.")];
  return [element("div", { class: [2, 4].includes(workflows.length) ? "panels two" : "panels" }, ...workflows.map((workflow) => {
    const rows = shown.filter((row) => row.workflow === workflow);
    return element("figure", { class: "panel" }, element("h3", {}, workflow, workflow === "direct" ? element("span", {}, " · no tools") : null),
      radar(rows, scale, roomy(scale.axes, 92), workflow));
  }))];
}

// Grey in every small panel is the best of all ranked systems on each axis.
function smallPanels(workflows, shown, scale) {
  const { axes, values } = scale;
  const best = axes.map((_, place) => Math.max(0, ...[...values].filter(([row]) => !row.reference).map(([, own]) => own[place] ?? 0)));
  const key = element("figure", { class: "panel key" }, element("h3", {}, "how to read", element("span", {}, " · grey: the best of all on each axis")),
    radar([], { ...scale, best }, roomy(axes, 80), "The axes"));
  const sets = workflows.map((workflow) => element("section", { class: "small-set" }, element("h3", {}, workflow),
    element("div", { class: "small-panels" }, ...shown.filter((row) => row.workflow === workflow).map((row) => element("figure", { class: "small" },
      radar([row], { ...scale, best }, { width: 150, height: 130, radius: 56, labels: false }, systemName(row)),
      element("figcaption", { title: row.system }, llmShort(row.llm)))))));
  return [key, ...sets];
}

function radar(rows, scale, size, name) {
  const { axes, values, top, base, best } = scale;
  const [x, y] = [size.width / 2, size.height / 2];
  const spot = (place, share) => {
    const angle = (2 * Math.PI * place) / axes.length;
    return [x + size.radius * share * Math.sin(angle), y - size.radius * share * Math.cos(angle)];
  };
  const shape = (shares) => {
    const spots = shares.map((share, place) => (share === null ? null : spot(place, Math.min(1, share / top))));
    return `${spots.map((at, place) => (at ? `${place === 0 || !spots[place - 1] ? "M" : "L"}${at[0].toFixed(1)} ${at[1].toFixed(1)}` : "")).join("")}`
      + (spots.every(Boolean) ? "Z" : spots[0] && spots[spots.length - 1] ? `L${spots[0][0].toFixed(1)} ${spots[0][1].toFixed(1)}` : "");
  };
  const ring = (share, kind) => Figures.svg("path", { d: `${axes.map((_, place) => spot(place, share)).map(([a, b], place) => `${place ? "L" : "M"}${a.toFixed(1)} ${b.toFixed(1)}`).join("")}Z`, class: kind });
  const text = (value) => (base ? String(Number(value.toPrecision(3))) : percent(value));
  const round = (value) => String(Number((base ? value : 100 * value).toPrecision(3)));
  const told = rows.map((row) => `${systemName(row)}: ${axes.map((axis, place) => `${axis.label} ${values.get(row)[place] === null ? "none" : text(values.get(row)[place])}`).join(", ")}`);
  const picture = Figures.svg("svg", { viewBox: `0 0 ${size.width} ${size.height}`, class: "radar", role: "img", "aria-label": `Radar, ${name}. ${told.join("; ")}` },
    ring(0.5, "ring"), ring(1, "ring outer"), base && top > 1 ? ring(1 / top, "ring one") : null,
    ...axes.map((_, place) => { const [a, b] = spot(place, 1); return Figures.svg("line", { x1: x, y1: y, x2: a.toFixed(1), y2: b.toFixed(1), class: "ring" }); }),
    best ? Figures.svg("path", { d: shape(best), class: "best-shape" }) : null);
  const depth = rows.length > 2 ? 0 : 0.12; // of many, the areas would hide the lines
  for (const row of rows) picture.append(...radarLine(row, values.get(row), depth, shape, spot, scale, size));
  if (size.labels) picture.append(...radarLabels(axes, spot, scale, size, round));
  return picture;
}

function radarLine(row, shares, depth, shape, spot, scale, size) {
  const colour = llmColour(row.llm);
  const whole = shares.every((share) => share !== null);
  const line = Figures.svg("path", { d: shape(shares), fill: whole ? colour : "none", "fill-opacity": depth, stroke: colour, "stroke-width": 2, "stroke-linejoin": "round", "stroke-dasharray": dashes(row.llm) });
  const text = (share) => (scale.base ? Number(share.toPrecision(3)) : percent(share));
  const marks = shares.map((share, place) => (share === null ? null : Figures.svg("g",
    { transform: `translate(${spot(place, Math.min(1, share / scale.top)).map((at) => at.toFixed(1)).join(" ")})` },
    Figures.svg("title", {}, `${systemName(row)}, ${scale.axes[place].label}: ${text(share)}`), Figures.mark(row, {}, size.labels ? 4 : 3)))).filter(Boolean);
  return [line, ...marks];
}

// What the rings stand for is told between two axes, since the marks of the systems lie on them.
function radarLabels(axes, spot, scale, size, round) {
  const labels = axes.map((axis, place) => {
    const [a, b] = spot(place, 1 + 14 / size.radius);
    const side = Math.abs(a - size.width / 2) < 2 ? "middle" : a > size.width / 2 ? "start" : "end";
    const rise = b < size.height / 2 - 2 && side === "middle" ? -(axis.lines.length - 1) * 14 : side === "middle" ? 6 : -(axis.lines.length - 1) * 7;
    return Figures.svg("text", { x: a.toFixed(1), y: (b + rise).toFixed(1), "text-anchor": side, class: "axis-label" }, Figures.svg("title", {}, axis.label),
      ...axis.lines.map((line, number) => Figures.svg("tspan", { x: a.toFixed(1), dy: number ? 14 : 4 }, line.length > LONGEST_LABEL ? `${line.slice(0, LONGEST_LABEL - 1)}…` : line)));
  });
  const rings = [0.5, 1].map((share) => {
    const [[a, b], [c, d]] = [spot(0, share), spot(1, share)];
    return Figures.svg("text", { x: ((a + c) / 2).toFixed(1), y: ((b + d) / 2 + 4).toFixed(1), class: "ring-label" }, round(share * scale.top));
  });
  return [...labels, ...rings];
}

function profileTable(shown, scale) {
  const { axes, values, base } = scale;
  const text = (value) => (value === null ? "–" : base ? String(Number(value.toPrecision(3))) : percent(value));
  return Figures.scrolling("Numbers of the radars", Figures.table(base ? `Multiples of ${base}` : "Mean scores, percent", ["system", ...axes.map((axis) => numeric(axis.label))],
    shown.map((row) => [systemName(row), ...values.get(row).map((value) => numeric(text(value)))])));
}
