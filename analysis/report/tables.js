// A sortable table of texts.
"use strict";

const SOME = 15; // rows that are shown at first
const LONG = 12; // characters of a name that gets a wider column
const value = (text) => (text === "–" ? -Infinity : Number.parseFloat(text.replace("< ", "").replaceAll(",", "")));

// A sortable table of texts; null where no row belongs to the condition.
function tableBlock(data, condition, title) {
  const kept = data.condition < 0 ? data.rows
    : data.rows.filter((row) => row[data.condition] === CONDITIONS[condition]);
  if (!kept.length) return null;
  const columns = data.columns.map(([name, numeric], number) => ({ name, numeric, number })).filter(({ number }) =>
    number !== data.condition);
  const state = { sort: null, down: true, all: false };
  const id = `table-${data.name}`;
  const body = h("tbody");
  const heads = columns.map((column) => h("th", { scope: "col", class: column.numeric ? "number" : null },
    h("button", { type: "button", onclick: () => sort(column) }, column.name)));
  const more = h("button", { type: "button", onclick: () => { state.all = true; draw(); } });

  function sort(column) {
    state.down = state.sort === column ? !state.down : column.numeric;
    state.sort = column;
    draw();
  }

  function draw() {
    const rows = [...kept];
    if (state.sort) {
      const { number, numeric } = state.sort;
      rows.sort((one, other) => (state.down ? -1 : 1) * (numeric ? value(one[number]) - value(other[number])
        : one[number].localeCompare(other[number], "en")));
    }
    heads.forEach((head, place) => {
      head.removeAttribute("aria-sort");
      if (columns[place] === state.sort) head.setAttribute("aria-sort", state.down ? "descending" : "ascending");
    });
    body.replaceChildren(...rows.slice(0, state.all ? rows.length : SOME).map((row) => h("tr", {},
      columns.map((column, place) => cell(row[column.number], column, place, data)))));
    more.hidden = state.all || rows.length <= SOME;
    more.textContent = `Show all ${count(rows.length)} rows`;
  }

  draw();
  const links = data.file
    ? ["csv", "md", "tex"].map((kind) => h("a", { href: `tables/${encodeURIComponent(data.file)}.${kind}`,
    "aria-label": `${data.title}, ${kind}` }, kind.toUpperCase())) : [];
  return h("div", { class: "block" }, h("h3", { id, class: data.title === title ? "unseen" : null }, data.title),
    data.note ? h("p", { class: "note" }, data.note) : null,
    h("div", { class: "scroll", tabindex: "0", role: "region", "aria-labelledby": id },
      h("table", { class: "plain", "aria-labelledby": id }, h("thead", {}, h("tr", {}, heads)), body)),
    data.notes.map((note) => h("p", { class: "note" }, note)), h("div", { class: "links" }, more, links));
}

function cell(text, { numeric, number }, first, data) {
  const kind = first === 0 ? "th" : "td";
  const settings = { class: numeric ? "number" : text.length > LONG ? "long" : null, scope: first === 0 ? "row" : null };
  const system = !numeric && LABELS.get(text);
  if (system) return h(kind, { ...settings, title: text }, labelOf(system));
  const [mean, range] = numeric ? text.split(" [") : [text];
  const pieces = numeric ? [mean] : mean.split(/(?<=[/+_-])/).flatMap((piece) => [piece, h("wbr")]);
  return h(kind, settings, pieces, range ? h("span", { class: "range" }, `[${range}`) : null);
}
