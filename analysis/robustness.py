"""Robustness: what a condition costs, and what is read and what remembered.

Each diagnostic is a function from `Results` to a tidy frame with a row per system and task, and one over all tasks of a
system: means over tasks, sums of counts. Those over the variants of a question are in `variants`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal, get_args

from r_eval.analysis.compare import comparable, compare_columns, score_matrix
from r_eval.analysis.estimates import ALL_TASKS, by_task, ends
from r_eval.analysis.frame import FLAG, NUMBER, TEXT, WHOLE
from r_eval.analysis.metrics import token_f1
from r_eval.analysis.response_types import THRESHOLDS
from r_eval.analysis.results import CLEAN, IDENTITY, Results, once, tidy
from r_eval.records import INFRASTRUCTURE_FAILURES

if TYPE_CHECKING:
    import pandas

Verdict = Literal["faithful", "leaked", "other"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
RIGHT = ("EM", "AM")
"""Response types whose answer matches."""

_PLACE = {**dict.fromkeys((*IDENTITY, "task"), TEXT)}


@once
def against_clean(results: Results) -> pandas.DataFrame:
    """Each system under a condition less the same system under `clean`, paired by question.

    Under `counterfactual` the golds are the new ones, so the difference is what a system loses where it has to read.
    Questions that a condition drops are in no pair, nor are those that several runs word differently. The ranked
    systems of a condition are one family over all tasks, and one by task; a reference is compared by itself.
    """
    import pandas

    numbers = dict.fromkeys(("score", "clean_score", *ends("difference"), "p", "p_adjusted"), NUMBER)
    types = {**_PLACE, **dict.fromkeys(("questions", "clusters"), WHOLE), **numbers, "significant": FLAG}
    systems = results.cells[list(IDENTITY)].drop_duplicates()
    clean = set(systems.loc[systems["condition"] == CLEAN, "system"])
    changed = systems[(systems["condition"] != CLEAN) & systems["system"].isin(clean)]
    if not len(changed):
        return tidy([], types)
    matrix = score_matrix(comparable(results)[0], by=["condition", "system"])
    groups: dict[str, Sequence[str]] = {task: [task] for task in matrix.tasks}
    parts = []
    for condition, own in changed.groupby("condition", observed=True):
        references = own.loc[own["role"] == "reference", "system"]
        for family in (list(own.loc[own["role"] != "reference", "system"]), *([name] for name in references)):
            pairs = [((condition, name), (CLEAN, name)) for name in family]
            parts += [compare_columns(matrix, pairs, kind) for kind in (groups, None) if pairs]
    found = pandas.concat(parts, ignore_index=True)
    found = found[found["questions"] > 0].assign(
        condition=lambda frame: [key[0] for key in frame["a"]], system=lambda frame: [key[1] for key in frame["a"]]
    )
    found = found.rename(columns={"score_a": "score", "score_b": "clean_score", "group": "task"})
    found["task"] = found["task"].replace("all", ALL_TASKS)
    several = found.groupby(["condition", "system"])["task"].transform("size") > 2
    found = found[several | (found["task"] != ALL_TASKS)]
    return tidy(systems.merge(found, on=["condition", "system"]), types)


@once
def faithful(results: Results) -> pandas.DataFrame:
    """Whether answers were read or remembered, where the environment's values were replaced.

    Under the condition `counterfactual` a question has a new gold answer, which only the environment tells, and an old
    one, which only a memory of the world as it is can give. Of each answer that no infrastructure error stopped:

    - faithful: it matches the new gold.
    - leaked: it matches the old gold. What the LLM knew won over what it could have read.
    - other: it matches neither, or both alike.

    The old golds are those of the run's questions, the new ones those of its episodes; questions whose gold did not
    change are left out. `incomplete` are the other episodes.
    """
    shares = [f"{kind}_share" for kind in VERDICTS]
    sums = ["answers", "incomplete", *VERDICTS]
    types = {**_PLACE, **dict.fromkeys(sums, WHOLE), **dict.fromkeys(ends(*shares), NUMBER)}
    rows = tidy(list(_verdicts(results)), {"episode_id": TEXT, "system": TEXT, "verdict": TEXT})
    episodes = results.episodes[[*IDENTITY, "task", "question_id", "cluster", "episode_id"]]
    rows = episodes.merge(rows.astype({"system": results.cells["system"].dtype}), on=["system", "episode_id"])
    rows["answers"] = rows["verdict"].notna().astype("int64")
    rows["incomplete"] = 1 - rows["answers"]
    for kind in VERDICTS:
        rows[kind] = (rows["verdict"] == kind).fillna(False).astype("int64")
        rows[f"{kind}_share"] = rows[kind].where(rows["answers"] > 0).astype("float64")
    return tidy(by_task(rows, shares, sums=sums), types)


def verdict(answer: str, new: Sequence[str], old: Sequence[str]) -> Verdict:
    """Whether an answer matches the new golds, the old ones, or neither (or both alike), by `token_f1`.

    >>> verdict("Lima", ["Lima"], ["Oslo"]), verdict("It is Oslo", ["Lima"], ["Oslo"]), verdict("", ["Lima"], ["Oslo"])
    ('faithful', 'leaked', 'other')
    """
    is_new, is_old = token_f1(answer, new), token_f1(answer, old)
    if max(is_new, is_old) < THRESHOLDS["strict"] or is_new == is_old:
        return "other"
    return "faithful" if is_new > is_old else "leaked"


def _verdicts(results: Results) -> Iterator[dict[str, Any]]:
    """A row per episode whose gold is another than that of its question."""
    for run, suffix in zip(results.runs, results.suffixes, strict=True):
        golds: dict[str, dict[str, list[str]]] = {}
        for cell in (cell for cell in run.cells() if cell.condition != CLEAN):
            if cell.task not in golds:
                golds[cell.task] = {question.id: question.answers for question in run.questions(cell.task)}
            for one in run.cell_episodes(cell):
                old = golds[cell.task].get(one.question_id, one.golds)
                if old != one.golds:
                    stopped = one.outcome.kind in INFRASTRUCTURE_FAILURES
                    found = None if stopped else verdict(one.answer, one.golds, old)
                    yield {"episode_id": one.episode_id, "system": cell.system + suffix, "verdict": found}
