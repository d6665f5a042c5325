"""`r-eval compare`."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

from typer import Option

from r_eval.analysis.warnings import counted
from r_eval.cli.options import Json, RunPaths, open_runs, print_json, print_lines

if TYPE_CHECKING:
    import pandas

    from r_eval.analysis.compare_runs import Compared


def compare(
    runs: RunPaths,
    systems: Annotated[
        tuple[str, str] | None, Option(metavar="A B", help="Two systems; the same one twice compares it between runs.")
    ] = None,
    metric: Annotated[str | None, Option(metavar="NAME", help="The metric; by default that of each task.")] = None,
    cluster: Annotated[
        Literal["document", "template"],
        Option(help="What makes questions depend on each other, besides their documents."),
    ] = "document",
    json: Json = False,
) -> None:
    """Compare systems or runs, paired by question.

    One run without --systems: all pairs of its systems. Several runs: the systems that they share.
    """
    from r_eval.analysis.compare_runs import compare_runs

    by = "template" if cluster == "template" else "cluster"
    found = compare_runs(open_runs(runs), systems, metric, by)
    if json:
        conditions = [_record(one) for one in found]
        print_json({"runs": [str(path) for path in runs], "metric": metric, "conditions": conditions})
        return
    for one in found:
        print_lines([*([f"Condition {one.condition}:"] if len(found) > 1 else []), *_lines(one)])


def _lines(found: Compared) -> Iterator[str]:
    """The ranking and all pairs, or each pair in detail."""
    pairs = _rows(found.pairs)
    if found.ranking.empty:
        for pair in pairs:
            yield from _pair(found, pair)
    else:
        yield "Mean over tasks, and the ranks that the significant differences leave open."
        width = max(map(len, found.ranking["system"]))
        for place in _rows(found.ranking):
            low, high = place.rank_low, place.rank_high
            ranks = f"{low}" if low == high else f"{low} to {high}"
            yield f"  {place.rank:3}  {place.system:{width}}  {100 * place.score:5.1f}  rank {ranks}"
        yield f"{counted(len(pairs), 'pair')}; p values and intervals are corrected for all of them (Holm):"
        yield from (f"  {_verdict(pair)}" for pair in pairs)
        yield from _warnings(found, pairs)
        if found.references:
            yield f"References left out: {', '.join(found.references)}; --systems A B compares them."
        if found.unscored:
            yield f"Not ranked without a score on every task: {', '.join(found.unscored)}."
    if found.changed:
        yield f"{counted(found.changed, 'question')} left out: worded differently in another run."


def _pair(found: Compared, pair: Any) -> Iterator[str]:
    """One pair in detail."""
    yield _verdict(pair)
    if not pair.questions:
        return
    for task in _tasks(found, pair):
        mark = "" if task.significant else ", not significant"
        yield f"  {task.group}: {_points(task.difference)} {_interval(task)}, {_basis(task)}{mark}"
    count = found.counts(pair.a, pair.b)
    right = f"only {pair.a} {count['only_a']}, only {pair.b} {count['only_b']}"
    yield f"  Mean: {pair.a} {100 * pair.score_a:.1f}, {pair.b} {100 * pair.score_b:.1f}."
    yield f"  Right (0.5 or more): {right}, both {count['both']}, neither {count['neither']}; --json has the questions."
    if math.isnan(pair.mde):
        yield "  No minimum detectable effect: too few questions, or clusters of them, to state one."
    else:
        yield f"  Minimum detectable effect: {100 * pair.mde:.1f} points (80 % power with these questions)."
    yield from (f"  {line}" for line in _warnings(found, [pair]))


def _verdict(pair: Any) -> str:
    if not pair.questions:
        return f"{pair.a} and {pair.b} have no question in common"
    if not pair.significant:
        points = f"{_points(pair.difference)} points {_interval(pair)}"
        return f"{pair.a} and {pair.b} do not differ significantly: {points}, {_basis(pair)}"
    better, worse = (pair.a, pair.b) if pair.difference > 0 else (pair.b, pair.a)
    low, high = sorted((abs(pair.difference_low), abs(pair.difference_high)))
    ahead = f"{100 * abs(pair.difference):.1f} points ({100 * low:.1f} to {100 * high:.1f})"
    return f"{better} is significantly better than {worse} by {ahead}, {_basis(pair)}"


def _warnings(found: Compared, pairs: Sequence[Any]) -> list[str]:
    """What weakens a comparison: few questions, or some that only one system has."""
    from r_eval.analysis.statistics import FEW

    lines = []
    fewest = min((pair.questions for pair in pairs if pair.questions), default=FEW)
    if fewest < FEW:
        few = f"only {counted(fewest, 'question')}"
        lines.append(f"Warning: {few}; below {FEW} questions only large differences are significant.")
    for pair in pairs:
        count = found.counts(pair.a, pair.b)
        sides = ((pair.a, count["unpaired_a"]), (pair.b, count["unpaired_b"]))
        if alone := ", ".join(f"{number} scored for {name} only" for name, number in sides if number):
            lines.append(f"Left out as unpaired: {alone}.")
    return lines


def _record(found: Compared) -> dict[str, Any]:
    """The comparisons under one condition as JSON has them."""
    comparisons = []
    for pair in _rows(found.pairs):
        tasks, sides = _tasks(found, pair), {"only_a": (pair.a, pair.b), "only_b": (pair.b, pair.a)}
        discordant = {
            side: [{"task": task, "question": question} for task, question in found.discordant(*names)]
            for side, names in sides.items()
        }
        numbers = {**_numbers(pair), **found.counts(pair.a, pair.b), "by_task": [_numbers(task) for task in tasks]}
        comparisons.append({**numbers, "discordant": discordant, "warnings": _warnings(found, [pair])})
    names = ("condition", "references", "unscored", "changed")
    others = {name: getattr(found, name) for name in names}
    return {**others, "comparisons": comparisons, "ranking": found.ranking.to_dict("records")}


def _rows(frame: pandas.DataFrame) -> list[Any]:
    return list(frame.itertuples(index=False))


def _tasks(found: Compared, pair: Any) -> list[Any]:
    """The comparisons of a pair on each task."""
    return [task for task in _rows(found.by_task) if (task.a, task.b) == (pair.a, pair.b)]


def _numbers(pair: Any) -> dict[str, Any]:
    """The row of a pair as JSON has it, null for what cannot be said, with the better system."""
    values = {name: None if value != value else value for name, value in pair._asdict().items()}
    better = (pair.a if pair.difference > 0 else pair.b) if pair.significant else None
    return {**values, "better": better}


def _basis(pair: Any) -> str:
    """The p-value, how many questions, and how many clusters where they are fewer."""
    clusters = f" in {counted(pair.clusters, 'cluster')}" if pair.clusters < pair.questions else ""
    return f"p = {_p(pair.p_adjusted)}, {counted(pair.questions, 'question')}{clusters}"


def _interval(pair: Any) -> str:
    return f"({_points(pair.difference_low)} to {_points(pair.difference_high)})"


def _points(value: float) -> str:
    text = f"{100 * value:+.1f}"
    return "0.0" if text in ("+0.0", "-0.0") else text


def _p(value: float) -> str:
    return f"{value:.1g}" if value < 0.001 else f"{value:.3f}" if value < 0.1 else f"{value:.2f}"
