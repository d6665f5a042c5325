// Beyond scores, the tables: what failures cost the episodes that met them, and every system against itself in the bare
// environment.
"use strict";

const BeyondTables = {
  signed: (share) => (share === null ? "–" : Math.abs(share) < 0.0005 ? "0.0" : `${share > 0 ? "+" : ""}${points(share)}`),
  difference: ([mean, low, high]) => (mean === null ? "–" : `${BeyondTables.signed(mean)} (${BeyondTables.signed(low)} to ${BeyondTables.signed(high)})`),

  // Episodes with a failure and those without, each beside the same questions in the bare environment.
  cost(lines, condition) {
    const group = (found) => [numeric(Shares.ends(found.score)), numeric(found.clean ? percent(found.clean.means[1]) : "–"), numeric(found.clean ? BeyondTables.difference(found.clean.difference) : "–"), numeric(count(found.episodes))];
    const rows = lines.flatMap((line) => ["met", "spared"].filter((name) => line[name].episodes).map((name) => [systemName(Report.data.rows[line.row]), name === "met" ? "with a failure" : "without", ...group(line[name])]));
    const heads = ["system", "episodes", ...["score", "clean", "difference", "n"].map(numeric)];
    return Figures.scrolling(`What failures cost, ${calm(condition)}`, Figures.table("Scores of episodes with a failed call and without, percent", heads, rows, { class: "numbers beyond-cost" }));
  },

  against(task) {
    if (!Report.data.beyond.against.length) return null;
    const lines = Beyond.lines("against", task);
    const rows = lines.map((line) => [line, Report.data.rows[line.row]]).map(([line, row]) => [systemName(row), calm(row.condition), numeric(BeyondTables.difference(line.difference)), numeric(percent(line.means[1])), numeric(percent(line.means[0])),
      numeric(count(line.questions)), numeric(pValue(line.p)), line.apart ? "yes" : "no"]);
    const heads = ["system", "condition", ...["difference", "clean", "under it", "questions", "p"].map(numeric), "more than chance"];
    return element("div", { class: "beyond-part" }, element("h3", {}, "Against clean"),
      element("p", { class: "lead" }, "The score under each condition less that of the same system in the bare environment, paired by question, in percent points with intervals of 95 %. Where values were replaced, the new answers count."),
      rows.length ? Figures.scrolling("Against clean", Figures.table("Against clean, percent", heads, rows, { quiet: true })) : element("p", { class: "note" }, "There is nothing of this task."),
      rows.length ? element("p", { class: "note" }, "p is the permutation test's: over all tasks with Holm's correction over the tool-using systems of a condition; on one task with that over the tasks of the system.") : null);
  },
};
