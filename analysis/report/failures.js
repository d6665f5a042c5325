// What failed questions have in common: the share of right answers of one system, or of all, by what is known about the
// questions; and how episodes end by level and task.
"use strict";

const Failures = {
  parts(data, params) {
    if (!data) return [];
    const runs = data.errors.runs.filter((run) => run.separators.some(({ condition }) => condition === Report.condition));
    if (!runs.length) return [];
    const rows = rowsShown().filter((row) => row.recorded);
    const chosen = rows.find((row) => row.system === params.system) || null;
    const together = Math.max(0, runs.findIndex((run) => `all of ${run.name}` === params.system));
    const place = chosen ? Report.data.rows.indexOf(chosen) : null;
    const separators = (chosen ? runs : [runs[together]]).flatMap((run) => run.separators).filter((one) => one.row === place && one.condition === Report.condition);
    const options = [
      ...runs.map((run, number) => ({ value: number ? `all of ${run.name}` : "", label: runs.length > 1 ? `all systems of ${run.name}` : "all systems" })),
      ...rows.map((row) => ({ value: row.system, label: systemName(row) }))];
    const value = chosen ? chosen.system : options[together].value;
    return [
      element("h3", {}, "What failed questions have in common"),
      element("p", { class: "note" }, "The share of right answers (EM and AM) by what is known about a question. It says which questions are hard, not why, and the groups overlap."),
      element("div", { class: "controls" }, Figures.select("failures-system", "Of", options, value, (system) => Views.change({ system: system || null }, true))),
      element("div", { class: "separators" }, ...separators.map((one) => Failures.separator(one, data))),
      ...Failures.distributions(chosen ? runs : [runs[together]], place)];
  },

  separator(one, data) {
    const few = one.groups.some(([, , questions]) => questions < data.few);
    const lines = one.groups.map(([value, episodes, questions, right, low, high]) => [
      calm(value), numeric(percent(right)), { cell: rangeBar({ mean: right, low, high, n: episodes }), class: "wide" },
      { cell: count(questions), class: questions < data.few ? "number few" : "number" }, numeric(count(episodes))]);
    const name = data.errors.separators[one.name];
    const notes = [one.groups.length === 1 ? "One group alone, so there is nothing to compare." : "",
      one.spread === null ? "" : `The best and the worst group of ${data.errors.fewest} questions or more lie ${points(one.spread)} points apart.`,
      one.unknown ? `Not known of ${plural(one.unknown, "episode")}.` : "", few ? `Groups of fewer than ${data.few} questions are in italics.` : ""].filter(Boolean).join(" ");
    return element("div", { class: "separator" }, Figures.scrolling(name, Figures.table(`By ${name}`,
      ["", numeric("right, %"), { cell: "95 % interval", class: "wide" }, numeric("questions"), numeric("episodes")], lines)), notes ? element("p", { class: "note" }, notes) : null);
  },

  // Response types by level and by task, in percent; all systems together are the sum over the condition's.
  distributions(runs, place) {
    const shown = (one) => (place === null ? Report.data.rows[one.row].condition === Report.condition : one.row === place);
    const summed = (found, key) => {
      const sums = new Map();
      for (const one of found.filter(shown)) {
        const sum = sums.get(one[key]) || one.types.map(() => 0);
        sums.set(one[key], sum.map((number, type) => number + one.types[type]));
      }
      return [...sums];
    };
    const table = (caption, head, sums) => Figures.scrolling(caption, Figures.table(caption,
      [head, ...[...Report.data.types.map((type) => ({ cell: type.key, title: type.name, class: "number" })), numeric("episodes")]],
      sums.map(([name, types]) => {
        const all = added(types);
        return [calm(name), ...types.map((number) => numeric(percent(number / all))), numeric(count(all))];
      }), { class: `numbers by-${head}` }));
    const levels = summed(runs.flatMap((run) => run.levels), "level").filter(([level]) => level);
    const tasks = summed(runs.flatMap((run) => run.tasks), "task").map(([task, types]) => [Report.data.tasks[task].name, types]);
    return [
      levels.length ? table("Response types by level, percent of the episodes", "level", levels) : null,
      tasks.length ? Figures.folded("By task", table("Response types by task, percent of the episodes", "task", tasks)) : null].filter(Boolean);
  },
};
