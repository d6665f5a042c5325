"""Some runs, and published results, as frames: what every analysis is a function of.

Three frames: `episodes` has a row for each recorded episode, `cells` one for each system on each task under each
condition, whether there are episodes or a published mean, and `tasks` one for each task. Conditions, systems and tasks
are ordered categories, so that grouping by them keeps the order of the grid, with the condition `clean` first.

Where two folders hold the same cell, the later folder's name is added to its systems and LLMs.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from r_eval.analysis.frame import FLAG, NUMBER, TEXT, domain_of, plain, read, roles, short_names
from r_eval.analysis.published_results import is_published, read_published
from r_eval.analysis.scoring import ensure_scored
from r_eval.folder import RunFolder

if TYPE_CHECKING:
    import pandas

CLEAN = "clean"
"""The condition of the bare environment; no other one may have its name."""
IDENTITY = ("condition", "system", "workflow", "llm", "role")
"""What every frame with a row per system begins with."""
CELLS: dict[str, str] = {
    **dict.fromkeys((*IDENTITY, "task", "domain", "level", "metric", "run"), TEXT),
    **dict.fromkeys(("expected", "episodes"), "Int64"),
    "stopped": FLAG,
    "score": NUMBER,
    "connections": "Int64",
}
"""The columns of `Results.cells`.

`expected` are the episodes that the grid asks for, `episodes` those recorded; both are missing for published means
without a number. `stopped` says that early stopping left some out, `score` is a published mean (0 to 1), `connections`
are those of the LLM, by the grid.
"""
TASKS = ("name", "short", "title", "id", "domain", "level", "metric")
"""The columns of `Results.tasks`; `short` is the name without its domain, where no two tasks share it then."""


@dataclass(frozen=True, eq=False)
class Results:
    """Some runs and published results.

    Attributes:
        runs: The folders that have episodes.
        manifests: The run.json of every folder, in the order given; of published results `name` and `published`.
        episodes: One row per recorded episode, with the columns of `frame.COLUMNS` (`answer` is missing).
        cells: One row per condition, system and task, with the columns CELLS.
        tasks: One row per task, in the order of the grids.
        suffixes: Of each of `runs`, what is added to the names of its systems and LLMs.
        published: The folders of published results.
        found: What views have found of them, by their names.
    """

    runs: tuple[RunFolder, ...]
    manifests: tuple[dict[str, Any], ...]
    episodes: pandas.DataFrame
    cells: pandas.DataFrame
    tasks: pandas.DataFrame
    suffixes: tuple[str, ...] = ()
    published: tuple[RunFolder, ...] = ()
    found: dict[str, pandas.DataFrame] = field(default_factory=dict, repr=False)

    @property
    def conditions(self) -> list[str]:
        """Those under which there is any system, `clean` first."""
        return list(self.cells["condition"].cat.categories)

    @property
    def domains(self) -> list[str]:
        """The domains of the tasks, in their order."""
        return list(dict.fromkeys(self.tasks["domain"]))

    def of(self, tasks: Collection[str]) -> Results:
        """The results on some of the tasks alone."""
        episodes, cells = (frame[frame["task"].isin(tasks)] for frame in (self.episodes, self.cells))
        return replace(self, episodes=episodes, cells=cells, tasks=self.tasks[self.tasks["name"].isin(tasks)], found={})


def once(view: Callable[[Results], pandas.DataFrame]) -> Callable[[Results], pandas.DataFrame]:
    """A view that is computed once for the same results, since several others rest on it."""

    @functools.wraps(view)
    def cached(results: Results) -> pandas.DataFrame:
        name = f"{view.__module__}.{view.__name__}"
        if name not in results.found:
            results.found[name] = view(results)
        return results.found[name].copy()

    return cached


class _Folder(NamedTuple):
    """The cells and tasks of a folder, each a row."""

    folder: RunFolder
    manifest: dict[str, Any]
    cells: list[dict[str, Any]]
    tasks: list[dict[str, Any]]


def load(*folders: RunFolder) -> Results:
    """The results of runs and of folders with published results; scores that are missing are made first.

    Raises:
        UserError: A folder is neither, or a file in it cannot be read.
    """
    parts = []
    for folder in folders:
        if is_published(folder.path):
            parts.append(_Folder(folder, *read_published(folder.path)))
        else:
            ensure_scored(folder)
            manifest = folder.manifest()
            parts.append(_Folder(folder, manifest, list(_cells(manifest)), [*map(_task, manifest["tasks"])]))
    suffixes = _suffixes(parts)
    cells = [
        {**cell, "system": cell["system"] + suffix, "llm": cell["llm"] + suffix}
        for part, suffix in zip(parts, suffixes, strict=True)
        for cell in part.cells
    ]
    tasks = {task["name"]: task for part in reversed(parts) for task in part.tasks}
    order = list(dict.fromkeys(task["name"] for part in parts for task in part.tasks))
    published = tuple(part.folder for part in parts if part.manifest.get("published"))
    runs = [pair for pair in zip((part.folder for part in parts), suffixes, strict=True) if pair[0] not in published]
    own, ends = tuple(run for run, _ in runs), tuple(suffix for _, suffix in runs)
    episodes = read(own, ends)
    cell_frame, task_frame = _cell_frame(cells, order, episodes), _task_frame([tasks[name] for name in order])
    for name in (*IDENTITY, "task"):
        episodes[name] = episodes[name].astype(cell_frame[name].dtype)
    names = _domain_names(task_frame)
    episodes["domain"] = episodes["domain"].cat.rename_categories(names)
    for frame in (cell_frame, task_frame):
        frame["domain"] = frame["domain"].replace(names)
    manifests = tuple(part.manifest for part in parts)
    return Results(own, manifests, episodes, cell_frame, task_frame, ends, published)


def episodes_of(run: RunFolder) -> pandas.DataFrame:
    """The episodes of a run with their answers, texts as texts: what `Run.to_pandas` returns.

    Raises:
        UserError: The folder is not a run, or a record cannot be read.
    """
    ensure_scored(run)
    return plain(read([run], answers=True))


def ranked(frame: pandas.DataFrame) -> pandas.DataFrame:
    """The rows of systems that take part in the ranking: all but the references."""
    return frame[frame["role"] != "reference"]


def records(frame: pandas.DataFrame) -> list[dict[str, Any]]:
    """The rows of a frame, by column."""
    return [{str(name): value for name, value in row.items()} for row in frame.to_dict("records")]


def tidy(rows: Sequence[Mapping[str, Any]] | pandas.DataFrame, types: Mapping[str, str]) -> pandas.DataFrame:
    """A frame with these columns and types, whatever the rows hold; what a row lacks is missing."""
    import pandas

    frame = (
        rows if isinstance(rows, pandas.DataFrame) else pandas.DataFrame.from_records(list(rows), columns=list(types))
    )
    return frame.reindex(columns=list(types)).astype(dict(types)).reset_index(drop=True)


def _cells(manifest: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    role = roles(manifest)
    tasks = {task["name"]: _task(task) for task in manifest["tasks"]}
    for cell in manifest["cells"]:
        system, task, llm = f"{cell['workflow']}+{cell['llm']}", tasks[cell["task"]], _llm(manifest, cell["llm"])
        yield {
            **{name: cell[name] for name in ("condition", "workflow", "llm", "task")},
            **{name: task[name] for name in ("domain", "level", "metric")},
            **{"system": system, "role": role[system], "run": manifest["name"]},
            **{"expected": int(cell["episodes"]), "stopped": bool(cell.get("skipped"))},
            "connections": connections if type(connections := llm.get("connections")) is int else None,
        }


def _task(entry: Mapping[str, Any]) -> dict[str, str]:
    known = {name: str(entry.get(name) or "") for name in TASKS}
    return {**known, "domain": known["domain"] or domain_of(known["name"])}


def _llm(manifest: Mapping[str, Any], llm: str) -> dict[str, Any]:
    """What a run says of an LLM, by the name that its systems carry: its grid's entry, and the connections it had."""
    found = (manifest.get("llms") or {}).get(llm) or {}
    for entry in (manifest.get("grid") or {}).get("llms") or ():
        if isinstance(entry, dict) and llm in (entry.get("name"), entry.get("llm")):
            return {**entry, **found}
    return dict(found)


