"""The report: one folder with a page that opens from disk, its data, its figures' code, and the tables.

    report/
      index.html          the page; no server, no network
      assets/             style and scripts
      data/results.js     what the page shows first
      data/*              what some views load when they are opened: deployment, statistics, questions, episodes
      tables/*            the same numbers for other programs (csv) and for papers (md, tex)
      figures/*           for papers, as png, svg and pdf

Opened from disk a page may not fetch, so its data are scripts. They hold nothing but a call of `JSON.parse`,
and the page sets every text as text, never as markup: what a model wrote cannot become part of the page.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import resources
from pathlib import Path

from r_eval.analysis.published import load
from r_eval.analysis.report.payload import payload, script
from r_eval.errors import UserError
from r_eval.folder import RunFolder, write_whole

__all__ = ["write_report"]


def write_report(
    runs: Sequence[RunFolder], out: Path, told: Callable[[str], None] | None = None, figures: bool = True
) -> Path:
    """Write the report of one or more runs; scores that are missing or out of date are computed first.

    Args:
        out: The report's folder; what it held before is replaced.
        told: Given a sentence where a part is left out because its extra is not installed.
        figures: Whether the figures for papers are drawn; they take a few seconds.

    Returns:
        The page's path.

    Raises:
        UserError: A run cannot be read, or the folder is a link within a run.
    """
    from r_eval.analysis.report.analysed import analysed
    from r_eval.analysis.report.details import write_details
    from r_eval.analysis.report.files import write_files
    from r_eval.analysis.report.payload_beyond import beyond_payload
    from r_eval.analysis.report.payload_components import components_payload
    from r_eval.analysis.report.payload_deployment import deployment_payload
    from r_eval.analysis.report.payload_matching import matching_payload
    from r_eval.analysis.report.payload_responses import responses_payload
    from r_eval.analysis.report.payload_retrieval import retrieval_payload
    from r_eval.analysis.report.payload_statistics import statistics_payload
    from r_eval.analysis.report.payload_verdicts import verdicts_payload
    from r_eval.analysis.report.standing import standing

    if out.is_symlink() and any(out.parent == run.path for run in runs):
        raise UserError(
            f"{out}: a link in a run's folder, which may lead anywhere: name the report's folder with --out"
        )
    aggregates = load(*runs)
    found = analysed(aggregates, runs)
    page = out / "index.html"
    files = _assets()
    template = files.pop(page.name)
    for name, text in files.items():
        write_whole(out / "assets" / name, text)
    data = payload(aggregates) | write_files(aggregates, found, out, told, figures)
    data |= {"standing": standing(aggregates, found)} | matching_payload(aggregates, found)
    data |= responses_payload(aggregates, found.runs) | retrieval_payload(aggregates, found.retrieved)
    data |= components_payload(found) | beyond_payload(aggregates, found.beyond)
    data |= verdicts_payload(aggregates, found.runs)
    data["details"] = write_details(found.runs, aggregates, found.shared, out)
    for name, made in (("deployment", deployment_payload), ("statistics", statistics_payload)):
        write_whole(out / "data" / f"{name}.js", script(name, made(aggregates, found)))
    write_whole(out / "data" / "results.js", script("results", data))
    write_whole(page, template)
    return page


def _assets() -> dict[str, str]:
    """The page, its style and its scripts, as they lie beside this module."""
    files = resources.files("r_eval.analysis.report").iterdir()
    return {
        file.name: file.read_text(encoding="utf-8")
        for file in sorted(files, key=lambda file: file.name)
        if file.name.endswith((".html", ".css", ".js"))
    }
