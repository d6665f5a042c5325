"""Runs in a few sentences: the best system and whether its lead is significant, the commonest cause of failure, what is
missing, what it cost, and what changes how the numbers are read. Printed by `run` and `report`.
"""

from __future__ import annotations

import collections
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from r_eval.analysis.beyond import beyond
from r_eval.analysis.beyond_said import sentences
from r_eval.analysis.causes import CAUSES
from r_eval.analysis.published import is_published, load
from r_eval.analysis.published_components import studies
from r_eval.analysis.recommend import recommendations, sentence
from r_eval.analysis.report.comparisons import reworded
from r_eval.analysis.rows import Aggregates, Row, roles
from r_eval.analysis.statistics.board import board
from r_eval.analysis.statistics.paired import Comparison, pairwise
from r_eval.analysis.systems import System, clusters_of, systems
from r_eval.analysis.warnings import counted, run_warnings
from r_eval.folder import RunFolder

NAMED = 2
"""Conditions, and other systems, that are named; the page has all."""
STATES = {
    "running": "the run is still going",
    "crashed": "the run ended unexpectedly",
    "interrupted": "the run was interrupted",
    "budget": "the run reached its budget",
    "incomplete": "the run is incomplete",
}

Clusters = Mapping[str, Mapping[str, str]]


def summary_lines(folders: Sequence[RunFolder]) -> list[str]:
    """The sentences, each behind a word that says what it is about; missing scores are computed first.

    Raises:
        UserError: A folder is neither a run nor published results.
    """
    aggregates = load(*folders)
    runs = [folder for folder in folders if not is_published(folder.path)]
    found, clusters = systems(*runs), clusters_of(runs)
    lines = [("Best", text) for text in _best(aggregates, found, clusters)]
    if runs:
        lines += [("Failures", text) for text in _failures(runs)]
        if advice := sentence(recommendations(studies(*runs))):
            lines.append(("Advice", f"{advice}; see the page for all (#/components)"))
        lines += sentences(beyond(runs, found, clusters, reworded(runs)))
        lines += [("Missing", text) for text in _missing(aggregates, runs)]
        lines.append(("Cost", _cost([run.manifest().get("spent", {}) for run in runs])))
        lines += [("Saved", text) for run in runs if (text := saved(run.manifest()))]
        lines += [("Warning", text) for run in runs for text in run_warnings(run)]
    return [f"{word:<9} {text}" for word, text in lines]


def _best(aggregates: Aggregates, found: Sequence[System], clusters: Clusters) -> Iterator[str]:
    """The leader under each condition, and whether its lead is significant; first, whether a baseline is not beaten."""
    conditions = aggregates.conditions
    for condition in conditions[:NAMED]:
        rows = [row for row in aggregates.under(condition) if not row.reference]
        own = [system for system in found if system.condition == condition]
        head = f"{condition}: " if len(conditions) > 1 else ""
        if unbeaten := unbeaten_baseline(rows):
            yield head + unbeaten
        yield head + _leader(rows, own, clusters)
    if len(conditions) > NAMED:
        yield f"and {len(conditions) - NAMED} more conditions; see the page"


def unbeaten_baseline(rows: Sequence[Row]) -> str:
    """That no tool-using system has a higher average than the best baseline; "" where one has, or there is no baseline.

    Args:
        rows: Of one condition.
    """
    ranked = sorted((row for row in rows if row.ranks["all"] is not None), key=lambda row: -(row.overall.mean or 0.0))
    baseline, system = (next((row for row in ranked if row.role == role), None) for role in ("baseline", "system"))
    if baseline is None or system is None or not baseline.overall.mean:
        return ""
    if round(system.overall.mean or 0.0, 12) > round(baseline.overall.mean, 12):
        return ""
    best = f"the best of them is {system.system} ({_percent(system)} %)"
    return f"no tool-using system beats the baseline {baseline.system} ({_percent(baseline)} %); {best}"


def _leader(rows: Sequence[Row], own: Sequence[System], clusters: Clusters) -> str:
    ranked = sorted((row for row in rows if row.ranks["all"] is not None), key=lambda row: -(row.overall.mean or 0.0))
    if not rows:
        return "no system: the run has references only"
    if not ranked:
        return "no system has a score on every task yet"
    first, rest = ranked[0], ranked[1:]
    if not first.overall.mean:
        return "no system answered any question"
    so_far = "so far " if any(row.overall.missing for row in rows) else ""
    head = f"{so_far}{first.system}, {_percent(first)} %"
    aside = (
        f"; {counted(len(rows) - len(ranked), 'system')} without a score on every task" if rows[len(ranked) :] else ""
    )
    if not rest:
        low, high = first.overall.low, first.overall.high
        return head + (f" (95 % interval {100 * low:.1f} to {100 * high:.1f})" if low and high else "") + aside
    scores = {s.name: {task: cell.by_question() for task, cell in s.cells.items()} for s in own}
    if any(row.system not in scores for row in ranked):
        return f"{head}, ahead of {rest[0].system} ({_percent(rest[0])}); published means have no significance{aside}"
    pairs = pairwise(board({row.system: scores[row.system] for row in ranked}, clusters))
    return f"{head}; {_lead(first, rest, pairs)}{aside}"


