// Responses: a stacked bar a system, and on choosing one the causes below its response types; what another match
// threshold would change. The two-ring chart is in rings.js. Chosen task, system, type and chart are in the address.
"use strict";

function drawResponsesView(params) {
  const rows = rowsShown().filter((row) => row.recorded);
  for (const id of ["causes", "thresholds"]) document.getElementById(id).hidden = !rows.length;
  if (!rows.length) {
    fill("responses-lead", Report.data.hasEpisodes ? "No episode is recorded yet." : "This needs episodes. Published means have none, so how their answers came about is not known.");
    for (const id of ["responses-controls", "responses-legend", "response-bars", "responses-numbers", "responses-retrieval", "responses-closed", "responses-note"]) fill(id);
    return;
  }
  const task = Shares.task(params);
  const chosen = rows.find((row) => row.system === params.system) || null;
  const type = Report.data.types.findIndex((known) => known.key === params.type);
  const ends = endsOf(rows, task);
  fill("responses-lead", "How the answers came about: whether what the tools returned holds the gold answer, and whether the answer matches it. Choose a bar, or a part of it, to see the causes.");
  drawResponseControls(task);
  drawBars(rows, ends, task, params);
  drawResponseNote(rows);
  Retrieval.draw(rows, task);
  ClosedBook.draw(rows, task);
  const together = ofSystems(rows);
  drawCauses({ rows, chosen, type, task, params, lines: (chosen ? [chosen] : together).flatMap((row) => ends.get(row)) });
  drawThresholds(rows, chosen, params);
}

// The lines [row, task, type, why, episodes] of each row, of one task or of all (-1).
function endsOf(rows, task) {
  const found = new Map(rows.map((row) => [row, []]));
  for (const line of Report.data.ends) {
    if (task < 0 || line[1] === task) found.get(Report.data.rows[line[0]])?.push(line);
  }
  return found;
}

// Baselines and references would hide how the systems fail; where there is nothing else, they count.
function ofSystems(rows) {
  const found = rows.filter((row) => row.role === "system");
  return found.length ? found : rows;
}

const EVERYBODY = "all systems together";
const typeCounts = (lines) => Report.data.types.map((_, type) => lines.reduce((sum, line) => sum + (line[2] === type ? line[4] : 0), 0));
const whyName = (word) => word.replaceAll("_", " ");

function drawResponseControls(task) {
  const options = [{ value: "", label: "all tasks" }, ...Report.data.tasks.map((known) => ({ value: known.name, label: known.name }))];
  fill("responses-controls", Figures.select("responses-task", "Task", options, task < 0 ? "" : Report.data.tasks[task].name, (name) => Views.change({ task: name }, true)));
  fill("responses-legend", ...Shares.legend(Report.data.types.map(({ key, name }) => [`${key} ${name}`, key])));
}

// A link within the view that moves on to the causes, where its effect is seen.
function toCauses(params, changes, settings, ...children) {
  const asked = { ...params, ...changes };
  return element("a", { href: Views.address("responses", asked), ...settings, onclick: (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
    event.preventDefault();
    Views.go("responses", asked);
    const title = document.getElementById("causes-title");
    title.focus({ preventScroll: true });
    title.scrollIntoView({ block: "nearest" });
  } }, ...children);
}

function drawBars(rows, ends, task, params) {
  const mean = (row) => (task < 0 ? overall(row) : row.tasks[task])?.mean ?? -1;
  const shown = rows.filter((row) => ends.get(row).length).sort((a, b) => mean(b) - mean(a));
  const lines = shown.map((row) => {
    const counts = typeCounts(ends.get(row));
    const all = added(counts);
    const parts = counts.map((number, place) => barPart(row, Report.data.types[place], number, all, params));
    return element("tr", { class: row.reference ? "reference" : null, "aria-current": row.system === params.system ? "true" : null },
      element("th", { scope: "row", title: row.system }, toCauses(params, { system: row.system, type: null }, {}, systemName(row))),
      element("td", { class: "bar" }, element("div", { class: "stack" }, ...parts)),
      element("td", { class: "number" }, count(all)));
  });
  const head = (cell, more) => element("th", { scope: "col", ...more }, cell);
  fill("response-bars", lines.length ? element("table", { class: "bars" }, element("caption", { class: "unseen" }, "Shares of the response types by system"),
    element("thead", {}, element("tr", {}, head("system"), head("share of episodes, percent"), head("n", { class: "number", title: "Episodes recorded" }))), element("tbody", {}, ...lines))
    : element("p", { class: "note" }, "No episode of this task is recorded."));
  const numbers = shown.map((row) => {
    const counts = typeCounts(ends.get(row));
    return [systemName(row), ...counts.map((number) => numeric(percent(number / added(counts)))), numeric(count(added(counts)))];
  });
  fill("responses-numbers", Figures.folded("The same numbers as a table", Figures.scrolling("Response types, percent",
    Figures.table("Response types, percent of the recorded episodes", ["system", ...[...Report.data.types.map((type) => type.key), "n"].map(numeric)], numbers))));
}

// The keyboard chooses types below; in the bars it would have to pass six parts a system.
function barPart(row, type, number, all, params) {
  if (!number) return null;
  const share = number / all;
  const told = `${systemName(row)}: ${type.key}, ${type.name}, ${count(number)} of ${plural(all, "episode")}, ${percent(share)} %`;
  const part = toCauses(params, { system: row.system, type: type.key }, { class: "part", title: told, "aria-label": told, tabindex: "-1" });
  return Shares.part(part, share, type.key);
}

