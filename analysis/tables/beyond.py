"""The tables of what a score does not say: what needs the domain, and how steady the answers are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from r_eval.analysis.closed_book import closed_book
from r_eval.analysis.placeholder_scores import placeholder_scores, variants_of
from r_eval.analysis.stability import stability
from r_eval.analysis.systems import System
from r_eval.analysis.tables.closed_book import closed_book_sheet
from r_eval.analysis.tables.sheet import Sheet
from r_eval.analysis.tables.stability import placeholder_scores_sheet, stability_sheet
from r_eval.folder import RunFolder


def beyond_sheets(
    runs: Sequence[RunFolder], systems: Sequence[System], shared: Mapping[str, Mapping[str, str]]
) -> list[Sheet]:
    """The tables that there is anything for: an LLM that ran alone too, or questions in variants.

    Args:
        shared: By task and question, what a question shares with others.
    """
    sheets = [closed_book_sheet(paired)] if (paired := closed_book(systems, shared)) else []
    if variants := variants_of(runs):
        sheets.append(placeholder_scores_sheet(placeholder_scores(systems, variants)))
        sheets.append(stability_sheet(stability(systems, variants)))
    return sheets
