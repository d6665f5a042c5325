// The leaderboard: one table, of the last n versions, sorted by any column, and radars of the rows that are chosen in it.
// Every text is set as text.
"use strict";

(() => {
  const data = window.R_EVAL.leaderboard;
  const all = data.versions.length;
  const state = { last: all, actual: false, condition: data.conditions[0], types: false, column: "rank", descending: false, slots: null };

  // A name with the characters that are not seen, or turn the direction of what stands around it, as their numbers.
  const calm = (text) => text.replace(/(?![\u200c\u200d])[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/gu, (char) => `[U+${char.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}]`);
  const percent = (share) => (share === null || share === undefined ? "–" : (100 * share).toFixed(2));
  const types = data.types.map(calm);

  function element(tag, settings = {}, ...children) {
    const node = document.createElement(tag);
    for (const [key, value] of Object.entries(settings)) {
      if (value === null || value === false) continue;
      if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
      else node.setAttribute(key, value === true ? "" : value);
    }
    node.append(...children.filter((child) => child !== null));
    return node;
  }

  function fill(id, ...children) {
    document.getElementById(id).replaceChildren(...children.filter((child) => child !== null));
  }

  // A row is the same one on every board that has its system and pipeline.
  const named = (row) => JSON.stringify([row.condition, row.system, row.retriever, row.top_k]);

  const number = (key, label, found, range = null, title = null) => ({ key, label, title, value: found, cell: (row) => {
    const ends = range && range(row);
    const known = ends && ends.low !== null && found(row) !== null;
    return element("td", {}, percent(found(row)), known ? element("small", {}, `${percent(ends.low)} – ${percent(ends.high)}`) : null);
  } });
  const text = (key, label, found, rises = true) => ({ key, label, rises, text: true, value: (row) => found(row) || null,
    cell: (row) => element("td", { class: "text" }, found(row) ? calm(found(row)) : "–") });

  function columns() {
    const first = [
      { key: "rank", label: "rank", rises: true, value: (row) => row.rank, cell: (row) => element("td", {}, row.rank === null ? "–" : String(row.rank)) },
      { key: "system", label: "system", rises: true, text: true, value: (row) => row.system, cell: (row) => element("th", { scope: "row" }, switched(row)) },
    ];
    if (state.types) {
      return [...first, ...types.flatMap((name, place) => ["retrieval", "generation"].map((part) =>
        number(`${part} ${place}`, `${name}: ${part}`, (row) => row.types[place]?.[part] ?? null)))];
    }
    return [...first,
      text("llm", "LLM", (row) => row.llm),
      text("retriever", "retriever", (row) => row.retriever),
      { key: "top_k", label: "top k", title: "Passages that are read", value: (row) => row.top_k, cell: (row) => element("td", {}, row.top_k === null ? "–" : String(row.top_k)) },
      number("retrieval", "retrieval", (row) => row.retrieval.mean, (row) => row.retrieval),
      number("generation", "generation", (row) => row.generation.mean, (row) => row.generation),
      number("total", "total", (row) => row.total, null, "Retrieval and generation together, up to 200"),
      { key: "missing", label: "missing", value: (row) => row.missing, title: "Questions without a score; each counts 0",
        cell: (row) => element("td", {}, `${row.missing} of ${row.questions}`) },
      text("versions", "versions", (row) => row.versions.join(", "), false),
      text("updated", "last run", (row) => row.updated.slice(0, 10), false),
    ];
  }

  // The name of a system is the switch that puts it into the radars; a click anywhere on its row does the same.
  function switched(row) {
    if (types.length < 3) return calm(row.system);
    const slot = state.slots.indexOf(named(row));
    const full = slot < 0 && !state.slots.includes(null);
    return element("button", { type: "button", class: "switch", "aria-pressed": String(slot >= 0), "data-name": named(row),
      "aria-disabled": full ? "true" : null, title: full ? `${Radars.MOST} at most are drawn together; switch one off first` : null },
    slot >= 0 ? Radars.sample(slot) : null, element("span", {}, calm(row.system)));
  }

  function toggle(row) {
    const at = state.slots.indexOf(named(row));
    const free = state.slots.indexOf(null);
    if (at >= 0) state.slots[at] = null;
    else if (free >= 0) state.slots[free] = named(row);
    draw();
    for (const button of document.querySelectorAll("#board .switch")) if (button.dataset.name === named(row)) button.focus();
  }

  // What is not known stands last, whichever way the column is sorted.
  function compared(column) {
    const sign = state.descending ? -1 : 1;
    return ([a, atA], [b, atB]) => {
      const [one, other] = [column.value(a), column.value(b)];
      if (one === null || other === null) return (one === null) - (other === null) || atA - atB;
      return (column.key === "versions" ? sign * (place(a) - place(b)) : sign * (one < other ? -1 : one > other ? 1 : 0)) || atA - atB;
    };
  }

  // Versions are compared by their place among all versions, which are in the order of their numbers.
  const place = (row) => data.versions.findIndex((version) => version.name === row.versions.at(-1)) + row.versions.length / 1000;

  function draw() {
    const board = data.boards.find((one) => one.last === state.last && one.actual === state.actual);
    const rows = board.rows.filter((row) => row.condition === state.condition).map((row, at) => [row, at]);
    state.slots ??= Array.from({ length: Radars.MOST }, (_, at) => (at < 3 && rows[at] ? named(rows[at][0]) : null));
    const shown = columns();
    const column = shown.find((one) => one.key === state.column) || shown[0];
    rows.sort(compared(column));
    const heads = shown.map((one) => element("th",
      { scope: "col", class: one.text ? "text" : null, title: one.title || null,
        "aria-sort": one === column ? (state.descending ? "descending" : "ascending") : null },
      element("button", { type: "button", onclick: () => sortBy(one) }, one.label)));
    fill("board", element("caption", {}, "Systems by rank, percent"),
      element("thead", {}, element("tr", {}, ...heads)),
      element("tbody", {}, ...rows.map(([row]) => element("tr", { class: row.reference ? "reference" : null, onclick: types.length < 3 ? null : () => toggle(row) },
        ...shown.map((one) => one.cell(row))))));
    drawRadars(rows.map(([row]) => row));
  }

  function drawRadars(rows) {
    const chosen = rows.map((row) => [{ ...row, name: calm(row.system) }, state.slots.indexOf(named(row))]).filter(([, slot]) => slot >= 0).sort((a, b) => a[1] - b[1]);
    fill("radars", ...Radars.both(types, chosen, percent));
    const said = chosen.length === Radars.MOST ? `${Radars.MOST} systems are drawn, the most that can be told apart; switch one off to see another.`
      : "A click on a row puts it into the radars or takes it out.";
    fill("chosen", types.length < 3 ? null : element("p", { role: "status" }, said),
      types.length < 3 ? null : element("ul", {}, ...chosen.map(([row, slot]) => element("li", {}, Radars.sample(slot), row.name))));
  }

  function sortBy(column) {
    state.descending = state.column === column.key ? !state.descending : !column.rises;
    state.column = column.key;
    const focused = column.label;
    draw();
    for (const button of document.querySelectorAll("#board thead button")) if (button.textContent === focused) button.focus();
  }

  function select(label, options, chosen, choose) {
    const node = element("select", { onchange: (event) => { choose(options[event.target.selectedIndex][0]); draw(); } },
      ...options.map(([value, name]) => element("option", { selected: value === chosen }, name)));
    return element("label", {}, label, node);
  }

  function check(label, choose) {
    return element("label", {}, element("input", { type: "checkbox", onchange: (event) => { choose(event.target.checked); draw(); } }), label);
  }

  const numbers = [...new Set(data.boards.map((board) => board.last))].sort((a, b) => a - b);
  const newest = data.versions.at(-1);
  const fact = (name, value) => element("div", {}, element("dt", {}, name), element("dd", {}, value));
  fill("facts", fact("newest version", newest.name), fact("questions", String(newest.questions)), fact("systems", String(newest.systems)),
    fact("last run", newest.updated.slice(0, 10)), all > 1 ? fact("versions", `${all}, since ${data.versions[0].name}`) : null);
  fill("controls",
    all > 1 ? select("Versions", numbers.map((last) => [last, last === all ? "all" : last === 1 ? "the newest" : `the last ${last}`]), all, (last) => { state.last = last; }) : null,
    data.conditions.length > 1 ? select("Condition", data.conditions.map((name) => [name, calm(name)]), state.condition, (name) => { state.condition = name; state.slots = null; }) : null,
    all > 1 ? check("only systems that ran on the newest version", (actual) => { state.actual = actual; }) : null,
    types.length ? check("by question type", (by) => { state.types = by; state.column = "rank"; state.descending = false; }) : null);
  fill("notes", ...data.notes.map((note) => element("p", {}, note)));
  draw();
})();
