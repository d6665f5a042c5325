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

from r_eval.analysis.compare import RENAMED
from r_eval.analysis.estimates import ends, mean_by
from r_eval.analysis.frame import FLAG, NUMBER, TEXT, WHOLE, further_metrics
from r_eval.analysis.published_results import COMPONENTS, FILE, SHARE, UNITS, label, ordered, read_components
from r_eval.analysis.qrels import RETRIEVAL
from r_eval.analysis.results import Results, once, tidy
from r_eval.analysis.statistics import ScorePairs, compare, mean

if TYPE_CHECKING:
    import pandas

ALIKE = 0.05
"""Prompt tokens that differ by less than this share count as the same."""
_POINT = ("study", "condition", "component", "task", "metric")
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
    **dict.fromkeys(("not_worse", "cheapest", "choice"), TEXT),
    "rival": TEXT,
    **dict.fromkeys((*ends("difference"), "p_adjusted"), NUMBER),
    "significant": FLAG,
    **dict.fromkeys(("trend", "reason"), TEXT),
}
"""The columns of `recommend`."""


class _Variant(NamedTuple):
    """A workflow with an LLM.

    Attributes:
        values: By component; what merely moves along with another setting counts as at the base.
        moved: What moves along ("top_k 16").
    """

    workflow: str
    llm: str
    values: Mapping[str, str]
    moved: str


class _Sweep(NamedTuple):
    """The variants of a run in the grid's order, the base's values by component, and the protocol."""

    variants: list[_Variant]
    base: dict[str, str]
    protocol: str


@once
def components(results: Results) -> pandas.DataFrame:
    """What each value of each component comes to on each task, by every metric; published results as they are printed.

    `score` is a share with its interval, `number` what is no share, in `unit`. `main` marks the task's own metric,
    `base` the value at which a component stands while another one varies, `moved` names settings that move along with a
    value. `ordinal` says that the values are numbers; these ascend.
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
        facts = rows.drop_duplicates(keys)[
            [*keys, "base", "ordinal", "moved", "main", "unit", "episodes", "incomplete"]
        ]
        found = facts.merge(pandas.concat(means, ignore_index=True), on=keys, how="left")
        parts.insert(0, tidy(found.assign(table=""), COMPONENTS))
    return pandas.concat(parts, ignore_index=True) if parts else tidy([], COMPONENTS)


def setting_pairs(results: Results) -> pandas.DataFrame:
    """All pairs of values of each component by the task's own metric, paired by question."""
    return _pairs(_marginals(results))


@once
def recommend(results: Results) -> pandas.DataFrame:
    """Which value of each component to take for each task.

    `best` has the highest mean, `not_worse` are the values that are not significantly worse than it, `cheapest` is the
    one among all of these that takes the fewest prompt tokens, where that is a true saving. `choice` is the cheapest,
    or else the base if it is not significantly worse, or else the best; it is empty where no value differs
    significantly from another and none is cheaper. `rival` is the value that `best` is compared with in the columns
    that follow: the base where it is significantly worse, or else the worst. Published means have no questions to pair,
    so that of them there is a best value and a trend, and no choice.
    """
    rows = _marginals(results)
    pairs = _pairs(rows)
    points = components(results)
    points = points[(points["main"] | (points["table"] != "")) & points["score"].notna()]
    tokens = rows[rows["metric"] == "prompt_tokens"]
    keys = ["study", "condition", "task", "component", "metric"]
    found = []
    for names, own in points.groupby(keys, sort=False):
        if len(own) < 2:
            continue
        place = dict(zip(keys, names, strict=True))
        one = pairs[(pairs[keys] == list(names)).all(axis=1)]
        costs = tokens[(tokens[keys[:4]] == list(names[:4])).all(axis=1)]
        found.append({**place, **_recommended(own, one, costs)})
    return tidy(found, RECOMMENDED)


def advice(results: Results) -> str:
    """The strongest recommendation as a sentence; "" where nothing was compared."""
    found = recommend(results)
    tested = found[found["p_adjusted"].notna()]
    if not len(tested):
        return ""
    sure = tested[tested["significant"]]
    if not len(sure):
        names = ", ".join(dict.fromkeys(tested["component"]))
        return f"no value of {names} is significantly better than another"
    over_base = sure["rival"] == sure["base"]
    one = sure.assign(over_base=over_base).sort_values(["over_base", "difference"], ascending=False).iloc[0]
    return f"{one['task']}: {one['component']} {one['choice']}: {one['reason']}"


def trend(scores: Sequence[float]) -> str:
    """How means go with ascending values: rising, falling, level or mixed; "" for a single mean.

    >>> trend([0.1, 0.2, 0.2]), trend([0.2, 0.3, 0.1]), trend([0.5])
    ('rising', 'mixed', '')
    """
    steps = [round(later - earlier, 12) for earlier, later in pairwise(scores)]
    if not steps:
        return ""
    if not any(steps):
        return "level"
    if all(step >= 0 for step in steps):
        return "rising"
    return "falling" if all(step <= 0 for step in steps) else "mixed"


