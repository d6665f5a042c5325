// Overview: what failed or is missing first, then who leads and how surely, the score table, and what was run.
"use strict";

function drawOverview(params) {
  drawLead();
  drawScoreTable(params);
  drawScoreNote();
  drawRuns();
}

// On every view what is missing is named; the overview says which episodes, and why.
function drawNotices(view) {
  const whole = view === "overview";
  const { rows, runs, scoring } = Report.data;
  const missing = rows.reduce((sum, row) => sum + overall(row).missing, 0);
  const expected = rows.reduce((sum, row) => sum + (overall(row).expected || 0), 0);
  const going = runs.filter((run) => run.state === "running");
  const notices = [];
  if (whole) notices.push(failureNotice());
  if (missing) {
    const about = element("p", {}, element("strong", {}, `${going.length ? "The run is not over" : "Incomplete"}: ${count(missing)} of ${plural(expected, "episode")} ${missing === 1 ? "is" : "are"} missing.`));
    if (whole) about.append(" ", `Means are over the ${count(expected - missing)} that are there; a mean that lacks some is marked *. `, going.length
      ? `This report was written while the run went on${when(going[0].updated) ? ` (its folder is of ${when(going[0].updated)})` : ""}; write it again to see more.`
      : "Running the same grid again adds the rest.");
    else about.append(" ", element("a", { href: Views.address("overview") }, "Which ones, and why"));
    notices.push(element("div", { class: "notice", role: "note" }, about, whole ? missingTable() : null));
  } else if (going.length) notices.push(element("div", { class: "notice", role: "note" }, "The run was not over when this report was written; every episode that it asks for is here."));
  for (const text of runs.flatMap((run) => run.budget)) {
    notices.push(element("div", { class: "notice", role: "note" }, `Stopped: ${text}. Raise it and run again to go on.`));
  }
  for (const text of Report.data.warnings.map(calm)) notices.push(element("div", { class: "notice", role: "note" }, `${text[0].toUpperCase()}${text.slice(1)}.`));
  if (scoring.length > 1) notices.push(element("div", { class: "notice", role: "note" }, "The runs were scored with different taxonomies or thresholds: their response types cannot be compared."));
  fill("notices", ...notices);
}

// Episodes that an LLM or an environment stopped: they say nothing about the system, and have no score.
function failureNotice() {
  const broken = Report.data.rows.flatMap((row) => row.failures.filter((failure) => failure.machinery).map((failure) => ({ row, ...failure })));
  if (!broken.length) return null;
  const stopped = broken.reduce((sum, failure) => sum + failure.episodes, 0);
  const lines = broken.sort((a, b) => b.episodes - a.episodes).map(({ row, task, outcome, cause, episodes }) => [
    row.system, ...conditionOf(row), task, whatFailed(outcome, cause), numeric(count(episodes))]);
  return element("div", { class: "notice failure", role: "note" },
    element("p", {}, element("strong", {}, `${plural(stopped, "episode")} failed through no fault of the system`),
      ": an LLM or an environment did not work, or the run was stopped. They have no score. Running the same grid again tries them again."),
    Figures.folded("Which episodes", Figures.scrolling("Failed episodes",
      Figures.table("Failed episodes by system and task", ["system", ...conditionHead(), "task", "what failed", numeric("episodes")], lines, { quiet: true }))));
}

// A column says the condition only where there are several.
const conditionHead = () => (Report.data.conditions.length > 1 ? ["condition"] : []);
const conditionOf = (row) => (Report.data.conditions.length > 1 ? [row.condition] : []);

function whatFailed(outcome, cause) {
  const told = (Details.OUTCOMES[outcome] || outcome).replace("stopped: ", "");
  return cause ? `${told}: ${cause.replaceAll("_", " ")}` : told;
}

function missingTable() {
  const lines = Report.data.rows.filter((row) => overall(row).missing).map((row) => {
    const { n, expected, missing } = overall(row);
    return [row.system, ...conditionOf(row), ...[missing, n, expected].map((number) => numeric(count(number)))];
  });
  const heads = ["system", ...conditionHead(), ...["missing", "scored", "asked for"].map(numeric)];
  return Figures.folded("By system", Figures.scrolling("Missing episodes", Figures.table("Missing episodes by system", heads, lines, { quiet: true })));
}

