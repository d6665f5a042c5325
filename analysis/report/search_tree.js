// The tree of a search: a line a reply in the order of the search, with the branches drawn beside them.
"use strict";

const SearchTree = (() => {
  const ROW = 30; // height of a line, as in the style
  const LANE = 16; // between two branches
  const LANES = 10; // deeper branches share the last lane

  // A chain stays in its lane; where a reply is followed by several, the later ones begin a lane further in.
  function placed(tree) {
    const children = new Map();
    for (const [number, parent] of tree) children.set(parent, [...(children.get(parent) || []), number]);
    const found = new Map([[-1, { line: 0, parent: null, lane: 0 }]]); // the question, from which the search begins
    tree.forEach(([number, parent], place) => {
      const siblings = children.get(parent);
      const { lane } = found.get(parent);
      found.set(number, { line: place + 1, parent, lane: Math.min(LANES, siblings.length > 1 ? lane + 1 : lane) });
    });
    return found;
  }

  const x = ({ lane }) => 9 + lane * LANE;
  const y = ({ line }) => line * ROW + ROW / 2;

  function at(kind, left, top, width, height) {
    const node = element("i", { class: kind });
    Object.assign(node.style, { left: `${left}px`, top: `${top}px`, width: `${width}px`, height: `${height}px` });
    return node;
  }

  // An edge goes down from the reply above and then across; chosen ones lie over the others.
  function branches(places, path) {
    const width = 18 + Math.max(...[...places.values()].map((place) => place.lane)) * LANE;
    const drawing = element("div", { class: "branches", "aria-hidden": "true" });
    drawing.style.width = `${width}px`;
    const edges = [];
    const nodes = [];
    for (const [number, place] of places) {
      const chosen = path.has(number);
      const above = places.get(place.parent);
      if (above) edges.push(at(chosen && path.has(place.parent) ? "edge chosen" : "edge", x(above) - 1, y(above), x(place) - x(above), y(place) - y(above)));
      nodes.push(at(chosen ? "node chosen" : "node", x(place) - 5, y(place) - 5, 10, 10));
    }
    drawing.append(...edges.filter((edge) => edge.className === "edge"), ...edges.filter((edge) => edge.className !== "edge"), ...nodes);
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
    const chosen = new Set(path.length ? [-1, ...path] : []);
    const places = placed(tree);
    const { drawing, width } = branches(places, chosen);
    const lines = tree.map(([number, parent, after]) => element("li", { class: chosen.has(number) ? "chosen" : null },
      jump(number, String(number + 1)),
      element("span", { class: "unseen" }, parent < 0 ? " from the question " : ` from ${parent + 1} `, chosen.has(number) ? "led to the answer " : null),
      element("span", { class: "did" }, ...said(steps[number], after.map((place) => steps[place])))));
    const list = element("ol", {}, element("li", {}, element("span", { class: "did" }, "the question")), ...lines);
    list.style.paddingLeft = `${width + 6}px`;
    const note = path.length ? "The way to the answer is drawn bold." : "No branch gave the answer.";
    return element("details", { class: "search-tree", open: true }, element("summary", {}, `The search as a tree, ${plural(tree.length, "reply", "replies")}`),
      element("p", { class: "note" }, note), element("div", { class: "tree" }, drawing, list));
  }

  return { drawn };
})();
