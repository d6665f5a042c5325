// The table of deployment: what each system reaches and takes, with the percentiles of the number that is chosen.
"use strict";

const DeploymentTable = {
  columns(cost) {
    const number = (key, label, found, said, title) => ({ key, label, found, said, title });
    const digits = { minimumSignificantDigits: 3, maximumSignificantDigits: 3, useGrouping: false };
    const short = (value) => (value === null ? "–" : value >= 100 ? count(Math.round(value)) : value === 0 ? "0" : value.toLocaleString("en-US", digits));
    const spread = Object.keys(PLACES).map((at) => number(`${at}`, at === "mean" ? `${COSTS[cost].short}, mean` : at, (system) => (system[cost] ? system[cost][at] : null), short, `${COSTS[cost].unit}, ${PLACES[at]}`));
    const mean = (key, label, title) => number(key, label, (system) => (system[key] ? system[key].mean : null), short, title);
    const others = [mean("seconds", "seconds", "Mean seconds an episode"), mean("cost", "USD", "Mean USD an episode"), mean("tokens", "tokens", "Mean tokens an episode, prompt and completion")];
    return [
      number("quality", "score,\u00a0%", (system) => system.quality, percent, "Average score, percent"), ...spread,
      number("queue", "queue,\u00a0s", (system) => system.queue?.mean ?? null, short, "Mean seconds an episode in a queue for a free connection; no part of its seconds"),
      number("queue95", "queue p95,\u00a0s", (system) => system.queue?.p95 ?? null, short, "95th percentile of the seconds in a queue"),
      number("retry", "retries,\u00a0s", (system) => system.retry?.mean ?? null, short, "Mean seconds an episode before requests were tried again; no part of its seconds"),
      number("retry95", "retries p95,\u00a0s", (system) => system.retry?.p95 ?? null, short, "95th percentile of the seconds before tries again"),
      mean("calls", "LLM calls", "Mean requests to the LLM an episode"),
      mean("prompt_tokens", "prompt tokens", "Mean prompt tokens an episode"), mean("completion_tokens", "completion tokens", "Mean completion tokens an episode"),
      ...others.filter(({ key }) => key !== cost),
      number("connections", "connections", (system) => system.connections, (value) => (value === null ? "–" : count(value)), "Requests that the LLM may be sent at once"),
    ];
  },

  draw(state, condition, choice, params) {
    const columns = DeploymentTable.columns(state.cost);
    const descending = !(params.sort ?? "").startsWith("+");
    const sorted = columns.find(({ key }) => key === (params.sort ?? "").replace("+", "")) || columns[0];
    const value = (system) => sorted.found(system);
    const systems = [...condition.systems].sort((a, b) => (value(a) === null) - (value(b) === null)
      || (descending ? value(b) - value(a) : value(a) - value(b)));
    const contending = state.entries.filter(({ system }) => !system.reference && system.complete && system.quality > 0).map(({ system, value: cost, quality }) => ({ system, cost, quality }));
    const front = new Set(Choosing.front(contending).map(({ system }) => system));
    const head = (column) => ({
      class: "number", title: column.title, "aria-sort": column === sorted ? (descending ? "descending" : "ascending") : null,
      cell: element("button", { type: "button", id: `deployment-sort-${column.key}`, onclick: () => Views.change({ sort: column === sorted && descending ? `+${column.key}` : column.key }, true) }, column.label),
    });
    const lines = systems.map((system) => {
      const row = Report.data.rows[system.row];
      const swatch = element("span", { class: "swatch" });
      swatch.style.background = llmColour(row.llm);
      const fit = system.reference ? "reference" : system === choice.best ? "best" : choice.fitting.includes(system) ? "yes" : choice.beyond.some((other) => other.system === system) ? "no" : "not judged";
      return [
        { cell: element("span", {}, swatch, systemName(row)), class: system === choice.best ? "system chosen" : "system", title: row.system },
        fit, front.has(system) ? "yes" : contending.some((entry) => entry.system === system) ? "no" : "–",
        ...columns.map((column) => numeric(column.said(column.found(system))))];
    });
    const caption = `What the systems reach and take an episode; percentiles of ${COSTS[state.cost].short}`;
    const onFront = { cell: "front", title: `Whether no other is at least as good and takes as little, by ${COSTS[state.cost].label} (${PLACES[state.at]})` };
    redraw("deployment-table", element("h3", {}, "The numbers"), Figures.scrolling(caption,
      Figures.table(caption, [{ cell: "system", class: "system" }, "within bounds", onFront, ...columns.map(head)], lines, { class: "numbers sortable" })));
  },
};
