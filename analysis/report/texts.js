// Texts that a model or a tool wrote: characters that cannot be seen are tags, programs monospaced, long texts folded.
"use strict";

const HEAD = 1200; // characters of a text before it is folded
const LINES = 26;
const AROUND = 160; // characters on each side of a mark beyond the fold
const MARKS = 5; // marks beyond the fold that are shown at once
const MOST = 200; // marks of one text
const MORE = 20000; // characters that a click adds
const SMALL = 120; // characters that are not worth a fold
const CODE = /\x1b\[[0-9;?]*[ -/]*[@-~]|[^]/gu;
// Zero-width joiners stay: they move nothing, and emoji and some scripts are written with them.
const UNSEEN = /(?:\x1b\[[0-9;?]*[ -/]*[@-~]|(?![\n\t\u200c\u200d]|\r\n)[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029])+/gu;

function tag(run) {
  const codes = run.match(CODE);
  const names = codes.slice(0, 6).map((code) => (code.length > 1 && code[0] === "\x1b" ? `ESC${code.slice(1)}`
    : `U+${code.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}`));
  return h("span", { class: "codes", title: "Invisible characters" }, codes.length > 6
    ? `${names.join(" ")} … ${count(codes.length)} in all` : names.join(" "));
}

// A text as nodes, invisible characters as tags.
function plain(text) {
  const nodes = [];
  let from = 0;
  for (const match of text.matchAll(UNSEEN)) {
    if (match.index > from) nodes.push(text.slice(from, match.index));
    nodes.push(tag(match[0]));
    from = match.index + match[0].length;
  }
  if (from < text.length) nodes.push(text.slice(from));
  return nodes;
}

// Where a text has some others, [start, end] in order, whatever their case; at most MOST of each.
function places(text, others) {
  const found = [];
  const folded = text.toLowerCase();
  if (folded.length !== text.length) return found;
  for (const other of others.map((one) => one.toLowerCase()).filter(Boolean)) {
    for (let at = folded.indexOf(other), number = 0; at >= 0 && number < MOST; number += 1) {
      found.push([at, at + other.length]);
      at = folded.indexOf(other, at + other.length);
    }
  }
  return found.sort((one, two) => one[0] - two[0]);
}

// The characters from..to with the marks in them, [start, end] in order, and fenced programs as code.
function marked(text, from, to, marks) {
  const nodes = [];
  let done = from;
  for (const [start, end] of marks) {
    const [left, right] = [Math.max(start, done), Math.min(end, to)];
    if (left >= right) continue;
    nodes.push(...fenced(text.slice(done, left)), h("mark", {}, plain(text.slice(left, right))));
    done = right;
  }
  return [...nodes, ...fenced(text.slice(done, to))];
}

// A fence counts where it begins a line.
function fenced(text) {
  const parts = text.split(/^```/m);
  return parts.flatMap((part, number) => {
    if (number % 2 === 0) return plain(number ? part.replace(/^\n/, "") : part);
    const end = part.indexOf("\n");
    return h("code", { class: "code" }, plain((end >= 0 && end < 20 ? part.slice(end + 1) : part).replace(/\n$/, "")));
  });
}

// No cut between the halves of a character.
const whole = (text, cut) => (cut > 0 && cut < text.length && text.charCodeAt(cut) >= 0xdc00
  && text.charCodeAt(cut) <= 0xdfff ? cut - 1 : cut);

function headOf(text) {
  let end = -1;
  for (let number = 0; number < LINES; number += 1) {
    end = text.indexOf("\n", end + 1);
    if (end < 0 || end >= HEAD) return HEAD;
  }
  return end;
}

// The stretches of a text that are shown at first: its head, and the first marks.
function stretches(text, marks) {
  const joined = [[0, headOf(text)]];
  for (const [start, end] of marks.filter((one) => one[1] > joined[0][1]).slice(0, MARKS)) {
    const previous = joined[joined.length - 1];
    const [left, right] = [Math.max(0, start - AROUND), Math.min(text.length, end + AROUND)];
    if (left - previous[1] < SMALL) previous[1] = Math.max(previous[1], right);
    else joined.push([left, right]);
  }
  const previous = joined[joined.length - 1];
  if (text.length - previous[1] < SMALL) previous[1] = text.length;
  return joined.map(([start, end]) => [whole(text, start), whole(text, end)]);
}

function fold(text, from, to, marks) {
  const button = h("button", { type: "button", class: "fold", onclick: () => {
    const end = to - from > MORE + SMALL ? whole(text, from + MORE) : to;
    const opened = h("span", { tabindex: "-1" }, marked(text, from, end, marks));
    button.replaceWith(opened, ...(end < to ? [fold(text, end, to, marks)] : []));
    opened.focus({ preventScroll: true });
  } }, `${count(to - from)} more characters`);
  return button;
}

// A block of text, folded where it is long.
function block(text, { marks = [], kind = "" } = {}) {
  const nodes = [];
  let done = 0;
  for (const [start, end] of stretches(text, marks)) {
    if (start > done) nodes.push(fold(text, done, start, marks));
    nodes.push(...marked(text, start, end, marks));
    done = end;
  }
  if (done < text.length) nodes.push(fold(text, done, text.length, marks));
  return h("div", { class: `text ${kind}`.trim(), dir: "auto" }, nodes);
}

// One line of a text, at most so many characters.
function line(text, most = 160) {
  const flat = text.slice(0, 4 * most).replace(/[ \t\n\r]+/g, " ").trim();
  return h("span", { class: "line", dir: "auto" }, plain(flat.length > most
    ? `${flat.slice(0, whole(flat, most - 1))}…` : flat));
}
