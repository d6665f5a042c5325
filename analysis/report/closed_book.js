// Closed book, in the view of the responses: how many of the AM answers (right, without evidence) the LLM gives without
// tools too. Shown only where the workflow `direct` ran with the same LLM.
"use strict";

const ClosedBook = {
  draw(rows, task) {
    const found = Beyond.lines("closed", task).map((line) => [Report.data.rows[line.row], line]).filter(([row, line]) => rows.includes(row) && line.am);
    const lines = found.map(([row, line]) => [systemName(row), numeric(Beyond.whole(line.am)), numeric(Beyond.whole(line.known)), numeric(percent(line.known / line.am))]);
    const sum = (key) => added(found.map(([, line]) => line[key]));
    fill("responses-closed", found.length ? Figures.folded(`AM: ${Beyond.whole(sum("known"))} of ${Beyond.whole(sum("am"))} such answers the LLM gives without tools too`,
      Figures.scrolling("AM without tools", Figures.table("AM answers, and those that the LLM alone gives too", ["system", ...["AM", "LLM alone too", "percent"].map(numeric)], lines)),
      element("p", { class: "note" }, "A right answer without evidence may have been remembered. Beside each system stands the workflow direct of the same LLM, which has no tools, on the same questions; those that direct was not asked are left out.")) : null);
  },
};
