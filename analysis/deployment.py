"""Deployment: what a system's quality costs in seconds, tokens and money, and which one to take within limits.

Quality is the mean over tasks, as in the score table. Seconds, tokens and money are per episode, over the scored ones;
`seconds` are of the episode itself, without time in a queue or before a retry. They depend on how many
requests an LLM was sent at once: the paper measured with one connection. An episode with a reply that was replayed from
an earlier run is left out of the seconds, and counted; a system that has no other episode has no latency. An unknown
price is never 0: such a system is on no front of money, and within no limit of it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from r_eval.analysis.compare import ALL, mirrored, pairs
from r_eval.analysis.frame import FLAG, NUMBER, TEXT, WHOLE
from r_eval.analysis.results import IDENTITY, Results, once, records, tidy
from r_eval.analysis.scores import averages
from r_eval.analysis.warnings import MEASURE

if TYPE_CHECKING:
    import pandas

PAPER_CONNECTIONS = 1
QUALITY = ("quality", "quality_low", "quality_high")
DEPLOYMENT: dict[str, str] = {
    **dict.fromkeys((*IDENTITY, "domain"), TEXT),
    **dict.fromkeys(QUALITY, NUMBER),
    "complete": FLAG,
    **dict.fromkeys(("episodes", "incomplete", "replayed"), WHOLE),
    **dict.fromkeys(("seconds_mean", "seconds_p50", "seconds_p95"), NUMBER),
    **dict.fromkeys(("calls", "prompt_tokens", "completion_tokens", "cost_mean"), NUMBER),
    "connections": "Int64",
    **dict.fromkeys(("front_seconds", "front_cost"), "boolean"),
}
"""The columns of `deployment`.

