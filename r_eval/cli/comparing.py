"""The command `compare`: two systems, two runs, or all pairs of a run, in plain words or as JSON."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from r_eval.errors import UserError
from r_eval.folder import RunFolder

if TYPE_CHECKING:
    from r_eval.analysis.comparing import Compared, Pair
    from r_eval.analysis.statistics.paired import Comparison

SHOWN = 20
"""Question ids a direction in the terminal; --json has all."""


def compare_command(paths: list[Path], systems: tuple[str, str] | None, metric: str | None, as_json: bool) -> None:
    """Compare, and print what came of it."""
    from r_eval.analysis.comparing import compare_runs

    if len({path.resolve() for path in paths}) < len(paths):
        raise UserError("a run is named twice")
    found = compare_runs([RunFolder(path) for path in paths], systems, metric)
    if as_json:
        record = {
            "runs": [str(path) for path in paths],
            "metric": metric,
            "conditions": [_record(one) for one in found],
        }
        sys.stdout.write(json.dumps(record, ensure_ascii=False) + "\n")
        return
    for one in found:
        lines = list(_lines(one))
        head = [f"Condition {one.condition}:"] if len(found) > 1 else []
        text = "\n".join([*head, *lines])
        sys.stdout.write("".join(c if c.isprintable() or c == "\n" else ascii(c)[1:-1] for c in text) + "\n")


def _lines(found: Compared) -> Iterator[str]:
    if found.all_pairs:
        yield from _grid(found)
    else:
        for pair in found.pairs:
            yield from _pair(pair, len(found.pairs))
    if found.reworded:
        yield f"{_counted(found.reworded, 'question')} left out: asked in other words in another run."


def _grid(found: Compared) -> Iterator[str]:
    """The ranking, and every pair."""
    width = max(len(place.system) for place in found.ranking)
    yield "Ranking by the mean over tasks. Systems of the same letter cannot be told apart; places are those possible."
    for place in found.ranking:
        places = f"{place.highest}" if place.highest == place.lowest else f"{place.highest} to {place.lowest}"
        yield f"  {place.rank:3}  {place.system:{width}}  {100 * place.mean:5.1f}  place {places:8}  {place.groups}"
    yield f"All {_counted(len(found.pairs), 'pair')}, p after Holm's correction:"
    for pair in found.pairs:
        yield f"  {_verdict(pair.overall)}"
    yield from _warnings([pair.overall for pair in found.pairs])
    if found.bounds:
        yield f"Bounds left out: {', '.join(found.bounds)}; --systems A B compares them."
    if found.unscored:
        yield f"Without a score yet, and left out: {', '.join(found.unscored)}."


def _pair(pair: Pair, pairs: int) -> Iterator[str]:
    one = pair.overall
    yield _verdict(one)
    if not one.questions:
        return
    if pairs > 1:
        yield f"  p is after Holm's correction over {pairs} comparisons; alone it is {_p(one.p)}"
    for task in pair.by_task:
        sure = "" if task.told_apart else ", cannot be told apart"
        yield (
            f"  {task.tasks[0]}: {_points(task.difference)} ({_points(task.low)} to {_points(task.high)}), "
            f"p = {_p(task.adjusted)}, {_counted(task.questions, 'question')}{sure}"
        )
    if pair.by_task:
        yield f"  p by task is after Holm's correction over {len(pair.by_task)} tasks; all weigh the same."
    yield (
        f"  Means: {one.a} {100 * one.mean_a:.1f}, {one.b} {100 * one.mean_b:.1f}. "
        f"Higher score: {one.a} {one.wins}, {one.b} {one.losses}, the same {one.ties}."
    )
    yield (
        f"  Answered (score 0.5 or more): only by {one.a} {one.only_a}, only by {one.b} {one.only_b}, "
        f"by both {one.both}, by neither {one.neither}."
    )
    for name, flipped in ((one.a, pair.only_a), (one.b, pair.only_b)):
        if flipped:
            yield f"  Only by {name}: {_ids(flipped, len(one.tasks) > 1)}"
    yield f"  A true difference below {100 * one.detectable:.1f} points would often go unseen with these questions."
    yield from (f"  {line}" for line in _warnings([one], pair.by_task))


def _verdict(one: Comparison) -> str:
    if not one.questions:
        return f"{one.a} and {one.b} have no question in common"
    of = f"p = {_p(one.adjusted)}, {_counted(one.questions, 'question')}"
    if one.better is None:
        ends = f"{_points(one.low)} to {_points(one.high)}"
        return f"{one.a} and {one.b} cannot be told apart: {_points(one.difference)} points ({ends}), {of}"
    worse, sign = (one.b, 1) if one.better == one.a else (one.a, -1)
    low, high = sorted((sign * one.low, sign * one.high))
    return (
        f"{one.better} is better than {worse} by {100 * abs(one.difference):.1f} points "
        f"({100 * low:.1f} to {100 * high:.1f}), {of}"
    )


def _warnings(comparisons: Sequence[Comparison], by_task: Sequence[Comparison] = ()) -> list[str]:
    from r_eval.analysis.estimate import FEW

    found = []
    real = [one for one in comparisons if one.questions]
    fewest = min((one.questions for one in real), default=FEW)
    if fewest < FEW:
        found.append(f"Warning: {_counted(fewest, 'question')} are few; below {FEW} only large differences show.")
    elif small := sum(task.questions < FEW for task in by_task):
        found.append(f"Warning: {_counted(small, 'task')} below {FEW} questions, on which only large differences show.")
    if real and (least := min(real, key=lambda one: one.clusters)).clusters < least.questions:
        text = f"Questions share templates or documents: they count as {_counted(least.clusters, 'cluster')}"
        found.append(f"{text}, too few to tell anything apart." if least.clusters < 6 else f"{text}.")
    unpaired = [one for one in comparisons if one.unpaired_a or one.unpaired_b]
    if len(comparisons) == 1 and unpaired:
        (one,) = unpaired
        parts = [
            f"{n} only {name} has a score for" for name, n in ((one.a, one.unpaired_a), (one.b, one.unpaired_b)) if n
        ]
        found.append(f"Not paired, and left out: {', '.join(parts)}.")
    elif unpaired:
        most = max(max(one.unpaired_a, one.unpaired_b) for one in unpaired)
        found.append(f"In {_counted(len(unpaired), 'pair')} up to {most} questions are left out: only one has a score.")
    return found


def _record(found: Compared) -> dict[str, Any]:
    return {
        "condition": found.condition,
        "comparisons": [
            {
                **_numbers(pair.overall),
                "by_task": [_numbers(task) for task in pair.by_task],
                "flipped": {
                    "only_a": [{"task": task, "question": question} for task, question in pair.only_a],
                    "only_b": [{"task": task, "question": question} for task, question in pair.only_b],
                },
                "warnings": _warnings([pair.overall], pair.by_task),
            }
            for pair in found.pairs
        ],
        "ranking": [asdict(place) for place in found.ranking],
        "bounds": found.bounds,
        "unscored": found.unscored,
        "reworded": found.reworded,
    }


def _numbers(one: Comparison) -> dict[str, Any]:
    record = {
        key: None if isinstance(value, float) and math.isnan(value) else value for key, value in asdict(one).items()
    }
    if not one.questions:
        record["bootstrap"] = None
    return {**record, "better": one.better}


def _points(value: float) -> str:
    text = f"{100 * value:+.1f}"
    return "0.0" if text in ("+0.0", "-0.0") else text


def _p(value: float) -> str:
    if value < 0.001:
        return f"{value:.1g}"
    return f"{value:.3f}" if value < 0.1 else f"{value:.2f}"


def _counted(number: int, thing: str) -> str:
    return f"{number} {thing}{'' if number == 1 else 's'}"


def _ids(flipped: Sequence[tuple[str, str]], with_task: bool) -> str:
    """Question ids, those of a task together."""
    by_task: dict[str, list[str]] = {}
    for task, question in flipped[:SHOWN]:
        by_task.setdefault(task, []).append(question)
    shown = [f"{task} {', '.join(ids)}" if with_task else ", ".join(ids) for task, ids in by_task.items()]
    more = f"; and {len(flipped) - SHOWN} more (--json has all)" if len(flipped) > SHOWN else ""
    return "; ".join(shown) + more
