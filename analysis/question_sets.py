"""Of which version of a question set some questions are, and what else that version asks.

A season's version is written next to its question file (`<name>.season.json`), and a run whose grid names such a file
has a copy of it next to its own copy of the questions.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
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
    """What is known of a question set: its version (None without a season), how many questions the version has (0 where
    that is not known), and all of them, where their file is known."""

    version: Version | None = None
    size: int = 0
    questions: Sequence[Question] = ()


class Seasons:
    """The question sets of some files with a season next to them.

    Raises:
        UserError: A file cannot be read, or has no season.
    """

    def __init__(self, files: Iterable[Path] = ()) -> None:
        self._known: list[Known] = []
        for path in files:
            if (season := read_season(path)) is None:
                raise UserError(f"{path} has no season next to it: name question files that r-eval generate wrote")
            self._known.append(Known(Version(season.version), season.count, read_questions(path)))

    def of(self, run: RunFolder, task: str) -> Known:
        """The question set of a run's task; without a version where its questions have no season.

        Raises:
            UserError: The season cannot be read.
        """
        if (season := read_season(run.questions_file(task))) is None:
            return Known()
        version = Version(season.version)
        return next((one for one in self._known if one.version == version), Known(version, season.count))

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
        versions = sorted({known.version for known in found if known.version is not None})
        if len(versions) > 1:
            names = " and ".join(map(str, versions))
            raise UserError(f"{what}: the ids are those of the versions {names}; name one of them")
        return found[0]


@dataclass
class QuestionSet:
    """The questions of a version, over all that is known of it: against these every system is scored.

    Attributes:
        facts: Of each question its type, whether something is known to be relevant, and its cluster.
        sizes: By task, how many questions the version has at least.
    """

    facts: dict[QuestionKey, tuple[str, bool, str]] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)

    def add(self, task: str, questions: Iterable[Question], known: Known) -> None:
        """Count what a run asked, and what else its version asks.

        Raises:
            UserError: A question's text_ids are no list.
        """
        for one in (*known.questions, *questions):
            relevant = bool(one.evidence or text_ids(one))
            self.facts[task, one.id] = (str(one.meta.get("type") or ""), relevant, cluster_of(one))
        self.sizes[task] = max(known.size, self.sizes.get(task, 0))

    def questions(self) -> list[QuestionKey]:
        """Every question; of those that no run asked and no file has, only that they exist."""
        counts = {task: sum(key[0] == task for key in self.facts) for task in self.sizes}
        return [*self.facts, *((task, f"\0{n}") for task in self.sizes for n in range(counts[task], self.sizes[task]))]
