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
    import pandas

TESTED = ("difference", "difference_low", "difference_high", "p_adjusted")
PARTNERS: dict[str, str] = {
    **dict.fromkeys(("condition", "fixed", "name", "group", "best"), TEXT),
    "score": NUMBER,
    "rival": TEXT,
    "rival_score": NUMBER,
    "questions": WHOLE,
    **dict.fromkeys(TESTED, NUMBER),
    "significant": FLAG,
}
UPPER_BOUND: dict[str, str] = {
    **dict.fromkeys(("condition", "task"), TEXT),
    "score": NUMBER,
    "best": TEXT,
    "best_score": NUMBER,
    "questions": WHOLE,
}


def partners(results: Results) -> pandas.DataFrame:
    """For each workflow the LLM that suits it best, and for each LLM the workflow, with every other one behind it.

    Compared are the systems that have all tasks of the group, references apart. `fixed` says which half the systems
    share, `name` which one it is; `best` and `rival` are of the other half. Of equal means `best` names all; where
    no system is behind, `rival` is "". Published means have no p-value and are never significantly different.
    """
    import pandas

    own = ranked(averages(results))
    systems = records(own[own["tasks"] == own["of_tasks"]].round({"score": 12}))
    tests: dict[tuple[str, ...], dict[str, Any]] = {}
    for row in records(pandas.concat([pairs(results, by) for by in ("all", "domain", "level")])):
        low, high = row["difference_low"], row["difference_high"]
        turned = {"difference": -row["difference"], "difference_low": -high, "difference_high": -low}
        tests[row["condition"], row["group"], row["system_a"], row["system_b"]] = row
        tests[row["condition"], row["group"], row["system_b"], row["system_a"]] = row | turned
    rows = []
    for fixed, other in (("workflow", "llm"), ("llm", "workflow")):
        fields: dict[tuple[str, ...], list[dict[str, Any]]] = {}
        for line in systems:
            fields.setdefault((line["condition"], line[fixed], line["group"]), []).append(line)
        for (condition, name, group), field in fields.items():
            shared = {"condition": condition, "fixed": fixed, "name": name, "group": group}
            rows += [shared | row for row in _rivals(field, other, tests)] if len(field) > 1 else []
    return tidy(rows, PARTNERS)


def _rivals(
    field: Sequence[dict[str, Any]], other: str, tests: Mapping[tuple[str, ...], Mapping[str, Any]]
) -> Iterator[dict[str, Any]]:
    """Of the systems that share a half: the best ones, with a row for each of the others."""
    first, *_ = lines = sorted(field, key=lambda line: -line["score"])
    ties = [line for line in lines if line["score"] == first["score"]]
    best = {"best": ", ".join(line[other] for line in ties), "score": first["score"]}
    unknown = {"questions": 0, "significant": False}
    for line in lines[len(ties) :]:
        test = tests.get((first["condition"], first["group"], first["system"], line["system"]), unknown)
        found = {name: test[name] for name in ("questions", *TESTED, "significant") if name in test}
        yield {**best, "rival": line[other], "rival_score": line["score"], **found}
    if len(ties) == len(lines):
        yield {**best, "rival": "", **unknown}


def upper_bound(results: Results) -> pandas.DataFrame:
    """Each question answered by the ranked system that does best on it: what choosing by question could reach at most.

    By task and, last, over all tasks. `best` is the system with the highest score there; an episode without a score
    counts 0.
    """
    import pandas

    own = ranked(results.episodes)
    rows: list[dict[str, Any]] = []
    for condition in results.conditions:
        matrix = score_matrix(own[(own["condition"] == condition) & own["score"].notna()])
        scores = pandas.DataFrame(matrix.scores, columns=matrix.columns).fillna(0.0)
        tasks = scores.assign(bound=scores.max(axis=1)).groupby(matrix.task, sort=False)
        found, sizes = tasks.mean(), tasks.size()
        if len(found) > 1:
            found.loc[ALL_TASKS], sizes.loc[ALL_TASKS] = found.mean(), sizes.sum()
        for task, (*each, bound) in zip(found.index, found.to_numpy(), strict=True):
            best = max(range(len(each)), key=each.__getitem__)
            row = {"condition": condition, "task": task, "score": bound, "questions": sizes[task]}
            rows.append({**row, "best": matrix.columns[best], "best_score": each[best]})
    return tidy(rows, UPPER_BOUND)