def _recommended(points: pandas.DataFrame, pairs: pandas.DataFrame, tokens: pandas.DataFrame) -> dict[str, Any]:
    scores = {name: round(score, 12) for name, score in zip(points["setting"], points["score"], strict=True)}
    order = sorted(scores, key=lambda name: -scores[name])
    best = [name for name in order if scores[name] == scores[order[0]]]
    base = next(iter(points.loc[points["base"], "setting"]), "")
    facts: dict[str, Any] = {
        **dict.fromkeys(("not_worse", "cheapest", "choice", "rival"), ""),
        "significant": False,
        **{"settings": len(scores), "base": base, "best": ", ".join(best), "score": scores[order[0]]},
        "trend": trend([scores[name] for name in points["setting"]]) if points["ordinal"].all() else "",
    }
    against = {name: _against(pairs, order[0], name) for name in order[1:]}
    known = {name: line for name, line in against.items() if line is not None}
    if not known:
        return facts | {"reason": "means without questions have no significance"}
    worse = [name for name, line in known.items() if line["significant"] and line["difference"] > 0]
    equal = [name for name in order[1:] if name not in worse]
    rival = base if base in worse or (not worse and base in known) else next(reversed(worse or known))
    facts |= {"not_worse": ", ".join(equal), "rival": rival, "significant": bool(worse)}
    facts |= {name: known[rival][name] for name in (*ends("difference"), "p_adjusted")}
    cheapest, saving = _cheapest(order[0], equal, tokens)
    if not worse and not cheapest:
        questions = max(line["questions"] for line in known.values())
        return facts | {"reason": f"no value is significantly better than another on {questions:,} questions"}
    choice = cheapest or (base if base in equal else order[0])
    lead, p = 100 * known[rival]["difference"], known[rival]["p_adjusted"]
    reasons = {
        f"significantly better than {rival}, by {lead:.1f} points ({_p(p)})": choice == order[0] and bool(worse),
        f"not significantly worse than {order[0]}": choice != order[0],
        saving: bool(cheapest),
    }
    reason = ", and ".join(text for text, holds in reasons.items() if holds)
    return facts | {"cheapest": cheapest, "choice": choice, "reason": reason}


def _p(p: float) -> str:
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def _against(pairs: pandas.DataFrame, best: str, other: str) -> dict[str, Any] | None:
    """The comparison of the best value with another one, the best less the other; None where there is none."""
    for a, b, sign in ((best, other, 1), (other, best, -1)):
        found = pairs[(pairs["setting_a"] == a) & (pairs["setting_b"] == b)]
        if len(found):
            line = {str(name): value for name, value in found.iloc[0].items()}
            low, high = sorted(sign * line[f"difference_{end}"] for end in ("low", "high"))
            return line | {"difference": sign * line["difference"], "difference_low": low, "difference_high": high}
    return None


def _cheapest(best: str, equal: Sequence[str], tokens: pandas.DataFrame) -> tuple[str, str]:
    """The value with the fewest prompt tokens among the best and its equals, and what it saves; "" if none is cheaper.

    Seconds do not count: they vary with the load of the machine, and one run's noise would be read as a saving.
    """
    by_value = {name: own.set_index("question_id") for name, own in tokens.groupby("setting", sort=False)}
    known = [name for name in (best, *equal) if name in by_value]
    if best not in known or len(known) < 2:
        return "", ""
    means = {name: float(by_value[name]["value"].mean()) for name in known}
    cheapest = min(known, key=lambda name: means[name])
    dearest = best if cheapest != best else max(known, key=lambda name: means[name])
    pairs = by_value[dearest].join(by_value[cheapest]["value"].rename("less"), how="inner")
    saved = mean((pairs["value"] - pairs["less"]).to_numpy(float), pairs["cluster"].to_numpy(object), bounded=False)
    if means[cheapest] > (1 - ALIKE) * means[dearest] or not saved.low > 0:
        return "", ""
    return cheapest, f"{means[cheapest]:.0f} prompt tokens in place of {means[dearest]:.0f}"


def _pairs(rows: pandas.DataFrame) -> pandas.DataFrame:
    """The comparisons of each study and condition, each of them one family."""
    import pandas

    parts = []
    for _, family in rows[rows["main"]].groupby(["study", "condition"], sort=False) if len(rows) else ():
        places, samples = [], []
        for names, own in family.groupby(list(_POINT), sort=False):
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
        sweep = _sweep(manifest)
        measured = _measured(results, sweep, suffix)
        for component in dict.fromkeys(name for variant in sweep.variants for name in variant.values):
            groups = _groups(sweep, component)
            if len(groups) > 1:
                part = _component(measured, groups, component, sweep, suffix)
                parts.append(part.assign(study=f"{manifest['name']}{suffix}", component=component))
    columns = [*_POINT, "setting", "question_id", "cluster", "value", "base", "ordinal", "moved", "main", "unit"]
    return pandas.concat(parts, ignore_index=True) if parts else pandas.DataFrame(columns=columns)