def _suffixes(parts: Sequence[_Folder]) -> list[str]:
    """What is added to the systems of each folder so that no two cells share a name.

    A published mean is never joined with episodes: there one system in both folders is enough.
    """
    found: list[str] = []
    seen: set[tuple[Any, ...]] = set()
    for part in parts:
        is_published = bool(part.manifest.get("published"))
        cells: set[tuple[Any, ...]] = {(one["condition"], one["system"], one["task"]) for one in part.cells}
        systems = {one[:2] for one in cells}
        suffix = ""
        if seen & (cells | {(not is_published, *one) for one in systems}):
            name, number = part.folder.path.resolve().name, 1
            suffix = f" ({name})"
            while suffix in found:
                number += 1
                suffix = f" ({name}, {number})"
        found.append(suffix)
        seen |= cells | {(is_published, *one) for one in systems}
    return found


def _cell_frame(
    cells: Sequence[Mapping[str, Any]], tasks: Sequence[str], episodes: pandas.DataFrame
) -> pandas.DataFrame:
    """The frame of cells, sorted by condition, system and task in their order."""
    import pandas

    frame = tidy(cells, CELLS)
    keys = ["condition", "system", "task"]
    orders = {name: list(dict.fromkeys(frame[name])) for name in IDENTITY} | {"task": list(tasks)}
    orders["condition"].sort(key=lambda name: name != CLEAN)
    for name, order in orders.items():
        frame[name] = pandas.Categorical(frame[name], order, ordered=True)
    recorded = episodes.groupby(keys, observed=True).size().to_dict()
    counts = [recorded.get(key) for key in zip(*(frame[name] for name in keys), strict=True)]
    published = frame["score"].notna()
    frame["episodes"] = frame["expected"].where(published, pandas.array([n or 0 for n in counts], "Int64"))
    return frame.sort_values(keys).reset_index(drop=True)


def _domain_names(tasks: pandas.DataFrame) -> dict[str, str]:
    """The names of domains in tables: other ones where a name means all tasks there, or a level of another domain."""
    levels = tasks[tasks["level"] != ""]
    taken = {"all", *(levels["domain"] + "_" + levels["level"])}
    found = {domain: domain for domain in tasks["domain"] if domain not in taken}
    for domain in tasks["domain"]:
        name = domain
        while domain not in found and name in taken | {*found.values()}:
            name += "_"
        found.setdefault(domain, name)
    return found


def _task_frame(tasks: Sequence[Mapping[str, str]]) -> pandas.DataFrame:
    frame = tidy(tasks, dict.fromkeys(TASKS, TEXT))
    return frame.assign(short=short_names(frame["name"].tolist())).astype({"short": TEXT})