`complete` says that every task has a score. `episodes` are those with a score, `incomplete` the others of the grid;
`replayed` of the former have replayed replies. The fronts are missing for references, for a quality of 0, where a task
lacks scores, and where the seconds or the cost are not known.
"""
UNITS = {"seconds": "s", "cost": "USD"}
LESS = {"seconds": "faster", "cost": "cheaper"}
CHOICE: dict[str, str] = {
    **dict.fromkeys(IDENTITY, TEXT),
    **dict.fromkeys((*QUALITY, "seconds", "cost"), NUMBER),
    **dict.fromkeys(("fits", "choice"), FLAG),
    "reason": TEXT,
}
"""The columns of `choose`; `seconds` and `cost` are means per episode."""


@once
def deployment(results: Results) -> pandas.DataFrame:
    """What each system reaches and takes per episode, over everything ("all") and, where there are several, by domain.

    Published means have no rows. `attrs["notes"]` says at how many connections the times were taken, and what has
    replayed replies.
    """
    keys = ["condition", "system", "domain"]
    cells = _by_domain(results.cells[results.cells["score"].isna()], results)
    cells = cells.sort_values(keys[:2], kind="stable").astype(dict.fromkeys(keys, TEXT))
    settings = cells.groupby(keys, sort=False)["connections"].first().reset_index()
    quality = averages(results)
    quality = quality.assign(domain=quality["group"], complete=quality["tasks"] == quality["of_tasks"])
    quality = quality.rename(columns=dict(zip(("score", "score_low", "score_high"), QUALITY, strict=True)))
    columns = [*IDENTITY, "domain", *QUALITY, "complete", "episodes", "incomplete"]
    frame = settings.merge(quality[columns], "left", keys).merge(_numbers(results, keys), "left", keys)
    frame[["replayed"]] = frame[["replayed"]].fillna(0)
    contending = frame[(frame["role"] != "reference") & frame["complete"] & (frame["quality"] > 0)]
    for cost, mark in (("seconds_mean", "front_seconds"), ("cost_mean", "front_cost")):
        for _, rows in contending[contending[cost].notna()].groupby(["condition", "domain"], sort=False):
            frame.loc[rows.index, mark] = pareto(list(zip(rows[cost], rows["quality"], strict=True)))
    found = tidy(frame, DEPLOYMENT)
    found.attrs["notes"] = list(dict.fromkeys(_notes(found[found["domain"] == ALL])))
    return found


def _by_domain(frame: pandas.DataFrame, results: Results) -> pandas.DataFrame:
    """The rows under the domain "all", and again under their own where there are several."""
    import pandas

    own = [frame] if len(results.domains) > 1 else []
    return pandas.concat([frame.assign(domain=ALL), *own])


def latencies(results: Results) -> pandas.DataFrame:
    """The seconds of each scored episode whose replies were all made in this run."""
    own = results.episodes[results.episodes["score"].notna() & (results.episodes["replayed"] == 0)]
    return tidy(own[[*IDENTITY, "seconds"]], {**dict.fromkeys(IDENTITY, TEXT), "seconds": NUMBER})


def pareto(points: Sequence[tuple[float, float]]) -> list[bool]:
    """Which of some points (cost, quality) no other one dominates; equal points are on it together.

    Example:
        >>> pareto([(1.0, 0.5), (2.0, 0.5), (2.0, 0.9), (2.0, 0.9)])
        [True, False, True, True]
    """
    return [
        not any(c <= cost and q >= quality and (c, q) != (cost, quality) for c, q in points) for cost, quality in points
    ]


def choose(results: Results, max_seconds: float | None = None, max_usd: float | None = None) -> pandas.DataFrame:
    """Which system to take within limits, under each condition.

    The choice is the system with the best mean of those that fit; of equal ones the fastest, then the cheapest. The
    reasons of the others say which of them are not significantly worse (`compare.pairs`) and take less. Nothing is
    chosen if no system that fits answered any question.

    Args:
        max_seconds, max_usd: Of the means per episode; None sets no limit.
    """
    frame = deployment(results)
    limits = {name: most for name, most in (("seconds", max_seconds), ("cost", max_usd)) if most is not None}
    rows = records(frame[frame["domain"] == ALL].rename(columns={"seconds_mean": "seconds", "cost_mean": "cost"}))
    for row in rows:
        row["reason"] = _unfit(row, limits)
        row |= {"fits": not row["reason"], "choice": False}
    tests = {(row["condition"], row["system_a"], row["system_b"]): row for row in records(mirrored(pairs(results)))}

    def order(row: Mapping[str, Any]) -> tuple[float, ...]:  # what is not known comes last
        return -round(row["quality"], 12), *(row[name] if row[name] == row[name] else math.inf for name in UNITS)

    for condition in results.conditions:
        fitting = [row for row in rows if row["fits"] and row["condition"] == condition]
        if not any(row["quality"] for row in fitting):
            continue
        best, *rest = sorted(fitting, key=order)
        best |= {"choice": True, "reason": "the best that fits"}
        for row in rest:
            row["reason"] = _behind(row, best, tests.get((condition, best["system"], row["system"])))
    chosen = tidy(rows, CHOICE)
    chosen.attrs["notes"] = frame.attrs["notes"]
    return chosen


def _behind(row: Mapping[str, Any], best: Mapping[str, Any], test: Mapping[str, Any] | None) -> str:
    """How far a system that fits is behind the best, and what it saves."""
    if not row["quality"]:
        return "scores 0"
    if test is None:
        return f"has no question in common with {best['system']}"
    if test["significant"]:
        return f"significantly worse than {best['system']} (p = {test['p_adjusted']:.2g})"
    less = [word for name, word in LESS.items() if row[name] < best[name]]
    return " and ".join([f"not significantly worse than {best['system']}", *less])


def _numbers(results: Results, keys: list[str]) -> pandas.DataFrame:
    """What the scored episodes of each system took."""
    scored = _by_domain(results.episodes[results.episodes["score"].notna()], results)
    groups = scored.groupby(keys, observed=True)
    fresh = scored[scored["replayed"] == 0].groupby(keys, observed=True)
    found = groups[["calls", "prompt_tokens", "completion_tokens"]].mean()
    found["replayed"] = groups.size() - fresh.size().reindex(found.index, fill_value=0)
    found["cost_mean"] = groups["cost"].mean().where(groups["cost"].count() == groups.size())
    found["seconds_mean"], found["seconds_p50"] = fresh["seconds"].mean(), fresh["seconds"].median()
    found["seconds_p95"] = fresh["seconds"].quantile(0.95)
    return found.reset_index().astype(dict.fromkeys(keys, TEXT))


def _notes(frame: pandas.DataFrame) -> Iterator[str]:
    """Notes on the numbers of some systems."""
    with_llm = frame[frame["llm"] != "none"]
    for llm in with_llm.loc[with_llm["connections"].isna(), "llm"]:
        yield f"{llm}: the grid does not say at how many connections the times were taken."
    shared = with_llm[(with_llm["connections"] != PAPER_CONNECTIONS).fillna(False)]
    for llm, connections in zip(shared["llm"], shared["connections"], strict=True):
        yield (
            f"{llm}: times were taken at {connections} connections; the paper's setting is {PAPER_CONNECTIONS} "
            "connection, and a request that shares a server takes longer."
        )
    for row in records(frame[frame["replayed"] > 0]):
        if row["seconds_mean"] == row["seconds_mean"]:
            counts = f"{row['replayed']} of {row['episodes']}"
            yield f"{row['system']}: {counts} episodes have replayed replies and no seconds."
        else:
            yield f"{row['system']}: no latency, since every episode has replayed replies; `{MEASURE}` measures it."


def _unfit(row: Mapping[str, Any], limits: Mapping[str, float]) -> str:
    """Why a system is not a candidate; "" if it is one."""
    if row["role"] == "reference":
        return "a reference, not ranked"
    if row["quality"] != row["quality"]:
        return "nothing was scored"
    if not row["complete"]:
        return "it lacks scores on some of the tasks"
    unknown = [name for name in limits if row[name] != row[name]]
    if unknown:
        latency = f"all its replies were replayed, so it has no latency: {MEASURE}"
        seconds = latency if row["replayed"] else "its seconds are not known"
        return "its price is not known" if "cost" in unknown else seconds
    over = [f"{row[name]:.4g} {UNITS[name]}" for name, most in limits.items() if row[name] > most]
    return f"over the limit: {', '.join(over)}" if over else ""
