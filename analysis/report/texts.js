// Texts that a model or a tool wrote: shown whole on demand, with what would not be seen, or would act, made visible.
// Control and direction characters and the codes of terminals become small tags; a long text is folded.
"use strict";

const Texts = (() => {
  const HEAD = 1200; // characters of a text before it is folded
  const LINES = 24; // lines of it
  const AROUND = 160; // characters shown on each side of a place that is marked
  const PLACES = 5; // marked places beyond the fold that are shown at once
  const MORE = 20000; // characters that a click adds
  const SMALL = 120; // characters that are not worth a fold
  const CODE = /\x1b\[[0-9;?]*[ -/]*[@-~]|[^]/gu;
  // Zero-width joiners stay: they move nothing, and emoji and some scripts are written with them.
  const UNSEEN = /(?:\x1b\[[0-9;?]*[ -/]*[@-~]|(?![\n\t\u200c\u200d]|\r\n)[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029])+/gu;
  const NAMED = 6; // codes of a run of such characters that are named

  function codeName(code) {
    if (code.length > 1 && code[0] === "\x1b") return `ESC${code.slice(1)}`;
    return `U+${code.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}`;
  }

  function tag(run) {
    const codes = run.match(CODE);
    const names = codes.slice(0, NAMED).map(codeName).join(" ");
    const text = codes.length > NAMED ? `${names} … ${count(codes.length)} in all` : names;
    return element("span", { class: "codes", title: "Characters that are not seen, by their numbers" }, text);
  }

  // A text as nodes, unseen characters as tags.
  function plain(text) {
    const nodes = [];
    let at = 0;
    for (const match of text.matchAll(UNSEEN)) {
      if (match.index > at) nodes.push(text.slice(at, match.index));
      nodes.push(tag(match[0]));
      at = match.index + match[0].length;
    }
    if (at < text.length) nodes.push(text.slice(at));
    return nodes;
  }

  // The characters from..to with the marks that lie in them; marks are [start, end, which], in order.
  function marked(text, from, to, marks) {
    const nodes = [];
    let at = from;
    for (const [start, end, which] of marks) {
      const left = Math.max(start, at);
      const right = Math.min(end, to);
      if (left >= right) continue;
      nodes.push(...plain(text.slice(at, left)), element("mark", { "data-which": String(which) }, ...plain(text.slice(left, right))));
      at = right;
    }
    nodes.push(...plain(text.slice(at, to)));
    return nodes;
  }

  // No cut between the halves of a character.
  function whole(text, at) {
    const code = text.charCodeAt(at);
    return at > 0 && at < text.length && code >= 0xdc00 && code <= 0xdfff ? at - 1 : at;
  }

  function head(text) {
    let end = -1;
    for (let line = 0; line < LINES; line += 1) {
      end = text.indexOf("\n", end + 1);
      if (end < 0 || end >= HEAD) return HEAD;
    }
    return end;
  }

  // The stretches of a text that are shown at first: its head, and the first marked places.
  function stretches(text, marks) {
    const wanted = [[0, head(text)]];
    const beyond = marks.filter(([, end]) => end > wanted[0][1]).slice(0, PLACES);
    for (const [start, end] of beyond) wanted.push([Math.max(0, start - AROUND), Math.min(text.length, end + AROUND)]);
    const joined = [wanted[0]];
    for (const [start, end] of wanted.slice(1)) {
      const last = joined[joined.length - 1];
      if (start - last[1] < SMALL) last[1] = Math.max(last[1], end);
      else joined.push([start, end]);
    }
    const last = joined[joined.length - 1];
    if (text.length - last[1] < SMALL) last[1] = text.length;
    return joined.map(([start, end]) => [whole(text, start), whole(text, end)]);
  }

  function fold(text, from, to, marks) {
    const button = element("button", { type: "button", class: "fold" }, `${count(to - from)} more characters`);
    button.addEventListener("click", () => {
      const end = to - from > MORE + SMALL ? whole(text, from + MORE) : to;
      const rest = end < to ? fold(text, end, to, marks) : null;
      const shown = element("span", { tabindex: "-1" }, ...marked(text, from, end, marks));
      button.replaceWith(...[shown, rest].filter(Boolean));
      shown.focus({ preventScroll: true });
    });
    return button;
  }

  // A block of text, folded where it is long.
  function block(text, { marks = [], kind = "" } = {}) {
    const nodes = [];
    let at = 0;
    for (const [start, end] of stretches(text, marks)) {
      if (start > at) nodes.push(fold(text, at, start, marks));
      nodes.push(...marked(text, start, end, marks));
      at = end;
    }
    if (at < text.length) nodes.push(fold(text, at, text.length, marks));
    return element("div", { class: `text ${kind}`.trim(), dir: "auto" }, ...nodes);
  }

  // One line of a text, at most so many characters.
  function line(text, most = 160) {
    const flat = text.slice(0, 4 * most).replace(/[ \t\n\r]+/g, " ").trim();
    const short = flat.length > most ? `${flat.slice(0, whole(flat, most - 1))}…` : flat;
    return element("span", { class: "line", dir: "auto" }, ...plain(short));
  }

  // A call as it is written in code.
  function call(step) {
    const given = Object.entries(step.arguments || {}).map(([name, value]) => `${name}=${JSON.stringify(value)}`);
    return `${step.api || ""}(${given.join(", ")})`;
  }

  return { block, line, plain, call };
})();
