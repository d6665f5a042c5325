"""The questions of a version, over all that is known of it: against these every system is scored."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from r_eval.analysis.leaderboard.versions import Known
from r_eval.analysis.retrieval import text_ids
from r_eval.records import Question

Key = tuple[str, str]
"""Task and question id."""


@dataclass(slots=True)
class QuestionSet:
    """What is asked on a version.

    Attributes:
        types: By task and question id, the question's type; "" where it has none.
        ranked: Questions whose right documents, or evidence, are known.
        shared: By task and question id, what a question shares with others.
    """

    types: dict[str, dict[str, str]] = field(default_factory=dict)
    ranked: set[Key] = field(default_factory=set)
    shared: dict[str, dict[str, str]] = field(default_factory=dict)
    _counts: dict[str, int] = field(default_factory=dict)

    def add(self, task: str, questions: Iterable[Question], of: Known, shared: Mapping[str, str]) -> None:
        """Count what a run asked, and what else its version asks.

        Raises:
            UserError: A question's text_ids are no list.
        """
        types = self.types.setdefault(task, {})
        for question in (*of.questions, *questions):
            types[question.id] = str(question.meta.get("type") or "")
            if question.evidence or text_ids(question):
                self.ranked.add((task, question.id))
        self.shared.setdefault(task, {}).update(shared)
        self._counts[task] = max(of.count, self._counts.get(task, 0))

    def asked(self) -> list[Key]:
        """Every question; of those that no run asked and no file tells, only that they are there."""
        return [
            (task, question)
            for task, types in self.types.items()
            for question in (*types, *(f"\0{place}" for place in range(len(types), self._counts[task])))
        ]

    def type_of(self, key: Key) -> str:
        """The type of a question, "" where it has none or is not known."""
        return self.types[key[0]].get(key[1], "")

    def task_of(self, ids: Iterable[str]) -> str | None:
        """The task that asks the most of some questions; None where none does."""
        wanted = set(ids)
        found = {task: len(wanted & types.keys()) for task, types in self.types.items()}
        best = max(found, key=lambda task: found[task], default=None)
        return best if best is not None and found[best] else None
