// Views: one part of the page at a time, each with an address of its own (`#/name?key=value`), so that what a person
// sees can be sent to somebody. Further data lie in scripts beside the page and load when a view needs them.
"use strict";

const Views = {
  known: new Map(),
  shown: null,

  // view: {title, draw(params), hidden?(), alone?, every?}; `draw` fills the section whose data-view is the name, and may be
  // async. `alone`: it needs no systems. A report without any has no other view. `every`: it shows all conditions at once.
  add(name, view) {
    Views.known.set(name, view);
  },

  usable(name) {
    const view = Views.known.get(name);
    return view !== undefined && (Report.data.rows.length > 0 || view.alone === true);
  },

  address(name, params = {}) {
    const given = Object.entries(params).filter(([, value]) => value !== null && value !== undefined && value !== "");
    const query = new URLSearchParams(given).toString();
    return `#/${name}${query ? `?${query}` : ""}`;
  },

  current() {
    const [path, query = ""] = window.location.hash.replace(/^#\/?/, "").split("?");
    const first = [...Views.known.keys()].find(Views.usable) || Views.known.keys().next().value;
    const name = Views.usable(path) ? path : first;
    return { name, params: Object.fromEntries(new URLSearchParams(query)) };
  },

  // Go to a view; with `replace` the change is no step of its own for the back button.
  go(name, params = {}, replace = false) {
    const address = Views.address(name, params);
    if (replace) window.history.replaceState(null, "", address);
    else window.history.pushState(null, "", address);
    Views.show();
  },

  // Change some of the shown view's parameters and keep the others; null takes one away.
  change(changes, replace = false) {
    const { name, params } = Views.current();
    Views.go(name, { ...params, ...changes }, replace);
  },

  async show() {
    const { name, params } = Views.current();
    const { conditions } = Report.data;
    const focused = document.activeElement?.id;
    if (Views.shown !== name && Views.shown) window.scrollTo(0, 0);
    Views.shown = name;
    Report.condition = conditions.includes(params.condition) ? params.condition : conditions[0];
    for (const section of document.querySelectorAll("[data-view]")) section.hidden = section.dataset.view !== name;
    drawNavigation(name);
    drawConditions(Views.known.get(name).every === true);
    drawNotices(name);
    document.title = `${Views.known.get(name).title} · ${Report.title}`;
    try {
      await Views.known.get(name).draw(params);
      // A control that was drawn anew keeps the focus that the old one had.
      if (focused && document.activeElement === document.body) document.getElementById(focused)?.focus({ preventScroll: true });
    } catch (error) {
      if (!(error instanceof MissingData)) throw error;
      fill("notices", element("div", { class: "notice", role: "alert" }, error.message));
    }
  },
};

class MissingData extends Error {}

const Data = {
  loading: new Map(),

  // What data/<name>.js sets, once it is there.
  load(name) {
    if (!Data.loading.has(name)) {
      Data.loading.set(name, new Promise((resolve, reject) => {
        const script = element("script", { src: `data/${name}.js` });
        script.addEventListener("load", () => resolve(window.R_EVAL[name]));
        script.addEventListener("error", () => reject(new MissingData(`The file data/${name}.js beside this page is missing; write the report again.`)));
        document.head.append(script);
      }));
    }
    return Data.loading.get(name);
  },
};

function drawNavigation(shown) {
  const links = [...Views.known].filter(([name, view]) => Views.usable(name) && view.title && !view.quiet && !(view.hidden && view.hidden())).map(([name, view]) => element("a",
    { href: Views.address(name, { condition: Report.condition === Report.data.conditions[0] ? null : Report.condition }), "aria-current": name === shown ? "page" : name === Views.known.get(shown).under ? "true" : null }, view.title));
  fill("views", ...links);
}

function drawConditions(every) {
  const { conditions } = Report.data;
  const box = document.getElementById("conditions");
  box.hidden = every || conditions.length < 2;
  box.replaceChildren(...conditions.map((condition) => element("button",
    { type: "button", "aria-pressed": String(condition === Report.condition), onclick: () => Views.change({ condition }) }, condition)));
}
