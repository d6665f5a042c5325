"""Of which version of a question set some questions are, and what else that version asks.

A season's version is written beside its question file (`<name>.season.json`), and a run whose grid names such a file
has a copy of it beside its own copy of the questions. Where there is none, the questions are recognised among the files
that are named: they are of the season whose file has all of them, word for word.
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
    questions: Sequence[Question] = ()


class Seasons:
    """Knows of which version questions are: by the season beside a run's copy, or word for word by question files.

    Args:
        files: Question files with a season beside them.

    Raises:
        UserError: A file cannot be read, or has no season.
    """

    def __init__(self, files: Iterable[Path] = ()) -> None:
        self._known: list[Known] = []
        for path in files:
            if (season := read_season(path)) is None:
                raise UserError(f"{path} has no season beside it: name question files that r-eval generate wrote")
            self._known.append(Known(Version(season.version), season.count, read_questions(path)))

    def of(self, run: RunFolder, task: str) -> Known:
        """The question set that a run asked in a task; without a version where no season has the questions.

        Raises:
            UserError: A question or a season cannot be read, or two versions have the same questions.
        """
        texts = _texts(run.questions(task))
        found = [one for one in self._known if texts and texts <= _texts(one.questions)]
        if (season := read_season(run.questions_file(task))) is not None:
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
        found = [one for one in self._known if any(question.id in ids for question in one.questions)]
        if not found:
            raise UserError(f"{what}: no known season has a question of these ids; name its private file with --season")
        return _only(found, f"{what}: the ids")


def _only(found: Sequence[Known], what: str) -> Known:
    versions = sorted({known.version for known in found if known.version is not None})
    if len(versions) > 1:
        raise UserError(f"{what} are those of the versions {' and '.join(map(str, versions))}; name one of them")
    return found[0] if found else Known()


def _texts(questions: Iterable[Question]) -> frozenset[tuple[str, str]]:
    return frozenset((question.id, question.question) for question in questions)


class QuestionSet:
    """The questions of a version, over all that is known of it: against these every system is scored.

    Attributes:
        facts: Of each question its type, whether something is known to be relevant, and its cluster.
    """

    def __init__(self) -> None:
        self.facts: dict[QuestionKey, tuple[str, bool, str]] = {}
        self._sizes: dict[str, int] = {}

    def add(self, task: str, questions: Iterable[Question], known: Known) -> None:
        """Count what a run asked, and what else its version asks.

        Raises:
            UserError: A question's text_ids are no list.
        """
        for one in (*known.questions, *questions):
            relevant = bool(one.evidence or text_ids(one))
            self.facts[task, one.id] = (str(one.meta.get("type") or ""), relevant, cluster_of(one))
        self._sizes[task] = max(known.size, self._sizes.get(task, 0))

    def questions(self) -> list[QuestionKey]:
        """Every question; of those that no run asked and no file tells, only that they are there."""
        counts = {task: sum(key[0] == task for key in self.facts) for task in self._sizes}
        return [
            *self.facts,
            *((task, f"\0{n}") for task, size in self._sizes.items() for n in range(counts[task], size)),
        ]

    def task_of(self, ids: Collection[str]) -> str:
        """The first task that asks one of some questions; "" where none does."""
        return next((task for task in self._sizes if any((task, one) in self.facts for one in ids)), "")
