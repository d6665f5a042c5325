// The two-ring chart: matched or not inside, the six response types outside, so that the types of a half lie beside it.
"use strict";

function ringsFigure(counts, name) {
  const { types } = Report.data;
  const all = added(counts);
  const order = ["EM", "AM", "GE", "RE", "ME", "TE"];
  const outer = order.map((key) => types.findIndex((type) => type.key === key)).filter((place) => counts[place]).map((place) => ({
    label: types[place].key, title: types[place].name, number: counts[place], colour: typeColour(types[place].key), ink: typeInk(types[place].key) }));
  const right = added(types.map((type, place) => (["EM", "AM"].includes(type.key) ? counts[place] : 0)));
  const inner = [{ label: "matched", lines: ["matched"], title: "the answer matches", number: right, colour: cssColour("--ring-right"), ink: cssColour("--ink") },
    { label: "not matched", lines: ["not", "matched"], title: "the answer does not match", number: all - right, colour: cssColour("--ring-wrong"), ink: cssColour("--ink") }].filter((part) => part.number);
  const told = [...inner, ...outer].map((part) => `${part.label} ${percent(part.number / all)} %`).join(", ");
  const picture = Figures.svg("svg", { viewBox: "-28 0 376 300", class: "rings", role: "img", "aria-label": `Two rings, ${name}: ${told}` },
    ...ring(inner, all, 60, 54), ...ring(outer, all, 107, 34),
    ...labelsOfRing(inner, all, 60, 0.1), ...labelsOfRing(outer, all, 107, 0.07), ...labelsOutside(outer, all, 134),
    Figures.svg("text", { x: 160, y: 148, class: "ring-count" }, count(all)),
    Figures.svg("text", { x: 160, y: 166, class: "ring-count unit" }, all === 1 ? "episode" : "episodes"));
  const lines = [...inner, ...outer].map((part) => [`${part.label}${part.title.startsWith("the") ? "" : `, ${part.title}`}`, numeric(count(part.number)), numeric(percent(part.number / all))]);
  return element("figure", { class: "rings-figure" }, element("figcaption", {}, name), picture,
    Figures.folded("The same numbers as a table", Figures.table("Rings", ["part", numeric("episodes"), numeric("percent")], lines, { quiet: true })));
}

// Parts of a ring are dashes of a circle, so that one part of 100 % is a whole one.
function ring(parts, all, radius, width) {
  let begun = 0;
  const arcs = [];
  const gaps = [];
  for (const part of parts) {
    const share = (100 * part.number) / all;
    arcs.push(Figures.svg("circle", { cx: 160, cy: 150, r: radius, fill: "none", stroke: part.colour, "stroke-width": width, pathLength: 100,
      "stroke-dasharray": `${share} ${100 - share}`, "stroke-dashoffset": -begun, transform: "rotate(-90 160 150)" },
    Figures.svg("title", {}, `${part.label}, ${part.title}: ${count(part.number)} of ${count(all)}, ${percent(part.number / all)} %`)));
    if (parts.length > 1) gaps.push(...cut(begun, radius, width));
    begun += share;
  }
  return [...arcs, ...gaps];
}

function cut(at, radius, width) {
  const [x, y] = onRing(at, 1);
  const [near, far] = [radius - width / 2, radius + width / 2];
  return [Figures.svg("line", { x1: 160 + near * x, y1: 150 + near * y, x2: 160 + far * x, y2: 150 + far * y, class: "cut" })];
}

function onRing(share, radius) {
  const angle = (2 * Math.PI * share) / 100;
  return [radius * Math.sin(angle), -radius * Math.cos(angle)];
}

function placed(parts, all) {
  let begun = 0;
  return parts.map((part) => {
    const share = (100 * part.number) / all;
    begun += share;
    return { part, share: share / 100, middle: begun - share / 2 };
  });
}

function labelsOfRing(parts, all, radius, least) {
  return placed(parts, all).filter(({ share }) => share >= least).map(({ part, middle }) => {
    const [x, y] = onRing(middle, radius);
    const lines = part.lines || [part.label];
    const line = (text, place) => Figures.svg("tspan", { x: 160 + x, dy: place ? 12 : 0 }, text);
    return Figures.svg("text", { x: 160 + x, y: 150 + y + 4 - 6 * (lines.length - 1), class: "ring-part", fill: part.ink }, ...lines.map(line));
  });
}

// Percent stands outside, where there is room for it.
function labelsOutside(parts, all, radius) {
  return placed(parts, all).filter(({ share }) => share >= 0.025).map(({ part, middle }) => {
    const [x, y] = onRing(middle, radius);
    const side = Math.abs(x) < 20 ? "middle" : x > 0 ? "start" : "end";
    const text = `${percent(part.number / all)} %`;
    return Figures.svg("text", { x: 160 + x * 0.985, y: 150 + y + 4, "text-anchor": side, class: "ring-share" }, parts.length > 1 && part.number / all < 0.07 ? `${part.label} ${text}` : text);
  });
}