function drawResponseNote(rows) {
  const total = (key) => added(rows.map((row) => row[key]));
  const rules = Report.data.scoring.map(({ taxonomy, threshold }) => `${taxonomy} taxonomy, an answer matches from a score of ${threshold}`).join("; ");
  const notes = [rules ? `${rules[0].toUpperCase()}${rules.slice(1)}.` : ""];
  if (total("undecided")) notes.push(`For ${count(total("undecided"))} of ${plural(total("recorded"), "episode")} the evidence is undecided: a yes, no or small number is in any text by chance, a long text in none, and the question names neither evidence nor documents. They count as not supported (AM or an error).`);
  if (total("unparsed")) notes.push(`In ${plural(total("unparsed"), "episode")} no answer could be read out of the reply.`);
  fill("responses-note", notes.join(" "));
}

// Why, by the episodes of one system (or of all), and links to the questions behind each number.
function drawCauses({ rows, chosen, type, task, params, lines }) {
  const { types, whys } = Report.data;
  const counts = typeCounts(lines);
  const all = added(counts);
  const systems = [{ value: "", label: EVERYBODY }, ...rows.map((row) => ({ value: row.system, label: row.system }))];
  const rings = params.rings === "yes";
  fill("causes-controls", Figures.select("causes-system", "System", systems, chosen ? chosen.system : "", (system) => Views.change({ system }, true)),
    Figures.toggle("causes-rings", "two-ring chart", rings, () => Views.change({ rings: rings ? null : "yes" }, true)));
  fill("causes-types", Figures.choices("Response type", Figures.toggle("causes-all", `all ${count(all)}`, type < 0, () => Views.change({ type: null }, true)),
    ...types.map((known, place) => Figures.toggle(`causes-${known.key}`, `${known.key} ${count(counts[place])}`, place === type, () => Views.change({ type: place === type ? null : known.key }, true), { title: known.name }))));
  fill("rings", rings && all ? ringsFigure(counts, chosen ? systemName(chosen) : "All systems together") : null);
  const sums = new Map();
  for (const [, , of, why, number] of lines) {
    if (type < 0 || of === type) sums.set(`${of} ${why}`, (sums.get(`${of} ${why}`) || 0) + number);
  }
  const found = [...sums].map(([key, number]) => { const [of, why] = key.split(" ").map(Number); return { type: types[of], why: whys[why], number }; }).sort((a, b) => b.number - a.number);
  const asked = { condition: params.condition, task: task < 0 ? null : Report.data.tasks[task].name, system: chosen?.system };
  const linesShown = found.map((one) => [{ cell: one.type.key, class: "short" }, one.why.key ? whyName(one.why.key) : "right",
    numeric(element("a", { href: Views.address("questions", { ...asked, type: one.type.key, why: one.why.key }), "aria-label": `${plural(one.number, "episode")}, ${one.type.key} ${whyName(one.why.key)}: see the questions` }, count(one.number))),
    numeric(one.number / all < 0.0005 ? "< 0.1" : percent(one.number / all)), { cell: one.why.text || "The answer matches.", class: "what" }]);
  fill("causes-table", linesShown.length ? Figures.scrolling("Causes", Figures.table(`Causes, ${chosen ? systemName(chosen) : EVERYBODY}`, ["type", "cause", numeric("episodes"), numeric("percent"), "what happened"], linesShown, { quiet: true }))
    : element("p", { class: "note" }, "No episode is of this type."));
}

// Of all systems the share of matching answers at each threshold; of a chosen one all six types.
function drawThresholds(rows, chosen, params) {
  const { types } = Report.data;
  const found = Report.data.sensitivity.filter((one) => rows.includes(Report.data.rows[one.row]));
  const number = (cell, kept) => numeric(kept && !(cell instanceof Node) ? element("strong", {}, cell) : cell);
  if (chosen) {
    const own = found.find((one) => Report.data.rows[one.row] === chosen);
    const lines = own.at.map((at, place) => {
      const kept = at === own.threshold;
      const shares = own.types[place].map((episodes) => episodes / own.episodes);
      return [kept ? element("strong", {}, `${at} (as scored)`) : String(at), number(percent(shares[0] + shares[1]), kept), ...shares.map((share) => number(percent(share), kept))];
    });
    fill("thresholds-table", Figures.scrolling("Response types by threshold", Figures.table(`Response types of ${systemName(chosen)} by threshold, percent`, ["a match from", number("matched"), ...types.map((type) => number(type.key))], lines)));
  } else {
    const thresholds = [...new Set(found.flatMap((one) => one.at))].sort((a, b) => a - b);
    const matched = (one, at) => (one.at.includes(at) ? percent((one.types[one.at.indexOf(at)][0] + one.types[one.at.indexOf(at)][1]) / one.episodes) : "–");
    const mean = (one) => overall(Report.data.rows[one.row]).mean ?? -1;
    const lines = [...found].sort((a, b) => mean(b) - mean(a)).map((one) => [
      element("a", { href: Views.address("responses", { ...params, system: Report.data.rows[one.row].system }) }, systemName(Report.data.rows[one.row])),
      ...thresholds.map((at) => number(matched(one, at), at === one.threshold))]);
    fill("thresholds-table", Figures.scrolling("Matching answers by threshold", Figures.table("Episodes whose answer matches (EM and AM) by threshold, percent", ["system", ...thresholds.map((at) => number(String(at)))], lines)));
  }
  fill("thresholds-note", "Over all tasks. Bold is the threshold that the types on this page rest on. A threshold only moves answers between matched and not: EM and GE share the supported ones, AM and the rest the others.");
}

Views.add("responses", { title: "Responses", draw: drawResponsesView });
