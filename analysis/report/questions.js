// Questions: a filtered matrix of questions and systems, and what every system made of one question.
"use strict";

const FIELDS = ["question", "system", "condition", "epoch", "score", "type", "cause", "seconds", "calls", "id",
  "chunk"];
const PAGE = 40; // questions of a page
const tasks = new Map();

function task(number) {
  if (!tasks.has(number)) tasks.set(number, load(`questions/${number}`).then((data) => readTask(number, data)));
  return tasks.get(number);
}

function readTask(number, data) {
  const questions = data.questions.map((question, nth) => ({ ...question, place: nth, task: number, episodes: [] }));
  for (const values of data.episodes) {
    const episode = Object.fromEntries(FIELDS.map((field, nth) => [field, values[nth]]));
    episode.cause = data.causes[episode.cause];
    episode.question = questions[episode.question];
    episode.question.episodes.push(episode);
  }
  return questions;
}

const withEpisodes = () => TASKS.flatMap((one, number) => (one.chunks ? [number] : []));
const given = (text) => (text === undefined || text === "" ? null : Number(text));

async function matching(params, condition) {
  const numbers = withEpisodes().filter((number) => given(params.task) === null || number === given(params.task));
  const questions = (await Promise.all(numbers.map(task))).flat();
  const needle = (params.text || "").toLowerCase().trim();
  const type = TYPES.findIndex(([key]) => key === params.type);
  const fits = (episode) => episode.condition === condition && (given(params.system) === null
    || episode.system === given(params.system))
    && (type < 0 || episode.type === type) && (!params.cause || episode.cause === params.cause);
  return questions.filter((question) => (!needle || [question.text, question.id, ...question.golds].some((text) =>
    text.toLowerCase().includes(needle))) && question.episodes.some(fits));
}

function filters(params, causes) {
  const select = (key, label, choices) => choices.length < 2 ? null : h("label", {}, h("span", {}, label),
    h("select", { id: `filter-${key}`, onchange: (event) => change({ [key]: event.target.value, page: null }) },
    h("option", { value: "" }, "any"),
      choices.map(([value, text]) => h("option", { value: String(value), selected: String(value) === params[key] },
      text))));
  const search = h("input", { id: "filter-text", type: "search", value: params.text || "",
    placeholder: "question, id or answer", onchange: (event) => change({ text: event.target.value, page: null }) });
  return [select("task", "Task", withEpisodes().map((number) => [number, TASKS[number].short])),
    select("system", "System", SYSTEMS.map((system, number) => [number, system.label])),
    select("type", "Response type", TYPES.map(([key, name]) => [key, `${key}: ${name}`])), select("cause", "Cause",
      causes.map((cause) => [cause, spaced(cause)])), h("label", {}, h("span", {}, "Text"), search)];
}

async function showMatrix(params, condition, current) {
  const found = await matching(params, condition);
  if (!current()) return;
  const known = await Promise.all(withEpisodes().map(task));
  const causes = new Set(known.flat().flatMap((question) => question.episodes.map((episode) =>
    episode.cause)).filter(Boolean));
  if (!current()) return;
  fill("filters", filters(params, [...CAUSES.keys()].filter((cause) => causes.has(cause))));
  fill("types", TYPES.map(([key, name, colour]) => h("span", {}, swatch(colour, "square"), `${key} ${name}`)));
  fill("found", `${plural(found.length, "question")}. Each mark is an episode and leads to its transcript.`);
  const page = Math.min(Math.max(1, Math.trunc(Number(params.page)) || 1),
    Math.max(1, Math.ceil(found.length / PAGE)));
  const rows = found.slice((page - 1) * PAGE, page * PAGE);
  const order = P.board.rows.filter((row) => row.condition === condition && row.all).sort((one, other) =>
    ranked([other]).length - ranked([one]).length || other.all[0] - one.all[0]).map((row) => row.system);
  const there = new Set(known.flat().flatMap((question) => question.episodes.filter((episode) =>
    episode.condition === condition).map((episode) => episode.system)));
  const systems = [...order, ...[...there].filter((system) => !order.includes(system))].filter((system) =>
    there.has(system) && (given(params.system) === null || system === given(params.system)));
  fill("matrix", h("thead", {}, h("tr", {}, h("th", { class: "question", scope: "col" }, "question"),
    systems.map((system) => h("th", { scope: "col", title: SYSTEMS[system].name },
    h("span", {}, SYSTEMS[system].label))))),
    h("tbody", {}, rows.map((question) => matrixRow(question, systems, condition, params))));
  const go = (to, label) => h("button", { type: "button", id: `page-${label}`, disabled: to < 1
    || (to - 1) * PAGE >= found.length, onclick: () => { change({ page: to }); at("filters").scrollIntoView(); } },
    label);
  fill("pager", found.length > PAGE ? [go(page - 1, "Previous"),
    h("span", {}, `${(page - 1) * PAGE + 1} to ${Math.min(page * PAGE, found.length)} of ${count(found.length)}`),
    go(page + 1, "Next")] : []);
}

