// What views of shares have in common: shares with their intervals, stacked bars and their colours, and findings that
// are kept by task.
"use strict";

const typeColour = (key) => TYPE_COLOURS[theme()][key];
// Dark on the light colours, so that numbers on them can be read.
const typeInk = (key) => (["AM", "GE", "RE", "ME"].includes(key) || (key === "EM" && theme() === "dark") ? "#1c2126" : "#ffffff");
const added = (numbers) => numbers.reduce((sum, number) => sum + number, 0);

const Shares = {
  // A share with the ends of its interval, percent.
  ends: ([mean, low, high]) => (low === null ? percent(mean) : `${percent(mean)} (${percent(low)}–${percent(high)})`),

  // The place of the task that the address names; -1 for all of them.
  task: (params) => Report.data.tasks.findIndex((known) => known.name === params.task),

  // Of lines by row and task, those of one task, or over all of them (-1); a system with a single task has no line over
  // several.
  ofTask(lines, task) {
    const found = new Map();
    for (const line of lines) {
      if (task < 0 ? line.task < 0 || !found.has(line.row) : line.task === task) found.set(line.row, line);
    }
    return [...found.values()];
  },

  // What the parts of the bars are: their names beside their colours. named: [text, key of the colour].
  legend: (named) => named.map(([text, key]) => {
    const swatch = element("span", { class: "swatch square" });
    swatch.style.background = typeColour(key);
    return element("span", {}, swatch, text);
  }),

  // A part of a stacked bar, as wide as its share, with the number where there is room.
  part(node, share, key) {
    if (share >= 0.05) node.append(element("span", { class: share < 0.18 ? "roomy" : null }, percent(share)));
    node.style.width = `${100 * share}%`;
    node.style.background = typeColour(key);
    node.style.color = typeInk(key);
    return node;
  },
};
