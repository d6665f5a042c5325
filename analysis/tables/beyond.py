"""The tables of what a score does not say: read or remembered, what needs the domain, how steady, under failures."""

from __future__ import annotations

from r_eval.analysis.beyond import Beyond
from r_eval.analysis.tables.against_clean import against_clean_sheet
from r_eval.analysis.tables.closed_book import closed_book_sheet
from r_eval.analysis.tables.faithful import faithful_sheet
from r_eval.analysis.tables.recovery import recovery_sheet
from r_eval.analysis.tables.sheet import Sheet
from r_eval.analysis.tables.stability import placeholder_scores_sheet, stability_sheet


def beyond_sheets(found: Beyond) -> list[Sheet]:
    """The tables that there is anything for."""
    return [
        *([faithful_sheet(found.faithful)] if found.faithful else []),
        *([closed_book_sheet(found.closed_book)] if found.closed_book else []),
        *([placeholder_scores_sheet(found.scored)] if found.scored else []),
        *([stability_sheet(found.stability)] if found.stability else []),
        *([recovery_sheet(found.recovery)] if found.recovery else []),
        *([against_clean_sheet(found.against_clean)] if found.against_clean else []),
    ]
