// What the scripts of the page share: names, colours, elements, numbers, data.
// Every text is set as text: no script makes markup from data.
"use strict";

const P = window.R_EVAL.page;
const SYSTEMS = P.systems || [];
const TASKS = P.tasks || [];
const CONDITIONS = P.conditions || [];
const TYPES = P.types || [];
const CAUSES = new Map(P.causes || []);
const LABELS = new Map(SYSTEMS.map((system) => [system.name, system]));
const dark = window.matchMedia("(prefers-color-scheme: dark)");

function h(tag, settings, ...children) {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(settings || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (key === "class") node.className = value;
    else if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else node.setAttribute(key, value === true ? "" : value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

const at = (id) => document.getElementById(id);
const fill = (id, ...children) => at(id).replaceChildren(...children.flat().filter((child) => child !== null
  && child !== undefined));
// A tie goes to the even digit, as in the charts and in the terminal; toFixed would round 29.25 up.
const percent = (share) => {
  if (share === null || share === undefined) return "–";
  const value = 100 * share;
  return (value % 1 === 0.25 ? value - 0.05 : value).toFixed(1);
};
const count = (number) => number.toLocaleString("en-US");
const plural = (number, one, many = `${one}s`) => `${count(number)} ${number === 1 ? one : many}`;
const digits = (value) => String(Number(value.toPrecision(3)));
const seconds = (value) => (value === null || value === undefined ? "–" : value >= 100
  ? `${count(Math.round(value))} s` : value < 0.001 ? "< 1 ms" : `${digits(value)} s`);
const spaced = (word) => word.replaceAll("_", " ");

// A colour on the paper of the theme.
const DARK = new Map(P.dark || []);
const coloured = (colour) => (dark.matches && DARK.get(colour)) || colour;

function swatch(colour, kind = "swatch") {
  const node = h("span", { class: kind });
  node.style.background = coloured(colour);
  return node;
}

// A system's colour and label; its last word, the LLM's name, breaks only where a line has no room for it.
function labelOf({ colour, label }) {
  const at = label.lastIndexOf(" ") + 1;
  return [swatch(colour), label.slice(0, at), h("span", { class: "word" }, label.slice(at))];
}

// White or black, whichever is read better on a colour.
function inkOn(colour) {
  const [red, green, blue] = [1, 3, 5].map((place) => {
    const part = parseInt(colour.slice(place, place + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.179 ? "#000000" : "#ffffff";
}

function badge(type, settings = {}) {
  const [key, name, colour] = TYPES[type];
  const node = h(settings.href ? "a" : "span", { class: "badge", title: name, ...settings }, key);
  node.style.background = coloured(colour);
  node.style.color = inkOn(coloured(colour));
  return node;
}

// ---- data are scripts in data/, loaded when a view needs them

class MissingData extends Error {}
const loading = new Map();

// What the script data/<name>.js sets, once it is there.
function load(name) {
  if (window.R_EVAL[name] !== undefined) return Promise.resolve(window.R_EVAL[name]);
  return script(`data/${name}.js`).then(() => window.R_EVAL[name]);
}

function script(path) {
  if (!loading.has(path)) {
    loading.set(path, new Promise((resolve, reject) => {
      document.head.append(h("script", { src: path, onload: resolve,
        onerror: () => reject(new MissingData(`The file ${path} of this report is missing. Run r-eval report again.`)) }));
    }));
  }
  return loading.get(path);
}
