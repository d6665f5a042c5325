"""The page: its data from the frames of the views and the charts, and its HTML from a template.

index.html             head, tabs, headings; nothing of it but escaped names comes from the run
data/page.js           names, colours, and the tab that is opened first
data/<tab>.js          tables and charts of another tab, loaded when it is opened
assets/                style, scripts, plotly.min.js (loaded when a chart comes into view)
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from r_eval.analysis import tables
from r_eval.analysis.causes import CAUSES
from r_eval.analysis.charts import Chart
from r_eval.analysis.palette import DARK, TYPE_COLOURS, Style
from r_eval.analysis.plotly_figures import FROM, TO, plotly_figure
from r_eval.analysis.report.scripts import rounded, write_script
from r_eval.analysis.response_types import NAMES, TYPES
from r_eval.analysis.run_summary import leaders
from r_eval.analysis.tables import rows_of, visible
from r_eval.analysis.views import VIEWS
from r_eval.analysis.warnings import counted, run_warnings
from r_eval.disk import read_regular
from r_eval.folder import file_name, write_whole

if TYPE_CHECKING:
    import pandas

    from r_eval.analysis.results import Results

TABS = {"results": "Results", "errors": "Errors", "details": "Details"}
DARK_PAPER = {**DARK, FROM: "#1d2730", TO: "#2d6aa3"}
SCRIPTS = ("shared.js", "texts.js", "tables.js", "charts.js", "results.js", "questions.js", "episode.js", "page.js")
"""In the order in which they are loaded; the last one begins."""


@dataclass(slots=True)
class PageSection:
    """A heading of a tab with its tables and charts.

    Attributes:
        kind: "board", "questions" or "files": what else the template and the script put there.
    """

    title: str
    kind: str = ""
    tables: list[dict[str, Any]] = field(default_factory=list)
    charts: list[dict[str, Any]] = field(default_factory=list)

    @property
    def key(self) -> str:
        """Of its place in the document."""
        return re.sub(r"[^\w.+-]+", "-", self.title.lower()).strip("-") or "section"


@dataclass(slots=True)
class ReportPage:
    """What a page is made from.

    Attributes:
        head: What scripts of every tab read: systems, tasks, conditions, colours.
        tabs: Sections by tab, in order; a tab without any is absent.
        files: Names of the files in tables/ and figures/.
    """

    title: str
    facts: Sequence[str]
    notices: Sequence[str] = ()
    head: Mapping[str, Any] = field(default_factory=dict)
    tabs: Mapping[str, Sequence[PageSection]] = field(default_factory=dict)
    files: Mapping[str, Sequence[str]] = field(default_factory=dict)


def write_page(page: ReportPage, out: Path, warn: Callable[[str], None] | None = None) -> Path:
    """Write index.html, data/ and assets/; returns the path of index.html.

    Args:
        warn: Called with a sentence where plotly is not installed, and the page is without charts.
    """
    import jinja2

    here = resources.files(__package__)
    for name in (*SCRIPTS, "style.css"):
        write_whole(out / "assets" / name, (here / name).read_text(encoding="utf-8"))
    tabs = {tab: sections for tab, sections in page.tabs.items() if sections}
    plotly = any(section.charts for own in tabs.values() for section in own) and _write_plotly(out, warn)
    data = {
        tab: [{"key": one.key, "tables": one.tables, "charts": one.charts if plotly else []} for one in sections]
        for tab, sections in tabs.items()
    }
    first = next(iter(tabs), "none")
    write_script(out, "page", {**page.head, "title": visible(page.title), "tabs": list(tabs), first: data.get(first)})
    for tab in list(tabs)[1:]:
        write_script(out, tab, data[tab])
    files: dict[str, dict[str, list[str]]] = {}
    for folder, names in page.files.items():
        for name in names:
            files.setdefault(folder, {}).setdefault(name.rpartition(".")[0], []).append(name)
    settings: Any = {"autoescape": True, "trim_blocks": True, "lstrip_blocks": True}
    template = jinja2.Environment(undefined=jinja2.StrictUndefined, **settings)
    template.filters["visible"] = visible
    source = template.from_string((here / "template.html").read_text(encoding="utf-8"))
    text = source.render(page=page, tabs=tabs, names=TABS, files=files, scripts=SCRIPTS)
    _remove_earlier(out, {f"{folder}/{name}" for folder, names in page.files.items() for name in names})
    write_whole(out / "index.html", text)
    return out / "index.html"


def _remove_earlier(out: Path, written: Collection[str]) -> None:
    """Remove the files that the page of an earlier report names and this one did not write.

    Nothing else, and nothing behind a link.
    """
    try:
        text = read_regular(out / "index.html").decode(errors="replace")
    except FileNotFoundError:
        return
    for name in set(map(unquote, re.findall(r'href="((?:tables|figures)/[^"]+)"', text))).difference(written):
        folder, _, own = name.partition("/")
        if own == file_name(own) and not (out / folder).is_symlink() and (out / name).is_file():
            (out / name).unlink()


def _write_plotly(out: Path, warn: Callable[[str], None] | None) -> bool:
    """Put plotly.js next to the page; False where it is not installed."""
    try:
        from plotly.offline import get_plotlyjs
    except ImportError:
        if warn is not None:
            warn("the page has no charts: plotly is not installed (pip install 'r-eval[report]')")
        return False
    write_whole(out / "assets" / "plotly.min.js", get_plotlyjs())
    return True


def table(
    frame: pandas.DataFrame, name: str, title: str, note: str = "", columns: Sequence[str] = (), file: bool = True
) -> dict[str, Any]:
    """A frame as the page's data: texts by row, which columns are numbers, and which hold system and condition.

    Args:
        columns: Those that are shown; all of them where none is named.
        file: Whether there are files of the name.
    """
    cells = tables.readable(frame[[one for one in columns or frame.columns if one in frame]])
    names = list(cells)
    return {
        **{"name": name, "title": title, "note": note, "file": name if file else None},
        "notes": [visible(one) for one in frame.attrs.get("notes", ())],
        "columns": [[tables.heading(one), one in cells.attrs["numeric"]] for one in names],
        **{one: names.index(one) if one in names else -1 for one in ("system", "condition")},
        "rows": [list(row) for row in cells.itertuples(index=False)],
    }


def report_page(
    results: Results, frames: Mapping[str, pandas.DataFrame], charts: Sequence[Chart], chunks: Sequence[int]
) -> ReportPage:
    """The page of some results.

    Args:
        frames: By the names of the views.
        chunks: By task, the number of files with transcripts.
    """
    style = Style.of(results)
    head = {
        "conditions": [visible(one) for one in results.conditions],
        "systems": [
            {"name": row.system, "label": style.labels[row.system], "role": row.role, "colour": style.colours[row.llm]}
            for row in rows_of(results.cells.drop_duplicates("system"))
        ],
        "tasks": [
            {"name": row.name, "short": visible(row.short), "title": visible(row.title), "level": row.level}
            | {"domain": visible(row.domain), "chunks": count}
            for row, count in zip(rows_of(results.tasks), chunks, strict=True)
        ],
        "types": [[type_, NAMES[type_], TYPE_COLOURS[type_]] for type_ in TYPES],
        "causes": list(CAUSES.items()),
        "dark": list(DARK_PAPER.items()),
        "board": board(results, frames),
        "summary": [_summary(condition, results, frames["causes"]) for condition in results.conditions],
    }
    tabs = {tab: list(_sections(tab, results, frames, charts)) for tab in TABS}
    tabs["results"].insert(0, PageSection("Scores", "board"))
    if any(chunks):
        tabs["errors"].append(PageSection("Questions", "questions"))
    tabs["details"].append(PageSection("Files", "files"))
    title = ", ".join(str(manifest["name"]) for manifest in results.manifests)
    notices = [*run_warnings(results)]
    for manifest in results.manifests:
        name = f"{manifest['name']}: " if len(results.manifests) > 1 else ""
        notices += [f"{name}{budget['text']}" for budget in manifest.get("budget") or ()]
    return ReportPage(title, _facts(results), [visible(one) for one in notices], head, tabs)


def _sections(
    tab: str, results: Results, frames: Mapping[str, pandas.DataFrame], charts: Sequence[Chart]
) -> Iterator[PageSection]:
    views = [view for view in VIEWS if view.section and view.tab == tab and len(frames[view.name])]
    own = [one for one in charts if one.tab == tab and one.page]
    for title in dict.fromkeys([*(one.section for one in own), *(view.section for view in views)]):
        own_tables = [
            table(frames[view.name], view.name, view.title, view.note, view.columns, view.file)
            for view in views
            if view.section == title
        ]
        drawn = [
            {
                **{"name": one.name, "title": one.title, "group": one.group, "note": one.note, "kind": one.kind},
                "condition": results.conditions.index(one.condition),
                "legend": [list(entry) for entry in one.legend],
                "figure": plotly_figure(one),
            }
            for one in own
            if one.section == title
        ]
        yield PageSection(title, tables=own_tables, charts=drawn)


def _facts(results: Results) -> list[str]:
    """The short facts under the title."""
    systems, recorded = results.cells["system"].nunique(), len(results.episodes)
    facts = [counted(systems, "system"), counted(len(results.tasks), "task")]
    facts.append(counted(recorded, "episode") if recorded else "published means, without episodes")
    times = [manifest.get("updated") or manifest.get("created") for manifest in results.manifests]
    try:
        return [*facts, f"{datetime.fromisoformat(times[-1] or '').astimezone(UTC):%d %B %Y, %H:%M} UTC"]
    except (ValueError, IndexError):
        return facts


# ---- the score table and the three numbers


def board(results: Results, frames: Mapping[str, pandas.DataFrame]) -> dict[str, Any]:
    """The score table: a row for each system under each condition, by the places of systems, tasks and domains."""
    domains, tasks = results.domains, results.tasks["name"].tolist()
    systems = results.cells["system"].drop_duplicates().astype(str).tolist()
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    for row in rows_of(frames["averages"]):
        own = rows.setdefault(
            (row.condition, row.system),
            {
                **{"condition": results.conditions.index(row.condition), "system": systems.index(row.system)},
                **{"all": None, "rank": [None] * 3, "seconds": None, "cost": None},
                **{"tasks": [None] * len(tasks), "domains": [None] * len(domains)},
            },
        )
        if row.group == "all":
            own |= {"all": _estimate(row), "rank": [rounded(one) for one in (row.rank, row.rank_low, row.rank_high)]}
        elif row.group in domains:
            own["domains"][domains.index(row.group)] = rounded(row.score)
    for row in rows_of(frames["task_scores"]):
        rows[row.condition, row.system]["tasks"][tasks.index(row.task)] = _estimate(row)
    for row in rows_of(frames["deployment"]):
        if row.domain == "all":
            rows[row.condition, row.system] |= {"seconds": rounded(row.seconds_mean), "cost": rounded(row.cost_mean)}
    return {"domains": [visible(one) for one in domains], "rows": list(rows.values())}


def _estimate(row: Any) -> list[float | None] | None:
    """Score, ends of the interval, scored and missing episodes; None where there is no score."""
    found = [rounded(one) for one in (row.score, row.score_low, row.score_high, row.episodes, row.incomplete)]
    return None if found[0] is None else found


def _summary(condition: str, results: Results, causes: pandas.DataFrame) -> dict[str, Any]:
    """The first sentences, as the terminal has them, and the commonest cause of failure under a condition."""
    *first, best = leaders(results, condition)
    sentences = [*(f"{one[0].upper()}{one[1:]}." for one in first), f"Best: {best}."]
    own = causes[(causes["condition"] == condition) & (causes["role"] == "system") & (causes["episodes"] > 0)]
    count = own.groupby("cause", observed=True)["episodes"].sum()
    cause = [str(count.idxmax()), int(count.max()), int(count.sum())] if len(own) else None
    return {"lead": visible(" ".join(sentences)), "cause": cause}
