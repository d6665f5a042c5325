"""`r-eval compare`."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Annotated, Any

import typer

from r_eval.analysis.comparing import Compared, Pair, compare_runs
from r_eval.analysis.estimate import FEW
from r_eval.analysis.statistics.paired import Comparison
from r_eval.analysis.warnings import counted
from r_eval.cli.options import Json, RunPaths, open_run, print_json, print_lines
from r_eval.errors import UserError

MOST = 20
"""Question ids per direction in the terminal; --json has all."""
MIN_CLUSTERS = 6
"""Below this number of clusters nothing can be significant."""


def compare(
    runs: RunPaths,
    systems: Annotated[
        tuple[str, str] | None,
        typer.Option("--systems", metavar="A B", help="Two systems; the same one twice compares it between runs."),
    ] = None,
    metric: Annotated[
        str | None, typer.Option("--metric", metavar="NAME", help="The metric; by default that of each task.")
    ] = None,
    json: Json = False,
) -> None:
    """Compare systems or runs, paired by question.

    One run without --systems: all pairs of its systems. Several runs: the systems that they share.
    """
    if len({path.resolve() for path in runs}) < len(runs):
        raise UserError("a run is given twice; name each once")
    found = compare_runs([open_run(path) for path in runs], systems, metric)
    if json:
        conditions = [_record(one) for one in found]
        print_json({"runs": [str(path) for path in runs], "metric": metric, "conditions": conditions})
        return
    for one in found:
        print_lines([*([f"Condition {one.condition}:"] if len(found) > 1 else []), *_lines(one)])


def _lines(found: Compared) -> Iterator[str]:
    """The ranking and all pairs, or each pair in detail."""
    if not found.all_pairs:
        for pair in found.pairs:
            yield from _pair(pair, len(found.pairs))
    else:
        yield "Mean over tasks. Systems that share a letter are not significantly different."
        width = max(len(place.system) for place in found.ranking)
        for place in found.ranking:
            ranks = f"{place.highest}" if place.highest == place.lowest else f"{place.highest} to {place.lowest}"
            yield f"  {place.rank:3}  {place.system:{width}}  {100 * place.mean:5.1f}  rank {ranks:8}  {place.groups}"
        yield f"{counted(len(found.pairs), 'pair')}; p values are Holm-corrected:"
        yield from (f"  {_verdict(pair.overall)}" for pair in found.pairs)
        yield from _warnings([pair.overall for pair in found.pairs])
        if found.references:
            yield f"References left out: {', '.join(found.references)}; --systems A B compares them."
        if found.unscored:
            yield f"Left out without a score: {', '.join(found.unscored)}."
    if found.reworded:
        yield f"{counted(found.reworded, 'question')} left out: worded differently in another run."


def _pair(pair: Pair, pairs: int) -> Iterator[str]:
    one = pair.overall
    yield _verdict(one)
    if not one.questions:
        return
    if pairs > 1:
        yield f"  p is Holm-corrected over {pairs} comparisons; uncorrected it is {_p(one.p)}"
    for task in pair.by_task:
        mark = "" if task.told_apart else ", not significant"
        interval = f"({_points(task.low)} to {_points(task.high)})"
        questions = counted(task.questions, "question")
        yield f"  {task.tasks[0]}: {_points(task.difference)} {interval}, p = {_p(task.adjusted)}, {questions}{mark}"
    if pair.by_task:
        yield f"  p by task is Holm-corrected over {len(pair.by_task)} tasks; tasks have equal weight."
    yield f"  Mean: {one.a} {100 * one.mean_a:.1f}, {one.b} {100 * one.mean_b:.1f}."
    yield f"  Higher score: {one.a} {one.wins}, {one.b} {one.losses}, equal {one.ties}."
    yield f"  Right (0.5 or more): only {one.a} {one.only_a}, only {one.b} {one.only_b}, both {one.both}, " + (
        f"neither {one.neither}."
    )
    for name, ids in ((one.a, pair.only_a), (one.b, pair.only_b)):
        if ids:
            yield f"  Only {name}: {_ids(ids, len(one.tasks) > 1)}"
    yield f"  Minimum detectable effect: {100 * one.detectable:.1f} points (80 % power with these questions)."
    yield from (f"  {line}" for line in _warnings([one], pair.by_task))


def _verdict(one: Comparison) -> str:
    if not one.questions:
        return f"{one.a} and {one.b} have no question in common"
    basis = f"p = {_p(one.adjusted)}, {counted(one.questions, 'question')}"
    if one.better is None:
        interval = f"{_points(one.low)} to {_points(one.high)}"
        return (
            f"{one.a} and {one.b} do not differ significantly: {_points(one.difference)} points ({interval}), {basis}"
        )
    worse, sign = (one.b, 1) if one.better == one.a else (one.a, -1)
    low, high = sorted((sign * one.low, sign * one.high))
    ahead = f"{100 * abs(one.difference):.1f} points ({100 * low:.1f} to {100 * high:.1f})"
    return f"{one.better} is significantly better than {worse} by {ahead}, {basis}"


def _warnings(comparisons: Sequence[Comparison], by_task: Sequence[Comparison] = ()) -> list[str]:
    """What to keep in mind: few questions, questions that depend on each other, unpaired questions."""
    found = []
    real = [one for one in comparisons if one.questions]
    fewest = min((one.questions for one in real), default=FEW)
    small = sum(task.questions < FEW for task in by_task)
    few = f"only {counted(fewest, 'question')}" if fewest < FEW else ""
    few = few or (f"{counted(small, 'task')} with fewer than {FEW} questions" if small else "")
    if few:
        found.append(f"Warning: {few}; below {FEW} questions only large differences are significant.")
    if real and (least := min(real, key=lambda one: one.clusters)).clusters < least.questions:
        text = f"Questions share templates or documents and count as {counted(least.clusters, 'cluster')}"
        found.append(f"{text}, too few for significance." if least.clusters < MIN_CLUSTERS else f"{text}.")
    for one in comparisons:
        if one.unpaired_a or one.unpaired_b:
            sides = ((one.a, one.unpaired_a), (one.b, one.unpaired_b))
            alone = ", ".join(f"{count} scored for {name} only" for name, count in sides if count)
            found.append(f"Left out as unpaired: {alone}.")
    return found


def _record(found: Compared) -> dict[str, Any]:
    return {
        "condition": found.condition,
        "comparisons": [
            {
                **_numbers(pair.overall),
                "by_task": [_numbers(task) for task in pair.by_task],
                "flipped": {
                    side: [{"task": task, "question": question} for task, question in getattr(pair, side)]
                    for side in ("only_a", "only_b")
                },
                "warnings": _warnings([pair.overall], pair.by_task),
            }
            for pair in found.pairs
        ],
        "ranking": [asdict(place) for place in found.ranking],
        "references": found.references,
        "unscored": found.unscored,
        "reworded": found.reworded,
    }


def _numbers(one: Comparison) -> dict[str, Any]:
    nan = {key: None for key, value in asdict(one).items() if isinstance(value, float) and math.isnan(value)}
    record = asdict(one) | nan | ({} if one.questions else {"bootstrap": None})
    return {**record, "better": one.better}


def _points(value: float) -> str:
    text = f"{100 * value:+.1f}"
    return "0.0" if text in ("+0.0", "-0.0") else text


def _p(value: float) -> str:
    return f"{value:.1g}" if value < 0.001 else f"{value:.3f}" if value < 0.1 else f"{value:.2f}"


def _ids(found: Sequence[tuple[str, str]], with_task: bool) -> str:
    """Question ids, those of a task together."""
    by_task: dict[str, list[str]] = {}
    for task, question in found[:MOST]:
        by_task.setdefault(task, []).append(question)
    groups = [f"{task} {', '.join(ids)}" if with_task else ", ".join(ids) for task, ids in by_task.items()]
    more = f"; and {len(found) - MOST} more (--json has all)" if len(found) > MOST else ""
    return "; ".join(groups) + more
