// Parts that figures and their controls are made of: SVG, markers, scales, tables with the same numbers, buttons and
// lists to choose from. Figures are drawn as SVG, since a table's row or a link is part of most of them.
"use strict";

const SVG = "http://www.w3.org/2000/svg"; // a name, not an address: nothing is fetched

const Figures = {
  svg(tag, settings = {}, ...children) {
    const node = document.createElementNS(SVG, tag);
    for (const [key, value] of Object.entries(settings)) {
      if (value !== null && value !== undefined && value !== false) node.setAttribute(key, String(value));
    }
    node.append(...children.filter((child) => child !== null && child !== undefined));
    return node;
  },

  // The outlines of the workflows' markers about (0, 0).
  outline(name, size = 5) {
    const turned = (points) => `M${points.map(([x, y]) => `${x.toFixed(2)} ${y.toFixed(2)}`).join("L")}Z`;
    const regular = (corners, start, radius = () => size * 1.15) => turned(Array.from({ length: corners }, (_, corner) => {
      const angle = start + (2 * Math.PI * corner) / corners;
      return [radius(corner) * Math.sin(angle), -radius(corner) * Math.cos(angle)];
    }));
    const plus = (turn) => {
      const [far, near] = [size * 1.15, size * 0.4];
      const points = [[-near, -far], [near, -far], [near, -near], [far, -near], [far, near], [near, near], [near, far], [-near, far], [-near, near], [-far, near], [-far, -near], [-near, -near]];
      return turned(points.map(([x, y]) => [x * Math.cos(turn) - y * Math.sin(turn), x * Math.sin(turn) + y * Math.cos(turn)]));
    };
    switch (name) {
      case "square": return turned([[-1, -1], [1, -1], [1, 1], [-1, 1]].map(([x, y]) => [0.9 * size * x, 0.9 * size * y]));
      case "diamond": return regular(4, 0, () => size * 1.2);
      case "triangle-up": return regular(3, 0, () => size * 1.25);
      case "triangle-down": return regular(3, Math.PI, () => size * 1.25);
      case "cross": return plus(0);
      case "x": return plus(Math.PI / 4);
      case "star": return regular(10, 0, (corner) => size * (corner % 2 ? 0.55 : 1.35));
      case "pentagon": return regular(5, 0);
      case "hexagon": return regular(6, 0);
      default: return `M${size} 0A${size} ${size} 0 1 1 ${-size} 0A${size} ${size} 0 1 1 ${size} 0Z`;
    }
  },

  // A system's marker: colour by LLM, outline by workflow, hollow for a reference.
  mark(row, settings = {}, size = 5) {
    const colour = llmColour(row.llm);
    return Figures.svg("path", {
      d: Figures.outline(marker(row.workflow), size), fill: row.reference ? cssColour("--paper") : colour,
      stroke: row.reference ? colour : cssColour("--paper"), "stroke-width": row.reference ? 1.8 : 1, ...settings,
    });
  },

  // Round numbers from 0 that a scale up to `top` shows, about four to six.
  ticks(top) {
    const power = 10 ** Math.floor(Math.log10(top));
    const step = [0.1, 0.2, 0.25, 0.5, 1, 2].map((part) => part * power).find((width) => top / width <= 5.001);
    return Array.from({ length: Math.floor(top / step + 1e-9) + 1 }, (_, place) => place * step);
  },

  // The smallest round number that holds a value of any size.
  holding(value) {
    if (!(value > 0)) return 1;
    const power = 10 ** Math.floor(Math.log10(value));
    return [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10].map((part) => part * power).find((top) => value <= top + 1e-9);
  },

  // A table of numbers: the first cell of a line is its heading. A cell is a text or a node; {cell, class, title} says more.
  table(caption, heads, lines, settings = {}) {
    const { quiet = false, ...given } = settings;
    const spread = (found) => (found !== null && typeof found === "object" && !(found instanceof Node) ? found : { cell: found });
    const cell = (found, place) => {
      const { cell: content, ...more } = spread(found);
      return place === 0 ? element("th", { scope: "row", ...more }, content) : element("td", more, content ?? "–");
    };
    const head = (found) => {
      const { cell: content, ...more } = spread(found);
      return element("th", { scope: "col", ...more }, content);
    };
    return element("table", { class: "numbers", ...given },
      Figures.caption(caption, quiet),
      element("thead", {}, element("tr", {}, ...heads.map(head))),
      element("tbody", {}, ...lines.map((line) => element("tr", {}, ...line.map(cell)))));
  },

  // What a table is of; a quiet one is only read out.
  caption(text, quiet = false) {
    return element("caption", { class: quiet ? "unseen" : null }, element("span", { class: quiet ? null : "told" }, text));
  },

  // Something wide that scrolls by itself; its name is read out, and the keyboard can scroll it.
  scrolling(name, ...children) {
    return element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": name }, ...children);
  },

  // What a person unfolded stays so when the view is drawn again.
  unfolded: new Set(),

  folded(summary, ...children) {
    const key = `${Views.current().name} ${summary}`;
    const node = element("details", { class: "folded", open: Figures.unfolded.has(key) }, element("summary", {}, summary), ...children);
    node.addEventListener("toggle", () => Figures.unfolded[node.open ? "add" : "delete"](key));
    return node;
  },

  // A button that is on or off. The id keeps the focus where it was when the view is drawn again.
  toggle(id, label, on, act, settings = {}) {
    return element("button", { type: "button", id, class: "toggle", "aria-pressed": String(on), onclick: act, ...settings }, ...[label].flat());
  },

  // A list to choose from. options: [{value, label}] or [{group, options}].
  select(id, label, options, value, act) {
    const option = (one) => element("option", { value: one.value, selected: one.value === value }, one.label);
    const box = element("select", { id }, ...options.map((one) => (one.group ? element("optgroup", { label: one.group }, ...one.options.map(option)) : option(one))));
    box.addEventListener("change", () => act(box.value));
    return element("label", { class: "choice", for: id }, element("span", {}, label), box);
  },

  choices(label, ...buttons) {
    return element("div", { class: "toggles", role: "group", "aria-label": label }, ...buttons);
  },
};

// A cell of a table that holds a number, or the head of a column of them; see `Figures.table`.
const numeric = (cell) => ({ cell, class: "number" });
const points = (share) => (share === null || share === undefined ? "–" : `${share < 0 ? "−" : ""}${(100 * Math.abs(share)).toFixed(1)}`);
const pValue = (p) => (p === null || p === undefined ? "–" : p < 0.001 ? "< 0.001" : p.toFixed(3));
const listed = (names, most = 3) => {
  const shown = names.length > most + 1 ? [...names.slice(0, most), `${names.length - most} more`] : names;
  return shown.length < 2 ? shown.join("") : `${shown.slice(0, -1).join(", ")} and ${shown[shown.length - 1]}`;
};
