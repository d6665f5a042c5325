"""Matching: which LLM suits which workflow, and what choosing a system for each question could reach.

What is compared is paired by question, in the one family of comparisons that all views share (`compare.pairs`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from r_eval.analysis.compare import pairs, score_matrix
from r_eval.analysis.estimates import ALL_TASKS
from r_eval.analysis.frame import FLAG, NUMBER, TEXT, WHOLE
from r_eval.analysis.results import Results, ranked, records, tidy
from r_eval.analysis.scores import averages

if TYPE_CHECKING:
    import numpy as np
    import pandas
    from numpy.typing import NDArray

PARTNERS: dict[str, str] = {
    **dict.fromkeys(("condition", "fixed", "name", "group", "best"), TEXT),
    "score": NUMBER,
    "rival": TEXT,
    "rival_score": NUMBER,
    "questions": WHOLE,
    **dict.fromkeys(("difference", "difference_low", "difference_high", "p_adjusted"), NUMBER),
    "significant": FLAG,
}
UPPER_BOUND: dict[str, str] = {
    **dict.fromkeys(("condition", "task"), TEXT),
    "score": NUMBER,
    "best": TEXT,
    **dict.fromkeys(("best_score", "gap"), NUMBER),
    **dict.fromkeys(("questions", "incomplete"), WHOLE),
}


def partners(results: Results) -> pandas.DataFrame:
    """For each workflow the LLM that suits it best, and for each LLM the workflow, with every other one behind it.

    Compared are the systems that have all tasks of the group, references apart. `fixed` says which half the systems
    share, `name` which one it is; `best` and `rival` are of the other half. Of equal means `best` names all; where
    no system is behind, `rival` is "". Published means have no p-value and are never significantly different.
    """
    import pandas

    own = ranked(averages(results))
    own = own[own["tasks"] == own["of_tasks"]].assign(score=lambda frame: frame["score"].round(12))
    compared = pandas.concat([pairs(results, by=by) for by in ("all", "domain", "level")])
    keys = ("condition", "group", "system_a", "system_b")
    tests = {tuple(row[key] for key in keys): row for row in records(compared)}
    rows = []
    systems = records(own)
    for fixed, other in (("workflow", "llm"), ("llm", "workflow")):
        fields: dict[tuple[str, ...], list[dict[str, Any]]] = {}
        for line in systems:
            fields.setdefault((line["condition"], line[fixed], line["group"]), []).append(line)
        for (condition, name, group), field in fields.items():
            shared = {"condition": condition, "fixed": fixed, "name": name, "group": group}
            rows += [shared | row for row in _rivals(field, other, tests)] if len(field) > 1 else []
    return tidy(rows, PARTNERS)


def _rivals(
    field: Sequence[dict[str, Any]], other: str, tests: Mapping[tuple[str, ...], dict[str, Any]]
) -> Iterator[dict[str, Any]]:
    """Of the systems that share a half: the best ones, with a row for each of the others."""
    lines = sorted(field, key=lambda line: -line["score"])
    first = lines[0]
    ties = [line for line in lines if line["score"] == first["score"]]
    best = {"best": ", ".join(line[other] for line in ties), "score": first["score"]}
    for line in lines[len(ties) :]:
        behind = {"rival": line[other], "rival_score": line["score"]}
        yield best | behind | _difference(tests, first, line["system"])
    if len(ties) == len(lines):
        yield {**best, "rival": "", "questions": 0, "significant": False}


def _difference(
    tests: Mapping[tuple[str, ...], dict[str, Any]], first: Mapping[str, Any], other: str
) -> dict[str, Any]:
    """How far the best system is ahead of another, as `pairs` has found."""
    names = ("difference", "difference_low", "difference_high")
    condition, group, a, b = first["condition"], first["group"], first["system"], other
    if test := tests.get((condition, group, a, b)):
        ends = [test[name] for name in names]
    elif test := tests.get((condition, group, b, a)):
        ends = [-test[name] for name in (names[0], names[2], names[1])]
    else:
        return {"questions": 0, "significant": False}
    rest = {name: test[name] for name in ("questions", "p_adjusted", "significant")}
    return {**dict(zip(names, ends, strict=True)), **rest}


def upper_bound(results: Results) -> pandas.DataFrame:
    """Each question answered by the ranked system that does best on it: what choosing by question could reach at most.

    By task and, last, over all tasks. `best` is the system with the highest score there, `gap` how far the bound lies
    above it; `incomplete` of the questions some system has no score on.
    """
    import numpy as np

    rows = []
    for condition, table, weights in _tables(results):
        at = table.index.get_level_values("task")
        parts = [(task, table[at == task], weights[at == task]) for task in dict.fromkeys(at)]
        for task, own, weight in [*parts, *([(ALL_TASKS, table, weights)] if len(parts) > 1 else [])]:
            bound = float(np.average(own.max(axis=1), weights=weight))
            alone = np.average(own.fillna(0.0), axis=0, weights=weight)
            best = float(alone.max())
            names = {"condition": condition, "task": task, "best": own.columns[int(alone.argmax())]}
            counts = {"questions": len(own), "incomplete": int(own.isna().any(axis=1).sum())}
            rows.append({**names, "score": bound, "best_score": best, "gap": bound - best, **counts})
    return tidy(rows, UPPER_BOUND)


def _tables(results: Results) -> Iterator[tuple[str, pandas.DataFrame, NDArray[np.float64]]]:
    """Of each condition, the scores of the ranked systems by task and question, and the weight of each question: every
    task counts as much."""
    import numpy as np
    import pandas

    own = ranked(results.episodes)
    for condition in results.conditions:
        scores = score_matrix(own[own["condition"] == condition])
        index = pandas.MultiIndex.from_arrays([scores.task, scores.question_id], names=["task", "question_id"])
        table = pandas.DataFrame(scores.scores, index, list(scores.columns)).dropna(how="all")
        if len(table):
            sizes = table.groupby(level="task", sort=False).size()
            yield condition, table, 1 / np.asarray(sizes.reindex(table.index.get_level_values("task")), np.float64)