function matrixRow(question, systems, condition, params) {
  const cells = systems.map((system) => h("td", {}, question.episodes.filter((episode) => episode.system === system
    && episode.condition === condition).map((episode) => mark(episode))));
  return h("tr", {}, h("th", { class: "question", scope: "row" },
    h("a", { href: toQuestion(question, condition, params) }, line(question.text, 200)),
    h("small", {}, line(`${TASKS[question.task].short} · ${question.id}`, 90))), cells);
}

const named = (episode) => `${SYSTEMS[episode.system].label}${episode.epoch ? ` run ${episode.epoch + 1}` : ""}`;
const mark = (episode) => badge(episode.type, { href: toEpisode(episode),
  "aria-label": `${TYPES[episode.type][0]}: ${named(episode)}`,
  title: `${named(episode)}: ${TYPES[episode.type][1]}${episode.cause ? `, ${spaced(episode.cause)}` : ""}` });
const toEpisode = (episode, more = {}) => address("episode", { c: episode.condition, task: episode.question.task,
  id: episode.id, ...more });
const toQuestion = (question, condition, { system, type, cause, text } = {}) => address("question",
  { c: condition, task: question.task, id: question.id, system, type, cause, text });
const nothing = (what) => h("p", { class: "notice" }, `There is no such ${what}. `,
  h("a", { href: address("errors") }, "All questions"));

async function showQuestion(params, condition, current) {
  const questions = TASKS[params.task]?.chunks ? await task(Number(params.task)) : [];
  const question = questions.find((one) => one.id === params.id);
  const episodes = question ? question.episodes.filter((episode) => episode.condition === condition) : [];
  const data = await Promise.all(episodes.map(transcript));
  const near = question ? await matching({ ...params, task: null }, condition) : [];
  if (!current()) return;
  if (!episodes.length) {
    fill("question-title", "Question");
    fill("question", nothing("question"));
    return;
  }
  const nth = near.indexOf(question);
  const link = (other, text) => (other ? h("a", { href: toQuestion(other, condition, params) }, text) : null);
  const { system, type, cause, text } = params;
  fill("question-title", line(question.text, 240));
  const rows = episodes.map((episode, number) => h("tr", {}, h("th", { scope: "row" },
    swatch(SYSTEMS[episode.system].colour), named(episode)), h("td", {}, mark(episode)), h("td", { class: "number" },
    percent(episode.score)),
    h("td", {}, data[number].answer ? line(data[number].answer, 160) : h("span", { class: "none" }, "none")),
      h("td", { class: "long" }, CAUSES.get(episode.cause) || ""), h("td", { class: "number" }, seconds(episode.seconds)),
      h("td", { class: "number" }, count(episode.calls))));
  const heads = [["system"], ["type"], ["score %", true], ["answer"], ["cause"], ["time", true], ["LLM calls", true]];
  fill("question", h("p", { class: "way" },
    h("a", { href: address("errors", { c: condition, system, type, cause, text }) }, "All questions"), nth < 0 ? null
    : [link(near[nth - 1], "Previous"), h("span", {}, `${count(nth + 1)} of ${count(near.length)}`),
    link(near[nth + 1], "Next")]),
    question.text.length > 240 ? block(question.text) : null, h("p", { class: "about" }, [TASKS[question.task].short,
      question.level, question.id].map((one) => h("span", {}, line(one, 100)))),
    h("div", { class: "rests" }, h("h3", {}, data[0].golds.length > 1 ? "Gold answers, any of them" : "Gold answer"),
      data[0].golds.slice(0, 20).map((gold) => block(gold))),
    h("div", { class: "block scroll", tabindex: "0", role: "region", "aria-label": "All systems" },
      h("table", { class: "plain" },
      h("thead", {}, h("tr", {}, heads.map(([head, number]) => h("th", { scope: "col", class: number ? "number"
      : null }, head)))), h("tbody", {}, rows))));
}
