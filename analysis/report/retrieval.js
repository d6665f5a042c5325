// Retrieval, in the view of the responses: how well the searches of each system did, and whether its wrong answers failed
// in retrieval or in generation. Shown only where the right documents or the evidence of some question are known.
"use strict";

const Retrieval = {
  // The line of each row: of one task, or over all of them (-1).
  lines(rows, task) {
    const found = new Map(Shares.ofTask(Report.data.retrieval.lines, task).map((line) => [Report.data.rows[line.row], line]));
    return rows.filter((row) => found.has(row)).map((row) => [row, found.get(row)]);
  },

  draw(rows, task) {
    const found = Retrieval.lines(rows, task);
    const failures = (failed, line) => numeric(line.wrong ? `${count(failed)} (${percent(failed / line.wrong)} %)` : "0");
    const heads = ["system", ...[...Report.data.retrieval.metrics, "n", "wrong", "retrieval", "generation", "other"].map(numeric)];
    const lines = found.map(([row, line]) => [systemName(row), ...line.metrics.map((metric) => numeric(Shares.ends(metric))), numeric(count(line.n)), numeric(count(line.wrong)),
      failures(line.retrieval, line), failures(line.generation, line), failures(line.other, line)]);
    fill("responses-retrieval", found.length ? Figures.folded("Retrieval: what was found, and where wrong answers failed",
      Figures.scrolling("Retrieval", Figures.table("Retrieval, percent, and where wrong answers failed", heads, lines)),
      element("p", { class: "note" }, "Of the scored episodes whose right documents or evidence are known (n), with intervals of 95 %. A wrong answer failed in retrieval where not all that is right was found, and in generation where all of it was seen and something else was answered; other ones misused tools, or did not see the evidence in the right documents.")) : null);
  },
};