def _lead(first: Row, rest: Sequence[Row], pairs: Sequence[Comparison]) -> str:
    """Whether a lead is significant; p is adjusted for all pairs."""
    own = {one.b if one.a == first.system else one.a: one for one in pairs if first.system in (one.a, one.b)}
    level = [row for row in rest if own[row.system].better != first.system]
    if not level:
        second = own[rest[0].system]
        p = max(one.adjusted for one in own.values())
        p_text = f"{p:.1g}" if p < 0.001 else f"{p:.3f}"
        others = "" if len(rest) == 1 else f" and {len(rest) - 1} more"
        ahead = f"by {100 * abs(second.difference):.1f} points"
        return f"significantly better than {rest[0].system} ({ahead}){others} (p = {p_text})"
    names = ", ".join(f"{row.system} ({_percent(row)})" for row in level[:NAMED])
    more = f" and {len(level) - NAMED} more" if len(level) > NAMED else ""
    return f"not significantly better than {names}{more} on {counted(own[level[0].system].questions, 'question')}"


def _failures(runs: Sequence[RunFolder]) -> Iterator[str]:
    """How many scored episodes of tool-using systems failed, and the commonest cause."""
    scored, causes = 0, collections.Counter[str]()
    for run in runs:
        role = roles(run.manifest())
        for cell in run.cells():
            if role[cell.system] != "system":
                continue
            found = [record["cause"] for record in run.scores(cell).values() if record["score"] is not None]
            scored += len(found)
            causes.update(filter(None, found))
    if scored and not causes:
        yield f"none in {counted(scored, 'episode')}"
    elif scored:
        cause, count = causes.most_common(1)[0]
        text = CAUSES.get(cause, cause).rstrip(".")
        yield f"{causes.total():,} of {counted(scored, 'episode')}; most common cause: {text} ({cause}, {count:,})"


def _missing(aggregates: Aggregates, runs: Sequence[RunFolder]) -> Iterator[str]:
    """How many episodes have no score, and why."""
    missing = aggregates.missing
    if not missing:
        return
    expected = sum(row.overall.expected or 0 for row in aggregates.rows)
    to_run = max(0, expected - aggregates.recorded)
    parts = [f"{to_run:,} not run yet"] if to_run else []
    parts += [f"{missing - to_run:,} failed because of infrastructure errors"] if missing > to_run else []
    states = [STATES[state] for state in dict.fromkeys(run.state() for run in runs) if state in STATES]
    reason = f"; {', '.join(states)}" if states else ""
    yield f"{missing:,} of {counted(expected, 'episode')} ({', '.join(parts)}){reason}"


def _cost(spent: Sequence[dict[str, dict[str, Any]]]) -> str:
    """What the runs cost in all their sessions; never 0 where a price is not known."""
    entries = [(llm, entry) for run in spent for llm, entry in run.items()]
    made, cached = (sum(entry[key] for _, entry in entries) for key in ("calls", "cached"))
    unknown = list(dict.fromkeys(llm for llm, entry in entries if entry["calls"] and entry["cost"] is None))
    known = [entry["cost"] for llm, entry in entries if entry["calls"] and llm not in unknown]
    if not made:
        return f"none: all {cached:,} replies are from earlier runs" if cached else "none: no LLM was called"
    amount = f"{_usd(sum(known))} USD" if known else "unknown"
    more = f" and {len(unknown) - NAMED} more" if len(unknown) > NAMED else ""
    without = f"; no price for {', '.join(unknown[:NAMED])}{more}" if unknown else ""
    reused = f"; {cached:,} more from earlier runs" if cached else ""
    return f"{amount} for {counted(made, 'reply', 'replies')}{without}{reused}"


def saved(manifest: Mapping[str, Any]) -> str:
    """What early stopping saved of a run, money by what an episode of the same LLM cost; "" where it stopped nobody."""
    asked, skipped = collections.Counter[str](), collections.Counter[str]()
    for cell in manifest["cells"]:
        asked[cell["llm"]] += cell["episodes"]
        skipped[cell["llm"]] += cell.get("skipped", 0)
    if not skipped.total():
        return ""
    spent = {llm: (manifest.get("spent") or {}).get(llm, {}).get("cost") for llm in skipped}
    money = sum((cost or 0.0) * skipped[llm] / max(1, asked[llm]) for llm, cost in spent.items())
    share = f"{100 * skipped.total() / (asked + skipped).total():.0f} %"
    text = f"{skipped.total():,} of {counted((asked + skipped).total(), 'episode')} ({share}) were not needed"
    return f"{text}, about {_usd(money)} USD" if money else text


def _percent(row: Row) -> str:
    return f"{100 * (row.overall.mean or 0.0):.1f}"


def _usd(amount: float) -> str:
    return f"{amount:,.2f}" if amount >= 1 or amount == 0 else f"{amount:.2g}"
