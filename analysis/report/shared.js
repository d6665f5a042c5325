// What the parts of the page share: the data, colours and markers, and how elements and numbers are made.
// Every text is set as text. Nothing here or elsewhere on the page writes markup from data.
"use strict";

const Report = { data: window.R_EVAL.results, condition: null };

// Okabe and Ito's palette, safe for the common kinds of colour blindness; a second set for dark paper.
const LLM_COLOURS = {
  light: ["#0072b2", "#d55e00", "#009e73", "#b6529a", "#b07900", "#3d9fd6", "#6b6b6b", "#7a5195"],
  dark: ["#56b4e9", "#f58545", "#2fc79a", "#dd8fc4", "#eab541", "#9ad4f5", "#b5b5b5", "#b79bd6"],
};
const TYPE_COLOURS = {
  light: { EM: "#0b4f8a", AM: "#79b4e2", GE: "#f2cf5b", RE: "#e58a2b", ME: "#a9afb5", TE: "#9c3d10" },
  dark: { EM: "#3f8fd2", AM: "#9fcdf0", GE: "#e8c547", RE: "#d97b1f", ME: "#7f8891", TE: "#b9552a" },
};
const MARKERS = ["circle", "square", "diamond", "triangle-up", "cross", "star", "pentagon", "hexagon", "triangle-down", "x"];

const darkPaper = window.matchMedia("(prefers-color-scheme: dark)");
const theme = () => (darkPaper.matches ? "dark" : "light");
const cssColour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function element(tag, settings = {}, ...children) {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(settings)) {
    if (value === null || value === undefined || value === false) continue;
    if (key === "class") node.className = value;
    else if (key === "onclick") node.addEventListener("click", value);
    else node.setAttribute(key, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

function fill(id, ...children) {
  document.getElementById(id).replaceChildren(...children.filter((child) => child !== null));
}

function llmColour(llm) {
  const contenders = Report.data.llms.filter((known) => known.name !== "none");
  const place = contenders.findIndex((known) => known.name === llm);
  const colours = LLM_COLOURS[theme()];
  return place < 0 ? cssColour("--faint") : colours[place % colours.length];
}

function marker(workflow) {
  return MARKERS[Report.data.workflows.indexOf(workflow) % MARKERS.length];
}

const llmShort = (llm) => (llm === "none" ? "" : Report.data.llms.find((known) => known.name === llm).short);
// A name with the characters that are not seen, or turn the direction of what stands around it, as their numbers.
const calm = (text) => text.replace(/(?![\u200c\u200d])[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/gu, (char) => `[U+${char.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}]`);
const systemName = (row) => calm(row.llm === "none" ? row.workflow : `${row.workflow} · ${llmShort(row.llm)}`);
const rowsShown = () => Report.data.rows.filter((row) => row.condition === Report.condition);
const groupIndex = (key) => Report.data.groups.findIndex((group) => group.key === key);
const overall = (row) => row.averages[groupIndex("all")];

const percent = (share) => (share === null || share === undefined ? "–" : (100 * share).toFixed(1));
const count = (number) => number.toLocaleString("en-US").replaceAll(",", "\u202f");
const plural = (number, one, many = `${one}s`) => `${count(number)} ${number === 1 ? one : many}`;

function seconds(value) {
  if (value === null) return "–";
  if (value >= 100) return `${count(Math.round(value))} s`;
  return value >= 1 ? `${value.toFixed(1)} s` : `${Number(value.toPrecision(2))} s`;
}

function when(text) {
  const date = new Date(text);
  if (!text || Number.isNaN(date.getTime())) return null;
  const day = date.toLocaleDateString("en-GB", { day: "numeric", month: "long", year: "numeric", timeZone: "UTC" });
  return `${day}, ${date.toISOString().slice(11, 16)} UTC`;
}

// The smallest round number that holds a share, so that figures of weak systems can be read.
function roundedTop(share) {
  return [0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1].find((top) => share <= top) || 1;
}