// The best system, and whether its lead is more than chance.
function drawLead() {
  const contenders = rowsShown().filter((row) => !row.reference && overall(row).mean !== null).sort((a, b) => overall(b).mean - overall(a).mean);
  if (!contenders.length) {
    fill("scores-lead", "Nothing is scored yet.");
    return;
  }
  const [best, next] = contenders;
  const unbeaten = Report.data.unbeaten[Report.condition];
  const { mean, low, high } = overall(best);
  const parts = [...(unbeaten ? [element("strong", {}, calm(unbeaten)), ". "] : []), "Highest average: ", element("strong", {}, systemName(best)), `, ${percent(mean)} %`,
    low === null ? "" : ` (95 % interval ${percent(low)} to ${percent(high)})`, ". "];
  if (!next) parts.push("It is the only ranked system, so there is nothing to compare it with.");
  else parts.push(...certainty(best, next));
  fill("scores-lead", ...parts);
}

function certainty(best, next) {
  const { rows, hasEpisodes } = Report.data;
  const behind = `${points(overall(best).mean - overall(next).mean)} points`;
  const found = standingOf(Report.condition);
  if (!found) {
    return [`${systemName(next)} follows, ${behind} behind. `, hasEpisodes
      ? "No two systems have all tasks, so they cannot be compared question by question."
      : "Only means were published, so nobody can tell from them whether the lead is more than chance."];
  }
  const first = rows[found.places[0].row];
  const prefix = first === best ? [] : [`Of those that have all tasks, `, element("strong", {}, systemName(first)), " is first. "];
  const near = found.lead.filter((rival) => !rival.apart).sort((a, b) => a.lead - b.lead);
  const nearest = [...found.lead].sort((a, b) => a.lead - b.lead)[0];
  if (!nearest) return [...prefix, "No two systems have a scored question in common yet."];
  const gap = `${systemName(rows[nearest.row])} comes closest, ${points(Math.abs(nearest.lead))} points ${nearest.lead < 0 ? "ahead" : "behind"} on the ${plural(nearest.questions, "question")} that both answered (95 % interval ${points(nearest.low)} to ${points(nearest.high)}, p\u00a0${pText(nearest.p)})`;
  const power = nearest.detectable === null || nearest.detectable > 0.5 ? " So few questions show almost nothing."
    : ` Questions like these, and as many, show a true difference of ${points(nearest.detectable)} points in 8 of 10 runs.`;
  if (!near.length) return [...prefix, element("strong", {}, "The lead is certain"), ` at 5 %: every other system is behind by more than chance. ${gap}.`];
  const names = listed(near.map((rival) => systemName(rows[rival.row])));
  const all = near.length === found.lead.length && near.length > 1 ? "any other system" : names;
  return [...prefix, element("strong", {}, "The lead is not certain"), `: ${systemName(first)} cannot be told apart from ${all}. ${gap}.${power}`];
}

const pText = (p) => (p < 0.001 ? "<\u00a00.001" : `=\u00a0${pValue(p)}`);
const standingOf = (condition) => Report.data.standing.find((found) => found.condition === condition);
const placeOf = (row) => standingOf(row.condition)?.places.find((place) => Report.data.rows[place.row] === row);

function drawScoreNote() {
  const { tasks, hasEpisodes } = Report.data;
  const metrics = [...new Set(tasks.map((task) => task.metric).filter(Boolean))];
  const found = standingOf(Report.condition);
  const notes = [`Percent${metrics.length ? `, ${metrics.join(", ")}` : ""}. Averages weigh every task the same.`];
  const of = (role) => rowsShown().filter((row) => row.role === role).map(systemName);
  if (rowsShown().length > 1) notes.push("Bold is the best of the ranked systems.");
  if (of("baseline").length) notes.push(`Baselines, which use no tools and are ranked: ${listed(of("baseline"))}.`);
  if (of("reference").length) notes.push(`References, in italics, see the gold and are not ranked: ${listed(of("reference"))}.`);
  if (found) notes.push("Systems that share a letter cannot be told apart (paired permutation tests on the questions that both answered, Holm's correction over all pairs, 5 %). Beside a rank stand the ranks that the system may truly have.");
  if (hasEpisodes && !found) notes.push("Ranks go by the mean alone.");
  fill("scores-note", notes.join(" "));
}

