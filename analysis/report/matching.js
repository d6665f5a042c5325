// Matching: which LLM suits which workflow. First a dot plot with intervals, one row a system, on an axis of choice; the
// radars are in radar.js; then who does best where, and what the best of all systems by question would reach.
"use strict";

function drawMatching(params) {
  drawDots(params);
  drawProfiles(params);
  drawSuited(params);
  drawUpperBound();
}

const groupLabel = (group) => (group.key === "all" ? "all tasks" : group.level ? `${group.domain}, ${group.level}` : `${group.domain}, all levels`);

// What the dot plot can show: every average, and every task. {param, value, label, found(row)}.
function axesToChoose() {
  const { groups, tasks } = Report.data;
  const kinds = { "Averages over": [], "Domain and level": [], Tasks: [] };
  const whole = [...groups.keys()].sort((a, b) => (groups[b].key === "all") - (groups[a].key === "all"));
  for (const place of whole) {
    const group = groups[place];
    if (group.key !== "all" && (groups.length === 1 || (!group.level && groups.filter((other) => other.key !== "all" && !other.level).length < 2))) continue;
    kinds[group.level ? "Domain and level" : "Averages over"].push({ param: "axis", value: group.key, label: groupLabel(group), found: (row) => row.averages[place] });
  }
  tasks.forEach((task, place) => kinds.Tasks.push({ param: "task", value: task.name, label: task.name, found: (row) => row.tasks[place] }));
  return kinds;
}

function chosenAxis(params, kinds) {
  const all = Object.values(kinds).flat();
  return all.find((axis) => axis.param === "task" && axis.value === params.task)
    || all.find((axis) => axis.param === "axis" && axis.value === params.axis) || all[0];
}

function drawDots(params) {
  const kinds = axesToChoose();
  const axis = chosenAxis(params, kinds);
  const key = (one) => `${one.param} ${one.value}`;
  fill("dots-controls", Figures.select("dots-axis", "Score on", Object.entries(kinds).filter(([, axes]) => axes.length).map(([group, axes]) => ({
    group, options: axes.map((one) => ({ value: key(one), label: one.label })) })), key(axis), (chosen) => {
    const one = Object.values(kinds).flat().find((other) => key(other) === chosen);
    Views.change({ axis: null, task: null, [one.param]: one.param === "axis" && one.value === "all" ? null : one.value }, true);
  }));
  const rows = rowsShown().filter((row) => axis.found(row)?.mean !== null && axis.found(row)?.mean !== undefined);
  if (!rows.length) {
    fill("dots", element("p", { class: "note" }, "No system has a score here yet."));
    return;
  }
  const top = roundedTop(Math.max(...rows.map((row) => axis.found(row).high ?? axis.found(row).mean)));
  const mean = (row) => axis.found(row).mean;
  const sets = Report.data.workflows.map((workflow) => rows.filter((row) => row.workflow === workflow).sort((a, b) => mean(b) - mean(a))).filter((set) => set.length);
  sets.sort((a, b) => a[0].reference - b[0].reference || mean(b[0]) - mean(a[0]));
  const intervals = rows.some((row) => axis.found(row).low !== null);
  const heads = element("tr", {}, element("th", { scope: "col" }, "workflow"), element("th", { scope: "col" }, "LLM"),
    element("th", { scope: "col", class: "track" }, scaleHead(top)), element("th", { scope: "col", class: "number" }, "score"),
    intervals ? element("th", { scope: "col", class: "number ends" }, "95 % interval") : null);
  fill("dots", element("table", { class: "dots" },
    element("caption", { class: "unseen" }, `Score of each system on ${axis.label}, percent`), element("thead", {}, heads),
    ...sets.map((set) => element("tbody", {}, ...set.map((row, place) => dotRow(row, axis.found(row), top, intervals, place === 0 ? set.length : 0))))));
  const partial = rows.some((row) => axis.found(row).missing || axis.found(row).tasks < axis.found(row).ofTasks);
  fill("dots-note", `Percent, ${axis.label}. ${intervals ? "Bars are 95 % intervals. " : ""}${rows.some((row) => row.reference) ? "Hollow marks are references, not ranked. " : ""}${partial ? "* some episodes or tasks are missing." : ""}`);
}

function scaleHead(top) {
  return element("span", { class: "scale", "aria-hidden": "true" }, ...Figures.ticks(top).map((tick) => {
    const label = element("span", {}, String(Number((100 * tick).toPrecision(6))));
    label.style.left = `${(100 * tick) / top}%`;
    return label;
  }));
}

function dotRow(row, found, top, intervals, span) {
  const at = (share) => `${(100 * Math.max(0, Math.min(share, top))) / top}%`;
  const colour = llmColour(row.llm);
  const told = [systemName(row), describe(found)].filter(Boolean).join("\n");
  const track = Figures.svg("svg", { class: "dot", width: "100%", "aria-hidden": "true" },
    Figures.svg("title", {}, told),
    ...Figures.ticks(top).map((tick) => Figures.svg("line", { x1: at(tick), x2: at(tick), y1: "0", y2: "100%", class: "grid" })),
    found.low === null ? null : Figures.svg("line", { x1: at(found.low), x2: at(found.high), y1: "50%", y2: "50%", stroke: colour, "stroke-width": 4, "stroke-opacity": 0.4, "stroke-linecap": "round" }),
    Figures.svg("svg", { x: at(found.mean), y: "50%", overflow: "visible" }, Figures.mark(row, {}, 5.5)));
  const partial = found.missing > 0 || found.tasks < found.ofTasks;
  return element("tr", { class: row.reference ? "reference" : null },
    span ? element("th", { scope: "rowgroup", rowspan: span, class: "workflow" }, row.workflow) : null,
    element("th", { scope: "row", class: "llm", title: row.system }, row.llm === "none" ? "no LLM" : llmShort(row.llm)),
    element("td", { class: "track" }, track),
    element("td", { class: "number", title: describe(found) }, percent(found.mean), partial ? "*" : null),
    intervals ? element("td", { class: "number ends" }, found.low === null ? "–" : `${percent(found.low)} – ${percent(found.high)}`) : null);
}

