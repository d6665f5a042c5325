// Every two systems: a matrix of differences, and one pair in detail, with links to the questions where they part.
"use strict";

const PAIR_COLOURS = { light: { more: "0 114 178", less: "213 94 0", most: 0.55 }, dark: { more: "86 180 233", less: "245 133 69", most: 0.42 } };

const Pairs = {
  // The two systems that are looked at: by the address, else the first two of the ranking.
  chosen({ rows }, params) {
    const by = (name) => rows.find((row) => row.system === name);
    const a = by(params.a) || rows.find((row) => row.system !== params.b);
    return [a, by(params.b) && by(params.b) !== a ? by(params.b) : rows.find((row) => row !== a)];
  },

  matrix(model, params) {
    const { rows, of, data } = model;
    if (rows.length < 2) return [];
    const byP = data !== null && params.show === "p";
    const [a, b] = Pairs.chosen(model, params);
    const most = Math.max(...rows.flatMap((one) => rows.map((other) => Math.abs((one !== other && of(one, other)?.difference) || 0))), 1e-9);
    const table = Pairs.table(model, { byP, most, a, b });
    const switches = data ? Figures.choices("What the matrix shows",
      Figures.toggle("pairs-difference", "difference in points", !byP, () => Views.change({ show: null }, true)),
      Figures.toggle("pairs-p", "p-value", byP, () => Views.change({ show: "p" }, true))) : null;
    return [element("h3", {}, "Every two systems"), switches, Figures.scrolling("Every two systems", table),
      element("p", { class: "note" }, byP ? "How likely such a difference is by chance. " : "Points by which the system of the line is ahead of that of the column. ", "A column has the number of its system's line. Blue: the line's is better; orange: it is worse. ",
        data ? "Strong colour and bold: they can be told apart (p below 0.05 after Holm's correction over all pairs). " : "", "Choose a cell to see the pair; arrow keys move between cells.")].filter(Boolean);
  },

  table({ rows, of, data }, { byP, most, a, b }) {
    const number = (place) => element("th", { scope: "col", title: rows[place].system, "aria-label": systemName(rows[place]) }, String(place + 1));
    const body = rows.map((row, place) => element("tr", {},
      element("th", { scope: "row", class: "system", title: row.system }, element("span", { class: "place" }, String(place + 1)), named(row)),
      ...rows.map((other, column) => {
        if (row === other) return element("td", { class: "same" }, "");
        const found = of(row, other);
        if (!found) return element("td", { title: "No question that both have a score for" }, "–");
        const button = Pairs.cell(row, other, found, { byP, most, whole: rows.length > 10, on: row === a && other === b });
        button.id = `pair-${place}-${column}`;
        return element("td", {}, button);
      })));
    const table = element("table", { class: "pairs" },
      element("caption", { class: "unseen" }, data ? "Differences of every two systems and whether they can be told apart" : "Differences of the published means of every two systems"),
      element("thead", {}, element("tr", {}, element("th", { scope: "col", class: "system" }, "system"), ...rows.map((_, place) => number(place)))),
      element("tbody", {}, ...body));
    table.addEventListener("keydown", Pairs.moved);
    return table;
  },

  cell(row, other, found, { byP, most, whole, on }) {
    const { difference, adjusted } = found;
    const apart = adjusted !== null && adjusted < 0.05;
    const rounded = whole ? Math.round(100 * Math.abs(difference)) : (100 * Math.abs(difference)).toFixed(1);
    const sign = Number(rounded) === 0 ? "" : difference > 0 ? "+" : "−";
    const said = `${systemName(row)} less ${systemName(other)}: ${signed(difference)} points${adjusted === null ? "" : `, p ${pText(adjusted)}, ${apart ? "told apart" : "not told apart"}`}`;
    const button = element("button", { type: "button", class: apart ? "apart" : adjusted === null ? "untested" : null, tabindex: on ? "0" : "-1", "aria-pressed": String(on), "aria-label": said, title: said, onclick: () => Views.change({ a: row.system, b: other.system }) },
      byP ? pValue(adjusted) : `${sign}${rounded}`);
    const colours = PAIR_COLOURS[theme()];
    const strength = (Math.abs(difference) / most) * colours.most * (apart || adjusted === null ? 1 : 0.3);
    button.style.background = `rgb(${difference > 0 ? colours.more : colours.less} / ${strength.toFixed(3)})`;
    return button;
  },

  // One stop for the tab key; the arrows move within the matrix.
  moved(event) {
    const by = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    const from = event.target.id?.match(/^pair-(\d+)-(\d+)$/);
    if (!by || !from) return;
    event.preventDefault();
    let [line, column] = [Number(from[1]) + by[0], Number(from[2]) + by[1]];
    if (line === column) [line, column] = [line + by[0], column + by[1]]; // over the diagonal
    const to = document.getElementById(`pair-${line}-${column}`);
    if (!to) return;
    event.target.tabIndex = -1;
    to.tabIndex = 0;
    to.focus();
  },

  detail(model, params) {
    const { rows, data } = model;
    if (rows.length < 2) return [];
    const [a, b] = Pairs.chosen(model, params);
    const options = (not) => rows.filter((row) => row !== not).map((row) => ({ value: row.system, label: systemName(row) }));
    const found = model.of(a, b);
    const choice = element("div", { class: "controls" },
      Figures.select("pair-a", "Compare", options(b), a.system, (name) => Views.change({ a: name, b: b.system })),
      Figures.select("pair-b", "with", options(a), b.system, (name) => Views.change({ a: a.system, b: name })));
    const parts = !found ? [element("p", {}, "There is no question that both have a score for.")] : data ? Pairs.said(model, a, b, found)
      : [element("p", {}, `${systemName(a)} is ${points(Math.abs(found.difference))} points ${found.difference < 0 ? "below" : "above"} ${systemName(b)} on average. Whether that is more than chance cannot be said from means alone.`)];
    return [element("h3", {}, "One pair"), choice, element("div", { class: "pair", "aria-live": "polite" }, ...parts)];
  },

  said({ condition, data }, a, b, found) {
    const apart = found.adjusted < data.alpha;
    const others = condition.pairs.length;
    const holm = others > 1 ? `p\u00a0${pText(found.adjusted)} after Holm's correction over ${plural(others, "pair")} (${pValue(found.p)} alone)` : `p\u00a0${pText(found.p)}`;
    const more = found.difference < 0 ? "less" : "more";
    const sentence = element("p", { class: "verdict" }, element("strong", {}, systemName(a)), ` scores ${points(Math.abs(found.difference))} points ${more} than `, element("strong", {}, systemName(b)),
      `; 95 % interval ${signed(found.low)} to ${signed(found.high)}. `, apart ? "They can be told apart: " : "They cannot be told apart: ", `${holm}.`);
    const basis = element("p", {}, `Over ${plural(found.questions, "question")} that both have a score for${found.clusters < found.questions ? `, ${count(found.clusters)} of them independent` : ""}: `
      + `${systemName(a)} scores higher on ${count(found.wins)}, lower on ${count(found.losses)}, the same on ${count(found.ties)}. `
      + `Such a pair shows a true difference of ${points(found.detectable)} points in 8 of 10 runs.`
      + (found.unpaired_a + found.unpaired_b ? ` Left out: ${plural(found.unpaired_a + found.unpaired_b, "question")} that only one of them has a score for.` : ""));
    const link = (text, further) => element("a", { href: Views.address("questions", { condition: conditionParam(), a: a.system, b: b.system, sort: "differ", ...further }) }, text);
    const number = (value) => numeric(value === null ? "–" : count(value));
    const square = Figures.table(`Questions answered (a score of at least ${data.match})`, ["", numeric(`${systemName(b)} right`), numeric("wrong")],
      [[`${systemName(a)} right`, number(found.both), number(found.only_a)], ["wrong", number(found.only_b), number(found.neither)]], { class: "numbers fourfold" });
    const parts = [sentence, basis, square, element("p", {}, link("The questions on which they differ most", {}))];
    if (found.tasks.length > 1) parts.push(Pairs.byTask(found.tasks, a, b, link));
    return parts;
  },

  byTask(tasks, a, b, link) {
    const lines = tasks.map((one) => [
      calm(one.task.name), numeric(count(one.questions)), numeric(signed(one.difference)),
      numeric(`${signed(one.low)} to ${signed(one.high)}`), { cell: pValue(one.adjusted), class: one.adjusted < 0.05 ? "number best" : "number" },
      numeric(count(one.only_a)), numeric(count(one.only_b)), link("questions", { task: one.task.name })]);
    const caption = `${systemName(a)} less ${systemName(b)} by task, points`;
    const heads = ["task", ...["questions", "difference", "95 % interval", "p (Holm, tasks)", "only the first right", "only the second right"].map(numeric), "where"];
    return Figures.scrolling(caption, Figures.table(caption, heads, lines));
  },
};

const signed = (share) => (share === null || share === undefined ? "–" : `${share > 0 ? "+" : ""}${points(share)}`);
const conditionParam = () => (Report.condition === Report.data.conditions[0] ? null : Report.condition);
