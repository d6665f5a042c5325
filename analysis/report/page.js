// The page: addresses (#/tab?key=value), tabs, and the beginning of it all.
"use strict";

function place() {
  const [path, query = ""] = window.location.hash.replace(/^#\/?/, "").split("?");
  const known = [...document.querySelectorAll("main > [data-tab]")].some((node) => node.dataset.tab === path);
  const params = Object.fromEntries(new URLSearchParams(query));
  return { tab: known ? path : P.tabs[0], params, condition: CONDITIONS[Number(params.c)] === undefined ? 0
    : Number(params.c) };
}

function address(tab, params = {}) {
  const own = Object.entries(params).filter(([key, value]) => value !== null && value !== undefined && value !== ""
    && !(key === "c" && Number(value) === 0));
  const query = new URLSearchParams(own).toString();
  return `#/${tab}${query ? `?${query}` : ""}`;
}

// Change parameters of the address; `replace` makes no step for the back button.
function change(changes, replace = false) {
  const { tab, params } = place();
  window.history[replace ? "replaceState" : "pushState"](null, "", address(tab, { ...params, ...changes }));
  show();
}

function showFault(error) {
  if (!(error instanceof MissingData)) throw error;
  at("fault").hidden = false;
  fill("fault", error.message);
}

let turn = 0; // only the newest drawing may write: an older one was overtaken while it loaded
let last = "";

async function show() {
  const { tab, params, condition } = place();
  const mine = ++turn;
  const current = () => mine === turn;
  const focused = document.activeElement?.id;
  if (last && last !== tab) window.scrollTo(0, 0);
  last = tab;
  for (const node of document.querySelectorAll("main > [data-tab]")) node.hidden = node.dataset.tab !== tab;
  for (const link of document.querySelectorAll("[data-link]")) {
    const own = link.dataset.link === tab || (link.dataset.link === "errors"
      && (tab === "question" || tab === "episode"));
    link.toggleAttribute("aria-current", false);
    if (own) link.setAttribute("aria-current", "page");
    link.href = address(link.dataset.link, { c: condition });
  }
  at("conditions").hidden = CONDITIONS.length < 2;
  fill("conditions", CONDITIONS.map((name, number) => h("button",
    { type: "button", "aria-pressed": String(number === condition),
    onclick: () => change({ c: number, page: null }) }, name)));
  at("fault").hidden = true;
  try {
    if (tab === "question") await showQuestion(params, condition, current);
    else if (tab === "episode") await showEpisode(params, condition, current);
    else if (tab) await showTab(tab, params, condition, current);
    if (focused && document.activeElement === document.body) at(focused)?.focus({ preventScroll: true });
  } catch (error) {
    showFault(error);
  }
}

const drawn = new Map();

async function showTab(tab, params, condition, current) {
  const sections = tab === P.tabs[0] ? P[tab] : await load(tab);
  if (!current()) return;
  if (tab === "results" && P.board) showResults(params, condition);
  const state = `${condition} ${dark.matches}`;
  if (drawn.get(tab) !== state) {
    for (const section of sections) showSection(at(`${tab}-${section.key}`), section, condition);
    drawn.set(tab, state);
  }
  if (at("matrix") && tab === "errors") await showMatrix(params, condition, current);
}

function showSection(node, { tables, charts }, condition) {
  const here = charts.filter((chart) => chart.condition < 0 || chart.condition === condition);
  const groups = new Map();
  for (const chart of here) groups.set(chart.group || chart.name, [...(groups.get(chart.group || chart.name) || []),
    chart]);
  node.querySelector(".charts").replaceChildren(...[...groups.values()].map((charts) => chartGroup(charts,
    node.querySelector("h2")?.textContent)));
  const title = node.querySelector("h2")?.textContent;
  const blocks = tables.map((table) => tableBlock(table, condition, title)).filter(Boolean);
  node.querySelector(".tables").replaceChildren(...blocks);
  node.hidden = !blocks.length && !here.length && !node.querySelector("table, ul");
}

show();
window.addEventListener("hashchange", show);
window.addEventListener("popstate", show);
dark.addEventListener("change", show);
window.addEventListener("beforeprint", () => document.querySelectorAll(".plot.waiting").forEach((plot) =>
  plot.checkVisibility() && drawChart(plot)));
