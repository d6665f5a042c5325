// The data of single questions and episodes, loaded a task at a time, and what the views of them share.
"use strict";

const Details = (() => {
  const tasks = new Map();
  const FIELDS = ["question", "epoch", "score", "type", "why", "seconds", "calls", "id", "chunk"];
  const OUTCOMES = {
    finished: "finished", gave_up: "gave up", exhausted: "used a limit up", tool_misuse: "could not go on after wrong calls",
    tool_failure: "stopped: the environment failed", llm_failure: "stopped: the LLM failed", cancelled: "stopped with the run",
  };

  const PUBLISHED = "These are published means, without episodes and questions.";

  // Numbers of the tasks that have episodes.
  const numbers = () => (Report.data.details || []).flatMap((chunks, number) => (chunks ? [number] : []));
  const numberOf = (name) => numbers().find((number) => Report.data.tasks[number].name === name);

  // A task's questions, each with its episodes; an episode knows its row, type and cause by name.
  async function task(number) {
    if (!tasks.has(number)) tasks.set(number, read(number, await Data.load(`questions/${number}`)));
    return tasks.get(number);
  }

  function read(number, data) {
    const questions = data.questions.map((question, place) => ({ ...question, place, task: number, episodes: [] }));
    for (const { row, episodes } of data.systems) {
      for (const values of episodes) {
        const episode = Object.fromEntries(FIELDS.map((field, place) => [field, values[place]]));
        episode.row = Report.data.rows[row];
        episode.type = Report.data.types[episode.type].key;
        episode.sentence = data.sentences[episode.why];
        episode.why = data.whys[episode.why];
        episode.question = questions[episode.question];
        episode.question.episodes.push(episode);
      }
    }
    return { number, questions };
  }

  // What was recorded of an episode.
  async function transcript(episode) {
    const chunk = await unpacked(`episodes/${episode.question.task}-${episode.chunk}`);
    return chunk.get(episode.id);
  }

  // Transcripts are large: only the last few chunks are kept unpacked.
  const KEPT = 4;
  const chunks = new Map();

  function unpacked(name) {
    if (!chunks.has(name)) {
      chunks.set(name, Data.load(name).then(unpack));
      chunks.get(name).catch(() => chunks.delete(name));
      if (chunks.size > KEPT) chunks.delete(chunks.keys().next().value);
    }
    return chunks.get(name);
  }

  async function unpack(text) {
    const bytes = Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Map(Object.entries(JSON.parse(await new Response(stream).text())));
  }

  const shown = (question) => question.episodes.filter((episode) => episode.row.condition === Report.condition);
  const conditionParam = () => (Report.condition === Report.data.conditions[0] ? null : Report.condition);
  const toTranscript = (episode, more = {}) => Views.address("transcript",
    { condition: conditionParam(), task: Report.data.tasks[episode.question.task].name, episode: episode.id, ...more });
  const toQuestion = (question, more = {}) => Views.address("question",
    { condition: conditionParam(), ...more, task: Report.data.tasks[question.task].name, question: question.id });

  // White or black, whichever is read better on a colour.
  function inkOn(colour) {
    const [red, green, blue] = [1, 3, 5].map((at) => {
      const part = parseInt(colour.slice(at, at + 2), 16) / 255;
      return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.179 ? "#000000" : "#ffffff";
  }

  function painted(node, type) {
    const colour = TYPE_COLOURS[theme()][type];
    node.style.background = colour;
    node.style.color = inkOn(colour);
    return node;
  }

  const typeName = (type) => Report.data.types.find((known) => known.key === type).name;
  const badge = (type, long = false) => element("span", { class: "typed" },
    painted(element("b", { class: "badge", title: long ? null : typeName(type) }, type), type), long ? ` ${typeName(type)}` : null);

  const score = (value) => (value === null ? "no score" : `${percent(value)} %`);

  function outcome({ kind, cause, detail }) {
    const words = OUTCOMES[kind] || kind;
    if (detail) return `${words}: ${detail.replace(/\.\s*$/, "")}`;
    return cause ? `${words} (${cause})` : words;
  }

  // What stands in place of a question or an episode that is not there.
  function nothing(what) {
    if (!Report.data.hasEpisodes) return element("p", { class: "notice" }, PUBLISHED);
    return element("p", { class: "notice" }, `There is no such ${what}${Report.data.conditions.length > 1 ? " under this condition" : ""}. `, element("a", { href: Views.address("questions") }, "All questions"));
  }

  function duration(value) {
    if (value === undefined || value === null) return null;
    return value < 0.001 ? "< 1 ms" : seconds(value);
  }

  // Only the newest drawing of a view may write to the page: others were overtaken while they loaded.
  let turn = 0;
  function begin() {
    turn += 1;
    const mine = turn;
    return () => mine === turn;
  }

  // Fill a box anew; the control that was used there, by its data-keep, stays the focused one.
  function refill(id, ...children) {
    const box = document.getElementById(id);
    const kept = box.contains(document.activeElement) ? document.activeElement.dataset.keep : null;
    fill(id, ...children);
    if (kept) [...box.querySelectorAll("[data-keep]")].find((node) => node.dataset.keep === kept)?.focus({ preventScroll: true });
  }

  return { numbers, numberOf, task, transcript, shown, conditionParam, toTranscript, toQuestion, painted, badge, typeName, score, outcome, nothing, duration, PUBLISHED, OUTCOMES, begin, refill };
})();
