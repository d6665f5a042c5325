"""Matching: which LLM suits which workflow, and which workflow which LLM.

What is compared is paired by question, in the one family of comparisons that all views share (`compare.pairs`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from r_eval.analysis.compare import mirrored, pairs
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
UNTESTED: dict[str, Any] = {"questions": 0, "significant": False}


def partners(results: Results) -> pandas.DataFrame:
    """For each workflow the LLM that suits it best, and for each LLM the workflow, with every other one behind it.

    Compared are the systems that have all tasks of the group, references apart. `fixed` says which half the systems
    share, `name` which one it is; `best` and `rival` are of the other half. Of equal means `best` names all; where
    no system is behind, `rival` is "". Published means have no p-value and are never significantly different.
    """
    import pandas

    own = ranked(averages(results))
    systems = own[own["tasks"] == own["of_tasks"]].round({"score": 12})
    compared = mirrored(pandas.concat([pairs(results, by) for by in ("all", "domain", "level")]))
    keys = ["condition", "group", "system_a", "system_b"]
    fields = ["questions", *TESTED, "significant"]
    tests = dict(zip(compared[keys].itertuples(index=False, name=None), records(compared[fields]), strict=True))
    rows = []
    for fixed, other in (("workflow", "llm"), ("llm", "workflow")):
        for (condition, name, group), field in systems.groupby(["condition", fixed, "group"], sort=False):
            if len(field) < 2:
                continue
            top = field["score"].max()
            best, rest = field[field["score"] == top], field[field["score"] < top].sort_values("score", ascending=False)
            shared = {"condition": condition, "fixed": fixed, "name": name, "group": group}
            shared |= {"best": ", ".join(best[other]), "score": top}
            if rest.empty:
                rows.append({**shared, "rival": "", **UNTESTED})
            for line in records(rest):
                test = tests.get((condition, group, best["system"].iloc[0], line["system"]), UNTESTED)
                rows.append({**shared, "rival": line[other], "rival_score": line["score"], **test})
    return tidy(rows, PARTNERS)
