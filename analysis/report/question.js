// One question: what every system made of it, and two of them side by side.
"use strict";

const OneQuestion = (() => {
  const CALLS = 12; // calls of an episode that are listed

  function rows(question, params, chosen) {
    const several = question.some((episode) => episode.epoch > 0);
    const pick = (episode, key, place) => {
      const radio = element("input", { type: "radio", name: `pick-${key}`, "aria-label": `${systemName(episode.row)} as ${key.toUpperCase()}`, checked: chosen[place] === episode.row.system, "data-keep": `${key} ${episode.row.system}` });
      radio.addEventListener("change", () => Views.change({ [key]: episode.row.system }, true));
      return element("td", { class: "pick" }, episode.epoch ? null : radio);
    };
    const lines = question.map((episode) => element("tr", {}, pick(episode, "a", 0), pick(episode, "b", 1),
      element("th", { scope: "row" }, Texts.line(systemName(episode.row), 120), several ? element("small", {}, ` run ${episode.epoch + 1}`) : null),
      element("td", {}, Details.badge(episode.type)), element("td", { class: "number" }, percent(episode.score)),
      element("td", { class: "number" }, seconds(episode.seconds)), element("td", { class: "number" }, count(episode.calls)),
      element("td", { class: "cause" }, episode.sentence || null), element("td", {}, element("a", { href: Details.toTranscript(episode), "aria-label": `Transcript of ${systemName(episode.row)}` }, "transcript"))));
    const heads = ["A", "B", "system", "type", "score, %", "time", "LLM calls", "why", "steps"];
    return [Figures.caption("What every system made of this question; choose two to see them side by side"),
      element("thead", {}, element("tr", {}, ...heads.map((text) => element("th", { scope: "col", class: ["score, %", "time", "LLM calls"].includes(text) ? "number" : null }, text)))), element("tbody", {}, ...lines)];
  }

  async function card(letter, episode) {
    const data = await Details.transcript(episode);
    const { usage } = data;
    const calls = data.steps.filter((step) => step.kind === "call");
    const tokens = (usage.prompt_tokens || 0) + (usage.completion_tokens || 0);
    const facts = [seconds(episode.seconds), plural(episode.calls, "LLM call"), plural(calls.length, "query", "queries"), tokens && `${count(tokens)} tokens`].filter(Boolean);
    return element("article", { class: "side" },
      element("h3", {}, element("span", { class: "letter" }, letter), " ", Texts.line(systemName(episode.row), 120), episode.epoch ? ` run ${episode.epoch + 1}` : null),
      element("p", { class: "judged" }, Details.badge(episode.type, true), ` · ${Details.score(episode.score)}`),
      element("h4", {}, "Answer"), data.answer ? Texts.block(data.answer, { kind: "answer" }) : element("p", { class: "none" }, "none"),
      element("p", { class: "about" }, ...facts.map((fact) => element("span", {}, fact))),
      element("p", {}, ...Texts.plain(`It ${Details.outcome(data.outcome)}. ${episode.sentence || ""}`)),
      calls.length ? element("h4", {}, "Queries") : null,
      calls.length ? element("ol", { class: "queries" }, ...calls.slice(0, CALLS).map(query),
        calls.length > CALLS ? element("li", { class: "none" }, `and ${count(calls.length - CALLS)} more`) : null) : null,
      element("p", {}, element("a", { href: Details.toTranscript(episode) }, "All its steps")));
  }

  function query(step) {
    const seen = step.marks || step.holds ? element("mark", {}, "evidence") : null;
    const said = step.error ? Transcript.words(step) : step.observation || "nothing";
    return element("li", {}, element("code", {}, Texts.line(Texts.call(step), 140)), element("span", { class: step.error ? "said wrong" : "said" }, " → ", Texts.line(said, 110), " ", seen));
  }

  // The two systems that are shown: those asked for, else the best and the worst of this question.
  function pair(episodes, params) {
    const systems = [...new Set(episodes.map((episode) => episode.row.system))];
    const order = [...systems].sort((one, other) => (Questions.meanOf(episodes, other) ?? -1) - (Questions.meanOf(episodes, one) ?? -1));
    const a = systems.includes(params.a) ? params.a : order.find((system) => system !== params.b);
    const b = systems.includes(params.b) ? params.b : [...order].reverse().find((system) => system !== a);
    return [a, b];
  }

  async function around(question, params) {
    const { from, question: _, ...kept } = params;
    const found = await Questions.matching({ ...kept, task: from || null });
    const place = found.findIndex((entry) => entry.question === question);
    const link = (entry, text) => (entry ? element("a", { href: Details.toQuestion(entry.question, { ...kept, from }) }, text) : null);
    const back = element("a", { href: Views.address("questions", { ...kept, task: from || null }) }, "All questions");
    return place < 0 ? [back] : [back, link(found[place - 1], "Previous"), element("span", {}, `${count(place + 1)} of ${count(found.length)}`), link(found[place + 1], "Next")];
  }

  async function draw(params) {
    const current = Details.begin();
    const number = Details.numberOf(params.task);
    const task = number === undefined ? null : await Details.task(number);
    const question = task && task.questions.find((entry) => entry.id === params.question);
    if (!current()) return;
    const episodes = question ? Details.shown(question) : [];
    if (!episodes.length) {
      fill("question-body", Details.nothing("question"));
      fill("question-title", "Question");
      return;
    }
    const chosen = pair(episodes, params);
    const cards = await Promise.all(chosen.map(async (system, place) => element("div", {}, ...await Promise.all(
      episodes.filter((episode) => episode.row.system === system).map((episode) => card("AB"[place], episode))))));
    const { golds } = await Details.transcript(episodes[0]); // a condition may have changed them
    const way = await around(question, params);
    if (!current()) return;
    const { title, name } = Report.data.tasks[number];
    fill("question-title", Texts.line(question.text, 200));
    Details.refill("question-body", element("p", { class: "way" }, ...way),
      question.text.length > 200 ? Texts.block(question.text) : null,
      element("p", { class: "about" }, ...[title || name, question.level, question.id].filter(Boolean).map((text) => element("span", {}, Texts.line(text, 100)))),
      element("div", { class: "golds" }, element("h3", {}, golds.length > 1 ? "Gold answers, any of them" : "Gold answer"), ...golds.slice(0, 20).map((gold) => Texts.block(gold))),
      element("div", { class: "sides" }, ...cards),
      element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "All systems" }, element("table", { class: "plain" }, ...rows(episodes, params, chosen))));
  }

  return { draw };
})();

Views.add("question", { title: "Question", quiet: true, under: "questions", draw: OneQuestion.draw });
