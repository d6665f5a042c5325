"""What a run came to, in a few lines: the best system and whether its lead is certain, what failures mostly come from,
what to take where settings vary, what is missing, and what it cost. Printed below the tables of `run`, and by `report`.
"""

from __future__ import annotations

import collections
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from r_eval.cli.transcript import harmless
from r_eval.folder import RunFolder

if TYPE_CHECKING:
    from r_eval.analysis.rows import Aggregates, Row
    from r_eval.analysis.statistics.paired import Comparison
    from r_eval.analysis.systems import System

NAMED = 2
"""Conditions, and rivals, that are named; the page has all."""
STATES = {
    "running": "the run still goes on",
    "crashed": "the run ended without a word",
    "interrupted": "the run was stopped",
    "budget": "the run reached its budget",
    "incomplete": "the run is incomplete",
}


def closing_lines(folders: Sequence[RunFolder]) -> list[str]:
    """The lines, each with a word in front that says what it is about; scores that are missing are made first."""
    from r_eval.analysis.published import is_published, load

    aggregates = load(*folders)
    runs = [folder for folder in folders if not is_published(folder.path)]
    lines = [("Best", text) for text in _best(aggregates, runs)]
    if runs:
        lines += [("Failures", text) for text in _failures(runs)]
        lines += [("Advice", text) for text in _advice(runs)]
        lines += _beyond(runs)
        lines += [("Missing", text) for text in _missing(aggregates, runs)]
        lines.append(("Money", _money([run.manifest().get("spent") for run in runs])))
    return [harmless(f"{word:<9} {text}") for word, text in lines]


def _best(aggregates: Aggregates, runs: Sequence[RunFolder]) -> Iterator[str]:
    """Who leads under each condition, and whether that is more than chance."""
    from r_eval.analysis.systems import clusters_of, systems

    found, shared = systems(*runs), clusters_of(runs)
    conditions = aggregates.conditions
    for condition in conditions[:NAMED]:
        rows = [row for row in aggregates.under(condition) if not row.baseline]
        own = [system for system in found if system.condition == condition]
        head = f"{condition}: " if len(conditions) > 1 else ""
        head += "so far " if any(row.overall.missing for row in rows) else ""
        yield head + _leader(rows, own, shared)
    if len(conditions) > NAMED:
        yield f"and {len(conditions) - NAMED} more conditions; the page has them"


def _leader(rows: Sequence[Row], own: Sequence[System], shared: dict[str, dict[str, str]]) -> str:
    """The best of some systems, bounds aside."""
    ranked = sorted((row for row in rows if row.ranks["all"] is not None), key=_quality)
    if not rows:
        return "nobody: the run has bounds only"
    if not ranked:
        return "nobody yet: no system has a score on every task"
    first, rest = ranked[0], ranked[1:]
    mean = f"{first.system}, {_percent(first)} %"
    if not first.overall.mean:
        return f"nobody: {'each' if rest else 'the only one'} of {_counted(len(ranked), 'system')} scores 0"
    unranked = len(rows) - len(ranked)
    aside = f"; {unranked} more lack a task" if unranked else ""
    if not rest:
        ends = first.overall
        within = f" (95 % interval {100 * ends.low:.1f} to {100 * ends.high:.1f})" if ends.low and ends.high else ""
        return f"{mean}{within}; no other to compare it with{aside}"
    comparisons = _compared([row.system for row in ranked], own, shared)
    if not comparisons:
        second = f"{rest[0].system} ({_percent(rest[0])})"
        return f"{mean}, before {second}; whether that is chance cannot be told of means without episodes{aside}"
    return f"{mean}; {_lead(first, rest, comparisons)}{aside}"


def _lead(first: Row, rest: Sequence[Row], comparisons: Sequence[Comparison]) -> str:
    """Whether a lead is more than chance; from the comparisons of all pairs."""
    own = {one.b if one.a == first.system else one.a: one for one in comparisons if first.system in (one.a, one.b)}
    level = [row for row in rest if own[row.system].better != first.system]
    if not level:
        one = own[rest[0].system]
        lead, p = 100 * abs(one.difference), max(found.adjusted for found in own.values())
        others = "the other" if len(rest) == 1 else f"each of the {len(rest)} others"
        return f"better than {others} for certain, by {lead:.1f} points than {rest[0].system} (p = {_p(p)})"
    names = ", ".join(f"{row.system} ({_percent(row)})" for row in level[:NAMED])
    more = f" and {len(level) - NAMED} more" if len(level) > NAMED else ""
    questions = _counted(own[level[0].system].questions, "question")
    return f"its lead is not certain: {names}{more} cannot be told apart from it with {questions}"