// What was run: the tasks, the runs with their versions, and what the LLMs took.
function drawRuns() {
  document.getElementById("ran-title").textContent = Report.data.hasEpisodes ? "What was run" : "What was measured";
  const { runs, tasks, rows, conditions, hasEpisodes, scoring } = Report.data;
  const questions = (place) => Math.max(0, ...rows.map((row) => row.tasks[place]?.questions ?? 0));
  const known = [["what it asks", (task) => task.title], ["domain", (task) => task.domain], ["level", (task) => task.level], ["metric", (task) => task.metric],
    ["questions", (_, place) => questions(place) && numeric(count(questions(place)))]].filter(([, of]) => tasks.some(of));
  const lines = tasks.map((task, place) => [
    hasEpisodes ? element("a", { href: Views.address("questions", { task: task.name }) }, task.name) : task.name, ...known.map(([, of]) => of(task, place) || "–")]);
  const heads = ["task", ...known.map(([name]) => ({ cell: name, class: name === "questions" ? "number" : null }))];
  const facts = runs.flatMap((run) => runFacts(run, runs.length > 1));
  if (conditions.length > 1) facts.push(["conditions", conditions.join(", ")]);
  if (scoring.length) facts.push(["response types", scoring.map(({ taxonomy, threshold }) => `${taxonomy}, an answer matches from a score of ${threshold}`).join("; ")]);
  const spent = spentTable(runs);
  const few = tasks.filter((_, place) => questions(place) > 0 && questions(place) < 30).length;
  fill("run-facts",
    Figures.scrolling("Tasks", Figures.table("Tasks", heads, lines, { quiet: true })),
    few ? element("p", { class: "note" }, `${few === tasks.length ? (few === 1 ? "The task has" : "Every task has") : `${plural(few, "task")} ${few === 1 ? "has" : "have"}`} fewer than 30 scored questions a system. Means over so few say little; the intervals say how little.`) : null,
    element("dl", { class: "facts-list" }, ...facts.flatMap(([name, text]) => [element("dt", {}, name), element("dd", {}, text)])),
    spent);
}

function runFacts(run, several) {
  const name = (text) => (several ? `${run.name}: ${text}` : text);
  if (run.published) return [[name("source"), "published means, read from a table; there are no episodes"]];
  const versions = Object.entries(run.versions || {}).map(([of, version]) => `${of} ${version}`).join(", ");
  const state = { running: "going on when the report was written", budget: "stopped at its budget" }[run.state] || run.state;
  return [["state", state], ["begun", when(run.created)], ["last written", when(run.updated)], ["seed", run.seed === null ? null : String(run.seed)],
    ["versions", versions]].filter(([, text]) => text).map(([of, text]) => [name(of), text]);
}

// A price that is not known is said to be so; it is never 0.
function spentTable(runs) {
  const lines = runs.flatMap((run) => Object.entries(run.spent || {}).map(([llm, use]) => [
    runs.length > 1 ? `${llm} (${run.name})` : llm, ...[count(use.calls), count(use.cached), count(use.tokens), seconds(use.seconds),
      use.cost === null ? "not known" : `${use.cost.toFixed(use.cost < 1 ? 4 : 2)} USD`].map(numeric)]));
  if (!lines.length) return null;
  const heads = ["LLM", ...["calls", "from the cache", "tokens", "seconds in calls", "cost"].map(numeric)];
  return Figures.scrolling("What the LLMs took", Figures.table("What the LLMs took", heads, lines));
}

Views.add("overview", { title: "Overview", draw: drawOverview });
