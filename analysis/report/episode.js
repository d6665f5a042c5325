// The transcript of one episode, or of two side by side.
"use strict";

const CHUNKS = 4; // unpacked chunks that are kept
const chunks = new Map();

// What was recorded of an episode.
async function transcript(episode) {
  const name = `episodes/${episode.question.task}-${episode.chunk}`;
  if (!chunks.has(name)) {
    chunks.set(name, load(name).then(unpack));
    if (chunks.size > CHUNKS) chunks.delete(chunks.keys().next().value);
  }
  return (await chunks.get(name)).get(episode.id);
}

async function unpack(text) {
  const bytes = Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Map(Object.entries(JSON.parse(await new Response(stream).text())));
}

async function showEpisode(params, condition, current) {
  const questions = TASKS[params.task]?.chunks ? await task(Number(params.task)) : [];
  const asked = questions.flatMap((question) => question.episodes).find((one) => one.id === params.id);
  const episode = !asked || asked.condition === condition ? asked
    : asked.question.episodes.find((one) => one.condition === condition && one.system === asked.system
    && one.epoch === asked.epoch);
  const others = episode ? episode.question.episodes.filter((one) => one.condition === condition) : [];
  const other = others.find((one) => one.id === params.with && one !== episode);
  const data = episode && await transcript(episode);
  const beside = other && await transcript(other);
  if (!current()) return;
  if (!data) {
    fill("episode-title", "Transcript");
    fill("episode", nothing("episode"));
    return;
  }
  const text = data.question || episode.question.text;
  fill("episode-title", line(text, 240));
  const same = (question) => question?.episodes.find((one) => one.condition === condition
    && one.system === episode.system && one.epoch === episode.epoch);
  const link = (one, label) => (one ? h("a", { href: toEpisode(one) }, label) : null);
  const choose = (key, label, chosen, none) => h("label", {}, h("span", {}, label),
    h("select", { id: `choose-${key}`, onchange: (event) => change({ [key]: event.target.value, step: null }) }, none
    ? h("option", { value: "" }, none) : null,
    others.filter((one) => none === undefined || one !== episode).map((one) => h("option",
      { value: one.id, selected: one === chosen }, `${named(one)} · ${TYPES[one.type][0]}`))));
  const near = questions.indexOf(episode.question);
  fill("episode", h("div", { class: "way" }, h("a", { href: toQuestion(episode.question, condition) },
    "All systems on this question"), link(same(questions[near - 1]), "Previous question"),
    link(same(questions[near + 1]), "Next question"),
    choose("id", "System", episode), others.length > 1 ? choose("with", "Compare with", other, "none") : null),
    h("div", { class: "qa" }, h("h3", {}, "Question"), block(text), h("h3", {}, data.golds.length > 1 ? "Gold answers"
      : "Gold answer"), h("div", {}, data.golds.slice(0, 20).map((gold) => block(gold)))),
    h("div", { class: other ? "sides" : null }, side(episode, data, ""), other ? side(other, beside, "b") : null));
  if (params.step) jumpTo(Math.trunc(Number(params.step)), "");
}

function side(episode, data, letter) {
  const levels = [...new Set(data.steps.map((step) => step.depth ?? 0))].sort((one, other) => one - other);
  let level = 0; // of the latest reply: a search goes down and up its tree, and what a reply led to is as deep
  return h("div", { class: "block" }, h("h3", {}, swatch(SYSTEMS[episode.system].colour), named(episode)),
    h("div", { class: "rests" }, h("p", {}, badge(episode.type), ` ${TYPES[episode.type][1]}`, episode.cause
      ? ` · ${CAUSES.get(episode.cause) || spaced(episode.cause)}` : null), cuts(data),
      h("p", {}, plain(verdict(episode, data))), wantedList(data, letter)),
    h("div", { class: "block qa" }, h("h3", {}, "Answer"), data.answer ? block(data.answer, { kind: "answer" })
      : h("p", { class: "none" }, "none")),
    h("p", { class: "about" }, facts(data).map((fact) => h("span", {}, fact))),
    h("ol", { class: "steps", "aria-label": "Steps" }, data.steps.map((one, number) => {
      const node = stepNode(data, one, number, letter);
      if (one.kind === "thought") level = Math.min(12, levels.indexOf(one.depth ?? 0));
      node.style.setProperty("--depth", String(one.kind === "answer" ? 0 : level));
      return node;
    })));
}

