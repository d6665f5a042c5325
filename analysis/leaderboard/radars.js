// Two radars by type of question, of the systems that are chosen in the table: six at most, each with its colour and dash.
"use strict";

const Radars = (() => {
  const MOST = 6;
  const RADIUS = 106;
  const SIZE = { width: 400, height: 272 };
  const LONGEST = 18;

  function svg(tag, settings = {}, ...children) {
    const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [key, value] of Object.entries(settings)) if (value !== null) node.setAttribute(key, value);
    node.append(...children.filter((child) => child !== null));
    return node;
  }

  const spot = (place, of, share) => {
    const angle = (2 * Math.PI * place) / of;
    return [SIZE.width / 2 + RADIUS * share * Math.sin(angle), SIZE.height / 2 - RADIUS * share * Math.cos(angle)];
  };
  const path = (spots, closed) => `M${spots.map(([x, y]) => `${x.toFixed(1)} ${y.toFixed(1)}`).join("L")}${closed ? "Z" : ""}`;
  const sample = (slot) => svg("svg", { class: `sample slot-${slot}`, width: 24, height: 10, "aria-hidden": "true" },
    svg("line", { x1: 0, x2: 24, y1: 5, y2: 5, class: "line" }));

  // Both radars have one scale, up to the next quarter.
  function top(rows, parts) {
    const values = rows.flatMap((row) => row.types.flatMap((type) => parts.map((part) => type?.[part] ?? 0)));
    return Math.max(0.25, Math.ceil(4 * Math.max(0, ...values) - 1e-9) / 4);
  }

  // What is not known of a system has no corner: its line leaves the type out.
  function drawn(row, slot, part, most) {
    const of = row.types.length;
    const known = row.types.map((type, place) => [place, type?.[part] ?? null]).filter(([, value]) => value !== null);
    const spots = known.map(([place, value]) => spot(place, of, value / most));
    return svg("g", { class: `slot-${slot}` },
      spots.length > 1 ? svg("path", { d: path(spots, spots.length === of), class: spots.length === of ? "line area" : "line" }) : null,
      ...spots.map(([x, y]) => svg("circle", { cx: x.toFixed(1), cy: y.toFixed(1), r: 3.5, class: "dot" })));
  }

  function axes(types, most) {
    const of = types.length;
    const ring = (share) => svg("path", { d: path(types.map((_, place) => spot(place, of, share)), true), class: "ring" });
    const spokes = types.map((_, place) => svg("path", { d: path([spot(place, of, 0), spot(place, of, 1)], false), class: "ring" }));
    const names = types.map((type, place) => {
      const [x, y] = spot(place, of, 1 + 16 / RADIUS);
      const side = Math.abs(x - SIZE.width / 2) < 2 ? "middle" : x > SIZE.width / 2 ? "start" : "end";
      const short = [...type].length > LONGEST ? `${[...type].slice(0, LONGEST - 1).join("")}…` : type;
      return svg("text", { x: x.toFixed(1), y: (y + 4).toFixed(1), "text-anchor": side }, svg("title", {}, type), short);
    });
    const scale = [0.5, 1].map((share) => {
      const [[a, b], [c, d]] = [spot(0, of, share), spot(1, of, share)];
      return svg("text", { x: ((a + c) / 2).toFixed(1), y: ((b + d) / 2 + 4).toFixed(1), class: "scale" }, String(Number((100 * share * most).toPrecision(3))));
    });
    return { under: [ring(0.5), ring(1), ...spokes, ...names], over: scale };
  }

  // chosen: pairs of a row and its slot, 0 to 5.
  function radar(title, part, types, chosen, most, percent) {
    const told = chosen.map(([row]) => `${row.name}: ${types.map((type, place) => `${type} ${percent(row.types[place]?.[part])}`).join(", ")}`);
    const { under, over } = axes(types, most);
    const figure = document.createElement("figure");
    const caption = document.createElement("figcaption");
    caption.textContent = title;
    figure.append(caption, svg("svg", { viewBox: `0 0 ${SIZE.width} ${SIZE.height}`, role: "img", class: "radar",
      "aria-label": `${title}, percent. ${told.join("; ") || "No system is chosen."}` },
    ...under, ...chosen.map(([row, slot]) => drawn(row, slot, part, most)), ...over));
    return figure;
  }

  function both(types, chosen, percent) {
    if (types.length < 3) return [];
    const most = top(chosen.map(([row]) => row), ["retrieval", "generation"]);
    return [["Retrieval by question type", "retrieval"], ["Generation by question type", "generation"]]
      .map(([title, part]) => radar(title, part, types, chosen, most, percent));
  }

  return { MOST, both, sample };
})();
