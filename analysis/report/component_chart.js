// One small chart of the component view: a metric over the values of a setting, with intervals.
"use strict";

const ComponentChart = {
  size: { width: 300, height: 172, left: 42, right: 12, top: 10, bottom: 40 },

  // A number in the curve's unit, short.
  number(value, unit) {
    if (value === null || value === undefined) return "–";
    if (!unit) return (100 * value).toFixed(1);
    return unit === "seconds" ? String(Number(value.toPrecision(3))) : count(Number(value.toFixed(value < 100 ? 1 : 0)));
  },

  // {from, to, ticks}: round numbers about what is shown; a chart need not begin at 0.
  scale(points) {
    const ends = points.flatMap((point) => [point.mean, point.low ?? point.mean, point.high ?? point.mean]);
    const [least, most] = [Math.min(...ends), Math.max(...ends)];
    const spread = most - least || Math.abs(most) * 0.2 || 0.1;
    const power = 10 ** Math.floor(Math.log10(spread / 3));
    const step = [1, 2, 2.5, 5, 10].map((part) => part * power).find((width) => spread / width <= 4);
    const first = Math.max(0, Math.floor((least - 0.04 * spread) / step));
    const last = Math.ceil((most + 0.04 * spread) / step);
    return { from: first * step, to: last * step, ticks: Array.from({ length: last - first + 1 }, (_, place) => (first + place) * step) };
  },

  // A name that fits into a place; the whole one is in the title and in the table.
  fitted(text, room) {
    const letters = [...calm(text)];
    const most = Math.max(3, Math.floor(room / 6));
    return letters.length <= most ? letters.join("") : `${letters.slice(0, most - 1).join("")}…`;
  },

  told(component, curve) {
    const parts = component.values.map((value, place) => [value, curve.points[place]]).filter(([, point]) => point && point.mean !== null)
      .map(([value, point]) => `${calm(value.name)} ${ComponentChart.number(point.mean, curve.unit)}${point.low === null ? "" : ` (${ComponentChart.number(point.low, curve.unit)} to ${ComponentChart.number(point.high, curve.unit)})`}`);
    return `${calm(curve.metric)} on ${calm(curve.task)} by ${calm(component.name)}: ${parts.join(", ")}`;
  },

  // taken: the name of the value that is recommended, which is set in bold.
  draw(component, curve, taken) {
    const { width, height, left, right, top, bottom } = ComponentChart.size;
    const there = curve.points.filter((point) => point && point.mean !== null);
    const { from, to, ticks } = ComponentChart.scale(there);
    const slot = (width - left - right) / component.values.length;
    const x = (place) => left + slot * (place + 0.5);
    const y = (value) => height - bottom - ((height - top - bottom) * (value - from)) / (to - from);
    const tick = (value) => (curve.unit ? ComponentChart.number(Number(value.toPrecision(10)), curve.unit) : String(Number((100 * value).toPrecision(6))));
    const marks = curve.points.map((point, place) => (point && point.mean !== null ? ComponentChart.mark(component.values[place], point, curve, x(place), y) : null));
    const line = curve.points.map((point, place) => (point && point.mean !== null ? `${x(place).toFixed(1)} ${y(point.mean).toFixed(1)}` : null)).filter(Boolean);
    return Figures.svg("svg", { class: "component-chart", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": ComponentChart.told(component, curve) },
      ...ticks.flatMap((value) => [
        Figures.svg("line", { class: "grid", x1: left, x2: width - right, y1: y(value), y2: y(value) }),
        ComponentChart.text(tick(value), { x: left - 6, y: y(value) + 4, "text-anchor": "end" })]),
      component.numeric && line.length > 1 ? Figures.svg("path", { class: "line", d: `M${line.join("L")}` }) : null,
      ...marks,
      ...component.values.map((value, place) => ComponentChart.label(component, value, place, x(place), slot, value.name === taken)));
  },

  mark(value, point, curve, x, y) {
    const told = `${calm(value.name)}: ${ComponentChart.number(point.mean, curve.unit)}${value.base ? ", the base" : ""}${value.moved ? `, with ${calm(value.moved)}` : ""}`;
    const outline = Figures.outline(value.base ? "square" : "circle", value.base ? 5 : 4.5);
    return Figures.svg("g", {}, ComponentChart.title(told),
      point.low === null ? null : Figures.svg("line", { class: "ends", x1: x, x2: x, y1: y(point.low), y2: y(point.high) }),
      Figures.svg("path", { class: "dot", d: outline, transform: `translate(${x.toFixed(1)} ${y(point.mean).toFixed(1)})` }));
  },

  // Names that are long stand on two lines in turn, which gives each twice the room.
  label(component, value, place, x, slot, taken) {
    const long = component.values.some((one) => 6.4 * [...one.name].length > slot);
    const { height, bottom } = ComponentChart.size;
    return ComponentChart.text(ComponentChart.fitted(value.name, long ? 1.9 * slot : slot),
      { x, y: height - bottom + 17 + (long && place % 2 ? 15 : 0), "text-anchor": "middle", class: taken ? "taken" : null });
  },

  text(content, settings) {
    const node = Figures.svg("text", settings);
    node.textContent = content;
    return node;
  },

  title(content) {
    const node = Figures.svg("title");
    node.textContent = content;
    return node;
  },
};
