// The page: what is known of the run, what is missing from it, and the parts below.
"use strict";

function drawHead() {
  const { runs, rows, hasEpisodes, tasks } = Report.data;
  const title = runs.map((run) => run.name).join(", ");
  Report.title = `${title} · R-Eval`;
  fill("title", title);
  const systems = new Set(rows.map((row) => row.system)).size;
  const episodes = rows.reduce((sum, row) => sum + row.recorded, 0);
  const times = runs.map((run) => when(run.updated || run.created)).filter(Boolean);
  const facts = [plural(systems, "system"), plural(tasks.length, "task"),
    hasEpisodes ? plural(episodes, "episode") : "published means, without episodes", times[times.length - 1]];
  fill("facts", ...facts.filter(Boolean).map((fact) => element("span", {}, fact)));
}

function drawNotices() {
  const { rows, runs, scoring } = Report.data;
  const missing = rows.reduce((sum, row) => sum + overall(row).missing, 0);
  const expected = rows.reduce((sum, row) => sum + (overall(row).expected || 0), 0);
  const broken = rows.flatMap((row) => row.failures.filter((failure) => failure.machinery).map((failure) => ({ row, ...failure })));
  const stopped = broken.reduce((sum, failure) => sum + failure.episodes, 0);
  const notices = [];
  if (missing) {
    const why = [stopped && `${plural(stopped, "episode")} stopped by an LLM or an environment that failed`,
      missing > stopped && `${plural(missing - stopped, "episode")} not run yet`].filter(Boolean).join(", ");
    notices.push(element("div", { class: "notice", role: "note" },
      element("strong", {}, `Incomplete: ${count(missing)} of ${plural(expected, "episode")} have no score`), `, ${why}. `,
      "Means are over the rest and marked *; point at one to see the bounds that the missing ones leave. Running the same grid again tries them again.",
      broken.length ? failureList(broken) : null));
  }
  if (runs.some((run) => run.state === "running")) notices.push(element("div", { class: "notice" }, "This run was not over when the report was written."));
  for (const text of runs.flatMap((run) => run.budget)) {
    notices.push(element("div", { class: "notice" }, `Stopped: ${text}. Raise it and run again to go on.`));
  }
  if (scoring.length > 1) notices.push(element("div", { class: "notice" }, "The runs were scored with different taxonomies or thresholds: their response types cannot be compared."));
  fill("notices", ...notices);
}

function failureList(broken) {
  const lines = broken.sort((a, b) => b.episodes - a.episodes).map((failure) => element("tr", {},
    element("td", {}, failure.row.system), element("td", {}, failure.task),
    element("td", {}, failure.cause ? `${failure.outcome}: ${failure.cause}` : failure.outcome), element("td", { class: "number" }, String(failure.episodes))));
  const heads = ["system", "task", "what failed", "episodes"].map((text) => element("th", { scope: "col" }, text));
  return element("details", {}, element("summary", {}, "Which episodes"),
    element("table", {}, element("thead", {}, element("tr", {}, ...heads)), element("tbody", {}, ...lines)));
}

function drawLeads() {
  const contenders = rowsShown().filter((row) => !row.baseline && overall(row).mean !== null).sort((a, b) => overall(b).mean - overall(a).mean);
  if (!contenders.length) return;
  const [best, ...others] = contenders;
  const found = overall(best);
  const parts = ["Highest average: ", element("strong", {}, systemName(best)), `, ${percent(found.mean)} %`];
  if (found.low !== null) {
    parts.push(` (95 % interval ${percent(found.low)} to ${percent(found.high)})`);
    const close = others.filter((row) => overall(row).high !== null && overall(row).high >= found.low).length;
    if (close) parts.push(`. The ${close === 1 ? "interval of one other system overlaps" : `intervals of ${close} other systems overlap`} with it`);
  }
  fill("scores-lead", ...parts, ".");
  const metrics = [...new Set(Report.data.tasks.map((task) => task.metric).filter(Boolean))];
  const bounds = rowsShown().some((row) => row.baseline) ? " Bold is the best of the systems; those in italics are bounds: direct answers without tools, the oracle replays the gold programs." : "";
  fill("scores-note", `Percent${metrics.length ? `, ${metrics.join(", ")}` : ""}. Averages weigh every task the same.${bounds}`);
  const scored = Report.data.hasEpisodes ? "What the answers cost in time." : "";
  fill("deployment-lead", scored ? "Up is better, left is faster." : "");
}

function drawResponseNote() {
  const rows = rowsShown();
  const total = (key) => rows.reduce((sum, row) => sum + row[key], 0);
  document.getElementById("responses").hidden = total("recorded") === 0;
  const scoring = Report.data.scoring.map(({ taxonomy, threshold }) => `${taxonomy} taxonomy, an answer matches from a score of ${threshold}`).join("; ");
  const undecided = total("undecided");
  fill("responses-note", `${scoring ? `${scoring[0].toUpperCase()}${scoring.slice(1)}. ` : ""}`
    + (undecided ? `For ${count(undecided)} of ${plural(total("recorded"), "episode")} the evidence is undecided: a yes, no or small number is in any text by chance, and the question names no evidence. They count as not supported (AM or an error). ` : "")
    + (total("unparsed") ? `In ${plural(total("unparsed"), "episode")} no answer could be read out of the reply.` : ""));
}

function drawLegends() {
  const { llms, types } = Report.data;
  const swatch = (colour, kind = "") => { const node = element("span", { class: `swatch ${kind}` }); node.style.background = colour; return node; };
  const entries = {
    llms: () => llms.filter((llm) => llm.name !== "none").map((llm) => element("span", {}, swatch(llmColour(llm.name)), llm.name)),
    types: () => types.map((type) => element("span", {}, swatch(TYPE_COLOURS[theme()][type.key], "square"), `${type.key} ${type.name}`)),
  };
  for (const box of document.querySelectorAll("[data-legend]")) box.replaceChildren(...entries[box.dataset.legend]());
}

function drawFoot() {
  const { runs, tables } = Report.data;
  const links = tables.flatMap((name) => [" ", element("a", { href: `tables/${encodeURIComponent(name)}` }, name)]);
  const lines = runs.filter((run) => !run.published).map((run) => element("p", {},
    `${run.name}: begun ${when(run.created) || "–"}, seed ${run.seed ?? "–"}, ${Object.entries(run.versions || {}).map(([name, version]) => `${name} ${version}`).join(", ")}`));
  fill("foot", element("p", {}, "The same numbers as files:", ...links), ...lines);
}

Views.add("overview", { title: "Overview", draw: () => { drawLeads(); drawScoreTable(); } });
Views.add("matching", { title: "Matching", draw: () => { drawLegends(); drawRadars(); } });
Views.add("responses", { title: "Responses", draw: () => { drawLegends(); drawResponseNote(); drawResponses(); } });
Views.add("deployment", { title: "Deployment", draw: () => { drawLegends(); drawDeployment(); } });

drawHead();
drawNotices();
drawFoot();
Views.show();
window.addEventListener("hashchange", Views.show);
darkPaper.addEventListener("change", Views.show);
let resizing = null;
let lastWidth = window.innerWidth;
window.addEventListener("resize", () => {
  if (window.innerWidth === lastWidth) return;
  lastWidth = window.innerWidth;
  clearTimeout(resizing);
  resizing = setTimeout(Views.show, 200);
});
