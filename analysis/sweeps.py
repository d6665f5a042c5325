"""Sweeps: what each value of a setting comes to, which values differ significantly, and which to take.

A component is a setting that a run varies (`vary` in run.json: chunk size, retriever, top-k), or the LLM. One setting
at a time (protocol `one`): a value's numbers are those of the workflow that differs from the base in this setting,
under the LLM that all variants ran with. All combinations (protocol `cross`): a question's number at a value is its
mean over the combinations of the other settings and LLMs, so that values are still paired by question; only the
combinations that every value has count, and only the questions that all of these have.

All pairs of values of all components and tasks of a run under one condition are one family of comparisons: the best
value was chosen by looking, so that a correction over fewer would promise too much.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from r_eval.analysis.compare import RENAMED, mirrored
from r_eval.analysis.estimates import ends, mean_by
from r_eval.analysis.frame import FLAG, NUMBER, TEXT, WHOLE, further_metrics
from r_eval.analysis.published_results import COMPONENTS, FILE, SHARE, UNITS, label, ordered, read_components
from r_eval.analysis.qrels import RETRIEVAL
from r_eval.analysis.results import Results, once, records, tidy
from r_eval.analysis.statistics import ScorePairs, compare

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


class _Variant(NamedTuple):
    """A workflow with an LLM, and its values by component: the base's for what merely moves along with another."""

    workflow: str
    llm: str
    values: Mapping[str, str]


@once
def components(results: Results) -> pandas.DataFrame:
    """What each value of each component comes to on each task, by every metric; published results as they are printed.

    `score` is a share with its interval, `number` what is no share, in `unit`. `main` marks the task's own metric,
    `base` the component's value while another one varies. `ordinal` says that the values are numbers; these ascend.
    """
    import pandas

    parts = [read_components(folder.path) for folder in results.published if (folder.path / FILE).is_file()]
    rows = _marginals(results)
    if len(rows):
        keys = [*_POINT, "setting"]
        means = []
        for name, shares in (("score", True), ("number", False)):
            own = rows[(rows["unit"] == SHARE) == shares].rename(columns={"value": name})
            means.append(mean_by(own, keys, name, bounded=shares))
        facts = rows.drop_duplicates(keys)[[*keys, "base", "ordinal", "main", "unit", "episodes", "incomplete"]]
        found = facts.merge(pandas.concat(means, ignore_index=True), on=keys, how="left")
        parts.insert(0, tidy(found.assign(table=""), COMPONENTS))
    return pandas.concat(parts, ignore_index=True) if parts else tidy([], COMPONENTS)


@once
def setting_pairs(results: Results) -> pandas.DataFrame:
    """All pairs of values of each component by the task's own metric, paired by question."""
    import pandas

    rows, parts = _marginals(results), []
    for _, family in rows[rows["main"]].groupby(["study", "condition"], sort=False) if len(rows) else ():
        places, samples = [], []
        for names, own in family.groupby(_POINT, sort=False):
            table = own.pivot(index="question_id", columns="setting", values="value")
            clusters = own.drop_duplicates("question_id").set_index("question_id")["cluster"].reindex(table.index)
            for a, b in combinations(dict.fromkeys(own["setting"]), 2):
                places.append({**dict(zip(_POINT, names, strict=True)), "setting_a": a, "setting_b": b})
                samples.append(
                    ScorePairs(table[a].to_numpy(float), table[b].to_numpy(float), clusters.to_numpy(object))
                )
        if samples:
            found = pandas.DataFrame(compare(*samples)._asdict())
            parts.append(pandas.DataFrame(places).join(found.rename(columns=RENAMED)))
    found = pandas.concat(parts, ignore_index=True) if parts else pandas.DataFrame(columns=list(PAIRS))
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
        return facts | {"reason": "means without questions have no significance"}
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
def _marginals(results: Results) -> pandas.DataFrame:
    """A row per study, condition, component, value, task, metric and question: the mean over the combinations.

    Settings are in the order of tables: numbers ascend, others are as the grid names them.
    """
    import pandas

    parts = []
    for run, suffix in zip(results.runs, results.suffixes, strict=True):
        manifest = run.manifest()
        if not (manifest.get("vary") or {}).get("workflows"):
            continue
        variants, base = _variants(manifest)
        measured, cross = _measured(results, variants, suffix), manifest["vary"].get("protocol") == "cross"
        for component in dict.fromkeys(name for variant in variants for name in variant.values):
            groups = _groups(variants, base, component, cross)
            if len(groups) > 1:
                part = _component(measured, groups, base.get(component, ""), suffix)
                parts.append(part.assign(study=f"{manifest['name']}{suffix}", component=component))
    columns = [*_POINT, "setting", "question_id", "cluster", "value", "base", "ordinal", "main", "unit"]
    return pandas.concat(parts, ignore_index=True) if parts else pandas.DataFrame(columns=columns)