// For each workflow the LLM that does best on each axis (or for each LLM the workflow), and whether it surely does.
function drawSuited(params) {
  const under = (key) => Report.data.suited[key].filter((one) => one.condition === Report.condition);
  const usual = under("workflow").length || !under("llm").length ? "workflow" : "llm";
  const by = ["workflow", "llm"].includes(params.suits) ? params.suits : usual;
  const found = under(by);
  document.getElementById("suited").hidden = !under("workflow").length && !under("llm").length;
  const choose = (key, label) => Figures.toggle(`suits-${key}`, label, by === key, () => Views.change({ suits: key === usual ? null : key }, true));
  fill("suited-controls", Figures.choices("For each", choose("workflow", "the best LLM for each workflow"), choose("llm", "the best workflow for each LLM")));
  if (!found.length) {
    fill("suited-table", element("p", { class: "note" }, by === "llm" ? "No LLM was run with two workflows." : "No workflow was run with two LLMs."));
    return;
  }
  const { groups, hasEpisodes } = Report.data;
  const axes = groups.filter((group) => found.some((one) => one.axis === group.key)).sort((a, b) => (b.key === "all") - (a.key === "all"));
  const fixed = [...new Set(found.map((one) => one.fixed))];
  const name = (text, own) => (own ? text : by === "workflow" ? llmShort(text) : text);
  const lines = fixed.map((one) => [by === "llm" ? llmShort(one) : one, ...axes.map((axis) => suitedCell(found.find((cell) => cell.fixed === one && cell.axis === axis.key), name))]);
  fill("suited-table", Figures.scrolling("Who suits whom",
    Figures.table(by === "llm" ? "The best workflow for each LLM" : "The best LLM for each workflow", [by === "llm" ? "LLM" : by, ...axes.map(groupLabel)], lines, { quiet: true, class: "numbers suited" })));
  fill("suited-note", hasEpisodes
    ? "Percent. Bold: surely the best, ahead of every other by more than chance (paired by question, Holm's correction, 5 %). Otherwise those stand below that cannot be told apart from it."
    : "Percent, from published means: nobody can tell from them what is more than chance. Below stands who comes next, and how many points behind.");
}

function suitedCell(found, name) {
  if (!found) return "–";
  const tested = found.rivals.filter((rival) => rival.p !== null);
  const close = tested.filter((rival) => !rival.apart).map((rival) => name(rival.name));
  const next = found.rivals[0];
  let below = "";
  if (found.best.length > 1) below = "with the same mean";
  else if (found.apart) below = "surely";
  else if (close.length) below = `or ${listed(close, 2)}`;
  else if (next) below = `then ${name(next.name)}, ${points(found.mean - next.mean)} behind`;
  const best = found.best.map((one) => name(one)).join(", ");
  return { cell: element("span", { class: "best-of" }, element(found.apart ? "strong" : "span", {}, best), ` ${percent(found.mean)}`, element("small", {}, below)) };
}

// Each question answered by whichever system does best on it.
function drawUpperBound() {
  const { rows, hasEpisodes } = Report.data;
  const found = Report.data.bounds.find((bound) => bound.condition === Report.condition);
  if (!found || found.systems.length < 2) {
    fill("bound-lead", !hasEpisodes ? "This needs the score of every question. Published means have none."
      : found ? "There is only one ranked system, so there is nothing to choose from." : "Nothing is scored yet.");
    fill("bound-table");
    return;
  }
  const alone = [...found.systems].sort((a, b) => b.alone - a.alone)[0];
  fill("bound-lead", "Were each question answered by the system that does best on it, the average would be ",
    element("strong", {}, `${percent(found.mean)} %`), found.mean - alone.alone < 0.0005 ? `, no more than ${systemName(rows[alone.row])} has alone. No choice among these systems can do better.`
      : `, ${points(found.mean - alone.alone)} points above the best single one (${systemName(rows[alone.row])}). No choice among these systems can do better, and one that is made before the answers are known hardly does as well.`);
  const top = roundedTop(found.mean);
  const lines = found.systems.map((one, place) => {
    const bar = element("span", { class: "reach", "aria-hidden": "true" }, element("b"), element("i"));
    bar.firstChild.style.width = `${(100 * one.reached) / top}%`;
    bar.lastChild.style.left = `${(100 * one.alone) / top}%`;
    return [systemName(rows[one.row]), numeric(String(place + 1)), numeric(percent(one.alone)),
      numeric(percent(one.reached)), { cell: bar, class: "track" }, numeric(points(one.drop))];
  });
  fill("bound-table", Figures.scrolling("What each system adds", Figures.table("What each system adds to the best of all", ["system", numeric("place"),
    numeric("alone"), { ...numeric("reached"), title: "The best of this system and those above it" }, { cell: "", class: "track" }, numeric("lost without it")], lines, { quiet: true })),
    element("p", { class: "note" }, `Percent. The order is greedy: next comes the system that adds most to those above it; the bar is what they reach together, the line in it what the system has alone. Lost without it: what the best of all loses if this one alone is left out.${found.incomplete ? ` ${count(found.incomplete)} of ${plural(found.questions, "question")} have no score of some system; it counts 0 there.` : ""}`));
}

Views.add("matching", { title: "Matching", draw: drawMatching });
