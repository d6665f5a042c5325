// The figure of deployment: quality against what it takes, with the front, the bounds that are set and the best within
// them. On a log axis what costs nothing stands left of a break, since it has no logarithm.
"use strict";

const DeploymentChart = {
  // Where numbers lie along the axis: {log, at(value) from 0 to 1, ticks: [{at, text}], broken: place of the break or null}.
  scale(values, log) {
    const positive = values.filter((value) => value > 0);
    const most = Math.max(...values);
    if (!log || !positive.length) {
      const top = Figures.holding(most * 1.08);
      return { log: false, broken: null, at: (value) => value / top, ticks: Figures.ticks(top).map((value) => ({ at: value / top, text: plainNumber(value) })) };
    }
    const gap = positive.length < values.length ? 0.12 : 0;
    const [from, to] = [Math.log10(Math.min(...positive)), Math.log10(most)];
    const room = Math.max(0.12, (to - from) * 0.07);
    const place = (value) => gap + ((1 - gap) * (Math.log10(value) - from + room)) / (to - from + 2 * room);
    const shown = DeploymentChart.logTicks(from - room, to + room).map((value) => ({ at: place(value), text: plainNumber(value) }));
    return { log: true, broken: gap ? gap * 0.75 : null, at: (value) => (value > 0 ? place(value) : gap * 0.4), ticks: [...(gap ? [{ at: gap * 0.4, text: "0" }] : []), ...shown] };
  },

  // Round numbers between two powers of ten: 1, 2, 5 where there is room for them, else 1 alone or every second one.
  logTicks(from, to) {
    const decades = to - from;
    const steps = decades < 2.4 ? [1, 2, 5] : decades < 4 ? [1, 3] : [1];
    const every = Math.ceil(decades / 8);
    const found = [];
    for (let power = Math.floor(from); power <= Math.ceil(to); power += 1) {
      if (power % every) continue;
      for (const step of steps) {
        const value = Number(`${step}e${power}`);
        if (Math.log10(value) >= from && Math.log10(value) <= to) found.push(value);
      }
    }
    return found;
  },

  // shown: {entries: [{system, row, value, quality}], log, axis (its title), bounds: {x, quality}, best, faded: Set of
  // systems, oracle: quality or null, name (read out)}.
  draw(box, shown) {
    const width = Math.max(280, box.clientWidth);
    const narrow = width < 600;
    const frame = { width, height: narrow ? 380 : 460, left: narrow ? 40 : 48, right: 14, top: 30, bottom: 48 };
    const inner = { width: width - frame.left - frame.right, height: frame.height - frame.top - frame.bottom };
    const scale = DeploymentChart.scale(shown.entries.map(({ value }) => value), shown.log);
    const top = Math.max(0.02, roundedTop(1.04 * Math.max(...shown.entries.map(({ row, quality }) => overall(row).high ?? quality))));
    const at = { x: (value) => frame.left + scale.at(value) * inner.width, y: (share) => frame.top + (1 - share / top) * inner.height };
    const placed = shown.entries.map((entry) => ({ ...entry, x: at.x(entry.value), y: at.y(entry.quality) }));
    const unbeaten = DeploymentChart.unbeaten(placed);
    const spans = placed.filter(({ row }) => overall(row).low !== null).map(({ row, x }) => [x, at.y(Math.min(top, overall(row).high)), at.y(overall(row).low)]);
    const labels = DeploymentChart.labels(placed, frame, inner, narrow, shown.best, DeploymentChart.crossed(unbeaten, spans));
    box.replaceChildren(Figures.svg("svg", { width, height: frame.height, viewBox: `0 0 ${width} ${frame.height}`, role: "img", "aria-label": shown.name },
      ...DeploymentChart.axes(frame, inner, scale, top, at, shown.axis, narrow),
      ...DeploymentChart.lines(shown, frame, inner, scale, top, at),
      Figures.svg("polyline", { class: "front", points: unbeaten.map(({ x, y }) => `${x},${y}`).join(" ") }),
      ...placed.map((entry) => DeploymentChart.interval(entry, at, top, shown)),
      ...labels.map((label) => label.leader),
      ...placed.map((entry) => DeploymentChart.point(entry, shown)),
      ...labels.map((label) => label.text)));
    return { beyond: shown.oracle !== null && shown.oracle > top, unlabelled: placed.length - labels.length, log: scale.log };
  },

  axes(frame, inner, scale, top, at, title, narrow) {
    const bottom = frame.top + inner.height;
    const step = narrow ? Math.ceil(scale.ticks.length / 6) : 1;
    const text = (settings, content) => Figures.svg("text", { class: "tick", ...settings }, content);
    const rows = Figures.ticks(top).flatMap((share) => [
      Figures.svg("line", { class: "grid", x1: frame.left, x2: frame.left + inner.width, y1: at.y(share), y2: at.y(share) }),
      text({ x: frame.left - 8, y: at.y(share) + 4, "text-anchor": "end" }, plainNumber(100 * share))]);
    const columns = scale.ticks.filter((_, place) => place % step === 0).flatMap((tick) => {
      const x = frame.left + tick.at * inner.width;
      const inside = Math.min(x, frame.width - 3.8 * tick.text.length); // a number that is cut off at the edge would read as another
      return [Figures.svg("line", { class: "grid", x1: x, x2: x, y1: frame.top, y2: bottom }), text({ x: inside, y: bottom + 17, "text-anchor": "middle" }, tick.text)];
    });
    const cut = scale.broken === null ? [] : [-3, 3].map((shift) => {
      const x = frame.left + scale.broken * inner.width + shift;
      return Figures.svg("line", { class: "break", x1: x - 4, x2: x + 4, y1: bottom + 6, y2: bottom - 6 });
    });
    return [...rows, ...columns, ...cut,
      text({ x: frame.left + inner.width / 2, y: bottom + 40, "text-anchor": "middle" }, title),
      text({ x: 2, y: 13, "text-anchor": "start" }, "average score, percent")];
  },

  // The oracle, and the bounds that are set.
  lines(shown, frame, inner, scale, top, at) {
    const lines = [];
    const across = (share, kind) => Figures.svg("line", { class: kind, x1: frame.left, x2: frame.left + inner.width, y1: at.y(share), y2: at.y(share) });
    if (shown.oracle !== null && shown.oracle <= top) {
      const y = at.y(shown.oracle);
      lines.push(across(shown.oracle, "oracle"), Figures.svg("text", { class: "tick", x: frame.left + 6, y: y < frame.top + 20 ? y + 15 : y - 6 }, `oracle ${percent(shown.oracle)}: the gold programs, without an LLM`));
    }
    if (shown.bounds.quality !== null && shown.bounds.quality <= top) lines.push(across(shown.bounds.quality, "bound"));
    if (shown.bounds.x !== null && scale.at(shown.bounds.x) >= 0 && scale.at(shown.bounds.x) <= 1) {
      const x = at.x(shown.bounds.x);
      lines.push(Figures.svg("line", { class: "bound", x1: x, x2: x, y1: frame.top, y2: frame.top + inner.height }));
    }
    return lines;
  },

  // Those on the front, from the cheapest on.
  unbeaten(placed) {
    const contending = placed.filter(({ system }) => !system.reference && system.complete && system.quality > 0).map((entry) => ({ ...entry, cost: entry.value }));
    return Choosing.front(contending).sort((a, b) => a.cost - b.cost);
  },

  interval({ row, system, x }, at, top, shown) {
    const { low, high } = overall(row);
    if (low === null) return null;
    return Figures.svg("line", { stroke: llmColour(row.llm), "stroke-width": 1.5, opacity: shown.faded.has(system) ? 0.15 : 0.45, x1: x, x2: x, y1: at.y(low), y2: at.y(Math.min(top, high)) });
  },

  point({ row, system, x, y, value }, shown) {
    const { n } = overall(row);
    const title = Figures.svg("title", {}, `${row.system}\n${percent(system.quality)} at ${shown.said(value)}\n${plural(n, "episode")}`);
    const ring = system === shown.best ? Figures.svg("circle", { class: "ring", r: 11 }) : null;
    return Figures.svg("g", { transform: `translate(${x} ${y})`, opacity: shown.faded.has(system) ? 0.35 : 1 }, title, ring, Figures.mark(row, {}, 6));
  },

  // Places that a label rather leaves free: along the front, and along the intervals.
  crossed(unbeaten, spans) {
    const near = (x, y) => ({ left: x - 1, right: x + 1, top: y - 1, bottom: y + 1 });
    const along = (from, to) => {
      const steps = Math.ceil(Math.hypot(to.x - from.x, to.y - from.y) / 5);
      return Array.from({ length: steps + 1 }, (_, step) => near(from.x + ((to.x - from.x) * step) / (steps || 1), from.y + ((to.y - from.y) * step) / (steps || 1)));
    };
    return [...unbeaten.slice(1).flatMap((to, place) => along(unbeaten[place], to)), ...spans.map(([x, top, bottom]) => ({ left: x - 1, right: x + 1, top, bottom }))];
  },

  // Each label takes the first place around its marker where it covers no marker and no label set before, near by one
  // that covers no line either; one that finds none is left away: colour, outline and the table still name the system.
  // The best is placed first.
  labels(placed, frame, inner, narrow, best, lines) {
    const taken = placed.map(({ x, y }) => ({ left: x - 8, right: x + 8, top: y - 8, bottom: y + 8 }));
    const clash = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
    const inside = (box) => box.left >= frame.left && box.right <= frame.width - 2 && box.top >= frame.top - 4 && box.bottom <= frame.top + inner.height;
    const order = [...placed].sort((a, b) => (b.system === best) - (a.system === best) || a.y - b.y);
    const size = narrow ? 11 : 12;
    const found = [];
    for (const { row, system, x, y } of order) {
      const whole = systemName(row);
      const name = whole.length > 36 ? `${whole.slice(0, 34)}…` : whole;
      const half = (name.length * size * (system === best ? 0.61 : 0.57) + 4) / 2;
      const side = (system === best ? 16 : 12) + half;
      const boxes = [0, 14, 28, 42].flatMap((far) => [[side, -far], [-side, -far], [side, far], [-side, far], [0, -18 - far], [0, 18 + far]]
        .map(([dx, dy]) => ({ far, x: x + dx, y: y + dy, left: x + dx - half, right: x + dx + half, top: y + dy - 8, bottom: y + dy + 8 })));
      const free = boxes.filter((one) => inside(one) && !taken.some((other) => clash(one, other)));
      const box = free.find((one) => one.far <= 28 && !lines.some((line) => clash(one, line))) || free[0];
      if (!box) continue;
      taken.push(box);
      found.push({
        text: Figures.svg("text", { class: system === best ? "name best" : "name", x: box.x, y: box.y + 4, "text-anchor": "middle", "font-size": size, fill: llmColour(row.llm) }, name),
        leader: box.far ? Figures.svg("line", { class: "leader", x1: x, y1: y, x2: Math.max(box.left, Math.min(box.right, x)), y2: box.y }) : null,
      });
    }
    return found;
  },
};

// A number as a person writes it: no exponent, no more digits than it takes.
const plainNumber = (value) => (value === 0 ? "0" : value.toLocaleString("en-US", { maximumSignificantDigits: 3, useGrouping: false }));
