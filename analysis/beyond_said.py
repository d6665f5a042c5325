"""What a score does not say, in a sentence a finding, for the last lines of the terminal; the page has the rest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

from r_eval.analysis.against_clean import AgainstClean
from r_eval.analysis.beyond import Beyond
from r_eval.analysis.closed_book import ClosedBook
from r_eval.analysis.faithful import Faithful
from r_eval.analysis.recovery import Recovery
from r_eval.analysis.rows import role_of
from r_eval.analysis.stability import Stability

Line = TypeVar("Line", Faithful, ClosedBook, Stability, Recovery)


def sentences(found: Beyond) -> Iterator[tuple[str, str]]:
    """At most one sentence a finding, with a word that says what it is about; baselines and references are left out."""
    if lines := [one for one in _overall(found.faithful) if one.answers]:
        yield "Memory", _memory(lines)
    if closed := [one for one in _overall(found.closed_book) if one.right]:
        yield "Domain", _domain(closed)
    if steady := [one for one in _overall(found.stability) if one.samples]:
        yield "Variants", _variants(steady)
    if faulty := [one for one in _overall(found.recovery) if one.failures]:
        yield "Retries", _retries(faulty)
    if against := [one for one in found.against_clean if one.role == "system"]:
        yield "Condition", _condition(against)


def _overall(lines: Sequence[Line]) -> list[Line]:
    """The line over all tasks of each system, or that of its only task."""
    found = {(one.condition, one.system): one for one in lines if role_of(one.workflow) == "system"}
    return list(found.values())  # the last one of a system is that over all tasks


def _memory(lines: Sequence[Faithful]) -> str:
    best = max(lines, key=lambda one: one.shares["faithful"].mean or 0.0)
    worst = max(lines, key=lambda one: one.shares["leaked"].mean or 0.0)
    said = f"{best.system} read {_percent(best.shares['faithful'].mean)} of the replaced values and remembered "
    said += f"{_percent(best.shares['leaked'].mean)}{_under(best, lines)}"
    if (worst.shares["leaked"].mean or 0.0) > (best.shares["leaked"].mean or 0.0):
        said += f"; {worst.system} remembered most, {_percent(worst.shares['leaked'].mean)}{_under(worst, lines)}"
    return said


def _domain(lines: Sequence[ClosedBook]) -> str:
    best = max(lines, key=lambda one: one.right / one.questions)
    known = f"; of its {best.am:.0f} AM, {best.am_knew:.0f} the LLM alone gives too" if best.am else ""
    return (
        f"{_percent(best.needs.mean)} of {best.system}'s right answers need the domain{_under(best, lines)} "
        f"(mean over tasks; {best.right:.0f} right answers){known}"
    )


def _variants(lines: Sequence[Stability]) -> str:
    best = max(lines, key=lambda one: one.all_right.mean or 0.0)
    return (
        f"{best.system} has {_percent(best.all_right.mean)} of {best.samples:,} samples right in every variant, "
        f"{_percent(best.partly.mean)} in some{_under(best, lines)}"
    )


def _retries(lines: Sequence[Recovery]) -> str:
    most = max(lines, key=lambda one: one.failures)
    again = f"tried {_percent(most.shares['retried'].mean)} of them again"
    if most.counts["retried"]:
        again += f", with success in {_percent(most.success.mean)}"
    return (
        f"{most.system} met {most.failures:,} failed calls ({_percent(most.failed.mean)}), and {again}"
        f"{_under(most, lines)}"
    )


def _condition(lines: Sequence[AgainstClean]) -> str:
    """The largest difference that is more than chance; else that there is none."""
    certain = [one for one in lines if one.overall.told_apart]
    if not certain:
        number = len(lines)
        pairs = "comparison" if number == 1 else f"of {number:,} comparisons"
        return f"no {pairs} with clean is more than chance"
    one = max(certain, key=lambda line: abs(line.overall.difference))
    pair = one.overall
    way = "lower" if pair.difference < 0 else "higher"
    return (
        f"{one.system} is {abs(100 * pair.difference):.1f} points {way} under {one.condition} than under clean "
        f"(difference {100 * pair.low:+.1f} to {100 * pair.high:+.1f}, {pair.questions:,} questions)"
    )


def _under(one: Line, lines: Sequence[Line]) -> str:
    """Which condition is meant, where there are several."""
    return f" under {one.condition}" if len({line.condition for line in lines}) > 1 else ""


def _percent(share: float | None) -> str:
    return f"{100 * (share or 0.0):.0f} %"
