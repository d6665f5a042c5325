// The tree of a search: a line a reply in the order of the search, with the branches drawn beside them.
"use strict";

const SearchTree = (() => {
  const ROW = 30; // height of a line, as in the style
  const LANE = 16; // between two branches
  const LANES = 10; // deeper branches share the last lane
  const SPACE = "http://www.w3.org/2000/svg";

  // A chain stays in its lane; where a reply is followed by several, the later ones begin a lane further in.
  function placed(tree) {
    const children = new Map();
    for (const [number, parent] of tree) children.set(parent, [...(children.get(parent) || []), number]);
    const found = new Map();
    tree.forEach(([number, parent], line) => {
      const siblings = children.get(parent);
      const lane = found.has(parent) ? found.get(parent).lane : 0;
      found.set(number, { line, parent, lane: Math.min(LANES, siblings.length > 1 ? lane + 1 : lane) });
    });
    return found;
  }

  const x = ({ lane }) => 9 + lane * LANE;
  const y = ({ line }) => line * ROW + ROW / 2;

  function svg(tag, settings) {
    const node = document.createElementNS(SPACE, tag);
    for (const [key, value] of Object.entries(settings)) node.setAttribute(key, String(value));
    return node;
  }

  function branches(places, path) {
    const lanes = Math.max(...[...places.values()].map((place) => place.lane));
    const width = 18 + lanes * LANE;
    const drawing = svg("svg", { width, height: places.size * ROW, "aria-hidden": "true", class: "branches" });
    const edges = [];
    for (const [number, place] of places) {
      const chosen = path.has(number);
      const above = places.get(place.parent);
      if (above) edges.push([chosen && path.has(place.parent), svg("path", { d: `M${x(above)} ${y(above)}V${y(place)}H${x(place)}` })]);
    }
    for (const [chosen, edge] of edges.sort(([one], [other]) => one - other)) {
      edge.setAttribute("class", chosen ? "edge chosen" : "edge");
      drawing.append(edge);
    }
    for (const [number, place] of places) drawing.append(svg("circle", { cx: x(place), cy: y(place), r: path.has(number) ? 5 : 4, class: path.has(number) ? "node chosen" : "node" }));
    return { drawing, width };
  }

  // What a reply did: its calls and what came of them, or else its own words.
  function said(step, after) {
    const nodes = after.map((next) => (next.kind === "call"
      ? [element("code", {}, Texts.line(Texts.call(next), 90)), element("span", { class: next.error ? "said wrong" : "said" }, " → ", Texts.line(next.error ? Transcript.words(next) : next.observation || "nothing", 90))]
      : [element("span", { class: "said wrong" }, Texts.line(next.text, 120))])).flat();
    return nodes.length ? nodes : [Texts.line(step.text || "nothing", 160)];
  }

  // jump: makes a link to a step.
  function drawn({ tree, steps, path }, jump) {
    const chosen = new Set(path);
    const places = placed(tree);
    const { drawing, width } = branches(places, chosen);
    const lines = tree.map(([number, parent, after]) => element("li", { class: chosen.has(number) ? "chosen" : null },
      jump(number, String(number + 1)),
      element("span", { class: "sr" }, parent < 0 ? " from the root " : ` from ${parent + 1} `, chosen.has(number) ? "led to the answer " : null),
      element("span", { class: "did" }, ...said(steps[number], after.map((place) => steps[place])))));
    const list = element("ol", {}, ...lines);
    list.style.paddingLeft = `${width + 6}px`;
    const note = path.length ? "The way to the answer is drawn bold." : "No branch gave the answer.";
    return element("details", { class: "search-tree", open: true }, element("summary", {}, `The search as a tree, ${plural(tree.length, "reply", "replies")}`),
      element("p", { class: "note" }, note), element("div", { class: "tree" }, drawing, list));
  }

  return { drawn };
})();
