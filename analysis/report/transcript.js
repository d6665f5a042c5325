// The transcript of one episode: its end and what its type rests on, its search as a tree, and every step.
"use strict";

const Transcript = (() => {
  const KINDS = { thought: "Reply", call: "Call", observation: "Message of the workflow", answer: "Answer" };
  const ERRORS = {
    unknown_api: "there is no such API", bad_arguments: "the arguments do not fit", not_found: "found nothing",
    temporary: "failed for the moment", environment: "the environment failed", repeated: "the same call again", limit: "over a limit",
    length: "cut off at its longest", content_filter: "stopped by a content filter", refusal: "declined",
    empty: "empty", invented: "went on with an invented observation, which was cut off", unparsed: "no answer could be read",
  };

  const words = (step) => (Object.hasOwn(ERRORS, step.error || "") ? ERRORS[step.error] : step.error || "");

  // ---- what the type rests on

  function rests(episode, data) {
    const matched = episode.type === "EM" || episode.type === "AM";
    const reward = episode.score === null ? "There is no score, because of an infrastructure failure" : `The answer ${matched ? "matches" : "does not match"} (${data.metric} ${percent(episode.score)} %${data.taxonomy === "strict" ? `, it matches from ${percent(data.threshold)} %` : ""})`;
    const parts = [`${reward}.`, evidence(data), `The episode ${Details.outcome(data.outcome)}.`];
    return [element("p", { class: "judged" }, Details.badge(episode.type, true), episode.sentence ? element("span", { class: "why" }, ` · ${episode.sentence}`) : null),
      element("p", {}, ...Texts.plain(parts.join(" ")))];
  }

  function evidence({ taxonomy, named, supported, undecided, retrieved, wanted }) {
    if (taxonomy === "paper") return `What was observed ${undecided ? "cannot tell whether it holds" : supported ? "holds" : "does not hold"} the response, which is what the paper's rule asks.`;
    if (taxonomy !== "strict") return `By the published rule, the gold's characters are ${supported ? "" : "not "}in what the model and the tools wrote.`;
    const seen = wanted.filter((entry) => entry.steps.length).length;
    if (named) return `The question names its evidence; ${supported ? "all of it was observed" : `of ${plural(wanted.length, "text")} ${seen ? `only ${seen}` : "none"} ${seen > 1 ? "were" : "was"} observed`}.`;
    if (retrieved != null) return retrieved === 1 ? "All the right documents were found." : retrieved ? `Of the right documents ${percent(retrieved)} % were found.` : "None of the right documents was found.";
    if (undecided) return "The gold is in any text by chance (a yes, a no, a small number), or too long to be in one as it stands, so that it cannot be told whether it was observed; it counts as not observed.";
    return supported ? "What was observed holds the gold answer." : "Nothing that was observed holds the gold answer.";
  }

  function wantedTable({ wanted, named }) {
    if (!wanted.length) return null;
    const found = (entry) => {
      if (entry.chance) return "in any text by chance, or too long to be in one; not looked for";
      if (!entry.steps.length) return "not observed";
      return element("span", {}, "in step ", ...entry.steps.slice(0, 12).flatMap((number, place) => [place ? ", " : null, jump(number)]), entry.steps.length > 12 ? " and more" : null);
    };
    const lines = wanted.slice(0, 60).map((entry) => element("tr", {}, element("th", { scope: "row" }, element(entry.steps.length ? "mark" : "span", {}, Texts.line(entry.text, 200))), element("td", {}, found(entry))));
    return element("table", { class: "plain wanted" }, element("caption", {}, named ? "Evidence that the question names, all of it needed" : "Gold answers, looked for in what was observed"),
      element("thead", { class: "unseen" }, element("tr", {}, element("th", { scope: "col" }, "text"), element("th", { scope: "col" }, "where"))), element("tbody", {}, ...lines));
  }

  // ---- steps

  function show(number) {
    const step = document.getElementById(`step-${number + 1}`);
    if (!step) return;
    step.scrollIntoView({ block: "start" });
    step.focus({ preventScroll: true });
  }

  // A way to a step; the address then says which one, and the page stays as it was unfolded.
  function jump(number, text = String(number + 1), kind = "jump") {
    const go = (event) => {
      event.preventDefault();
      const { name, params } = Views.current();
      window.history.replaceState(null, "", Views.address(name, { ...params, step: number + 1 }));
      show(number);
    };
    const { name, params } = Views.current();
    return element("a", { class: kind, href: Views.address(name, { ...params, step: number + 1 }), onclick: go, "aria-label": kind === "jump" ? `step ${text}` : null }, text);
  }

  function step(data, number, chosen) {
    const notes = [Details.duration(data.seconds)];
    if (data.tokens) {
      const [prompt, completion, cached] = data.tokens;
      notes.push(`${count(prompt)} tokens in${cached ? ` (${count(cached)} cached)` : ""}, ${count(completion)} out`);
    }
    if (data.depth !== undefined) notes.push(`depth ${data.depth}`);
    const which = [...new Set([...(data.marks || []).map((mark) => mark[2]), ...(data.holds || [])])];
    const head = element("h4", {}, element("span", { class: "number" }, String(number + 1)), ` ${KINDS[data.kind] || data.kind}`,
      data.error ? element("span", { class: "wrong" }, " ", ...Texts.plain(words(data))) : null,
      which.length ? element("mark", { "data-which": String(which[0]) }, "evidence") : null,
      chosen ? element("span", { class: "led" }, "led to the answer") : null);
    return element("li", { id: `step-${number + 1}`, class: `step ${data.kind}`, tabindex: "-1" },
      element("div", { class: "step-head" }, head, element("p", { class: "about" }, ...notes.filter(Boolean).map((note) => element("span", {}, note)))),
      ...body(data));
  }

  function body(data) {
    const nodes = [];
    if (data.reasoning) nodes.push(element("details", { class: "reasoning" }, element("summary", {}, `Hidden reasoning, ${plural(data.reasoning.length, "character")}`), Texts.block(data.reasoning)));
    if (data.kind === "call") nodes.push(Texts.block(Texts.call(data), { kind: "code" }));
    if (data.text) nodes.push(Texts.block(data.text));
    if (data.holds) nodes.push(element("p", { class: "note" }, "This observation holds the evidence; where in it could not be marked."));
    if (data.observation && data.kind === "answer") nodes.push(element("p", { class: "note" }, "read by: ", Texts.line(data.observation)));
    else if (data.observation) nodes.push(Texts.block(data.observation, { marks: data.marks || [], kind: data.holds ? "observed held" : "observed" }));
    else if (data.kind === "call") nodes.push(element("p", { class: "none" }, "nothing came back"));
    if (!data.text && data.kind !== "call" && !data.reasoning) nodes.push(element("p", { class: "none" }, data.kind === "answer" ? "none" : "nothing"));
    return nodes;
  }

  // ---- around

  // Other episodes of the same system, and other systems on the same question.
  async function way(episode, episodes) {
    const { questions } = await Details.task(episode.question.task);
    const same = (question) => question && Details.shown(question).find((other) => other.row === episode.row && other.epoch === episode.epoch);
    const next = (step) => {
      for (let place = episode.question.place + step; place >= 0 && place < questions.length; place += step) {
        if (same(questions[place])) return same(questions[place]);
      }
      return null;
    };
    const link = (other, text) => (other ? element("a", { href: Details.toTranscript(other) }, text) : null);
    const select = element("select", { "data-keep": "system" }, ...episodes.map((other) => element("option", { value: other.id, selected: other === episode },
      ...Texts.plain(`${systemName(other.row)}${episodes.some((one) => one.epoch) ? ` run ${other.epoch + 1}` : ""} · ${other.type}`))));
    select.addEventListener("change", () => Views.change({ episode: select.value, step: null }));
    return [element("a", { href: Details.toQuestion(episode.question, { a: episode.row.system }) }, "All systems on this question"),
      link(next(-1), "Previous question"), link(next(1), "Next question"), element("label", { class: "filter" }, element("span", {}, "System"), select)];
  }

  function facts(episode, data) {
    const { usage } = data;
    const times = data.seconds;
    return [seconds(times.total ?? 0), times.llm && `${seconds(times.llm)} in the LLM`, times.environment && `${Details.duration(times.environment)} in the environment`,
      times.queue && `${Details.duration(times.queue)} waiting`, times.retry && `${Details.duration(times.retry)} in failed attempts`,
      plural(usage.calls || 0, "LLM call"), usage.retries && plural(usage.retries, "retry", "retries"),
      `${count(usage.prompt_tokens || 0)} tokens in${usage.cached_tokens ? ` (${count(usage.cached_tokens)} cached)` : ""}, ${count(usage.completion_tokens || 0)} out${usage.estimated ? " (estimated)" : ""}`,
      usage.cost !== undefined && `${plainNumber(usage.cost)} USD`].filter(Boolean).map((text) => element("span", {}, text));
  }

  // The episode that is asked for; under another condition, that of the same system there.
  async function wanted(params) {
    const number = Details.numberOf(params.task);
    if (number === undefined) return null;
    const { questions } = await Details.task(number);
    const episode = questions.flatMap((question) => question.episodes).find((one) => one.id === params.episode);
    if (!episode || episode.row.condition === Report.condition) return episode || null;
    return Details.shown(episode.question).find((other) => other.row.system === episode.row.system && other.epoch === episode.epoch) || null;
  }

  async function draw(params) {
    const current = Details.begin();
    const episode = await wanted(params);
    const data = episode && await Details.transcript(episode);
    const around = data && await way(episode, Details.shown(episode.question));
    if (!current()) return;
    if (!data) {
      fill("transcript-title", "Transcript");
      fill("transcript-body", Details.nothing("episode"));
      return;
    }
    const path = new Set(data.path || []);
    const text = data.question || episode.question.text;
    fill("transcript-title", Texts.line(systemName(episode.row), 120));
    Details.refill("transcript-body", element("p", { class: "way" }, ...around),
      element("div", { class: "qa" }, element("h3", {}, "Question"), Texts.block(text),
        element("h3", {}, data.golds.length > 1 ? "Gold answers" : "Gold answer"), element("div", {}, ...data.golds.slice(0, 20).map((gold) => Texts.block(gold))),
        element("h3", {}, "Answer"), data.answer ? Texts.block(data.answer, { kind: "answer" }) : element("p", { class: "none" }, "none")),
      element("div", { class: "rests" }, element("h3", {}, "What the type rests on"), ...rests(episode, data), wantedTable(data)),
      element("p", { class: "about" }, ...facts(episode, data)),
      data.tree ? SearchTree.drawn(data, jump) : null,
      element("h3", { id: "steps-title" }, plural(data.steps.length, "step")),
      element("ol", { class: "steps", "aria-labelledby": "steps-title" }, ...data.steps.map((one, number) => step(one, number, path.has(number)))));
    if (params.step) show(Math.trunc(Number(params.step)) - 1);
  }

  return { draw, words };
})();

Views.add("transcript", { title: "Transcript", quiet: true, under: "questions", draw: Transcript.draw });
