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
  const facts = [systems ? plural(systems, "system") : null, tasks.length ? plural(tasks.length, "task") : null,
    hasEpisodes ? plural(episodes, "episode") : "published means, without episodes", times[times.length - 1]];
  fill("facts", ...facts.filter(Boolean).map((fact) => element("span", {}, fact)));
}

function drawFoot() {
  const files = new Map();
  for (const file of Report.data.tables) {
    const name = file.replace(/\.[^.]*$/, "");
    files.set(name, [...(files.get(name) || []), file]);
  }
  const link = (file) => element("a", { href: `tables/${encodeURIComponent(file)}`, "aria-label": file }, file.split(".").pop());
  const sets = [...files].map(([name, kinds]) => element("span", {}, name.replaceAll("_", " "), ...kinds.flatMap((file) => [" ", link(file)])));
  fill("foot", element("p", {}, "The same numbers as files:"), element("p", { class: "files" }, ...sets));
}

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
