"""Of which version of a question set the questions of a run are.

A season's version stands beside its question file (`<name>.season.json`), and a run whose grid names such a file keeps
a copy beside its own copy of the questions. Where there is none, the questions are recognised: they are of the season
whose file has all of them, word for word. Looked at are the files that are named, and the file that the run's grid
names, where it still lies there. Such a file also tells which questions of the version a run left out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from r_eval.errors import UserError
from r_eval.folder import RunFolder
from r_eval.records import Question
from r_eval.tasks.questions import read_questions
from r_eval.tasks.seasons.season import read_season
from r_eval.tasks.seasons.version import Version

Asked = frozenset[tuple[str, str]]
"""Ids and texts of questions."""


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of a question set.

    Attributes:
        version: None where it is of no known season.
        count: How many questions the version has; 0 where that is not known.
        questions: All of them, where their file is known.
    """

    version: Version | None = None
    count: int = 0
    questions: tuple[Question, ...] = ()

    @property
    def asked(self) -> Asked:
        return _asked(self.questions)


class Seasons:
    """Knows versions by their question files.

    Args:
        files: Question files with a season beside them.

    Raises:
        UserError: A file cannot be read, or has no season.
    """

    def __init__(self, files: Iterable[Path] = ()) -> None:
        self._known: dict[Path, Known | None] = {}
        for path in files:
            if self._read(path) is None:
                raise UserError(f"{path} has no season beside it: name question files that r-eval generate wrote")

    def of(self, run: RunFolder, task: str) -> Known:
        """The question set that a run asked in a task; without a version where no season has the questions.

        Raises:
            UserError: A question or a season cannot be read, or two versions have the same questions.
        """
        if named := _named(run, task):
            self._read(named)
        asked = _asked(run.questions(task))
        found = [known for known in self._known.values() if known is not None and asked and asked <= known.asked]
        copy = run.questions_file(task)
        if copy.exists() and (beside := read_season(copy)) is not None:
            version = Version.parse(beside.version)
            whole = (known for known in found if known.version == version)
            return next(whole, Known(version, beside.count))
        return self._one(found, f"{run.path}: the questions of {task}")

    def having(self, ids: Collection[str], what: str) -> Known:
        """The question set that has some ids.

        Args:
            what: Whose ids they are, for messages.

        Raises:
            UserError: No set that is known has any of them, or two versions have.
        """
        found = [known for known in self._known.values() if known and any(q.id in ids for q in known.questions)]
        if not found:
            raise UserError(f"{what}: no known season has a question of these ids; name its private file with --season")
        return self._one(found, f"{what}: the ids")

    def _one(self, found: list[Known], what: str) -> Known:
        versions = sorted({known.version for known in found if known.version is not None})
        if len(versions) > 1:
            both = " and ".join(map(str, versions))
            raise UserError(f"{what} are those of the versions {both}; name one of them")
        return found[0] if found else Known()

    def _read(self, path: Path) -> Known | None:
        place = path.resolve()
        if place not in self._known:
            season = read_season(path)
            known = None
            if season is not None:
                known = Known(Version.parse(season.version), season.count, tuple(read_questions(path)))
            self._known[place] = known
        return self._known[place]


def ordered(versions: Mapping[Version | None, object] | Sequence[Version | None]) -> list[Version | None]:
    """Versions as numbers, the oldest first; what has none comes before all."""
    return sorted(dict.fromkeys(versions), key=lambda version: (version is not None, version or Version()))


def _asked(questions: Iterable[Question]) -> Asked:
    return frozenset((question.id, question.question) for question in questions)


def _named(run: RunFolder, task: str) -> Path | None:
    """The question file that the run's grid names for a task, seen from here; None where none is there."""
    for entry in run.manifest().get("grid", {}).get("tasks", ()):
        if isinstance(entry, dict) and entry.get("task") == task and isinstance(entry.get("questions"), str):
            path = Path(entry["questions"])
            return path if path.is_file() else None
    return None