def _compared(names: Sequence[str], own: Sequence[System], shared: dict[str, dict[str, str]]) -> list[Comparison]:
    """All pairs of some systems, as `r-eval compare` has them; none where one has no episodes."""
    from r_eval.analysis.statistics.board import board
    from r_eval.analysis.statistics.paired import pairwise

    scores = {s.name: {task: cell.by_question() for task, cell in s.cells.items()} for s in own if s.name in names}
    return pairwise(board(scores, shared)) if len(scores) == len(names) else []


def _failures(runs: Sequence[RunFolder]) -> Iterator[str]:
    """How many scored episodes failed, bounds aside, and the commonest cause of it."""
    from r_eval.analysis.causes import CAUSES
    from r_eval.analysis.rows import BASELINES

    scored, causes = 0, collections.Counter[str]()
    for run in runs:
        bounds = {entry["name"] for entry in run.manifest().get("systems", ()) if entry.get("bound")}
        for cell in run.cells():
            if cell.system in bounds or cell.workflow in BASELINES:
                continue
            for record in run.scores(cell).values():
                if record["score"] is not None:
                    scored += 1
                    causes[record["why"]] += 1
    failed = scored - causes.pop("", 0)
    if scored and not failed:
        yield f"none in {_counted(scored, 'episode')}"
    elif scored:
        word, count = causes.most_common(1)[0]
        said = CAUSES.get(word, word).rstrip(".")
        yield f"{failed:,} of {_counted(scored, 'episode')}; the commonest cause: {said} ({word}, {count:,})"


def _advice(runs: Sequence[RunFolder]) -> Iterator[str]:
    """The strongest recommendation of runs that vary settings."""
    from r_eval.analysis.published_components import studies
    from r_eval.analysis.recommend import recommendations, sentence

    if said := sentence(recommendations(studies(*runs))):
        yield f"{said}; the page has all (#/components)"


def _beyond(runs: Sequence[RunFolder]) -> Iterator[tuple[str, str]]:
    """What the scores do not say, where the runs tell anything of it."""
    from r_eval.analysis.beyond import beyond
    from r_eval.analysis.beyond_said import sentences
    from r_eval.analysis.report.comparisons import reworded
    from r_eval.analysis.systems import clusters_of, systems

    yield from sentences(beyond(runs, systems(*runs), clusters_of(runs), reworded(runs)))


def _missing(aggregates: Aggregates, runs: Sequence[RunFolder]) -> Iterator[str]:
    """How many episodes have no score, and why; nothing where none is missing."""
    missing = aggregates.missing
    if not missing:
        return
    expected = sum(row.overall.expected or 0 for row in aggregates.rows)
    to_run = max(0, expected - aggregates.recorded)
    parts = [f"{to_run:,} not run yet"] if to_run else []
    parts += [f"{missing - to_run:,} without a score, for the machinery's sake"] if missing > to_run else []
    states = dict.fromkeys(run.state() for run in runs)
    said = [STATES[state] for state in states if state in STATES]
    why = ", ".join(said) or "they count in no mean"
    yield f"{missing:,} of {_counted(expected, 'episode')} ({', '.join(parts)}); {why}"


def _money(spent: Sequence[dict[str, dict[str, Any]] | None]) -> str:
    """What the runs cost in all their sessions; never 0 where a price is not known."""
    entries = [(llm, entry) for run in spent for llm, entry in (run or {}).items()]
    if None in spent:
        return "not recorded"
    made, cached = (sum(entry[key] for _, entry in entries) for key in ("calls", "cached"))
    unknown = list(dict.fromkeys(llm for llm, entry in entries if entry["calls"] and entry["cost"] is None))
    known = [entry["cost"] for llm, entry in entries if entry["calls"] and llm not in unknown]
    kept = (
        f"; {cached:,} of {cached + made:,} replies are from earlier runs (--no-cache makes every call)"
        if cached
        else ""
    )
    if not made:
        return f"none: no LLM was asked{kept}" if not cached else f"none{kept}"
    parts = [f"{_usd(sum(known))} USD"] if known else []
    if unknown:
        names = ", ".join(unknown[:NAMED]) + (f" and {len(unknown) - NAMED} more" if len(unknown) > NAMED else "")
        parts.append(f"no price is known of {names}")
    return f"{', and '.join(parts)}, for {made:,} replies{kept}"


def _quality(row: Row) -> float:
    return -(row.overall.mean or 0.0)


def _percent(row: Row) -> str:
    return f"{100 * (row.overall.mean or 0.0):.1f}"


def _usd(amount: float) -> str:
    return f"{amount:,.2f}" if amount >= 1 or amount == 0 else f"{amount:.2g}"


def _p(value: float) -> str:
    return f"{value:.1g}" if value < 0.001 else f"{value:.3f}"


def _counted(number: int, thing: str) -> str:
    return f"{number:,} {thing}{'' if number == 1 else 's'}"
