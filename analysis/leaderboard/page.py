"""Writes the leaderboard's page and its table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from r_eval.analysis.estimate import Estimate
from r_eval.analysis.leaderboard.entries import Entry, OfType
from r_eval.analysis.leaderboard.pipeline import KEYS
from r_eval.analysis.leaderboard.standings import Standing, standings
from r_eval.analysis.leaderboard.versions import ordered
from r_eval.analysis.question_types import in_order
from r_eval.analysis.report.payload import script
from r_eval.analysis.tables.formats import write_sheet
from r_eval.analysis.tables.scores import NAMES
from r_eval.analysis.tables.sheet import ABSENT, Sheet, View
from r_eval.folder import write_whole
from r_eval.tasks.seasons.version import Version

LONGEST = 12
"""Up to how many versions every number of last ones can be asked for on the page; beyond it, all of them."""
UNKNOWN = "no season"
NOTES = [
    "Retrieval: mean of hit rate, recall and NDCG. Generation: the task's own metric. Total: their sum, up to 200. In "
    "percent, with intervals of 95 %.",
    "Every question of a version counts for every system; one without a score is missing, and counts 0. Over several "
    "versions each weighs the same.",
]


def write_page(entries: Sequence[Entry], out: Path) -> Path:
    """Write index.html, its assets and data, and the tables; returns the page's path."""
    for file in sorted(resources.files("r_eval.analysis.leaderboard").iterdir(), key=lambda file: file.name):
        if file.name.endswith((".css", ".js")):
            write_whole(out / "assets" / file.name, file.read_text(encoding="utf-8"))
        elif file.name == "index.html":
            write_whole(out / file.name, file.read_text(encoding="utf-8"))
    write_whole(out / "data" / "leaderboard.js", script("leaderboard", payload(entries)))
    write_sheet(sheet(entries), out / "tables")
    return out / "index.html"


def payload(entries: Sequence[Entry]) -> dict[str, Any]:
    """The page's data: a board for each number of last versions, with all systems and with the actual ones only."""
    versions = ordered([entry.version for entry in entries])
    types = in_order([name for entry in entries for name in entry.types])
    numbers = sorted({*range(1, min(len(versions), LONGEST) + 1), len(versions)})
    return {
        "versions": [_version(version, entries) for version in versions],
        "conditions": list(dict.fromkeys(entry.condition for entry in entries)),
        "types": types,
        "notes": NOTES,
        "boards": [
            {
                "last": last,
                "actual": actual,
                "rows": [_row(line, types) for line in standings(entries, last, actual)],
            }
            for last in numbers
            for actual in (False, True)
        ],
    }


def named(version: Version | None) -> str:
    """A version as people read it."""
    return UNKNOWN if version is None else str(version)


def _version(version: Version | None, entries: Sequence[Entry]) -> dict[str, Any]:
    own = [entry for entry in entries if entry.version == version]
    return {
        "name": named(version),
        "questions": own[0].questions,
        "systems": len({(entry.condition, entry.system) for entry in own}),
        "updated": max(entry.updated for entry in own),
    }


def _row(line: Standing, types: Sequence[str]) -> dict[str, Any]:
    return {
        **{
            key: getattr(line, key) for key in ("condition", "system", "workflow", "llm", "reference", "rank", "actual")
        },
        "retriever": " · ".join(filter(None, (line.pipeline.retriever, line.pipeline.embedding))),
        "top_k": line.pipeline.top_k,
        "versions": [named(version) for version in line.versions],
        "retrieval": _numbers(line.retrieval),
        "generation": _numbers(line.generation),
        "total": _rounded(line.total),
        "types": [_of_type(line.types, name) for name in types],
        **{key: getattr(line, key) for key in ("questions", "missing", "updated")},
    }


def _numbers(of: Estimate) -> dict[str, float | None]:
    return {"mean": _rounded(of.mean), "low": _rounded(of.low), "high": _rounded(of.high)}


def _of_type(types: Mapping[str, OfType], name: str) -> dict[str, Any] | None:
    found = types.get(name)
    if found is None:
        return None
    return {
        "questions": found.questions,
        "retrieval": _rounded(found.retrieval),
        "generation": _rounded(found.generation),
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 6)


def sheet(entries: Sequence[Entry]) -> Sheet:
    """The table: a line a version, condition and system; people read the board over all versions."""
    parts = [f"{name}{end}" for name in ("retrieval", "generation") for end in ("", "_low", "_high")]
    lines: list[list[Any]] = []
    for version in ordered([entry.version for entry in entries]):
        own = [entry for entry in entries if entry.version == version]
        for line in standings(own, 1):
            ends = [_percent(of) for one in (line.retrieval, line.generation) for of in (one.mean, one.low, one.high)]
            counts = [line.questions, line.missing]
            of = line.pipeline
            names = [line.system, line.workflow, line.llm, of.retriever, of.embedding, of.top_k]
            lines.append([named(version), line.condition, line.rank, *names, _percent(line.total), *ends, *counts])
    header = ["version", "condition", "rank", *NAMES, *KEYS, "total", *parts, "questions", "missing"]
    views = [_view(condition, entries) for condition in dict.fromkeys(entry.condition for entry in entries)]
    return Sheet("leaderboard", "Leaderboard", header, lines, views, NOTES)


def _view(condition: str, entries: Sequence[Entry]) -> View:
    shown = ["rank", "system", "total", "retrieval", "generation", "missing", "versions"]
    lines = [
        [
            *(ABSENT if line.rank is None else str(line.rank), line.system),
            *(_percent(mean) or ABSENT for mean in (line.total, line.retrieval.mean, line.generation.mean)),
            *(f"{line.missing} of {line.questions}", ", ".join(map(named, line.versions))),
        ]
        for line in standings(entries, len(entries))
        if line.condition == condition
    ]
    several = len({entry.condition for entry in entries}) > 1
    return View(f"Leaderboard, percent{f', {condition}' if several else ''}", shown, lines, notes=NOTES, left=2)


def _percent(share: float | None) -> str | None:
    return None if share is None else f"{100 * share:.2f}"
