"""Retrieval by system: how well it found what is relevant, at a fixed k and of the whole list, and by type of question.

The metrics of an episode are those of `qrels`; tables are over scored episodes whose retrieval is known.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from r_eval.analysis.estimates import by_task, ends, mean_by
from r_eval.analysis.frame import FLAG, NUMBER, TEXT, WHOLE
from r_eval.analysis.qrels import FIXED, METRICS, text_ids
from r_eval.analysis.results import CLEAN, IDENTITY, Results, tidy

if TYPE_CHECKING:
    import pandas

WRONG = ("GE", "RE", "TE")
"""Response types of a scored answer that does not match."""
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


def retrieval_failures(results: Results) -> pandas.DataFrame:
    """Whose fault the wrong answers are, of the scored episodes whose retrieval is known.

    - retrieval: the response type is RE, and not all that is relevant was found: no LLM could have read it.
    - generation: the type is GE: all of it was there to be read.
    - other: misused tools, or relevant documents of which the passage with the evidence was not seen.
    """

    faults = ["retrieval", "generation", "other"]
    shares = [f"{name}_share" for name in faults]
    sums = ["episodes", "wrong", *faults]
    types = {**dict.fromkeys((*IDENTITY, "task"), TEXT), **dict.fromkeys(sums, WHOLE), **dict.fromkeys(shares, NUMBER)}
    rows = results.episodes
    rows = rows[rows["score"].notna() & rows["retrieval_recall"].notna()]
    kind = rows["response_type"]
    rows = rows.assign(
        episodes=1,
        wrong=kind.isin(WRONG),
        retrieval=(kind == "RE") & (rows["retrieval_recall"] < 1),
        generation=kind == "GE",
    )
    rows["other"] = rows["wrong"] & ~rows["retrieval"] & ~rows["generation"]
    found = by_task(rows, sums=sums)
    for name in faults if len(found) else ():
        found[f"{name}_share"] = (found[name] / found["wrong"].astype("float64")).where(found["wrong"] > 0)
    return tidy(found, types)


def question_types(results: Results) -> pandas.DataFrame:
    """Retrieval and generation by type of question (meta's `type`), and over all questions that have one.

    - `generation_score` is the score of the task's own metric.
    - `retrieval_score` is the mean of hit rate, recall and NDCG, of those that are known; missing where a system makes
      no search of its own, or no question says what is relevant.
    - `total_score` is their sum, from 0 to 2.

    Every question that the run asks of a type counts: one without a score is 0 in both and is counted as missing.
    Questions of several tasks of a type are taken together. Those that a condition drops are not asked.
    """

    import pandas

    numbers = dict.fromkeys((*ends("retrieval_score", "generation_score"), "total_score"), NUMBER)
    types = {**dict.fromkeys((*IDENTITY, "type"), TEXT), **dict.fromkeys(("questions", "missing"), WHOLE), **numbers}
    rows = _typed_rows(results)
    if rows.empty:
        return tidy([], types)
    order = [*in_order(rows["type"]), ALL_TYPES]
    rows["type"] = pandas.Categorical(rows["type"], order, ordered=True)
    several = rows.groupby(list(IDENTITY), observed=True)["type"].transform("nunique") > 1
    together = rows[several].assign(type=pandas.Categorical([ALL_TYPES] * several.sum(), order, ordered=True))
    rows = pandas.concat([rows, together], ignore_index=True)
    keys = [*IDENTITY, "type"]
    groups = rows.groupby(keys, observed=True)
    found = groups["missing"].agg(["size", "sum"]).rename(columns={"size": "questions", "sum": "missing"})
    for name in ("retrieval_score", "generation_score"):
        found = found.join(mean_by(rows, keys, name).set_index(keys)[ends(name)])
    found["total_score"] = found["retrieval_score"] + found["generation_score"]
    return tidy(found.reset_index(), types)


def in_order(types: Iterable[str]) -> list[str]:
    """Types as tables have them, each once.

    >>> in_order(["who", "multi-hop", "simple", "how", "simple"])
    ['simple', 'multi-hop', 'how', 'who']
    """
    names = set(types)
    return [type_ for type_ in TYPES if type_ in names] + sorted(names.difference(TYPES))


def retrieval_score(episodes: pandas.DataFrame) -> pandas.Series:
    """The mean of those of PARTS that are known of each episode; missing where none is, or the episode has no score."""
    known = episodes[[f"retrieval_{name}" for name in PARTS]].mean(axis=1)
    return known.where(episodes["score"].notna())


def _typed_rows(results: Results) -> pandas.DataFrame:
    """A row per system and question with a type that it was to be asked.

    A cell that is not complete is to have all questions that the runs ask of its task, but for a condition, which may
    drop some.
    """
    texts = dict.fromkeys(("task", "question_id", "type"), TEXT)
    typed = tidy(list(_typed(results)), {**texts, "ranked": FLAG}).drop_duplicates(["task", "question_id"])
    typed["task"] = typed["task"].astype(results.cells["task"].dtype)
    keys = [*IDENTITY, "task", "question_id"]
    scored = results.episodes.astype({"question_id": TEXT, "cluster": TEXT})
    scored["retrieval_score"] = retrieval_score(scored)
    groups = scored.groupby(keys, observed=True)
    means = groups.agg({"cluster": "first", "score": "mean", "retrieval_score": "mean"}).reset_index()
    cells = results.cells[results.cells["expected"].notna()]
    rows = cells.merge(typed, on="task").drop(columns=["score"]).merge(means, on=keys, how="left")
    open_ = (rows["episodes"] < rows["expected"]) & (rows["condition"] == CLEAN)
    rows = rows[rows["cluster"].notna() | open_].copy()
    searches = set(means.loc[means["retrieval_score"].notna(), "system"])
    rows["missing"] = rows["score"].isna()
    rows["generation_score"] = rows["score"].fillna(0.0)
    nothing = (
        rows["missing"] & rows["ranked"] & rows["system"].isin(searches)
    )  # it searches: without a score it found none
    rows["retrieval_score"] = rows["retrieval_score"].mask(nothing, 0.0)
    clusters = rows["cluster"].fillna(rows["question_id"])
    rows["cluster"] = rows["task"].astype(str) + "\n" + clusters
    rows["question_id"] = rows["task"].astype(str) + "\n" + rows["question_id"]
    return rows


def _typed(results: Results) -> Iterator[dict[str, object]]:
    """The questions of the runs that have a type, and whether they say what is relevant."""
    for run in results.runs:
        for entry in run.manifest()["tasks"]:
            for question in run.questions(entry["name"]):
                if isinstance(kind := question.meta.get("type"), str) and kind:
                    ranked = bool(question.evidence or text_ids(question))
                    yield {"task": entry["name"], "question_id": question.id, "type": kind, "ranked": ranked}
