"""Sweeps: what each value of a setting comes to, which values differ significantly, and which to take.

A component is a setting that a run varies (`vary` in run.json: chunk size, retriever, top-k), or the LLM. A value's
numbers are those of the system that has it while every other setting and the LLM are the base's, whether the run varied
one setting at a time or crossed all of them; every combination is a system of its own in the other tables.

All pairs of values of all components and tasks of a run under one condition are one family of comparisons: the best
value was chosen by looking, so that a correction over fewer would promise too much.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, Any

from r_eval.analysis.compare import compare_columns, mirrored, score_matrix
from r_eval.analysis.estimates import ends, mean_by
from r_eval.analysis.frame import FLAG, NUMBER, TEXT, WHOLE, further_metrics
from r_eval.analysis.published_results import COMPONENTS, FILE, SHARE, UNITS, UNTESTED, label, ordered, read_components
from r_eval.analysis.qrels import RETRIEVAL
from r_eval.analysis.results import Results, once, records, tidy

if TYPE_CHECKING:
    import pandas

_POINT = ["study", "condition", "component", "task", "metric"]
PAIRS: dict[str, str] = {
    **dict.fromkeys((*_POINT, "setting_a", "setting_b"), TEXT),
    **dict.fromkeys(("questions", "clusters"), WHOLE),
    **dict.fromkeys(("score_a", "score_b", *ends("difference"), "p", "p_adjusted"), NUMBER),
    "significant": FLAG,
}
"""The columns of `setting_pairs`."""
RECOMMENDED: dict[str, str] = {
    **dict.fromkeys(("study", "condition", "task", "component", "metric"), TEXT),
    "settings": WHOLE,
    **dict.fromkeys(("base", "best"), TEXT),
    "score": NUMBER,
    **dict.fromkeys(("not_worse", "choice", "rival"), TEXT),
    **dict.fromkeys((*ends("difference"), "p_adjusted"), NUMBER),
    "significant": FLAG,
    **dict.fromkeys(("trend", "reason"), TEXT),
}
"""The columns of `recommend`."""


@once
def components(results: Results) -> pandas.DataFrame:
    """What each value of each component comes to on each task, by every metric; published results as they are printed.

    `score` is a share with its interval, `number` what is no share, in `unit`. `main` marks the task's own metric,
    `base` the component's value while another one varies. `ordinal` says that the values are numbers; these ascend.
    """
    import pandas

    parts = [read_components(folder.path) for folder in results.published if (folder.path / FILE).is_file()]
    rows = _measured(results)
    if len(rows):
        keys = [*_POINT, "setting"]
        means = []
        for name, shares in (("score", True), ("number", False)):
            own = rows[(rows["unit"] == SHARE) == shares].rename(columns={"value": name})
            means.append(mean_by(own, keys, name, bounded=shares))
        facts = rows.groupby(keys, observed=True, sort=False).agg(
            {**dict.fromkeys(("base", "ordinal", "main", "unit", "expected"), "first"), "value": "size"}
        )
        facts["incomplete"] = (facts["expected"] - facts["value"]).clip(lower=0)
        found = facts.rename(columns={"value": "episodes"}).reset_index()
        found = found.merge(pandas.concat(means, ignore_index=True), on=keys, how="left")
        parts.insert(0, tidy(found.assign(table=""), COMPONENTS))
    return pandas.concat(parts, ignore_index=True) if parts else tidy([], COMPONENTS)


@once
def setting_pairs(results: Results) -> pandas.DataFrame:
    """All pairs of values of each component by the task's own metric, paired by question."""
    import pandas

    members, metric = _members(results), dict(zip(results.tasks["name"], results.tasks["metric"], strict=True))
    parts = [pandas.DataFrame(columns=list(PAIRS))]
    for study, own in members.groupby("study", sort=False):
        sides = {
            (one.system, two.system): (component, one.setting, two.setting)
            for component, values in own.groupby("component", sort=False)
            for one, two in combinations(values.itertuples(), 2)
        }
        scored = results.episodes[results.episodes["system"].isin(own["system"]) & results.episodes["score"].notna()]
        for condition, episodes in scored.groupby("condition", observed=True):
            matrix = score_matrix(episodes)
            found = compare_columns(matrix, list(sides), {task: [task] for task in matrix.tasks})
            names = [sides[pair] for pair in zip(found["a"], found["b"], strict=True)]
            found[["component", "setting_a", "setting_b"]] = pandas.DataFrame(names, dtype=object)
            found = found.assign(study=study, condition=condition, task=found["group"])
            parts.append(found.assign(metric=found["task"].map(metric)))
    found = pandas.concat([part for part in parts if len(part)] or parts, ignore_index=True)
    return tidy(found[found["questions"] > 0], PAIRS)


