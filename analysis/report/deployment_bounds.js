// The bounds of the deployment view: a slider and a field for each, and the system that is best within them.
"use strict";

const STEPS = 1000; // of a slider; at its open end there is no bound

const DeploymentBounds = {
  // key: of the condition's systems; param: in the address, percent for quality.
  kinds: [
    { key: "seconds", param: "seconds", label: "At most, seconds an episode", open: STEPS },
    { key: "cost", param: "usd", label: "At most, USD an episode", open: STEPS },
    { key: "quality", param: "quality", label: "At least, average score in percent", open: 0 },
  ],
  scales: {},

  made(condition) {
    const contenders = condition.systems.filter((system) => !system.reference && system.quality !== null);
    const groups = DeploymentBounds.kinds.map((kind) => {
      const known = contenders.filter((system) => kind.key === "quality" || system[kind.key] !== null);
      DeploymentBounds.scales[kind.key] = kind.key === "quality" ? percentScale() : moneyScale(known.map((system) => system[kind.key].mean));
      return DeploymentBounds.group(kind, known.length > 0);
    });
    return element("div", { class: "bounds" },
      element("h3", { id: "bounds-title" }, "The best system within bounds"),
      element("div", { class: "bound-fields", role: "group", "aria-labelledby": "bounds-title" }, ...groups),
      element("div", { id: "deployment-verdict", "aria-live": "polite" }));
  },

  group(kind, known) {
    const off = known ? {} : { disabled: true };
    const slider = element("input", { type: "range", id: `bound-${kind.key}`, min: "0", max: String(STEPS), step: "1", "aria-label": `${kind.label}, slider`, ...off });
    const field = element("input", { type: "number", id: `bound-${kind.key}-field`, min: "0", step: "any", inputmode: "decimal", placeholder: "no bound", "aria-label": kind.label, ...off });
    const set = (text) => Views.change({ [kind.param]: text === "" ? null : text }, true);
    slider.addEventListener("input", () => set(Number(slider.value) === kind.open ? "" : plainNumber(DeploymentBounds.scales[kind.key].value(Number(slider.value)))));
    field.addEventListener("input", () => { if (field.validity.valid) set(field.value); });
    return element("div", { class: "bound-field" },
      element("label", { for: field.id }, kind.label), element("div", {}, slider, field),
      known ? null : element("small", {}, kind.key === "cost" ? "No system's price is known." : "Not known of any system."));
  },

  // Set the controls to the bounds that hold; the one that a person is at is left alone.
  show(bounds, condition) {
    for (const { key, open } of DeploymentBounds.kinds) {
      const bound = bounds[key];
      const slider = document.getElementById(`bound-${key}`);
      const field = document.getElementById(`bound-${key}-field`);
      const shown = bound === null ? "" : plainNumber(key === "quality" ? 100 * bound : bound);
      if (field !== document.activeElement) field.value = shown;
      if (slider !== document.activeElement) slider.value = String(bound === null ? open : DeploymentBounds.scales[key].place(key === "quality" ? 100 * bound : bound));
      slider.setAttribute("aria-valuetext", shown === "" ? "no bound" : shown);
    }
  },

  drawVerdict(choice, bounds, condition) {
    const lines = [];
    const given = DeploymentBounds.kinds.some(({ key }) => bounds[key] !== null);
    const within = given ? "within these bounds" : "without a bound";
    const name = (system) => systemName(Report.data.rows[system.row]);
    // Nothing that happened in some resamples is 0 %, and nothing that did not in some is 100 %.
    const shareOf = (share) => `${share > 0 && share < 0.005 ? "less than 1" : share >= 0.995 && share < 1 - 1e-9 ? "more than 99" : Math.round(100 * share)}\u00a0%`;
    if (!choice.best) lines.push(element("p", { class: "verdict" }, choice.resamples || given ? "No system fits these bounds." : "No system can be judged."));
    else {
      const { best } = choice;
      const costs = ["seconds", "cost"].filter((key) => best[key] !== null).map((key) => COSTS[key].said(best[key].mean));
      lines.push(element("p", { class: "verdict" }, `Best ${within}: `, element("strong", {}, name(best)), `, ${percent(best.quality)} %`, costs.length ? ` at ${costs.join(" and ")} an episode.` : "."));
      const sure = choice.share >= 0.95 ? "That is nearly certain" : choice.share >= 0.8 ? "That is likely, not certain" : "That is not settled";
      const judged = choice.fitting.length + choice.beyond.length;
      lines.push(element("p", {}, judged > 1 || given ? `${sure}: it is the best${given ? " that fits" : ""} in ${shareOf(choice.share)} of ${count(choice.resamples)} resamples of the ${plural(choice.questions, "question")}` : "It is the only system that can be judged",
        choice.rivals.length && judged > 1 ? `; otherwise ${listed(choice.rivals.map(({ system, share }) => `${name(system)} (${shareOf(share)})`), 3)}` : "",
        choice.noneFits >= 0.005 ? `; in ${shareOf(choice.noneFits)} no system fits` : "", "."));
    }
    const said = { seconds: (system) => seconds(system.seconds.mean), cost: (system) => usd(system.cost.mean), quality: (system) => `${percent(system.quality)} %` };
    const lists = [
      ["Beyond a bound", choice.beyond.map(({ system, over }) => `${name(system)} (${over.map((key) => said[key](system)).join(", ")})`)],
      ["Not judged", choice.leftOut.filter(({ system }) => !system.reference).map(({ system, why }) => `${name(system)} (${why})`)],
    ];
    for (const [title, names] of lists) {
      if (!names.length) continue;
      lines.push(names.length > 4 ? Figures.folded(`${title}: ${plural(names.length, "system")}`, element("p", {}, names.join("; "))) : element("p", { class: "aside" }, `${title}: ${names.join("; ")}.`));
    }
    if (given) lines.push(element("p", {}, element("button", { type: "button", id: "bounds-away", class: "toggle", onclick: () => Views.change({ seconds: null, usd: null, quality: null }) }, "Take the bounds away")));
    redraw("deployment-verdict", ...lines);
  },
};

function percentScale() {
  return { value: (step) => (100 * step) / STEPS, place: (value) => Math.round((STEPS * value) / 100) };
}

// A slider over orders of magnitude: step 0 is nothing at all where a system takes nothing, the steps above run from the
// least to the most. Values are rounded up, so that the system that a step stands for lies within.
function moneyScale(means) {
  const positive = means.filter((mean) => mean > 0);
  const most = Math.max(...positive, 1e-9);
  const least = Math.min(most / 10, ...positive);
  const free = positive.length < means.length;
  const last = STEPS - 1;
  const roundedUp = (value) => { const unit = 10 ** (Math.floor(Math.log10(value)) - 2); return Math.ceil(value / unit - 1e-9) * unit; };
  return {
    value: (step) => (step === 0 && free ? 0 : roundedUp(least * (most / least) ** (step / last))),
    place: (value) => (value <= 0 ? 0 : Math.max(0, Math.min(last, Math.round((last * Math.log(value / least)) / Math.log(most / least))))),
  };
}
