// Beyond scores: knowledge read against knowledge remembered, what needs the domain, how steady answers are, and what
// agents do about calls that fail. A stacked bar a system, under all conditions at once. The task is in the address.
"use strict";

const Beyond = {
  // Colours are those of the response types, which are told apart by all eyes and on both papers.
  parts: {
    faithful: [["faithful", "EM"], ["leaked", "RE"], ["other", "ME"]],
    closed: [["needed", "EM"], ["knew", "AM"], ["lost", "TE"], ["neither", "ME"]],
    stability: [["all right", "EM"], ["partly", "GE"], ["all wrong", "TE"]],
    recovery: [["retried", "EM"], ["another call", "AM"], ["answered", "GE"], ["stopped", "TE"]],
  },

  known: () => Object.values(Report.data.beyond).some((lines) => lines.length),

  lines: (finding, task) => Shares.ofTask(Report.data.beyond[finding], task),

  // A number of questions: a mean over epochs need not be whole.
  whole: (number) => (Math.abs(number - Math.round(number)) < 1e-6 ? count(Math.round(number)) : number.toFixed(1)),

  draw(params) {
    const task = Shares.task(params);
    const used = new Set(Object.values(Report.data.beyond).flat().map((line) => line.task));
    const names = Report.data.tasks.filter((_, place) => used.has(place)).map((known) => ({ value: known.name, label: calm(known.name) }));
    const chosen = task < 0 ? "" : Report.data.tasks[task].name;
    fill("beyond-lead", "What a score does not say: whether the environment was used or the answer remembered, and what becomes of the systems when the environment is not as it was. All conditions are shown.");
    fill("beyond-controls", names.length > 1 ? Figures.select("beyond-task", "Task", [{ value: "", label: "all tasks" }, ...names], chosen, (name) => Views.change({ task: name }, true)) : null);
    const parts = [Beyond.faithful(task), Beyond.closed(task), Beyond.stability(task), Beyond.recovery(task), BeyondTables.against(task)].filter(Boolean);
    fill("beyond-parts", ...(parts.length ? parts : [element("p", { class: "note" }, "There is nothing of this task.")]));
  },

  faithful(task) {
    return Beyond.part("faithful", task, {
      title: "Knowledge used, knowledge remembered",
      lead: "Values that the answers rest on were replaced wherever the environment tells them. Faithful: the new answer, which can only be read there. Leaked: the old one, which can only be remembered. Other: neither, or both alike.",
      bars: "share of answers, percent", n: "answers", what: "of the answers",
      heads: ["incomplete", "dropped"], more: (line) => [count(line.incomplete), count(line.dropped)],
      note: "Where there are only two answers, such as yes and no, a wrong guess counts as leaked. Incomplete: episodes without an answer, for the machinery's sake or not run yet. Dropped: questions that could not be changed.",
    });
  },

  closed(task) {
    return Beyond.part("closed", task, {
      title: "What needs the domain",
      lead: "Each system beside its LLM alone (the workflow direct) on the same questions. Needed: the system is right, the LLM alone is not. Knew: both are right. Lost: the LLM alone is right, the system is not. Neither: both are wrong.",
      bars: "share of questions, percent", n: "questions", what: "of the questions",
      heads: ["right", "of these need the domain", "AM", "LLM alone too"], more: (line) => [Beyond.whole(line.right), Shares.ends(line.needs), Beyond.whole(line.am), Beyond.whole(line.known)],
      extra: ["needed of right, %", (line) => percent(line.needs[0])],
      note: "AM: right answers without evidence seen, and how many of them the LLM alone gives too.",
    });
  },

  stability(task) {
    return Beyond.part("stability", task, {
      title: "Stability over variants",
      lead: "A question asked in variants, the same words with other values. Who reads answers all of them alike; who is right now and then has read nothing, or has luck.",
      bars: "share of samples, percent", n: "samples", what: "of the samples",
      heads: ["flips", "left out"], more: (line) => [Shares.ends(line.flips), count(line.leftOut)],
      extra: ["flips, %", (line) => percent(line.flips[0])],
      note: "Flips: how often two variants of a sample, drawn at random, get different verdicts. Left out: samples with one variant, or with one that has no score. Over all tasks every sample weighs the same.",
    });
  },

  recovery(task) {
    return Beyond.part("recovery", task, {
      title: "When calls fail",
      lead: "What a system did after a call that failed for the moment, or whose result was cut off. Retried: the same call again. Another call: something else. Answered: no further call, but an answer. Stopped: neither.",
      bars: "share of failures, percent", n: "failures", what: "of the failures",
      heads: ["calls", "failed", "retries", "succeeded"], more: (line) => [count(line.calls), Shares.ends(line.failed), count(line.retries), line.retries ? Shares.ends(line.success) : "–"],
      extra: ["calls failed, %", (line) => percent(line.failed[0])],
      note: "A retry counts at any later step, and succeeded where the next same call did not fail. Longer episodes meet more failures, so those with one and those without are not alike; clean is the same system on the same questions in the bare environment, paired by question.",
      after: BeyondTables.cost,
    });
  },

  part(finding, task, say) {
    if (!Report.data.beyond[finding].length) return null;
    const groups = Beyond.byCondition(finding, task, (lines, condition) => [Beyond.bars(finding, lines, say, condition), Beyond.numbers(finding, lines, say, condition), say.after ? say.after(lines, condition) : null]);
    return element("div", { class: "beyond-part" }, element("h3", {}, say.title), element("p", { class: "lead" }, say.lead),
      groups.length ? element("div", { class: "legend" }, ...Shares.legend(Beyond.parts[finding])) : null, ...(groups.length ? groups : [element("p", { class: "note" }, "There is nothing of this task.")]),
      groups.length && say.note ? element("p", { class: "note" }, say.note) : null);
  },

  // What `make` gives for the lines of each condition, below its name where there are several conditions on the page.
  byCondition(finding, task, make) {
    const lines = Beyond.lines(finding, task);
    return Report.data.conditions.flatMap((condition) => {
      const own = lines.filter((line) => Report.data.rows[line.row].condition === condition && line.n);
      if (!own.length) return [];
      const parts = [make(own, condition)].flat().filter(Boolean);
      return Report.data.conditions.length > 1 ? [element("div", { class: "beyond-condition" }, element("h4", {}, calm(condition)), ...parts)] : parts;
    });
  },

  bars(finding, lines, say, condition) {
    const head = (cell, kind) => element("th", { scope: "col", class: kind }, cell);
    const sorted = [...lines].sort((a, b) => (b.parts[0][0] ?? -1) - (a.parts[0][0] ?? -1));
    return element("table", { class: "bars beyond-bars" }, element("caption", { class: "unseen" }, `${say.title}, ${calm(condition)}`),
      element("thead", {}, element("tr", {}, head("system"), head(say.bars), say.extra ? head(say.extra[0], "number extra") : null, head(say.n, "number"))),
      element("tbody", {}, ...sorted.map((line) => {
        const row = Report.data.rows[line.row];
        return element("tr", { class: row.reference ? "reference" : null }, element("th", { scope: "row", title: calm(row.system) }, systemName(row)),
          element("td", { class: "bar" }, Beyond.stack(finding, line, say)), say.extra ? element("td", { class: "number extra" }, say.extra[1](line)) : null, element("td", { class: "number" }, count(line.n)));
      })));
  },

  stack(finding, line, say) {
    const named = line.parts.map((part, place) => [...Beyond.parts[finding][place], part]);
    const told = named.map(([name, , part]) => `${name} ${Shares.ends(part)}`).join(", ");
    return element("div", { class: "stack", role: "img", "aria-label": `${told} percent ${say.what}` }, ...named.filter(([, , [mean]]) => mean).map(([name, key, part]) =>
      Shares.part(element("span", { class: "part", title: `${name}: ${Shares.ends(part)} % ${say.what}` }), part[0], key)));
  },

  numbers(finding, lines, say, condition) {
    const rows = lines.map((line) => [systemName(Report.data.rows[line.row]), numeric(count(line.n)), ...line.parts.map((part) => numeric(Shares.ends(part))), ...say.more(line).map(numeric)]);
    const heads = ["system", ...[say.n, ...Beyond.parts[finding].map(([name]) => name), ...say.heads].map(numeric)];
    const name = `${say.title}, ${calm(condition)}`;
    return Beyond.folded(`${finding} ${condition}`, "The same numbers with their intervals", Figures.scrolling(name, Figures.table(`${name}: percent, with intervals of 95 %`, heads, rows, { quiet: true })));
  },

  // As `Figures.folded`, for several with the same words on one view.
  folded(key, summary, ...children) {
    const node = Figures.folded(`${summary} ${key}`, ...children);
    node.querySelector("summary").textContent = summary;
    return node;
  },
};

Views.add("beyond", { title: "Beyond scores", every: true, hidden: () => !Beyond.known(), draw: Beyond.draw });