@once
def recommend(results: Results) -> pandas.DataFrame:
    """Which value of each component to take for each task.

    `best` has the highest mean, `not_worse` are the values that are not significantly worse than it. `choice` is the
    base if it is not significantly worse, or else the best; it is empty where no value differs significantly from
    another. `rival` is the value that `best` is compared with in the columns that follow: the base where it is
    significantly worse, or else the worst. Published means have no questions to pair, so that of them there is a best
    value and a trend, and no choice.
    """
    pairs, points = setting_pairs(results), components(results)
    points = points[(points["main"] | (points["table"] != "")) & points["score"].notna()]
    keys = ["study", "condition", "task", "component", "metric"]
    found = []
    for names, own in points.groupby(keys, sort=False):
        if len(own) > 1:
            one = pairs[(pairs[keys] == list(names)).all(axis=1)]
            found.append({**dict(zip(keys, names, strict=True)), **_recommended(own, one)})
    return tidy(found, RECOMMENDED)


def advice(results: Results) -> str:
    """The strongest recommendation as a sentence; "" where nothing was compared."""
    found = recommend(results)
    tested = found[found["p_adjusted"].notna()]
    sure = tested[tested["significant"]]
    if not len(tested):
        return ""
    if not len(sure):
        names = ", ".join(dict.fromkeys(tested["component"]))
        return f"no value of {names} is significantly better than another"
    over_base = sure["rival"] == sure["base"]
    one = sure.assign(over_base=over_base).sort_values(["over_base", "difference"], ascending=False).iloc[0]
    return f"{one['task']}: {one['component']} {one['choice']}: {one['reason']}"


def trend(scores: Sequence[float]) -> str:
    """How means go with ascending values: rising, falling, level or mixed.

    >>> trend([0.1, 0.2, 0.2]), trend([0.2, 0.3, 0.1]), trend([0.5, 0.5])
    ('rising', 'mixed', 'level')
    """
    signs = {later > earlier for earlier, later in pairwise(scores) if later != earlier}
    return "mixed" if len(signs) > 1 else {True: "rising", False: "falling", None: "level"}[next(iter(signs), None)]


def _recommended(points: pandas.DataFrame, pairs: pandas.DataFrame) -> dict[str, Any]:
    scores = {name: round(score, 12) for name, score in zip(points["setting"], points["score"], strict=True)}
    order = sorted(scores, key=lambda name: -scores[name])
    top, base = order[0], next(iter(points.loc[points["base"], "setting"]), "")
    facts: dict[str, Any] = {
        **{"settings": len(scores), "base": base, "score": scores[top], "significant": False},
        **dict.fromkeys(("not_worse", "choice", "rival"), ""),
        "best": ", ".join(name for name in order if scores[name] == scores[top]),
        "trend": trend(list(scores.values())) if points["ordinal"].all() else "",
    }
    both = mirrored(pairs, "setting_a", "setting_b")
    against = {line["setting_b"]: line for line in records(both[both["setting_a"] == top])}
    if not against:
        return facts | {"reason": UNTESTED}
    known = [name for name in order if name in against]
    worse = [name for name in known if against[name]["significant"] and against[name]["difference"] > 0]
    rival = base if base in (worse or known) else (worse or known)[-1]
    facts |= {"rival": rival, "significant": bool(worse)}
    facts |= {name: against[rival][name] for name in (*ends("difference"), "p_adjusted")}
    facts["not_worse"] = ", ".join(name for name in order[1:] if name not in worse)
    if not worse:
        questions = max(line["questions"] for line in against.values())
        return facts | {"reason": f"no value is significantly better than another on {questions:,} questions"}
    if base in order[1:] and base not in worse:
        return facts | {"choice": base, "reason": f"not significantly worse than {top}"}
    lead, p = 100 * against[rival]["difference"], against[rival]["p_adjusted"]
    p_text = "p < 0.001" if p < 0.001 else f"p = {p:.3f}"
    return facts | {"choice": top, "reason": f"significantly better than {rival}, by {lead:.1f} points ({p_text})"}


