// The results: the first sentence, the three numbers, the score table.
"use strict";

function showResults(params, condition) {
  const rows = P.board.rows.filter((row) => row.condition === condition && row.all);
  const summary = P.summary[condition];
  fill("lead", summary.lead);
  fill("cards", cards(rows, summary, params));
  showBoard(rows, params);
}

const ranked = (rows) => rows.filter((row) => SYSTEMS[row.system].role !== "reference");
const byScore = (one, other) => other.all[0] - one.all[0];
const interval = ([, low, high]) => (low === null ? null : `95 % interval ${percent(low)} to ${percent(high)}`);

function cards(rows, summary, params) {
  const own = ranked(rows).filter((row) => row.rank[0] !== null); // the others lack a task, as in the sentence above
  const [first] = [...own].sort(byScore);
  const nodes = first ? [h("div", { class: "card" }, h("h2", {}, "Best system"),
    ...numberOf(first, [interval(first.all), first.seconds === null ? null
    : `${seconds(first.seconds)} per question`]))] : [];
  const key = own.some((row) => row.seconds !== null) ? "seconds" : own.some((row) => row.cost !== null) ? "cost"
    : null;
  if (key && own.length > 1) nodes.push(budget(own, key, params));
  if (summary.cause) {
    const [cause, episodes, all] = summary.cause;
    nodes.push(h("div", { class: "card" }, h("h2", {}, "Commonest cause of failure"), h("p", { class: "big words" },
      sentence(spaced(cause))), h("p", { class: "name" }, CAUSES.get(cause) || ""),
      h("p", {}, `${count(episodes)} of ${plural(all, "failed episode")} of tool-using systems · `,
        h("a", { href: address("errors", { c: place().condition, cause }) }, "show them"))));
  }
  return nodes;
}

const sentence = (text) => text.charAt(0).toUpperCase() + text.slice(1);
const numberOf = (row, notes) => [h("p", { class: "big" }, `${percent(row.all[0])} %`), h("p", { class: "name" },
  swatch(SYSTEMS[row.system].colour), SYSTEMS[row.system].label), h("p", {}, notes.filter(Boolean).join(" · "))];

// The best system within a limit on the mean per question; at first the limit is the median of those that score.
function budget(rows, key, params) {
  const ordered = (some) => some.map((row) => row[key]).filter((one) => one !== null).sort((one, other) => one - other);
  const values = ordered(rows), scoring = ordered(rows.filter((row) => row.all[0] > 0));
  const limit = params.limit && Number(params.limit) >= 0 ? Number(params.limit)
    : roundedUp(scoring.length ? scoring[Math.floor((scoring.length - 1) / 2)] : values[0]);
  const fitting = rows.filter((row) => row[key] !== null && row[key] <= limit && row.all[0] > 0);
  const [found] = fitting.sort((one, other) => byScore(one, other) || one[key] - other[key]);
  const unit = key === "seconds" ? "s" : "USD";
  const input = h("input", { id: "limit", type: "number", min: "0", step: "any", value: String(limit),
    "aria-label": `Limit in ${unit} per question`, onchange: (event) => change({ limit: event.target.value },
    true) });
  const amount = found && (key === "seconds" ? seconds(found.seconds) : `${digits(found.cost)} USD`);
  return h("div", { class: "card" }, h("h2", {}, "Best within ", input, ` ${unit} per question`),
    found ? numberOf(found, [interval(found.all), `${amount} per question`])
      : [h("p", { class: "big words" }, "No system"), h("p", {}, values[0] <= limit ? "Every system within it scores 0."
        : `The ${key === "seconds" ? "fastest" : "cheapest"} takes ${digits(values[0])} ${unit}.`)]);
}

// To two digits, never below the value, so that the system that has it is within the limit.
function roundedUp(value) {
  if (!(value > 0)) return 0;
  const unit = 10 ** (Math.floor(Math.log10(value)) - 1);
  return Number((Math.ceil(value / unit - 1e-9) * unit).toPrecision(2));
}

function boardColumns(rows) {
  const columns = [{ key: "system", label: "system" }, { key: "rank", label: "rank", value: (row) => row.rank[0] },
    { key: "mean", label: "score", kind: "mean", value: (row) => row.all[0] }];
  if (rows.some((row) => row.all[1] !== null)) columns.push({ key: "interval", label: "95 % interval",
    value: (row) => row.all[1] });
  if (rows.some((row) => row.all[3])) columns.push({ key: "episodes", label: "episodes",
    value: (row) => row.all[3] });
  P.board.domains.forEach((domain, number) => {
    const tasks = TASKS.flatMap((task, place) => (task.domain === domain ? [place] : []));
    for (const task of tasks) columns.push({ key: `t${task}`, domain, label: TASKS[task].short,
      level: TASKS[task].level, title: TASKS[task].title, estimate: (row) => row.tasks[task],
      value: (row) => row.tasks[task]?.[0] ?? null });
    if (P.board.domains.length > 1 && tasks.length > 1) columns.push({ key: `d${number}`, domain, label: "mean",
      kind: "average", value: (row) => row.domains[number] });
  });
  return columns;
}

