"""Of which version of a question set the questions of a run are.

A season's version stands beside its question file (`<name>.season.json`). A run holds a copy of what it asked and not
of where that came from, so its questions are recognised: they are of the season whose file has all of them, word for
word. Looked at are the sidecar beside the run's own copy, where there is one, the files that are named, and the file
that the run's grid names, where it still lies there.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from r_eval.errors import UserError
from r_eval.folder import RunFolder
from r_eval.tasks.questions import read_questions
from r_eval.tasks.seasons.season import read_season
from r_eval.tasks.seasons.version import Version

Asked = frozenset[tuple[str, str]]
"""Ids and texts of questions."""


class Seasons:
    """Knows versions by their question files.

    Args:
        files: Question files with a season beside them.

    Raises:
        UserError: A file cannot be read, or has no season.
    """

    def __init__(self, files: Iterable[Path] = ()) -> None:
        self._known: dict[Path, tuple[Version, Asked] | None] = {}
        for path in files:
            if self._read(path) is None:
                raise UserError(f"{path} has no season beside it: name question files that r-eval generate wrote")

    def of(self, run: RunFolder, task: str) -> Version | None:
        """The version of the questions that a run asked in a task; None where no season has them.

        Raises:
            UserError: A question or a season cannot be read, or two versions have the same questions.
        """
        copy = run.questions_file(task)
        if copy.exists() and (beside := read_season(copy)) is not None:
            return Version.parse(beside.version)
        asked = frozenset((question.id, question.question) for question in run.questions(task))
        if named := _named(run, task):
            self._read(named)
        found = {known[0] for known in self._known.values() if known is not None and asked and asked <= known[1]}
        if len(found) > 1:
            both = " and ".join(map(str, sorted(found)))
            raise UserError(f"{run.path}: the questions of {task} are those of the versions {both}; name one of them")
        return next(iter(found), None)

    def _read(self, path: Path) -> tuple[Version, Asked] | None:
        place = path.resolve()
        if place not in self._known:
            season = read_season(path)
            self._known[place] = None if season is None else (Version.parse(season.version), _asked(path))
        return self._known[place]


def _asked(path: Path) -> Asked:
    return frozenset((question.id, question.question) for question in read_questions(path))


def _named(run: RunFolder, task: str) -> Path | None:
    """The question file that the run's grid names for a task, seen from here; None where none is there."""
    for entry in run.manifest().get("grid", {}).get("tasks", ()):
        if isinstance(entry, dict) and entry.get("task") == task and isinstance(entry.get("questions"), str):
            path = Path(entry["questions"])
            return path if path.is_file() else None
    return None
