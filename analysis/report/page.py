"""The page: its data from the frames of the views and the charts, and its HTML from a template.

index.html             head, tabs, headings; nothing of it but escaped names comes from the run
data/page.js           names, colours, and the tab that is opened first
data/<tab>.js          tables and charts of another tab, loaded when it is opened
assets/                style, scripts, plotly.min.js (loaded when a chart comes into view)
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from r_eval.analysis import tables
from r_eval.analysis.causes import CAUSES
from r_eval.analysis.charts import Chart
from r_eval.analysis.palette import DARK, TYPE_COLOURS, Style
from r_eval.analysis.plotly_figures import FROM, TO, plotly_figure
from r_eval.analysis.report.scripts import rounded, write_script
from r_eval.analysis.response_types import NAMES, TYPES
from r_eval.analysis.run_summary import leaders
from r_eval.analysis.tables import rows_of, visible
from r_eval.analysis.views import VIEWS, View
from r_eval.folder import write_whole

if TYPE_CHECKING:
    import pandas

    from r_eval.analysis.results import Results

TABS = {"results": "Results", "errors": "Errors", "details": "Details"}
DARK_PAPER = {**DARK, FROM: "#1d2730", TO: "#2d6aa3"}
SCRIPTS = ("shared.js", "texts.js", "tables.js", "charts.js", "results.js", "questions.js", "episode.js", "page.js")
"""In the order in which they are loaded; the last one begins."""
NOT_IN_FILES = re.compile(r"[^\w.+-]+")


@dataclass(slots=True)
class PageSection:
    """A heading of a tab with its tables and charts.

    Attributes:
        kind: "board", "questions" or "files": what the template and the script put there besides.
    """

    title: str
    kind: str = ""
    tables: list[dict[str, Any]] = field(default_factory=list)
    charts: list[dict[str, Any]] = field(default_factory=list)

    @property
    def key(self) -> str:
        """Of its place in the document."""
        return NOT_IN_FILES.sub("-", self.title.lower()).strip("-") or "section"


@dataclass(slots=True)
class ReportPage:
    """What a page is made from.

    Attributes:
        head: What scripts of every tab read: systems, tasks, conditions, colours.
        lead: By condition, the first sentence.
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
    """Write index.html, data/ and assets/; returns the path of index.html."""
    import jinja2

    here = resources.files(__package__)
    for name in (*SCRIPTS, "style.css"):
        write_whole(out / "assets" / name, (here / name).read_text(encoding="utf-8"))
    tabs = {tab: sections for tab, sections in page.tabs.items() if sections}
    plotly = _plotly(out, warn) if any(section.charts for own in tabs.values() for section in own) else False
    first = next(iter(tabs), "")
    data = {tab: [_section(section, plotly) for section in sections] for tab, sections in tabs.items()}
    write_script(
        out, "page", {**page.head, "title": visible(page.title), "tabs": list(tabs), first or "none": data.get(first)}
    )
    for tab in list(tabs)[1:]:
        write_script(out, tab, data[tab])
    template = jinja2.Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )
    template.filters["visible"] = visible
    text = template.from_string((here / "template.html").read_text(encoding="utf-8")).render(
        page=page, tabs=tabs, names=TABS, files=_files(page.files), scripts=SCRIPTS
    )
    write_whole(out / "index.html", text)
    return out / "index.html"


def _plotly(out: Path, warn: Callable[[str], None] | None) -> bool:
    """Put plotly.js beside the page; False where it is not installed."""
    try:
        from plotly.offline import get_plotlyjs
    except ImportError:
        if warn is not None:
            warn("the page has no charts: plotly is not installed (pip install 'r-eval[report]')")
        return False
    write_whole(out / "assets" / "plotly.min.js", get_plotlyjs())
    return True


def _section(section: PageSection, plotly: bool) -> dict[str, Any]:
    return {"key": section.key, "tables": section.tables, "charts": section.charts if plotly else []}


def _files(files: Mapping[str, Sequence[str]]) -> dict[str, dict[str, list[str]]]:
    """By folder and name, the file names of each format."""
    found: dict[str, dict[str, list[str]]] = {}
    for folder, names in files.items():
        for name in names:
            found.setdefault(folder, {}).setdefault(name.rpartition(".")[0], []).append(name)
    return found


def table(frame: pandas.DataFrame, name: str, title: str, note: str = "", file: bool = True) -> dict[str, Any]:
    """A frame as the page's data: texts by row, which columns are numbers, and which hold system and condition."""
    shown = tables.readable(frame)
    names = list(shown)
    return {
        **{"name": name, "title": title, "note": note, "file": name if file else None},
        "notes": _notes(frame),
        "columns": [[tables.heading(name), name in shown.attrs["numeric"]] for name in names],
        "system": names.index("system") if "system" in names else -1,
        "condition": names.index("condition") if "condition" in names else -1,
        "rows": [list(row) for row in shown.itertuples(index=False)],
    }


def _notes(frame: pandas.DataFrame) -> list[str]:
    return [visible(one) for one in frame.attrs.get("notes", ())]


