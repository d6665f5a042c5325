// Questions: a list to search and to filter, a page of it at a time, with what each system made of each question.
"use strict";

const Questions = (() => {
  const PAGE = 50;
  const SORTS = { "": "in their order", hard: "hardest first", easy: "easiest first", differ: "A and B differ first" };
  const known = () => Report.data.tasks;

  // The questions that the parameters ask for, each {question, episodes}: all of its episodes under the condition.
  async function matching(params) {
    const chosen = Details.numberOf(params.task);
    const numbers = chosen === undefined ? Details.numbers() : [chosen];
    const tasks = await Promise.all(numbers.map(Details.task));
    const needle = (params.text || "").toLowerCase().trim();
    const found = [];
    for (const { questions } of tasks) {
      for (const question of questions) {
        if (params.level && question.level !== params.level) continue;
        if (needle && !has(question, needle)) continue;
        const episodes = Details.shown(question);
        if (!episodes.length || !episodes.some((episode) => fits(episode, params))) continue;
        found.push({ question, episodes });
      }
    }
    return sorted(found, params);
  }

  const has = (question, needle) => [question.text, question.id, ...question.golds].some((text) => text.toLowerCase().includes(needle));

  // One episode has to fit in everything: the questions on which that system failed in that way.
  const fits = (episode, { system, type, why }) => (!system || episode.row.system === system)
    && (!type || episode.type === type) && (!why || episode.why === why);

  function sorted(found, { sort, a, b }) {
    if (sort === "differ") return by(found, ({ episodes }) => -Math.abs((meanOf(episodes, a) ?? 0) - (meanOf(episodes, b) ?? 0)));
    if (sort === "hard") return by(found, ({ episodes }) => meanOf(episodes) ?? 2);
    if (sort === "easy") return by(found, ({ episodes }) => -(meanOf(episodes) ?? -1));
    return found;
  }

  function by(found, key) {
    const keys = new Map(found.map((entry) => [entry, key(entry)]));
    return [...found].sort((one, other) => keys.get(one) - keys.get(other));
  }

  // The mean score of a system's episodes, or of all ranked systems'; null where there is none.
  function meanOf(episodes, system = null) {
    const scores = episodes.filter((episode) => episode.score !== null
      && (system === null ? !episode.row.reference : episode.row.system === system)).map((episode) => episode.score);
    return scores.length ? scores.reduce((sum, score) => sum + score, 0) / scores.length : null;
  }

  // ---- the filters

  let typing = null;

  function control(key, label, ...choices) {
    const select = element("select", { id: `filter-${key}`, "data-key": key }, ...choices);
    select.addEventListener("change", () => Views.change({ [key]: select.value || null, page: null, ...(key === "sort" ? {} : withSort(key, select.value)) }));
    return element("label", { class: `filter filter-${key}` }, element("span", {}, label), select);
  }

  // Two systems are chosen to see where they differ.
  function withSort(key, value) {
    const { params } = Views.current();
    const other = { a: params.b, b: params.a }[key];
    if (key !== "a" && key !== "b") return {};
    if (!value) return params.sort === "differ" ? { sort: null } : {};
    return other && !params.sort ? { sort: "differ" } : {};
  }

  const option = (value, text = value) => element("option", { value }, ...Texts.plain(text));

  function search() {
    const input = element("input", { type: "search", id: "filter-text", "data-key": "text", placeholder: "words of a question or an answer", autocomplete: "off" });
    input.addEventListener("input", () => {
      clearTimeout(typing);
      typing = setTimeout(() => Views.change({ text: input.value || null, page: null }, true), 150);
    });
    return element("label", { class: "filter filter-text" }, element("span", {}, "Search"), input);
  }

  function drawFilters(params, whys) {
    const box = document.getElementById("questions-filters");
    if (!box.childElementCount) {
      const levels = [...new Set(known().map((task) => task.level).filter(Boolean))];
      box.append(search(),
        control("task", "Task", option("", "all tasks"), ...Details.numbers().map((number) => option(known()[number].name))),
        control("level", "Level", option("", "all levels"), ...levels.map((level) => option(level))),
        control("type", "Response type", option("", "any type"), ...Report.data.types.map(({ key, name }) => option(key, `${key} ${name}`))),
        control("why", "Cause"), control("system", "System"), control("a", "Compare A"), control("b", "with B"),
        control("sort", "Order", ...Object.entries(SORTS).map(([value, text]) => option(value, text))));
    }
    const systems = rowsShown().filter((row) => row.recorded).map((row) => option(row.system, systemName(row)));
    document.getElementById("filter-system").replaceChildren(option("", "any system"), ...systems);
    document.getElementById("filter-a").replaceChildren(option("", "choose"), ...systems.map((node) => node.cloneNode(true)));
    document.getElementById("filter-b").replaceChildren(option("", "choose"), ...systems.map((node) => node.cloneNode(true)));
    document.getElementById("filter-why").replaceChildren(option("", "any cause"), ...whys.map(([why, sentence]) => option(why, sentence || why)));
    for (const node of box.querySelectorAll("[data-key]")) {
      if (node !== document.activeElement || node.tagName === "SELECT") node.value = params[node.dataset.key] || "";
    }
    const differ = box.querySelector('option[value="differ"]');
    differ.disabled = !(params.a && params.b);
  }

  async function causes() {
    const tasks = await Promise.all(Details.numbers().map(Details.task));
    const found = new Map();
    for (const { questions } of tasks) {
      for (const question of questions) {
        for (const episode of question.episodes) if (episode.why) found.set(episode.why, episode.sentence);
      }
    }
    return [...found].sort(([one], [other]) => one.localeCompare(other, "en"));
  }

  // ---- the list

  function mark(episode) {
    const named = `${systemName(episode.row)}: ${episode.type} ${Details.typeName(episode.type)}, ${Details.score(episode.score)}${episode.sentence ? `. ${episode.sentence}` : ""}`;
    return Details.painted(element("a", { class: "mark", href: Details.toTranscript(episode), title: named, "aria-label": named, tabindex: "-1" }, episode.type[0]), episode.type);
  }

  // A place for each system, so that the eye can follow one down the list; an empty one where it has no episode.
  function marks(episodes) {
    return rowsShown().filter((row) => row.recorded).flatMap((row) => {
      const own = episodes.filter((episode) => episode.row === row);
      return own.length ? own.map(mark) : [element("span", { class: "mark missing", title: `${systemName(row)}: no episode` })];
    });
  }

  function entry({ question, episodes }, params) {
    const { a, b } = params;
    const task = known()[question.task];
    const mean = meanOf(episodes);
    const facts = [task.short, question.level, `gold: ${question.golds.join(" | ")}`].map((text) => element("span", {}, Texts.line(text, 120)));
    if (mean !== null) facts.push(element("span", { title: "Mean score of the systems, references left out" }, `systems' mean ${percent(mean)} %`));
    const pair = [a, b].map((system) => episodes.find((episode) => episode.row.system === system));
    const compared = pair[0] && pair[1] ? element("p", { class: "both" }, ...pair.flatMap((episode, place) => [
      `${"AB"[place]} `, Details.badge(episode.type), ` ${Details.score(episode.score)}${place ? "" : " · "}`])) : null;
    const strip = element("div", { class: "strip", role: "group", "aria-label": counts(episodes) }, ...marks(episodes));
    return element("li", {}, element("p", { class: "asked" }, element("a", { href: Details.toQuestion(question, carried(params)) }, Texts.line(question.text, 300))),
      element("p", { class: "about" }, ...facts), compared, strip);
  }

  function counts(episodes) {
    const parts = Report.data.types.map(({ key }) => [key, episodes.filter((episode) => episode.type === key).length]);
    return `Response types of ${plural(episodes.length, "episode")}: ${parts.filter(([, number]) => number).map(([key, number]) => `${key} ${number}`).join(", ")}`;
  }

  // What a question's own address keeps of the list, for the way back and for the next question.
  function carried(params) {
    const { question, page, condition, task, ...kept } = params;
    return { ...kept, from: task || null };
  }

  function pager(page, pages) {
    if (pages < 2) return null;
    const turn = (to, text) => element("button", { type: "button", "data-keep": text, disabled: to < 1 || to > pages, onclick: () => { Views.change({ page: to === 1 ? null : to }); document.getElementById("questions-title").scrollIntoView(); } }, text);
    return element("nav", { class: "pager", "aria-label": "Pages of the list" }, turn(1, "First"), turn(page - 1, "Previous"),
      element("span", {}, `page ${page} of ${pages}`), turn(page + 1, "Next"), turn(pages, "Last"));
  }

  async function draw(params) {
    const current = Details.begin();
    document.getElementById("questions-order").hidden = !Details.numbers().length;
    if (!Details.numbers().length) {
      fill("questions-count", Report.data.hasEpisodes ? "No episode is recorded yet." : Details.PUBLISHED);
      return;
    }
    const whys = await causes();
    if (!current()) return;
    drawFilters(params, whys);
    const found = await matching(params);
    if (!current()) return;
    const pages = Math.max(1, Math.ceil(found.length / PAGE));
    const page = Math.min(pages, Math.max(1, Math.trunc(Number(params.page)) || 1));
    const list = found.slice((page - 1) * PAGE, page * PAGE);
    fill("questions-count", found.length ? `${plural(found.length, "question")}${pages > 1 ? `, ${count((page - 1) * PAGE + 1)} to ${count((page - 1) * PAGE + list.length)} shown` : ""}` : "No question fits. Take a filter away to see more.");
    Details.refill("questions-list", element("ol", { class: "questions", start: String((page - 1) * PAGE + 1) }, ...list.map((item) => entry(item, params))), pager(page, pages));
    fill("questions-order", element("summary", {}, "Which system is which mark"),
      element("ol", {}, ...rowsShown().filter((row) => row.recorded).map((row) => element("li", {}, Texts.line(systemName(row), 120)))));
    fill("questions-legend", ...Report.data.types.map(({ key }) => Details.badge(key, true)));
  }

  return { matching, meanOf, carried, option, draw };
})();

Views.add("questions", { title: "Questions", hidden: () => !Details.numbers().length, draw: Questions.draw });