def _sweep(manifest: Mapping[str, Any]) -> _Sweep:
    vary = manifest["vary"]
    settings: dict[str, dict[str, str]] = {
        name: {key: label(value) for key, value in entry.items()} for name, entry in vary["workflows"].items()
    }
    base, first = vary["base"], settings[vary["base"]]
    axes = list(dict.fromkeys(key for name in settings for key in _named(name, base, settings[name], first)))
    ran = list(dict.fromkeys((entry["workflow"], entry["llm"]) for entry in manifest["cells"]))
    variants = []
    for name, own in settings.items():
        named = _named(name, base, own, first)
        moved = [f"{key} {own[key]}" for key in own if own[key] != first.get(key) and key not in named]
        values = {axis: (own if axis in named else first).get(axis, "none") for axis in axes}
        variants += [_Variant(name, llm, values | {"llm": llm}, ", ".join(moved)) for of, llm in ran if of == name]
    llms = [variant.llm for variant in variants]
    most = max(dict.fromkeys(llms), key=llms.count, default="")
    return _Sweep(variants, first | {"llm": most}, str(vary.get("protocol", "one")))


def _named(name: str, base: str, own: Mapping[str, str], first: Mapping[str, str]) -> list[str]:
    """The settings that a variant is about: those in its name, else all that differ from the base's."""
    differing = [key for key in own if own[key] != first.get(key)]
    rest = name.removeprefix(base)
    return [key for key in differing if rest.startswith(f"@{key}=") or f",{key}=" in rest] or differing


def _groups(sweep: _Sweep, component: str) -> dict[str, list[_Variant]]:
    """The variants behind each value of a component, the values in order: all combinations that each value has."""
    found: dict[str, dict[tuple[str, ...], _Variant]] = {}
    for variant in sweep.variants:
        others = {name: value for name, value in variant.values.items() if name != component}
        if sweep.protocol == "cross" or all(value == sweep.base.get(name, value) for name, value in others.items()):
            found.setdefault(variant.values[component], {})[tuple(others.values())] = variant
    common = set.intersection(*(set(own) for own in found.values())) if found else set()
    values, _ = ordered(list(found)) if common else ((), False)
    return {value: [own for key, own in found[value].items() if key in common] for value in values}


def _measured(results: Results, sweep: _Sweep, suffix: str) -> pandas.DataFrame:
    """A row per cell, metric and question of the variants of a run, with the mean over its epochs."""
    import pandas

    ran = {(variant.workflow, variant.llm + suffix) for variant in sweep.variants}
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
    measured: pandas.DataFrame, groups: Mapping[str, Sequence[_Variant]], component: str, sweep: _Sweep, suffix: str
) -> pandas.DataFrame:
    """The marginals of one component: each question's mean over the combinations behind a value, where all have it."""
    import pandas

    values, ordinal = ordered(list(groups))
    members = pandas.DataFrame(
        [
            {
                **{"setting": value, "workflow": one.workflow, "llm": one.llm + suffix, "of": len(groups[value])},
                "moved": one.moved if sweep.protocol == "one" else "",
                "base": value == sweep.base.get(component, ""),
            }
            for value in values
            for one in groups[value]
        ]
    )
    rows = measured.astype({"workflow": str, "llm": str}).merge(members, on=["workflow", "llm"])
    keys = ["condition", "setting", "task", "metric"]
    cells = rows.groupby([*keys, "workflow", "llm"], observed=True, sort=False).agg(
        n=("episodes", "sum"), expected=("expected", "first")
    )
    counts = cells.groupby(level=keys, observed=True, sort=False).sum()
    added = {"value": "mean", "workflow": "size", **dict.fromkeys(("cluster", "of", "main", "moved", "base"), "first")}
    found = rows.groupby([*keys, "question_id"], observed=True, sort=False).agg(added).reset_index()
    found = found[found["workflow"] == found["of"]].merge(counts.reset_index(), on=keys)
    found["unit"] = found["metric"].map(UNITS).fillna(SHARE)
    order = {
        "condition": found["condition"].cat.codes,
        "task": found["task"].cat.codes,
        "metric": 2 * (~found["main"]).astype("int64") + (found["unit"] != SHARE),
        "setting": found["setting"].map({value: place for place, value in enumerate(values)}),
    }
    found = found.assign(**{f"_{name}": place for name, place in order.items()})
    found = found.sort_values([f"_{name}" for name in order], kind="stable")
    incomplete = (found["expected"] - found["n"]).clip(lower=0)
    found = found.assign(ordinal=ordinal, episodes=found["n"], incomplete=incomplete)
    return found.astype({"condition": str, "task": str})
