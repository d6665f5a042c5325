// Statistics: what the sample can show, the ranking with what it cannot tell apart, all pairs, several tries at the same
// questions, and what failed questions have in common.
"use strict";

const Statistics = {
  async draw(params) {
    const { hasEpisodes } = Report.data;
    const data = hasEpisodes ? await Data.load("statistics") : null;
    if (Views.current().name !== "statistics") return;
    const model = Statistics.model(data);
    redraw("statistics-body",
      ...Statistics.sample(model),
      ...Statistics.ranking(model),
      ...Pairs.matrix(model, params),
      ...Pairs.detail(model, params),
      ...Statistics.epochs(data),
      ...Failures.parts(data, params));
  },

  // The systems that are compared under the condition, best first, and what is known of each two of them.
  model(data) {
    const contenders = rowsShown().filter((row) => !row.reference && overall(row).mean !== null);
    if (!data) {
      const rows = contenders.sort((a, b) => overall(b).mean - overall(a).mean);
      return { data, condition: null, rows, compared: rows, apart: [], of: (a, b) => ({ difference: overall(a).mean - overall(b).mean, p: null, adjusted: null }) };
    }
    const condition = data.conditions.find(({ name }) => name === Report.condition) || null;
    const rows = condition ? condition.ranking.map(({ row }) => Report.data.rows[row]) : [];
    const numbered = new Map((condition?.pairs ?? []).map((pair) => [`${pair.a} ${pair.b}`, pair]));
    const place = (row) => Report.data.rows.indexOf(row);
    const of = (a, b) => {
      const straight = numbered.get(`${place(a)} ${place(b)}`);
      const turned = numbered.get(`${place(b)} ${place(a)}`);
      if (!straight && !turned) return null;
      const read = (values) => oriented(Object.fromEntries(data.fields.map((field, number) => [field, values[number]])), Boolean(turned));
      const pair = straight || turned;
      return { ...read(pair.all), tasks: pair.tasks.map(([task, ...values]) => ({ task: Report.data.tasks[task], ...read(values) })) };
    };
    return { data, condition, rows, of, left: contenders.filter((row) => !rows.includes(row)) };
  },

  sample({ data, condition, rows, of, left }) {
    if (!data) return [element("p", { class: "lead" }, "These are published means. Whether two systems can be told apart, and what failed questions have in common, takes the score of every question, which is not there. Below are the plain differences of the means.")];
    if (!condition) return [element("p", { class: "lead" }, "No system has scores on every task yet, so none is ranked or compared.")];
    const questions = condition.tasks.reduce((sum, task) => sum + task.questions, 0);
    const clusters = condition.tasks.reduce((sum, task) => sum + task.clusters, 0);
    const smallest = rows.flatMap((a, place) => rows.slice(place + 1).map((b) => of(a, b)?.detectable)).filter((found) => typeof found === "number").sort((a, b) => a - b);
    const parts = [`${plural(questions, "question")} of ${plural(condition.tasks.length, "task")}`,
      clusters < questions ? `, of which ${count(clusters)} count as independent (others share a template or a document with them)` : "",
      ". Systems are compared question by question. "];
    if (smallest.length) {
      const [least, most] = [smallest[0], smallest[smallest.length - 1]].map(points);
      parts.push("The smallest true difference that a sample like this shows in 8 of 10 runs is ", element("strong", {}, least === most ? `${least} points` : `${least} to ${most} points`),
        least === most ? "." : ", depending on the pair.", " Smaller ones mostly stay hidden.");
    }
    const few = condition.tasks.filter((task) => task.questions < data.few).map((task) => `${calm(Report.data.tasks[task.task].name)} (${task.questions})`);
    return [
      element("p", { class: "lead" }, ...parts),
      few.length ? element("div", { class: "notice", role: "note" }, element("strong", {}, `Fewer than ${data.few} questions: `), `${listed(few, 6)}. Means over so few say little, and only large differences can be told from chance.`) : null,
      data.reworded ? element("p", { class: "note" }, `${plural(data.reworded, "question")} that the runs ask in other words ${data.reworded === 1 ? "is" : "are"} left out of the comparisons.`) : null,
      left.length ? element("p", { class: "note" }, `Neither ranked nor compared, since a task lacks scores: ${left.map((row) => calm(row.system)).join(", ")}.`) : null,
    ].filter(Boolean);
  },

  ranking({ condition, rows }) {
    if (!condition || rows.length < 2) return rows.length === 1 ? [element("p", { class: "note" }, `${systemName(rows[0])} is the only system here: there is nothing to compare it with.`)] : [];
    const letters = [...new Set(condition.ranking.flatMap(({ groups }) => groups.match(/[a-z]\d*/g) || []))];
    const lines = condition.ranking.map(({ row, rank, highest, lowest, groups }) => {
      const own = new Set(groups.match(/[a-z]\d*/g));
      const found = overall(Report.data.rows[row]);
      return [
        { cell: named(Report.data.rows[row]), class: "system", title: Report.data.rows[row].system },
        numeric(String(rank)), numeric(percent(found.mean)), { cell: rangeBar(found), class: "wide" },
        numeric(highest === lowest ? String(highest) : `${highest} to ${lowest}`),
        element("span", { class: "letters" }, ...letters.map((letter) => element("span", own.has(letter) ? { class: "on" } : { "aria-hidden": "true" }, own.has(letter) ? letter : "·")))];
    });
    const caption = "Ranking by the average score, with what it cannot tell apart";
    return [element("h3", {}, "Ranking"), Figures.scrolling(caption, Figures.table(caption,
      [{ cell: "system", class: "system" }, numeric("rank"), numeric("average, %"), { cell: "95 % interval", class: "wide" }, numeric("rank may be"), "groups"], lines, { quiet: true })),
    element("p", { class: "note" }, "Systems of one letter are neighbours of which no two can be told apart. What a rank may truly be: behind those that are surely better, before those that are surely worse (permutation test, Holm's correction over all pairs, 5 %).")];
  },

  // Several tries at each question: at least one right, all right.
  epochs(data) {
    const found = (data?.epochs ?? []).filter(({ row }) => Report.data.rows[row].condition === Report.condition);
    if (!found.length) return data ? [element("h3", {}, "Several tries"), element("p", { class: "note" }, "Every question was tried once, so nothing can be said of pass@k and pass^k. A grid with epochs above 1 tries each again.")] : [];
    const ks = [...new Set(found.flatMap(({ passes }) => passes.map(({ k }) => k)))].sort((a, b) => a - b);
    const cell = (values) => ({ cell: values ? percent(values[0]) : "–", class: "number", title: values && values[1] !== null ? `95 % interval ${percent(values[1])} to ${percent(values[2])}` : null });
    const heads = ks.flatMap((k) => (k === 1 ? ["pass@1"] : [`pass@${k}`, `pass^${k}`]));
    const lines = found.map(({ row, passes }) => {
      const by = new Map(passes.map((pass) => [pass.k, pass]));
      const short = passes[passes.length - 1].short;
      return [{ cell: named(Report.data.rows[row]), class: "system" }, ...ks.flatMap((k) => (k === 1 ? [cell(by.get(k)?.at)] : [cell(by.get(k)?.at), cell(by.get(k)?.all)])),
        numeric(count(passes[passes.length - 1].questions)), numeric(short ? count(short) : "–")];
    });
    const caption = "Chance in percent that at least one of k tries is right (pass@k), and that all are (pass^k)";
    return [element("h3", {}, "Several tries"), Figures.scrolling(caption, Figures.table(caption,
      [{ cell: "system", class: "system" }, ...[...heads, `questions of ${ks[ks.length - 1]} tries`, "of fewer"].map(numeric)], lines)),
    element("p", { class: "note" }, `Right is a score of at least ${data.match}. Averages weigh every task the same; questions with fewer than k scored tries are left out of that k.`)];
  },
};

// A comparison seen from its other side.
function oriented(found, turned) {
  if (!turned) return found;
  const minus = (value) => (value === null ? null : -value);
  return {
    ...found, difference: minus(found.difference), low: minus(found.high), high: minus(found.low), only_a: found.only_b, only_b: found.only_a,
    wins: found.losses, losses: found.wins, unpaired_a: found.unpaired_b, unpaired_b: found.unpaired_a,
  };
}

function named(row) {
  const swatch = element("span", { class: "swatch" });
  swatch.style.background = llmColour(row.llm);
  return element("span", {}, swatch, systemName(row));
}

Views.add("statistics", { title: "Statistics", draw: Statistics.draw });
