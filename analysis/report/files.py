"""The tables and figures of a report, for other programs, for papers and for slides."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from r_eval.analysis.deployment import deployment
from r_eval.analysis.figures import write_figures
from r_eval.analysis.matching import suited
from r_eval.analysis.published import is_published
from r_eval.analysis.rows import Aggregates
from r_eval.analysis.systems import System, clusters_of, systems
from r_eval.analysis.tables import Sheet, write_tables
from r_eval.analysis.tables.matching import matching, upper_bound
from r_eval.analysis.upper_bound import upper_bounds
from r_eval.errors import MissingExtra
from r_eval.folder import RunFolder


def write_files(
    runs: Sequence[RunFolder], aggregates: Aggregates, out: Path, told: Callable[[str], None] | None = None
) -> dict[str, list[str]]:
    """Write tables/ and figures/ into a report's folder; returns the names of the files in each.

    Args:
        told: Given a sentence where the figures are left out because matplotlib is not installed.
    """
    own = [run for run in runs if not is_published(run.path)]
    found = systems(*own)
    deployed = deployment(found)
    tables = write_tables(aggregates, out / "tables", deployed, _matching(aggregates, own, found))
    figures: list[Path] = []
    try:
        figures = write_figures(aggregates, out / "figures", deployed)
    except MissingExtra as missing:
        if told is not None:
            told(f"no figures: {missing}")
    return {"tables": [path.name for path in tables], "figures": [path.name for path in figures]}


def _matching(aggregates: Aggregates, runs: Sequence[RunFolder], found: Sequence[System]) -> list[Sheet]:
    """The tables of matching; the best of all systems only where there are episodes."""
    shared = clusters_of(runs)
    pairs = [*suited(aggregates, "workflow", found, shared), *suited(aggregates, "llm", found, shared)]
    bounds = upper_bounds(found)
    return [*([matching(pairs)] if pairs else []), *([upper_bound(bounds)] if bounds else [])]