@once
def _members(results: Results) -> pandas.DataFrame:
    """The system behind each value of each component of the runs, values in the order of tables."""
    import pandas

    rows: list[tuple[Any, ...]] = []
    for run, suffix in zip(results.runs, results.suffixes, strict=True):
        manifest = run.manifest()
        if (manifest.get("vary") or {}).get("workflows"):
            for component, systems, base in _components(manifest):
                values, ordinal = ordered(list(systems))
                study = f"{manifest['name']}{suffix}"
                rows += [(study, component, v, systems[v] + suffix, v == base, ordinal) for v in values]
    return pandas.DataFrame(rows, columns=["study", "component", "setting", "system", "base", "ordinal"])


def _components(manifest: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, str], str]]:
    """The components of a run in the grid's order: name, system by value, and the base's value."""
    vary = manifest["vary"]
    base, ran = vary["base"], list(dict.fromkeys((cell["workflow"], cell["llm"]) for cell in manifest["cells"]))
    settings = {name: {key: label(value) for key, value in own.items()} for name, own in vary["workflows"].items()}
    llms = [llm for workflow, llm in ran if workflow in settings]
    llm = max(dict.fromkeys(llms), key=llms.count, default="")
    found: dict[str, dict[str, str]] = {}
    for name, own in settings.items():  # what is varied is in the name; other settings may move along with it
        differing = [key for key in own if own[key] != settings[base].get(key)]
        rest = name.removeprefix(base).replace("@", ",", 1)
        varied = [key for key in differing if f",{key}=" in rest] or differing
        if len(varied) == 1 and (name, llm) in ran:
            first = {settings[base].get(varied[0], "none"): f"{base}+{llm}"}
            found.setdefault(varied[0], first)[own[varied[0]]] = f"{name}+{llm}"
    for component, systems in found.items():
        yield component, systems, next(iter(systems))
    if len(others := {one: f"{base}+{one}" for workflow, one in ran if workflow == base}) > 1:
        yield "llm", others, llm


@once
def _measured(results: Results) -> pandas.DataFrame:
    """A row per value of a component, metric and episode that has a number."""
    import pandas

    episodes, members = results.episodes, _members(results)
    own = episodes[episodes["system"].isin(members["system"])]
    own = own.astype(dict.fromkeys(("question_id", "cluster", "metric"), TEXT))
    scored = own["score"].notna()
    further = {name.removeprefix("metric_"): own[name] for name in further_metrics(own)}
    measures = {f"retrieval_{name}": own[f"retrieval_{name}"] for name in RETRIEVAL}
    measures |= {"length": own["characters"], "seconds": own["seconds"].where(scored & (own["replayed"] == 0))}
    measures |= {name: own[name].where(scored) for name in ("prompt_tokens", "completion_tokens")}
    keys = ["condition", "system", "task", "question_id", "cluster"]
    tables = [own[keys].assign(metric=own["metric"], value=own["score"], main=True)]
    tables += [own[keys].assign(metric=name, value=value, main=False) for name, value in (further | measures).items()]
    long = pandas.concat(tables, ignore_index=True).dropna(subset="value")
    cells = results.cells[["condition", "system", "task", "expected"]]
    found = long.merge(cells, on=["condition", "system", "task"], how="left").astype({"system": str})
    counted = found["main"] | found["metric"].isin(list(further))
    found["expected"] = found["expected"].where(counted, 0).astype("int64")
    found["unit"] = found["metric"].map(UNITS).fillna(SHARE)
    found = members.reset_index(names="_place").merge(found, on="system")
    metric = 2 * (~found["main"]).astype("int64") + (found["unit"] != SHARE)
    first = found.groupby(["study", "component"])["_place"].transform("min")
    found = found.assign(_metric=metric, _first=first)
    found = found.sort_values(["_first", "condition", "task", "_metric", "_place"], kind="stable")
    return found.astype({"condition": str, "task": str}).reset_index(drop=True)