function showBoard(rows, params) {
  const columns = boardColumns(rows);
  const sorted = columns.find((column) => column.key === params.sort)
    || columns.find((column) => column.key === "mean");
  const rises = sorted.key === "system" || sorted.key === "rank";
  const up = rises !== (params.order === "reversed");
  const compare = (one, other) => (sorted.key === "system"
    ? SYSTEMS[one.system].label.localeCompare(SYSTEMS[other.system].label, "en")
    : (sorted.value(one) ?? (rises ? Infinity : -1)) - (sorted.value(other) ?? (rises ? Infinity : -1)));
  const order = (some) => [...some].sort((one, other) => (up ? 1 : -1) * compare(one, other));
  const own = ranked(rows);
  const tops = new Map(columns.filter((column) => column.value).map((column) => [column.key,
    Math.max(0, ...own.map((row) => column.value(row) ?? 0))]));
  const heat = Math.max(0.01, ...columns.filter((column) => column.estimate).map((column) => tops.get(column.key)));
  const references = order(rows.filter((row) => !own.includes(row)));
  const groups = [{ name: "", width: 1 },
    { name: "all tasks", width: columns.filter((column) => !column.domain).length - 1 },
    ...P.board.domains.map((name) => ({ name, width: columns.filter((column) => column.domain === name).length }))];
  const head = (column) => h("th", { scope: "col", class: column.key === "system" ? "system" : column.kind,
    title: column.title || null, "aria-sort": column === sorted ? (up ? "ascending" : "descending") : null },
    h("button", { type: "button", id: `sort-${column.key}`,
      onclick: () => change({ sort: column.key, order: column === sorted && params.order !== "reversed" ? "reversed"
      : null }, true) }, column.label), column.level ? h("small", {}, column.level) : null);
  fill("board", h("thead", {}, h("tr", { class: "domains" }, groups.filter((group) => group.width).map((group) =>
    h("th", { colspan: String(group.width), scope: "colgroup", class: group.name ? null : "system" }, group.name
    ? h("span", {}, group.name) : null))), h("tr", {}, columns.map(head))),
    h("tbody", {}, [...order(own), ...references].map((row) => boardRow(row, columns,
      { tops, heat, divider: own.length && row === references[0] }))));
  const notes = ["Percent. The score is the mean over tasks."];
  if (rows.some((row) => row.rank[1] !== null
    && row.rank[1] !== row.rank[2])) notes.push("The range next to a rank shows which ranks are statistically possible.");
  if (columns.some((column) => column.estimate
    && rows.some((row) => column.estimate(row)?.[4]))) notes.push("* Episodes are missing.");
  if (references.length) notes.push("References see the gold answers and are not ranked.");
  const levels = new Set(TASKS.map((task) => task.level));
  if (levels.has("KS") || levels.has("KU")
    || levels.has("KA")) notes.push("KS: knowledge seeking, KU: knowledge understanding, KA: knowledge application.");
  fill("board-note", notes.join(" "));
}

function boardRow(row, columns, { tops, heat, divider }) {
  const system = SYSTEMS[row.system];
  const reference = system.role === "reference";
  const cells = columns.map((column) => {
    if (column.key === "system") return h("th", { class: "system", scope: "row", title: system.name },
      labelOf(system), system.role === "system" ? null : h("small", {}, system.role));
    if (column.key === "rank") return h("td", {}, row.rank[0] === null ? "–" : String(row.rank[0]),
      row.rank[1] !== null && row.rank[1] !== row.rank[2] ? h("small", {}, ` ${row.rank[1]}–${row.rank[2]}`) : null);
    if (column.key === "interval") return h("td", {}, rangeOf(row.all));
    if (column.key === "episodes") return h("td", {}, row.all[4]
      ? `${count(row.all[3])} of ${count(row.all[3] + row.all[4])}` : count(row.all[3] ?? 0));
    const score = column.value(row);
    const top = !reference && score > 0 && score === tops.get(column.key);
    const estimate = column.estimate?.(row);
    const node = h("td", { class: [column.estimate && score !== null && "heat", column.kind, top
      && "best"].filter(Boolean).join(" ") || null, title: estimate ? [interval(estimate), estimate[3]
      && plural(estimate[3], "episode"), estimate[4] && `${estimate[4]} missing`].filter(Boolean).join(", ") : null },
      percent(score), estimate?.[4] ? "*" : null);
    if (column.estimate && score !== null) node.style.setProperty("--v", String(Math.min(1, score / heat)));
    return node;
  });
  return h("tr", { class: [reference && "reference", divider && "divider"].filter(Boolean).join(" ") || null },
    cells);
}

function rangeOf([mean, low, high]) {
  if (low === null) return "–";
  const [band, mark] = [h("b"), h("u")];
  band.style.left = `${100 * low}%`;
  band.style.width = `${100 * (high - low)}%`;
  mark.style.left = `${100 * mean}%`;
  return h("span", { class: "interval" }, h("span", { class: "range", "aria-hidden": "true" }, h("i"), band, mark),
    `${percent(low)} – ${percent(high)}`);
}