function cuts(data) {
  const replies = data.steps.filter((step) => step.kind === "thought" && step.error === "length").length;
  const observations = data.steps.filter((step) => step.cut).length;
  return [replies ? h("p", { class: "red" }, `${plural(replies, "reply was", "replies were")} cut at max_tokens.`)
    : null, observations ? h("p", { class: "red" },
    `${plural(observations, "observation was", "observations were")} shortened.`) : null];
}

const OUTCOMES = { finished: "finished", gave_up: "gave up", exhausted: "reached a limit",
  tool_misuse: "could not continue after wrong calls", tool_failure: "stopped: the environment failed",
  llm_failure: "stopped: the LLM failed", cancelled: "was stopped with the run" };

function verdict(episode, data) {
  const { kind, cause, detail } = data.outcome;
  const reward = episode.score === null ? "There is no score, because of an infrastructure failure."
    : `Score ${percent(episode.score)} % (${data.metric}; an answer matches from ${percent(data.threshold)} %).`;
  const why = detail ? `: ${detail.replace(/\.\s*$/, "")}` : cause ? ` (${cause})` : "";
  return `${reward} ${evidence(data)} The episode ${OUTCOMES[kind] || kind}${why}.`;
}

function evidence({ taxonomy, named: byName, supported, undecided, retrieved, wanted }) {
  const holds = undecided ? "may or may not hold" : supported ? "hold" : "do not hold";
  if (taxonomy === "paper") return `The observations ${holds} the response.`;
  if (taxonomy !== "strict") return `What the model and the tools wrote ${supported ? "holds" : "does not hold"} the gold's characters.`;
  if (byName) return supported ? "All the named evidence was observed."
    : `${wanted.filter((one) => one.steps.length).length} of ${plural(wanted.length, "named text")} were observed.`;
  if (retrieved !== null
    && retrieved !== undefined) return `${percent(retrieved)} % of the relevant documents were found.`;
  if (undecided) return "Whether the gold answer was observed cannot be decided: any text may hold it by chance, or none.";
  return supported ? "The observations hold the gold answer." : "No observation holds the gold answer.";
}

function wantedList({ wanted, named: byName }, letter) {
  if (!wanted.length) return null;
  const where = (one) => (one.chance ? "not searched for" : one.steps.length
    ? ["in step ", one.steps.slice(0, 12).flatMap((number, nth) => [nth ? ", " : null, stepLink(number, letter)])]
    : "not observed");
  return h("details", {}, h("summary", {}, byName ? "Named evidence" : "Gold answers in the observations"),
    h("ul", {}, wanted.slice(0, 60).map((one) => h("li", {}, h(one.steps.length ? "mark" : "span", {},
    line(one.text, 200)), " ", where(one)))));
}

function facts({ usage, seconds: times }) {
  return [seconds(times.total ?? 0), times.llm && `${seconds(times.llm)} in the LLM`, times.environment
    && `${seconds(times.environment)} in the environment`, times.queue && `${seconds(times.queue)} queueing`,
    times.retry && `${seconds(times.retry)} in retries`,
    plural(usage.calls || 0, "LLM call"), usage.retries && plural(usage.retries, "retry", "retries"),
      `${count(usage.prompt_tokens || 0)} prompt tokens${usage.cached_tokens ? ` (${count(usage.cached_tokens)} cached)` : ""}`,
    `${count(usage.completion_tokens || 0)} completion tokens${usage.estimated ? " (estimated)" : ""}`,
      usage.cost !== undefined && `${digits(usage.cost)} USD`].filter(Boolean);
}

