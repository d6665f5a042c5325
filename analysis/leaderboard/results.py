"""What a system reached on a version, question by question, before it is held against all questions of the version."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from r_eval.analysis.leaderboard.pipeline import Pipeline, pipeline
from r_eval.analysis.leaderboard.sets import Key
from r_eval.analysis.leaderboard.versions import ordered
from r_eval.analysis.question_types import retrieval_of
from r_eval.analysis.systems import systems
from r_eval.folder import RunFolder
from r_eval.tasks.seasons.version import Version


@dataclass(frozen=True, slots=True)
class Result:
    """What one system reached on one version.

    Attributes:
        asked: Questions that it was asked, whatever came of it.
        scores, found: By task and question, the score of the answer and of the retrieval, where there is one.
        searches: Whether the system retrieves at all.
    """

    version: Version | None
    condition: str
    name: str
    workflow: str
    llm: str
    reference: bool
    pipeline: Pipeline
    asked: Collection[Key]
    scores: Mapping[Key, float]
    found: Mapping[Key, float]
    searches: bool
    updated: str


class Taken:
    """The names that systems have on the board, so that no two are the same."""

    def __init__(self) -> None:
        self._names: set[tuple[Version | None, str, str]] = set()

    def name(self, version: Version | None, condition: str, system: str, of: str) -> str:
        """A system's name, with that of its run where it is taken, and with a number where that is too."""
        name, number = system, 1
        while (version, condition, name) in self._names:
            name = f"{system} ({of})" if number == 1 else f"{system} ({number})"
            number += 1
        self._names.add((version, condition, name))
        return name


def of_run(run: RunFolder, versions: Mapping[str, Version | None], taken: Taken) -> Iterator[Result]:
    """What a run's systems reached, a version at a time.

    Args:
        versions: By task.
        taken: Where a system of the same name stands already, the run's name is added to it.

    Raises:
        UserError: The folder is not a run, or a record cannot be read.
    """
    manifest = run.manifest()
    for system in systems(run):
        for version in ordered(list(versions.values())):
            cells = {task: cell for task, cell in system.cells.items() if versions.get(task) == version}
            if not cells:
                continue
            name = taken.name(version, system.condition, system.name, str(manifest["name"]))
            found = _keyed({task: cell.by_question(retrieval_of(cell)) for task, cell in cells.items()})
            yield Result(
                *(version, system.condition, name, system.workflow, system.llm, system.reference),
                pipeline=pipeline(manifest, system.workflow, list(cells)),
                asked={(task, question) for task, cell in cells.items() for question in cell.questions},
                scores=_keyed({task: cell.by_question() for task, cell in cells.items()}),
                found=found,
                searches=bool(found),
                updated=str(manifest.get("updated", "")),
            )


def _keyed(by_task: Mapping[str, Mapping[str, float]]) -> dict[Key, float]:
    return {(task, question): value for task, own in by_task.items() for question, value in own.items()}
