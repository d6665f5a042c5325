"""Scores: by system and task, averaged over tasks with ranks, and the episodes that did not finish.

An average over a domain, a level or everything is the mean over its tasks, each with the same weight, as in the paper's
tables. Ranks go by these averages among the systems under the same condition; equal means share the lower number. A
reference, and a system that lacks one of the tasks behind an average, is shown and not ranked by it.

`x_worst` and `x_best` are bounds, no statistics: the mean if every missing episode scored 0, or 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from r_eval.analysis.compare import ALL, TaskGroup, groups_of, pairs, ranking
from r_eval.analysis.estimates import mean_by
from r_eval.analysis.frame import FLAG, NUMBER, TEXT, WHOLE, further_metrics
from r_eval.analysis.results import IDENTITY, Results, once, ranked, tidy
from r_eval.analysis.statistics import wilson
from r_eval.records import INFRASTRUCTURE_FAILURES

if TYPE_CHECKING:
    import pandas

LENGTH = "characters"
SCORE = ("score", "score_low", "score_high", "score_worst", "score_best")
KEYS = ["condition", "system", "task"]
SCORES: dict[str, str] = {
    **dict.fromkeys((*IDENTITY, "task", "domain", "level", "metric"), TEXT),
    **dict.fromkeys(SCORE, NUMBER),
    **dict.fromkeys(("questions", "clusters", "episodes", "incomplete"), "Int64"),
    **dict.fromkeys(("unparsed", "undecided"), WHOLE),
    "stopped": FLAG,
}
"""The columns of `scores`; `episodes` are those with a score, `incomplete` the others of the grid."""
AVERAGES: dict[str, str] = {
    **dict.fromkeys((*IDENTITY, "group", "domain", "level"), TEXT),
    **dict.fromkeys(SCORE, NUMBER),
    **dict.fromkeys(("tasks", "of_tasks", "questions", "clusters"), WHOLE),
    **dict.fromkeys(("episodes", "incomplete"), "Int64"),
    "complete": FLAG,
    **dict.fromkeys(("rank", "rank_low", "rank_high"), "Int64"),
    "stopped": FLAG,
}
"""The columns of `averages`; `complete` says that every task is there with every episode."""
FAILURES: dict[str, str] = {
    **dict.fromkeys((*IDENTITY, "task", "outcome", "outcome_cause"), TEXT),
    "episodes": WHOLE,
    **dict.fromkeys(("counts_as", "example"), TEXT),
}
FURTHER: dict[str, str] = {
    **dict.fromkeys((*IDENTITY, "task", "metric"), TEXT),
    **dict.fromkeys(("value", "value_low", "value_high"), NUMBER),
    "unit": TEXT,
    **dict.fromkeys(("questions", "episodes", "incomplete"), WHOLE),
}


@once
def scores(results: Results) -> pandas.DataFrame:
    """The score of each system on each task with its 95 % interval, and the number of episodes behind it."""
    frame = results.cells.rename(columns={"score": "published", "episodes": "recorded"})
    scored = results.episodes.assign(scored=results.episodes["score"].notna())
    sums = {"episodes": ("scored", "sum"), "total": ("score", "sum")}
    sums |= {name: (name, "sum") for name in ("unparsed", "undecided")}
    counted = scored.groupby(KEYS, observed=True).agg(**sums).reset_index()
    for part in (mean_by(results.episodes, KEYS), counted):
        frame = frame.merge(part.astype(dict.fromkeys(KEYS, TEXT)), "left", KEYS)
    counts = ["episodes", "questions", "clusters", "unparsed", "undecided", "total"]
    frame[counts] = frame[counts].fillna(0)
    known = frame["expected"].astype("float64")
    expected = known.where(known > frame["episodes"], frame["episodes"])
    frame["incomplete"] = expected - frame["episodes"]
    frame["score_worst"] = frame["total"] / expected
    frame["score_best"] = (frame["total"] + frame["incomplete"]) / expected
    low, high = wilson(frame["published"], known)
    published = {**dict.fromkeys(SCORE, frame["published"]), "score_low": low, "score_high": high, "incomplete": 0.0}
    for name, values in {**published, "episodes": known, "questions": float("nan"), "clusters": float("nan")}.items():
        frame[name] = frame[name].mask(frame["published"].notna(), values)
    return tidy(frame, SCORES)


@once
def averages(results: Results) -> pandas.DataFrame:
    """The means over tasks of each system by domain and level, by domain, and over everything ("all"), with ranks.

    `rank_low` to `rank_high` are the ranks over everything that the significant differences leave open; there are none
    for published means.
    """
    import pandas

    groups, by_task = groups_of(results.tasks), scores(results)
    facts = [(one.name, one.domain, one.level, len(one.tasks)) for one in groups]
    names = pandas.DataFrame(facts, columns=["group", "domain", "level", "of_tasks"])
    members = pandas.DataFrame([(one.name, task) for one in groups for task in one.tasks], columns=["group", "task"])
    keys = ["condition", "system", "group"]
    sums = by_task.drop(columns=["domain", "level"]).merge(members, on="task").groupby(keys, sort=False)
    frame = by_task.drop_duplicates(keys[:2])[list(IDENTITY)].merge(names, "cross")
    frame = frame.merge(_sums(sums), "left", keys).merge(_intervals(results, groups), "left", keys)
    frame["tasks"] = frame["tasks"].fillna(0)
    whole = frame["tasks"] == frame["of_tasks"]
    frame["complete"] = whole & (frame["incomplete"] == 0)
    own = ranked(frame[whole])
    frame["rank"] = own["score"].round(12).groupby([own["condition"], own["group"]]).rank("min", ascending=False)
    frame = frame.join(_open_ranks(results, own[own["group"] == ALL]))
    return tidy(frame.fillna({"questions": 0, "clusters": 0, "stopped": False}), AVERAGES)


def _sums(groups: Any) -> pandas.DataFrame:
    """Means of means, and counts, over the tasks of each group."""
    means: pandas.DataFrame = groups[["score", "score_worst", "score_best"]].mean()
    counts = groups[["questions", "clusters", "episodes", "incomplete"]].sum(min_count=1)
    tasks, stopped = groups["score"].count().rename("tasks"), groups["stopped"].any()
    return means.join([counts, tasks, stopped]).reset_index()


def _intervals(results: Results, groups: Sequence[TaskGroup]) -> pandas.DataFrame:
    """The ends of the intervals of the averages, of systems that have episodes."""
    import pandas

    keys = ["condition", "system"]
    parts = [mean_by(results.of(one.tasks).episodes, keys, strata=True).assign(group=one.name) for one in groups]
    columns = [*keys, "group", "score_low", "score_high"]
    return pandas.concat([part[columns].astype(dict.fromkeys(keys, TEXT)) for part in parts])


def _open_ranks(results: Results, own: pandas.DataFrame) -> pandas.DataFrame:
    """The lowest and highest rank of the systems over everything, by the rows of `own`."""
    import pandas

    ends = pandas.DataFrame(index=own.index, columns=["rank_low", "rank_high"], dtype=NUMBER)
    compared = pairs(results)
    for condition, rows in own.groupby("condition", sort=False):
        within = compared[compared["condition"] == condition]
        if len(within):
            places = ranking(rows.set_index("system")["score"], within).set_index("system")
            ends.loc[rows.index] = places[list(ends)].reindex(rows["system"]).to_numpy()
    return ends


def scores_table(results: Results) -> pandas.DataFrame:
    """One row per system and condition, as in scores.csv: tasks, averages and ranks; percent with two decimals.

    A task that is called as another column gets an underscore.
    """
    import pandas

    by_task, by_group = scores(results), averages(results)
    if by_group.empty:  # published component results alone
        return by_group[["system", "workflow", "llm"]]
    tasks, groups = results.tasks["name"].tolist(), groups_of(results.tasks)
    keys = ["condition", "system"]
    base = by_group[by_group["group"] == ALL].set_index(keys)

    def wide(frame: pandas.DataFrame, columns: str, values: str) -> pandas.DataFrame:
        return frame.pivot(index=keys, columns=columns, values=values).reindex(base.index)

    score, episodes = (wide(by_task, "task", name) for name in ("score", "episodes"))
    average, rank = (wide(by_group, "group", name) for name in ("score", "rank"))
    columns = {
        **{f"average_{name}": average[name] for name in [*results.domains, ALL]},
        **{f"rank_{one.name}": rank[one.name] for one in groups},
        **{name: base[name] for name in ("episodes", "incomplete")},
        **{name: base[f"score_{name}"] for name in ("low", "high", "worst", "best")},
        **{f"episodes_{task}": episodes[task] for task in tasks},
    }
    taken = {*columns, "system", "workflow", "llm", "condition", "role"}
    columns = {f"{task}_" if task in taken else task: score[task] for task in tasks} | columns
    percent = {name: (100 * own).round(2) if own.dtype == NUMBER else own for name, own in columns.items()}
    found = pandas.DataFrame(percent, index=base.index)
    named = base.reset_index()[["system", "workflow", "llm"]]
    return pandas.concat([named, found.reset_index(drop=True), base.reset_index()[["condition", "role"]]], axis=1)


def failures(results: Results) -> pandas.DataFrame:
    """The episodes that did not finish, by task and ending; `counts_as` says how they are scored."""
    own = results.episodes[results.episodes["outcome"] != "finished"]
    keys = [*IDENTITY, "task", "outcome", "outcome_cause"]
    groups = own.groupby(keys, observed=True).agg(episodes=("score", "size"), example=("episode_id", "first"))
    found = groups.reset_index().sort_values(
        ["condition", "system", "task", "episodes"], ascending=[True] * 3 + [False]
    )
    is_missing = found["outcome"].isin(INFRASTRUCTURE_FAILURES)
    return tidy(found.assign(counts_as=is_missing.map({True: "incomplete", False: "answered"})), FAILURES)


def further(results: Results) -> pandas.DataFrame:
    """The further metrics that `r-eval score --metric` computed, and the mean length of the answers in characters.

    The length is not a score: a short answer is neither better nor worse, but BLEU and recall depend on it.
    """
    import pandas

    keys = [*IDENTITY, "task"]
    parts = []
    for name in [*further_metrics(results.episodes), LENGTH]:
        own = results.episodes[results.episodes[name].notna()]
        part = mean_by(own, keys, name, bounded=name != LENGTH).rename(
            columns={f"{name}{end}": f"value{end}" for end in ("", "_low", "_high")}
        )
        part["episodes"] = (
            own.groupby(keys, observed=True).size().reindex(pandas.MultiIndex.from_frame(part[keys])).to_numpy()
        )
        parts.append(part.assign(metric=name, unit="characters" if name == LENGTH else "share"))
    found = pandas.concat(parts).merge(results.cells[[*KEYS, "expected"]], on=KEYS)
    found["incomplete"] = (found["expected"] - found["episodes"]).clip(lower=0)
    return tidy(found, FURTHER)
