"""Retrieval by system: how well it found what is relevant, at a fixed k and of the whole list, and by type of question.

The metrics of an episode are those of `qrels`; tables are over scored episodes whose retrieval is known.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from r_eval.analysis.estimates import by_task, ends, mean_by
from r_eval.analysis.frame import NUMBER, TEXT, WHOLE
from r_eval.analysis.qrels import FIXED, METRICS
from r_eval.analysis.results import IDENTITY, Results, tidy

if TYPE_CHECKING:
    import pandas

TYPES = ("simple", "set", "conditional", "multi-hop", "comparison")
"""Types of questions made from graphs, in the order of tables; other types come after them, by name."""
ALL_TYPES = "all types"
PARTS = ("hit_rate", "recall", "ndcg")
"""Metrics of the whole list whose mean is `retrieval_score`, as on DRAGON's leaderboard."""


def retrieval(results: Results) -> pandas.DataFrame:
    """The metrics of the scored episodes whose relevant documents or evidence are known, by task and k.

    `k` is "5", "10" or "all"; recall and hit rate of evidence texts are those of the whole list.
    """
    import pandas

    numbers = dict.fromkeys((*ends("recall", "hit_rate", "ndcg"), "precision", "mrr"), NUMBER)
    types = {
        **dict.fromkeys((*IDENTITY, "task", "k"), TEXT),
        **dict.fromkeys(("episodes", "questions"), WHOLE),
        **numbers,
    }
    scored = results.episodes[results.episodes["score"].notna()]
    parts = []
    for k in ("all", *map(str, FIXED)):
        names = {f"retrieval_{name}" if k == "all" else f"retrieval_{name}@{k}": name for name in METRICS}
        rows = scored.drop(columns=["k", *METRICS], errors="ignore").rename(columns=names)
        parts.append(rows[rows["recall"].notna()].assign(episodes=1, k=k))
    rows = pandas.concat(parts, ignore_index=True)
    rows["k"] = pandas.Categorical(rows["k"], [*map(str, FIXED), "all"], ordered=True)
    return tidy(by_task(rows, METRICS, sums=["episodes"], further=["k"]), types)


def question_types(results: Results) -> pandas.DataFrame:
    """Retrieval and generation by type of question (meta's `type`), and over all questions that have one.

    - `generation_score` is the score of the task's own metric.
    - `retrieval_score` is the mean of hit rate, recall and NDCG, of those that are known; missing where a system makes
      no search of its own, or no question says what is relevant.
    - `total_score` is their sum, from 0 to 2.

    Questions of several tasks of a type are taken together; episodes without a score are counted as `incomplete`.
    """
    import pandas

    numbers = dict.fromkeys((*ends("retrieval_score", "generation_score"), "total_score"), NUMBER)
    types = {**dict.fromkeys((*IDENTITY, "type"), TEXT), **dict.fromkeys(("questions", "incomplete"), WHOLE), **numbers}
    kinds = tidy(list(_typed(results)), dict.fromkeys(("task", "question_id", "type"), TEXT)).drop_duplicates()
    kinds["task"] = kinds["task"].astype(results.cells["task"].dtype)
    rows = results.episodes.astype({"question_id": TEXT}).merge(kinds, on=["task", "question_id"])
    if rows.empty:
        return tidy([], types)
    rows = rows.assign(generation_score=rows["score"], retrieval_score=retrieval_score(rows))
    rows = rows.assign(incomplete=rows["score"].isna(), question_id=rows["task"].astype(str) + rows["question_id"])
    rows = pandas.concat([rows, rows.assign(type=ALL_TYPES)], ignore_index=True)
    order = [
        *(one for one in TYPES if one in set(kinds["type"])),
        *sorted({*kinds["type"]}.difference(TYPES)),
        ALL_TYPES,
    ]
    rows["type"] = pandas.Categorical(rows["type"], order, ordered=True)
    keys = [*IDENTITY, "type"]
    groups = rows.groupby(keys, observed=True)
    found = groups.agg(questions=("question_id", "nunique"), incomplete=("incomplete", "sum"))
    for name in ("retrieval_score", "generation_score"):
        found = found.join(mean_by(rows, keys, name).set_index(keys)[ends(name)])
    found["total_score"] = found["retrieval_score"] + found["generation_score"]
    return tidy(found.reset_index(), types)


def retrieval_score(episodes: pandas.DataFrame) -> pandas.Series:
    """The mean of those of PARTS that are known of each episode; missing where none is, or the episode has no score."""
    known = episodes[[f"retrieval_{name}" for name in PARTS]].mean(axis=1)
    return known.where(episodes["score"].notna())


def _typed(results: Results) -> Iterator[dict[str, object]]:
    """The questions of the runs that have a type."""
    for run in results.runs:
        for entry in run.manifest()["tasks"]:
            for question in run.questions(entry["name"]):
                if isinstance(kind := question.meta.get("type"), str) and kind:
                    yield {"task": entry["name"], "question_id": question.id, "type": kind}
