"""Questions of one file with the same thing amiss, as one finding that names the first of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path

from r_eval.checking.finding import Finding, Severity, counted, shown
from r_eval.records import Question

NAMED = 3


@dataclasses.dataclass(frozen=True)
class Group:
    """What is amiss with some questions.

    Attributes:
        what: Follows "3 questions (a, b, c) with ".
    """

    severity: Severity
    what: str
    todo: str
    questions: Sequence[Question]


@dataclasses.dataclass(frozen=True)
class QuestionFile:
    """A question file that is being checked.

    Attributes:
        target: As it was typed.
        lines: The line of each question, by its id.
    """

    target: str
    path: Path
    questions: Sequence[Question]
    lines: Mapping[str, int]

    def finding(self, group: Group) -> Finding:
        """The finding of a group that is not empty, at the line of its first question."""
        first = group.questions[0]
        place = f"{shown(self.path)}:{self.lines.get(first.id, 1)}"
        return Finding(self.target, place, group.severity, f"{some(group.questions)} with {group.what}", group.todo)

    def findings(self, groups: Sequence[Group]) -> list[Finding]:
        """The findings of the groups that are not empty."""
        return [self.finding(group) for group in groups if group.questions]

    def note(self, what: str) -> Finding:
        return Finding(self.target, shown(self.path), "note", what)


def some(questions: Sequence[Question]) -> str:
    """`2 questions (a, b)`; no more than three are named."""
    ids = ", ".join(q.id for q in questions[:NAMED])
    return f"{counted(len(questions), 'question')} ({ids}{', ...' if len(questions) > NAMED else ''})"
