"""Of which version of a question set some questions are, and what else that version asks.

A season's version is written beside its question file (`<name>.season.json`), and a run whose grid names such a file
has a copy of it beside its own copy of the questions. Where there is none, the questions are recognised: they are of
the season whose file has all of them, word for word. Looked at are the files that are named, and the file that the
run's grid names, where it still exists.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from packaging.version import Version

from r_eval.analysis.frame import cluster_of
from r_eval.analysis.qrels import text_ids
from r_eval.errors import UserError
from r_eval.folder import RunFolder
from r_eval.records import Question
from r_eval.tasks.questions import read_questions
from r_eval.tasks.seasons import read_season

QuestionKey = tuple[str, str]
"""Task and question id."""


class Known(NamedTuple):
    """What is known of a question set.

    Attributes:
        version: None where it is of no known season.
        size: How many questions the version has; 0 where that is not known.
        questions: All of them, where their file is known.
    """

    version: Version | None = None
    size: int = 0
    questions: tuple[Question, ...] = ()


class Seasons:
    """Knows of which version questions are: by the season beside a run's copy, or word for word by question files.

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
        for entry in run.manifest().get("grid", {}).get("tasks", ()):
            if isinstance(entry, dict) and entry.get("task") == task and isinstance(entry.get("questions"), str):
                path = Path(entry["questions"])
                if path.is_file():
                    self._read(path)
        texts = _texts(run.questions(task))
        found = [one for one in self._known.values() if one is not None and texts and texts <= _texts(one.questions)]
        copy = run.questions_file(task)
        if copy.exists() and (season := read_season(copy)) is not None:
            version = Version(season.version)
            return next((one for one in found if one.version == version), Known(version, season.count))
        return _only(found, f"{run.path}: the questions of {task}")

    def having(self, ids: Collection[str], what: str) -> Known:
        """The question set that has some ids.

        Args:
            what: Whose ids they are, for messages.

        Raises:
            UserError: No set that is known has any of them, or two versions have.
        """
        found = [one for one in self._known.values() if one and any(question.id in ids for question in one.questions)]
        if not found:
            raise UserError(f"{what}: no known season has a question of these ids; name its private file with --season")
        return _only(found, f"{what}: the ids")

    def _read(self, path: Path) -> Known | None:
        place = path.resolve()
        if place not in self._known:
            season = read_season(path)
            questions = tuple(read_questions(path)) if season is not None else ()
            self._known[place] = Known(Version(season.version), season.count, questions) if season else None
        return self._known[place]


def _only(found: Sequence[Known], what: str) -> Known:
    versions = sorted({known.version for known in found if known.version is not None})
    if len(versions) > 1:
        raise UserError(f"{what} are those of the versions {' and '.join(map(str, versions))}; name one of them")
    return found[0] if found else Known()


def _texts(questions: Iterable[Question]) -> frozenset[tuple[str, str]]:
    return frozenset((question.id, question.question) for question in questions)


class QuestionSet:
    """The questions of a version, over all that is known of it: against these every system is scored."""

    def __init__(self) -> None:
        # type, whether something is known to be relevant, cluster
        self.facts: dict[QuestionKey, tuple[str, bool, str]] = {}
        self._counts: dict[str, int] = {}

    def add(self, task: str, questions: Iterable[Question], known: Known) -> None:
        """Count what a run asked, and what else its version asks.

        Raises:
            UserError: A question's text_ids are no list.
        """
        for one in (*known.questions, *questions):
            relevant = bool(one.evidence or text_ids(one))
            self.facts[task, one.id] = (str(one.meta.get("type") or ""), relevant, cluster_of(one))
        self._counts[task] = max(known.size, self._counts.get(task, 0))

    def questions(self) -> list[QuestionKey]:
        """Every question; of those that no run asked and no file tells, only that they are there."""
        sizes = {task: sum(key[0] == task for key in self.facts) for task in self._counts}
        unseen = [(task, f"\0{n}") for task, size in sizes.items() for n in range(size, self._counts[task])]
        return [*self.facts, *unseen]

    def task_of(self, ids: Collection[str]) -> str:
        """The task that asks the most of some questions; "" where none does."""
        found = {task: sum((task, one) in self.facts for one in ids) for task in self._counts}
        best = max(found, key=lambda task: found[task], default="")
        return best if best and found[best] else ""
