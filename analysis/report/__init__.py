"""The report: one folder with a page that opens from disk, its data, tables and figures.

    report/
      index.html          the page; no server, no network
      assets/             style and scripts
      data/*              the page's data, as scripts that call `JSON.parse`: opened from disk, a page may not fetch
      tables/*            every table for other programs (csv) and for papers (md, tex)
      figures/*           every chart for papers, as png and svg

A report that is made again removes the tables and figures that the page of the one before it names, and nothing else.

What a model, a tool or a file wrote is text everywhere: the page sets it as text, never as markup.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from r_eval.errors import MissingExtra, UserError

if TYPE_CHECKING:
    import pandas

    from r_eval.analysis.results import Results

__all__ = ["write_report", "write_tables_page"]


def write_report(results: Results, out: Path, warn: Callable[[str], None] | None = None, figures: bool = True) -> Path:
    """Write the report of some results.

    Args:
        out: The report's folder; tables, figures and data in it are replaced.
        warn: Called with a sentence where a part is left out because its library is not installed.
        figures: Whether the figures for papers are drawn; they take a few seconds.

    Returns:
        The page's path.

    Raises:
        UserError: An episode cannot be read, or the folder is a link within a run.
    """
    from r_eval.analysis import tables
    from r_eval.analysis.charts import charts as all_charts
    from r_eval.analysis.figures import write_figures
    from r_eval.analysis.report.page import report_page, write_page
    from r_eval.analysis.report.transcripts import write_transcripts
    from r_eval.analysis.views import VIEWS, frames

    for folder in (out, out / "data"):  # before anything in them is removed
        if folder.is_symlink() and any(run.path in folder.parents for run in (*results.runs, *results.published)):
            raise UserError(
                f"{folder}: a link in a run's folder, which may lead anywhere: name the report's folder with --out"
            )
    found = frames(results)
    charts = all_charts(results, found)
    written = []
    for view in VIEWS:
        frame = found[view.name]
        if view.file and len(frame):
            notes = [*([view.note] if view.note else []), *frame.attrs.get("notes", ())]
            written += tables.write(frame, out / "tables", view.name, view.title, notes)
    drawn: list[Path] = []
    if figures:
        try:
            drawn = write_figures(charts, out / "figures")
        except MissingExtra as missing:
            if warn is not None:
                warn(f"no figures: {missing}")
    systems = results.cells["system"].drop_duplicates().astype(str).tolist()
    page = report_page(results, found, charts, write_transcripts(results, systems, out))
    page.files = {"tables": [path.name for path in written], "figures": [path.name for path in drawn]}
    return write_page(page, out, warn)


def write_tables_page(
    out: Path, title: str, facts: Sequence[str], found: Sequence[tuple[str, str, str, pandas.DataFrame]]
) -> Path:
    """Write a page of plain tables with their files: a leaderboard.

    Args:
        facts: Short texts under the title.
        found: Name of the files, title, note and frame of each table; empty frames are left out.
    """
    from r_eval.analysis import tables
    from r_eval.analysis.report.page import PageSection, ReportPage, table, write_page

    filled = [(name, heading, note, frame) for name, heading, note, frame in found if len(frame)]
    files = [
        path
        for name, heading, note, frame in filled
        for path in tables.write(frame, out / "tables", name, heading, [note])
    ]
    section = PageSection("", tables=[table(frame, name, heading, note) for name, heading, note, frame in filled])
    conditions = list(
        dict.fromkeys(name for *_, frame in filled if "condition" in frame for name in frame["condition"])
    )
    written = {"tables": [path.name for path in files]}
    page = ReportPage(title, facts, head={"conditions": conditions}, tabs={"details": [section]}, files=written)
    return write_page(page, out)