function jumpTo(number, letter) {
  const node = at(`step${letter}-${number}`);
  node?.scrollIntoView({ block: "start" });
  node?.focus({ preventScroll: true });
}

function stepLink(number, letter) {
  const { tab, params } = place();
  const href = address(tab, { ...params, step: letter ? null : number + 1 });
  return h("a", { href, "aria-label": `step ${number + 1}`,
    onclick: (event) => { event.preventDefault(); window.history.replaceState(null, "", href); jumpTo(number + 1,
    letter); } }, String(number + 1));
}

const KINDS = { thought: "Reply", call: "Call", observation: "Message of the workflow", answer: "Answer" };
const ERRORS = {
  unknown_api: "no such API", bad_arguments: "arguments do not fit", not_found: "found nothing",
    temporary: "temporary failure", tool_error: "error of the API", environment: "the environment failed",
    repeated: "repeated call",
  limit: "over a limit", length: "cut at max_tokens", content_filter: "stopped by a content filter",
    refusal: "refused", empty: "empty", invented: "continued with an invented observation, which was cut off",
    unparsed: "no answer could be read",
};

function stepNode(data, step, number, letter) {
  const tokens = step.tokens
    && `${count(step.tokens[0])} tokens in (${count(step.tokens[2])} cached), ${count(step.tokens[1])} out`;
  const depth = step.depth !== undefined && `depth ${step.depth}`;
  const notes = [step.seconds && seconds(step.seconds), step.replayed && "replayed", tokens, depth];
  const error = step.error ? h("span", { class: "red" }, " ", plain(Object.hasOwn(ERRORS, step.error)
    ? ERRORS[step.error] : step.error)) : null;
  const marks = places(step.observation || "", (step.holds || []).map((one) => data.wanted[one].text));
  const seen = step.holds?.length ? [" ", h("mark", {}, "evidence")] : null;
  return h("li", { id: `step${letter}-${number + 1}`, class: `step ${step.kind}`, tabindex: "-1" },
    h("header", {}, h("h4", { style: null }, h("span", { class: "number" }, String(number + 1)),
      ` ${KINDS[step.kind] || step.kind}`, error, seen),
      h("p", {}, notes.filter(Boolean).join(" · "))),
    sent(data, step), step.reasoning ? h("details", { class: "reasoning" },
      h("summary", {}, `Hidden reasoning, ${plural(step.reasoning.length, "character")}`), block(step.reasoning))
      : null,
    step.kind === "call" ? block(call(step), { kind: "written" }) : null, step.text ? block(step.text) : null,
    step.observation && step.kind === "answer" ? h("p", { class: "note" }, "read by: ", line(step.observation))
      : null,
    step.observation && step.kind !== "answer" ? block(step.observation, { marks, kind: step.holds?.length
      && !marks.length ? "observed held" : "observed" }) : null,
    step.cut ? h("p", { class: "red" }, "The observation was shortened here.") : null, step.kind === "thought"
      && step.error === "length" ? h("p", { class: "red" }, "The reply was cut here, at max_tokens.") : null,
    !step.text && !step.observation && step.kind !== "call" && !step.reasoning ? h("p", { class: "none" }, "nothing")
      : null);
}

// The messages that a reply answers, as they were sent.
function sent(data, step) {
  if (!step.request?.length) return null;
  const node = h("details", { class: "sent" },
    h("summary", {}, `Prompt as sent, ${plural(step.request.length, "message")}`));
  node.addEventListener("toggle", () => {
    if (node.childElementCount > 1) return;
    node.append(...step.request.map((number) => data.messages[number]).filter(Boolean).map((message) => h("div",
      { class: "message" }, h("h4", {}, plain(`${message.role}${message.name ? ` (${message.name})` : ""}`)),
      message.content ? block(message.content) : null, (message.calls || []).map((one) => block(JSON.stringify(one),
        { kind: "written" })))));
  });
  return node;
}

const argument = ([name, one]) => `${name}=${JSON.stringify(one)}`;
const call = (step) =>
  `${step.api || ""}(${Object.entries(step.arguments || {}).map(argument).join(", ")})`;
