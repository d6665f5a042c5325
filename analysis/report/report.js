// The page: its head and foot, and the beginning of it all; the parts are in files of their own.
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

Views.add("deployment", { title: "Deployment", draw: () => { drawLegends(); drawDeployment(); } });

drawHead();
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
