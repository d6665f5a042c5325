"""Robustness in sentences: what the scores do not tell, for the last lines of the terminal; the page has the frames."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from r_eval.analysis.results import Results
from r_eval.analysis.robustness import against_clean, closed_book, faithful, recovery
from r_eval.analysis.variants import stability

if TYPE_CHECKING:
    import pandas


def findings(results: Results) -> list[tuple[str, str]]:
    """At most one sentence per diagnostic, with a word that says what it is about; tool-using systems only."""
    found = (
        ("Memory", _memory, faithful(results), "answers"),
        ("Domain", _domain, closed_book(results), "right"),
        ("Variants", _variants, stability(results), "samples"),
        ("Retries", _retries, recovery(results), "failures"),
        ("Condition", _condition, against_clean(results), "questions"),
    )
    return [(word, text(own)) for word, text, frame, column in found if len(own := _overall(frame, column))]


def _overall(frame: pandas.DataFrame, column: str) -> pandas.DataFrame:
    """The row over all tasks of each tool-using system, or that of its only task, where a column is not 0."""
    own = frame[frame["role"] == "system"].drop_duplicates(["condition", "system"], keep="last")
    return own[own[column] > 0]


def _memory(rows: pandas.DataFrame) -> str:
    best, worst = _first(rows, "faithful_share"), _first(rows, "leaked_share")
    text = f"{_named(best, rows)} read {_percent(best['faithful_share'])} of the replaced values and remembered "
    text += _percent(best["leaked_share"])
    if worst["leaked_share"] > best["leaked_share"]:
        text += f"; {_named(worst, rows)} remembered most, {_percent(worst['leaked_share'])}"
    return text


def _domain(rows: pandas.DataFrame) -> str:
    best = _first(rows.assign(rate=rows["right"] / rows["questions"]), "rate")
    known = f"; its LLM alone gives {best['am_knew']:.0f} of its {best['am']:.0f} AM too" if best["am"] else ""
    share = _percent(best["needed_of_right_share"])
    name, right = _named(best, rows), f"{best['right']:.0f} right answers"
    return f"{share} of the right answers of {name} need the domain ({right}){known}"


def _variants(rows: pandas.DataFrame) -> str:
    best = _first(rows, "all_right_share")
    return (
        f"{_named(best, rows)} has {_percent(best['all_right_share'])} of {best['samples']:,} samples right in every "
        f"variant, {_percent(best['partly_right_share'])} in some"
    )


def _retries(rows: pandas.DataFrame) -> str:
    most = _first(rows, "failures")
    success = most["success_rate"]
    again = "" if math.isnan(success) else f", with success in {_percent(success)}"
    return (
        f"{_named(most, rows)} met {most['failures']:,} failed calls ({_percent(most['failed_share'])}) and retried "
        f"{_percent(most['retried_share'])} of them{again}"
    )


def _condition(rows: pandas.DataFrame) -> str:
    """The largest significant difference; else that there is none."""
    significant = rows[rows["significant"]]
    if not len(significant):
        pairs = "comparison" if len(rows) == 1 else f"of {len(rows):,} comparisons"
        return f"no {pairs} with clean is significant"
    one = _first(significant.assign(size=significant["difference"].abs()), "size")
    low, high = (f"{100 * one[f'difference_{end}']:+.1f}" for end in ("low", "high"))
    return (
        f"{one['system']} is {100 * one['size']:.1f} points {'lower' if one['difference'] < 0 else 'higher'} under "
        f"{one['condition']} than under clean (difference {low} to {high}, {one['questions']:,} questions)"
    )


def _first(rows: pandas.DataFrame, column: str) -> dict[str, Any]:
    """The row with the highest value in a column, the first of equal ones."""
    found = rows.sort_values(column, ascending=False, kind="stable").iloc[0]
    return {str(name): value for name, value in found.items()}


def _named(row: Mapping[str, Any], rows: pandas.DataFrame) -> str:
    """The system of a row, with its condition where there are several."""
    return f"{row['system']} under {row['condition']}" if rows["condition"].nunique() > 1 else str(row["system"])


def _percent(share: float) -> str:
    return "0 %" if math.isnan(share) else f"{100 * share:.0f} %"
