// The score table: a row a system; first all tasks (average, interval, rank, group, episodes), then a block a domain.
// The column that it is sorted by is in the address (`sort`, and `order=reversed`).
"use strict";

const sorting = { column: "overall", descending: true };

function scoreColumns() {
  const { tasks, groups } = Report.data;
  const domains = [...new Set(tasks.map((task) => task.domain))];
  const columns = [{ key: "overall", label: "average", kind: "overall", title: "Mean over tasks, each with the same weight", found: overall }];
  for (const domain of domains) {
    tasks.forEach((task, place) => {
      if (task.domain !== domain) return;
      columns.push({
        key: `task ${place}`, domain, label: task.short, level: task.level, title: task.title || task.name,
        found: (row) => row.tasks[place],
      });
    });
    const group = groupIndex(domain);
    if (domains.length > 1 && groups[group].tasks.length > 1) {
      columns.push({ key: `domain ${domain}`, domain, label: "average", kind: "domain-average", found: (row) => row.averages[group] });
    }
  }
  return columns;
}

function drawScoreTable(params) {
  const columns = scoreColumns();
  const rows = rowsShown();
  const known = ["system", "rank", "n", ...columns.map((column) => column.key)];
  sorting.column = known.includes(params.sort) ? params.sort : "overall";
  sorting.descending = risesFirst(sorting.column) === (params.order === "reversed");
  const best = new Map(columns.map((column) => [column.key, Math.max(
    ...rows.filter((row) => !row.reference).map((row) => column.found(row)?.mean ?? -1))]));
  const sorted = [...rows].sort(comparison(columns));
  fill("score-table",
    element("caption", { class: "unseen" }, "Scores by system, percent"),
    element("thead", {}, domainHeads(columns), columnHeads(columns)),
    element("tbody", {}, ...sorted.map((row) => scoreRow(row, columns, best))));
}

function comparison(columns) {
  const rankOf = (row) => row.ranks[groupIndex("all")] ?? Infinity;
  const value = (row) => {
    if (sorting.column === "n") return overall(row).n;
    return columns.find((column) => column.key === sorting.column).found(row)?.mean ?? -1;
  };
  const sign = sorting.descending ? -1 : 1;
  if (sorting.column === "rank") return (a, b) => sign * (rankOf(a) - rankOf(b)) || a.system.localeCompare(b.system, "en");
  if (sorting.column === "system") return (a, b) => sign * a.system.localeCompare(b.system, "en");
  return (a, b) => sign * (value(a) - value(b)) || a.system.localeCompare(b.system, "en");
}

function domainHeads(columns) {
  const heads = [element("th", { class: "system" }), element("th", { colspan: 2 + (Report.data.hasEpisodes ? 2 : 0) + (standingOf(Report.condition) ? 1 : 0), scope: "colgroup" }, element("span", {}, "all tasks"))];
  for (const domain of new Set(columns.map((column) => column.domain))) {
    const width = columns.filter((column) => column.domain === domain).length;
    if (domain) heads.push(element("th", { colspan: width, scope: "colgroup" }, element("span", {}, domain)));
  }
  return element("tr", { class: "domains" }, ...heads);
}

function columnHeads(columns) {
  const head = (key, label, settings = {}, more = null) => element("th",
    { scope: "col", "aria-sort": sorting.column === key ? (sorting.descending ? "descending" : "ascending") : null, ...settings },
    element("button", { type: "button", id: `sort ${key}`, onclick: () => sortBy(key) }, label), more);
  const [all, ...rest] = columns.map((column) => head(column.key, column.label, { class: column.kind, title: column.title },
    column.level ? element("span", { class: "level" }, column.level) : null));
  const { hasEpisodes } = Report.data;
  return element("tr", {},
    head("system", "system", { class: "system" }), all,
    hasEpisodes ? element("th", { scope: "col", title: "Where the mean of such questions lies, with 95 % confidence" }, "95 % interval") : null,
    head("rank", "rank", { title: "1 is best; ties share the lower number" }),
    standingOf(Report.condition) ? element("th", { scope: "col", title: "Systems that share a letter cannot be told apart" }, "group") : null,
    hasEpisodes ? head("n", "n", { title: "Episodes with a score" }) : null, ...rest);
}

// Names and ranks rise on the first click, numbers fall.
const risesFirst = (key) => key === "system" || key === "rank";

function sortBy(key) {
  const reversed = sorting.descending === risesFirst(key);
  const again = sorting.column === key && !reversed;
  Views.change({ sort: key === "overall" ? null : key, order: again ? "reversed" : null }, true);
}

function scoreRow(row, columns, best) {
  const all = overall(row);
  const swatch = element("span", { class: "swatch" });
  swatch.style.background = llmColour(row.llm);
  const name = element("th", { class: "system", scope: "row", title: row.system },
    swatch, element("b", {}, row.workflow), element("small", {}, row.reference && row.llm === "none" ? "reference" : llmShort(row.llm)));
  const [average, ...cells] = columns.map((column) => {
    const found = column.found(row);
    const top = !row.reference && found && found.mean !== null && found.mean > 0 && found.mean === best.get(column.key);
    const partial = found && (found.missing > 0 || found.tasks < found.ofTasks) && found.mean !== null;
    const kinds = [column.kind, top && "best", partial && "partial"].filter(Boolean).join(" ");
    return element("td", { class: kinds || null, title: describe(found) }, found ? percent(found.mean) : "–");
  });
  const n = all.expected === null ? "–" : all.missing ? `${count(all.n)} of ${count(all.expected)}` : count(all.n);
  const rank = row.ranks[groupIndex("all")];
  const place = placeOf(row);
  const range = place && place.highest !== place.lowest ? element("small", {}, ` ${place.highest}–${place.lowest}`) : null;
  const { hasEpisodes } = Report.data;
  return element("tr", { class: row.reference ? "reference" : null }, name, average,
    hasEpisodes ? element("td", {}, rangeBar(all)) : null, element("td", { class: "rank" }, rank === null ? "–" : String(rank), range),
    standingOf(Report.condition) ? element("td", { class: "group" }, place ? place.groups : "–") : null,
    hasEpisodes ? element("td", {}, n) : null, ...cells);
}

function describe(found) {
  if (!found) return "Not part of this system's grid";
  const parts = [];
  if (found.n) parts.push(`${plural(found.n, "episode")}`);
  if (found.low !== null) parts.push(`95 % interval ${percent(found.low)} to ${percent(found.high)}`);
  if (found.missing) parts.push(`${found.missing} missing: between ${percent(found.worst)} and ${percent(found.best)} whatever they score`);
  if (found.tasks < found.ofTasks) parts.push(`over ${found.tasks} of ${found.ofTasks} tasks, so not ranked`);
  return parts.join("\n") || null;
}

function rangeBar(found) {
  if (found.low === null || found.mean === null) return "–";
  const band = element("b");
  band.style.left = `${100 * found.low}%`;
  band.style.width = `${100 * (found.high - found.low)}%`;
  const mark = element("u");
  mark.style.left = `${100 * found.mean}%`;
  return element("span", { class: "interval", title: describe(found) },
    element("span", { class: "range" }, element("i"), band, mark),
    element("span", { class: "ends" }, `${percent(found.low)} – ${percent(found.high)}`));
}