def chart(one: Chart, conditions: Sequence[str]) -> dict[str, Any]:
    """A chart as the page's data."""
    return {
        **{"name": one.name, "title": one.title, "group": one.group, "note": one.note, "kind": one.kind},
        "condition": conditions.index(one.condition) if one.condition in conditions else -1,
        "legend": [list(entry) for entry in one.legend],
        "figure": plotly_figure(one),
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
    systems = results.cells.drop_duplicates("system")
    head = {
        "conditions": [visible(one) for one in results.conditions],
        "systems": [
            {"name": row.system, "label": style.labels[row.system], "role": row.role, "colour": style.colours[row.llm]}
            for row in rows_of(systems)
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
    return ReportPage(_title(results), _facts(results), list(_notices(results)), head, tabs)


def _sections(
    tab: str, results: Results, frames: Mapping[str, pandas.DataFrame], charts: Sequence[Chart]
) -> Iterable[PageSection]:
    views = [view for view in VIEWS if view.tab == tab]
    own = [one for one in charts if one.tab == tab and one.page]
    for title in dict.fromkeys([*(one.section for one in own), *(view.section for view in views)]):
        section = PageSection(title)
        section.tables = [_table(view, frames[view.name]) for view in views if _is_shown(view, title, frames)]
        section.charts = [chart(one, results.conditions) for one in own if one.section == title]
        if section.tables or section.charts:
            yield section


def _is_shown(view: View, section: str, frames: Mapping[str, pandas.DataFrame]) -> bool:
    return view.page and view.section == section and len(frames[view.name]) > 0


def _table(view: View, frame: pandas.DataFrame) -> dict[str, Any]:
    shown = [name for name in view.columns or frame.columns if name in frame]
    return table(frame[shown], view.name, view.title, view.note, view.file) | {"notes": _notes(frame)}


def _title(results: Results) -> str:
    return ", ".join(str(manifest["name"]) for manifest in results.manifests)


def _facts(results: Results) -> list[str]:
    from r_eval.analysis.warnings import counted

    systems, recorded = results.cells["system"].nunique(), len(results.episodes)
    facts = [counted(systems, "system"), counted(len(results.tasks), "task")]
    facts.append(counted(recorded, "episode") if recorded else "published means, without episodes")
    times = [manifest.get("updated") or manifest.get("created") for manifest in results.manifests]
    return [*facts, *[_when(time) for time in times[-1:] if time]]


def _when(text: str) -> str:
    try:
        time = datetime.fromisoformat(text).astimezone(UTC)
    except ValueError:
        return ""
    return f"{time.day} {time:%B %Y, %H:%M} UTC"


def _notices(results: Results) -> Iterable[str]:
    """What changes how the numbers are read."""
    from r_eval.analysis.warnings import run_warnings

    yield from map(visible, run_warnings(results))
    for manifest in results.manifests:
        name = f"{manifest['name']}: " if len(results.manifests) > 1 else ""
        yield from (visible(f"{name}{budget['text']}") for budget in manifest.get("budget") or ())


# ---- the score table and the three numbers


def board(results: Results, frames: Mapping[str, pandas.DataFrame]) -> dict[str, Any]:
    """The score table: a row for each system under each condition, by the places of systems, tasks and domains."""
    domains = results.tasks["domain"].drop_duplicates().tolist()
    place = {name: number for number, name in enumerate(results.cells["system"].drop_duplicates().astype(str))}
    condition = {name: number for number, name in enumerate(results.conditions)}
    task = {name: number for number, name in enumerate(results.tasks["name"])}
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    for row in rows_of(frames["averages"]):
        key = str(row.condition), str(row.system)
        own = rows.setdefault(key, _empty_row(condition[key[0]], place[key[1]], len(task), len(domains)))
        if row.group == "all":
            own["all"] = _estimate(row)
            own["rank"] = [_whole(value) for value in (row.rank, row.rank_low, row.rank_high)]
        elif row.group in domains:
            own["domains"][domains.index(row.group)] = rounded(row.score)
    for row in rows_of(frames["task_scores"]):
        key = str(row.condition), str(row.system)
        if key in rows:
            rows[key]["tasks"][task[str(row.task)]] = _estimate(row)
    deployed = frames["deployment"]
    for row in rows_of(deployed[deployed["domain"] == "all"]):
        key = str(row.condition), str(row.system)
        if key in rows:
            rows[key] |= {"seconds": rounded(row.seconds_mean), "cost": rounded(row.cost_mean)}
    return {"domains": [visible(one) for one in domains], "rows": list(rows.values())}


def _empty_row(condition: int, system: int, tasks: int, domains: int) -> dict[str, Any]:
    return {
        **{"condition": condition, "system": system, "all": None, "rank": [None] * 3},
        **{"tasks": [None] * tasks, "domains": [None] * domains, "seconds": None, "cost": None},
    }


def _estimate(row: Any) -> list[float | None] | None:
    """Score, ends of the interval, scored and missing episodes; None where there is no score."""
    score = rounded(row.score)
    if score is None:
        return None
    return [score, rounded(row.score_low), rounded(row.score_high), _whole(row.episodes), _whole(row.incomplete)]


def _whole(value: Any) -> int | None:
    import pandas

    return None if pandas.isna(value) else int(value)


def _summary(condition: str, results: Results, causes: pandas.DataFrame) -> dict[str, Any]:
    """The first sentences, as the terminal has them, and the commonest cause of failure under a condition."""
    *first, best = leaders(results, condition)
    sentences = [*(f"{one[0].upper()}{one[1:]}." for one in first), f"Best: {best}."]
    found: dict[str, Any] = {"lead": visible(" ".join(sentences)), "cause": None}
    own = causes[(causes["condition"] == condition) & (causes["role"] == "system") & (causes["episodes"] > 0)]
    if len(own):
        count = own.groupby("cause", observed=True)["episodes"].sum()
        found["cause"] = [str(count.idxmax()), int(count.max()), int(count.sum())]
    return found