def _variants(manifest: Mapping[str, Any]) -> tuple[list[_Variant], dict[str, str]]:
    """The variants of a run in the grid's order, and the base's values by component."""
    vary = manifest["vary"]
    settings = {name: {key: label(value) for key, value in own.items()} for name, own in vary["workflows"].items()}
    first = settings[vary["base"]]
    named: dict[str, list[str]] = {}
    for name, own in settings.items():  # the settings in its name, else all that differ from the base's
        differing = [key for key in own if own[key] != first.get(key)]
        rest = name.removeprefix(vary["base"]).replace("@", ",", 1)
        named[name] = [key for key in differing if f",{key}=" in rest] or differing
    axes = list(dict.fromkeys(key for keys in named.values() for key in keys))
    ran = list(dict.fromkeys((entry["workflow"], entry["llm"]) for entry in manifest["cells"]))
    variants = []
    for name, own in settings.items():
        values = {axis: (own if axis in named[name] else first).get(axis, "none") for axis in axes}
        variants += [_Variant(name, llm, values | {"llm": llm}) for workflow, llm in ran if workflow == name]
    llms = [variant.llm for variant in variants]
    return variants, first | {"llm": max(dict.fromkeys(llms), key=llms.count, default="")}


def _groups(
    variants: Sequence[_Variant], base: Mapping[str, str], component: str, cross: bool
) -> dict[str, list[_Variant]]:
    """The variants behind each value of a component, the values in order: all combinations that each value has."""
    found: dict[str, dict[tuple[str, ...], _Variant]] = {}
    for variant in variants:
        others = {name: value for name, value in variant.values.items() if name != component}
        if cross or all(value == base.get(name, value) for name, value in others.items()):
            found.setdefault(variant.values[component], {})[tuple(others.values())] = variant
    common = set.intersection(*(set(own) for own in found.values())) if found else set()
    values, _ = ordered(list(found)) if common else ((), False)
    return {value: [own for key, own in found[value].items() if key in common] for value in values}


def _measured(results: Results, variants: Sequence[_Variant], suffix: str) -> pandas.DataFrame:
    """A row per cell, metric and question of the variants of a run, with the mean over its epochs."""
    import pandas

    ran = {(variant.workflow, variant.llm + suffix) for variant in variants}
    episodes = results.episodes
    names = zip(episodes["workflow"], episodes["llm"], strict=True)
    own = episodes[[name in ran for name in names]].astype(dict.fromkeys(("question_id", "cluster", "metric"), TEXT))
    scored = own["score"].notna()
    further = {name.removeprefix("metric_"): own[name] for name in further_metrics(own)}
    measures = {f"retrieval_{name}": own[f"retrieval_{name}"] for name in RETRIEVAL}
    measures |= {"length": own["characters"], "seconds": own["seconds"].where(scored & (own["replayed"] == 0))}
    measures |= {name: own[name].where(scored) for name in ("prompt_tokens", "completion_tokens")}
    keys = ["condition", "workflow", "llm", "task", "question_id", "cluster"]
    tables = [own[keys].assign(metric=own["metric"], value=own["score"], main=True)]
    tables += [own[keys].assign(metric=name, value=value, main=False) for name, value in (further | measures).items()]
    long = pandas.concat(tables, ignore_index=True)
    groups = long[long["value"].notna()].groupby([*keys, "metric", "main"], observed=True, sort=False)["value"]
    found = groups.agg(["mean", "size"]).rename(columns={"mean": "value", "size": "episodes"}).reset_index()
    cells = results.cells[["condition", "workflow", "llm", "task", "expected"]]
    found = found.merge(cells, on=["condition", "workflow", "llm", "task"], how="left")
    counted = found["main"] | found["metric"].isin(list(further))
    return found.assign(expected=found["expected"].where(counted, 0).astype("int64"))


def _component(
    measured: pandas.DataFrame, groups: Mapping[str, Sequence[_Variant]], base: str, suffix: str
) -> pandas.DataFrame:
    """The marginals of one component: each question's mean over the combinations behind a value, where all have it."""
    import pandas

    values, ordinal = ordered(list(groups))
    members = [
        (value, one.workflow, one.llm + suffix, len(groups[value]), value == base)
        for value in values
        for one in groups[value]
    ]
    columns = ["setting", "workflow", "llm", "of", "base"]
    rows = measured.astype({"workflow": str, "llm": str}).merge(pandas.DataFrame(members, columns=columns))
    keys = ["condition", "setting", "task", "metric"]
    cells = rows.drop_duplicates([*keys, "workflow", "llm"]).groupby(keys, observed=True, sort=False)["expected"].sum()
    counts = rows.groupby(keys, observed=True, sort=False)["episodes"].sum().to_frame().join(cells)
    added = {"value": "mean", "workflow": "size", **dict.fromkeys(("cluster", "of", "main", "base"), "first")}
    found = rows.groupby([*keys, "question_id"], observed=True, sort=False).agg(added).reset_index()
    found = found[found["workflow"] == found["of"]].merge(counts.reset_index(), on=keys)
    found["unit"] = found["metric"].map(UNITS).fillna(SHARE)
    found = found.assign(
        ordinal=ordinal,
        incomplete=(found["expected"] - found["episodes"]).clip(lower=0),
        _metric=2 * (~found["main"]).astype("int64") + (found["unit"] != SHARE),
        _setting=found["setting"].map(values.index),
    ).sort_values(["condition", "task", "_metric", "_setting"], kind="stable")
    return found.astype({"condition": str, "task": str})
