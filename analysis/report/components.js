// Components: which value of each setting to take for a task, and how every metric goes with the values. Only runs that
// vary settings have it, and published results of that kind.
"use strict";

const Components = {
  // Those of the condition that is shown; results whose condition no run has are always shown.
  shown(found) {
    const { conditions } = Report.data;
    return found.filter((one) => one.condition === Report.condition || !conditions.includes(one.condition));
  },

  draw(params) {
    const studies = Components.shown(Report.data.studies);
    const advice = Components.shown(Report.data.advice);
    Components.advise(advice, studies);
    Components.claims();
    Components.controls(studies, params);
    fill("components-lead", studies.length ? Components.about(studies) : "No settings were varied under this condition.");
    const several = studies.length > 1;
    fill("components-charts", ...studies.flatMap((study) => study.components.map((component) => Components.part(study, component, params, advice, several))));
  },

  about(studies) {
    const parts = [];
    if (studies.some((study) => study.protocol === "one")) {
      const [study] = studies.filter((one) => one.protocol === "one");
      const base = study.base.map(([name, value]) => `${calm(name)} ${calm(value)}`);
      parts.push(`One setting at a time${base.length ? `; the others stay at the base (${listed(base, 8)})` : ""}.`);
    }
    if (studies.some((study) => study.protocol === "cross")) parts.push("All combinations were run: a value's number is the mean over the other settings, a question at a time.");
    if (studies.some((study) => !study.protocol)) parts.push("Published numbers are means without episodes, so they have no intervals.");
    const based = studies.some((study) => study.components.some((component) => component.values.some((value) => value.base)));
    parts.push(`Each chart has a scale of its own, which need not begin at 0. ${based ? "The base is a square, what" : "What"} is recommended is in bold.`);
    return parts.join(" ");
  },

  // What to take.
  advise(advice, studies) {
    document.getElementById("advice").hidden = !studies.length;
    if (!advice.length) {
      fill("advice-lead", "No setting has two values with a score on a task yet.");
      for (const id of ["advice-table", "advice-note", "advice-differences"]) fill(id);
      return;
    }
    const tested = advice.filter((one) => one.certain !== "unknown");
    const sure = tested.filter((one) => one.certain === "yes").length;
    fill("advice-lead", !tested.length ? "From published means: which value has the highest one. Nobody can tell from them what is more than chance."
      : sure ? `In ${sure} of ${plural(tested.length, "choice")} the best value is certain: every other is behind it by more than chance.`
      : `In none of ${plural(tested.length, "choice")} the best value is certain. What cannot be told from it may be taken as well; the cheapest of these is named.`);
    const several = studies.length > 1;
    // Published tables advise by each of several metrics; a run by the task's own, which stands beside its mean.
    const of = (one) => [one.study, one.condition, one.task, one.component].join("\n");
    const metrics = new Set(advice.map(of)).size < advice.length;
    const heads = [several ? "run" : null, "task", "component", metrics ? "metric" : null, "take", "best", "how sure", "other metrics"].filter(Boolean);
    const lines = advice.map((one) => [several ? calm(one.study) : null, Components.parted(one.task), Components.parted(one.component), metrics ? Components.parted(one.metric) : null,
      element("span", {}, element("strong", {}, calm(one.choice)), one.cheaper ? element("small", {}, one.cheaper) : null),
      { cell: element("span", {}, one.best.map(calm).join(", "), element("small", {}, `${percent(one.mean)} ${metrics ? "%" : calm(one.metric)}`)), class: "best" },
      { cell: Components.surely(one), class: "what" }, { cell: Components.others(one), class: "what" }].filter((cell) => cell !== null));
    fill("advice-table", Figures.scrolling("What to take", Figures.table("What to take, by task and component", heads, lines, { quiet: true })));
    fill("advice-note", tested.length ? "Computed from the scores, paired by question, with Holm's correction over all pairs of a component's values (5 %). Of values that cannot be told apart the one with the fewest prompt tokens is taken, then the fastest." : "");
    Components.differences(tested);
  },

  // A name that may be parted behind its slashes and underscores, so that no word of it is.
  parted(name) {
    const parts = calm(name).split(/(?<=[/_])/u);
    return element("span", {}, ...parts.flatMap((part, place) => (place ? [element("wbr"), part] : [part])));
  },

  surely(one) {
    const [next] = one.behind;
    if (one.certain === "unknown") {
      const ways = { rising: "rises with the value", falling: "falls as the value grows", mixed: "goes up and down with the value", level: "stays the same" };
      return [ways[one.trend], next ? `then ${calm(next.value)}, ${points(next.difference)} behind` : ""].filter(Boolean).join("; ");
    }
    if (one.certain === "yes") return `surely: ${calm(next.value)} comes closest, ${points(next.difference)} behind (${points(next.low)} to ${points(next.high)}, p ${pText(next.p)})`;
    return `cannot be told from ${listed(one.level.map(calm))}, with ${plural(Math.max(...one.behind.map((other) => other.questions)), "question")}`;
  },

  others(one) {
    const sure = (other) => (other.apart === null ? "" : other.apart ? ", surely" : ", not surely");
    return one.otherwise.map((other) => `${calm(other.metric)} wants ${calm(other.value)} (${points(other.difference)}${sure(other)})`).join("; ") || "–";
  },

  differences(tested) {
    const lines = tested.flatMap((one) => one.behind.map((other) => [calm(one.task), calm(one.component), calm(one.best[0]), calm(other.value), numeric(points(other.difference)),
      numeric(other.low === null ? "–" : `${points(other.low)} to ${points(other.high)}`), numeric(pValue(other.p)), numeric(count(other.questions)), other.apart ? "yes" : "no"]));
    if (!lines.length) {
      fill("advice-differences");
      return;
    }
    const heads = ["task", "component", "best", "against", ...["points", "95 % interval", "p", "questions"].map(numeric), "told apart"];
    fill("advice-differences", Figures.folded("Every difference", Figures.scrolling("Every difference", Figures.table("The best value against each other one", heads, lines, { quiet: true }))));
  },

  claims() {
    const { claims } = Report.data;
    if (!claims.length) {
      fill("advice-claims");
      return;
    }
    const lines = claims.map((one) => [calm(one.words), calm(one.source), { cell: one.verdict, class: one.verdict.startsWith("contra") ? "contradicted" : null }, { cell: calm(one.figures), class: "what" }]);
    fill("advice-claims", element("h3", {}, "What was said, and what the figures say"),
      Figures.scrolling("Claims", Figures.table("Claims", ["claim", "where", "verdict", "figures"], lines, { quiet: true })));
  },

  // The charts of a component, one a task, and the same numbers as a table.
  controls(studies, params) {
    const curves = studies.flatMap((study) => study.components.flatMap((component) => component.curves));
    const metrics = [...new Set(curves.filter((curve) => !curve.unit).map((curve) => curve.metric))];
    const taken = [...new Set(curves.filter((curve) => curve.unit).map((curve) => curve.metric))];
    const option = (name) => ({ value: `=${name}`, label: calm(name.replaceAll("_", " ")) });
    const groups = [{ group: "Usual", options: [{ value: "", label: "the task's own metric" }] }, { group: "Metrics", options: metrics.map(option) }, { group: "What it takes", options: taken.map(option) }];
    fill("components-controls", curves.length ? Figures.select("components-metric", "Metric", groups.filter((one) => one.options.length), params.metric ? `=${params.metric}` : "",
      (chosen) => Views.change({ metric: chosen ? chosen.slice(1) : null }, true)) : null);
  },

  part(study, component, params, advice, several) {
    const curves = component.curves.filter((curve) => (params.metric ? curve.metric === params.metric : curve.own));
    const known = (curve) => curve.points.filter((point) => point && point.mean !== null).length;
    const drawn = curves.filter(known);
    const charted = drawn.filter((curve) => known(curve) > 1);
    const name = several ? `${calm(component.name)}, ${calm(study.name)}` : calm(component.name);
    if (!drawn.length) return element("div", { class: "component" }, element("h3", {}, name), element("p", { class: "note" }, "There is no number of this metric."));
    const choice = (curve) => advice.find((one) => one.study === study.name && one.condition === study.condition && one.component === component.name && one.task === curve.task && one.metric === curve.metric)?.choice;
    const panels = charted.map((curve) => element("figure", { class: "component-panel" },
      element("figcaption", {}, calm(curve.task), element("span", {}, ` ${calm(curve.metric)}${curve.unit ? "" : ", %"}`)), ComponentChart.draw(component, curve, choice(curve))));
    const single = drawn.length - charted.length;
    const tasks = !charted.length && single > 1 ? "each task" : listed(drawn.filter((curve) => known(curve) === 1).map((curve) => calm(curve.task)));
    return element("div", { class: "component" }, element("h3", {}, name), element("div", { class: "component-panels" }, ...panels),
      single ? element("p", { class: "note" }, `Of ${tasks} one value alone has a number: no chart.`, ...(charted.length ? [] : Components.elsewhere(component, params))) : null, Components.numbers(component, drawn, name));
  },

  // Links to the metrics of which a component without a chart has one.
  elsewhere(component, params) {
    const known = (curve) => curve.points.filter((point) => point && point.mean !== null).length;
    const metrics = [...new Set(component.curves.filter((curve) => known(curve) > 1).map((curve) => curve.metric))];
    if (!metrics.length) return [];
    return [" There is one of ", ...metrics.flatMap((metric, place) => [place === 0 ? "" : place === metrics.length - 1 ? " and " : ", ", element("a", { href: Views.address("components", { ...params, metric }) }, calm(metric))]), "."];
  },

  numbers(component, curves, name) {
    const head = (value) => numeric(element("span", {}, calm(value.name), value.base ? element("small", {}, " base") : null, value.moved ? element("small", {}, ` ${calm(value.moved)}`) : null));
    const cell = (curve, point) => ({ class: "number", title: point && point.source ? calm(`${point.table ? `Table ${point.table}. ` : ""}${point.source}`) : null,
      cell: !point || point.mean === null ? "–" : element("span", {}, `${ComponentChart.number(point.mean, curve.unit)}${point.missing ? "*" : ""}`,
        point.low === null ? null : element("small", {}, ` ${ComponentChart.number(point.low, curve.unit)}–${ComponentChart.number(point.high, curve.unit)}`)) });
    const lines = curves.map((curve) => [calm(curve.task), calm(curve.metric), ...curve.points.map((point) => cell(curve, point))]);
    const missing = curves.some((curve) => curve.points.some((point) => point && point.missing));
    return Figures.folded("Numbers", Figures.scrolling(`Numbers by ${name}`, Figures.table(`By ${name}`, ["task", "metric", ...component.values.map(head)], lines, { quiet: true })),
      missing ? element("p", { class: "note" }, "* some episodes are missing.") : null);
  },
};

Views.add("components", { title: "Components", alone: true, hidden: () => !Report.data.studies.length, draw: Components.draw });
