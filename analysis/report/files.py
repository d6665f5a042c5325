"""The tables and figures of a report, for other programs, for papers and for slides."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from r_eval.analysis.deployment import deployment
from r_eval.analysis.figures import write_figures
from r_eval.analysis.report.analysed import Analysed
from r_eval.analysis.rows import Aggregates
from r_eval.analysis.tables import Sheet, episode_sheets, write_tables
from r_eval.analysis.tables.beyond import beyond_sheets
from r_eval.analysis.tables.components import component_sheets
from r_eval.analysis.tables.matching import matching, upper_bound
from r_eval.analysis.tables.question_types import question_types_sheets
from r_eval.analysis.tables.retrieval import retrieval
from r_eval.errors import MissingExtra


def write_files(
    aggregates: Aggregates,
    analysed: Analysed,
    out: Path,
    told: Callable[[str], None] | None = None,
    figures: bool = True,
) -> dict[str, list[str]]:
    """Write tables/ and figures/ into a report's folder; returns the names of the files in each.

    Args:
        told: Given a sentence where the figures are left out because matplotlib is not installed, or have boxes for
            characters that no font has.
        figures: Whether the figures are drawn.
    """
    deployed = deployment(analysed.systems)
    further = [*episode_sheets(analysed.runs, analysed.systems), *_matching(analysed), *_retrieval(analysed)]
    further += beyond_sheets(analysed.beyond)
    further += question_types_sheets(analysed.runs, analysed.systems, analysed.shared)
    further += component_sheets(analysed.studies, analysed.advice, analysed.claims)
    tables = write_tables(aggregates, out / "tables", further)
    drawn: list[Path] = []
    try:
        drawn = write_figures(aggregates, out / "figures", deployed, analysed.systems, told) if figures else []
    except MissingExtra as missing:
        if told is not None:
            told(f"no figures: {missing}")
    return {"tables": [path.name for path in tables], "figures": [path.name for path in drawn]}


def _matching(found: Analysed) -> list[Sheet]:
    """The tables of matching; the best of all systems only where there are episodes."""
    pairs = [*found.workflows, *found.llms]
    return [*([matching(pairs)] if pairs else []), *([upper_bound(found.bounds)] if found.bounds else [])]


def _retrieval(found: Analysed) -> list[Sheet]:
    """The table of retrieval, where anything is known of it."""
    return [retrieval(found.retrieved)] if found.retrieved else []
