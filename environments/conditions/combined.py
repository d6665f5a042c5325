"""Several conditions at once; none of them is `clean`, the environment as it is."""

from __future__ import annotations

import dataclasses
from collections import Counter
from typing import Any

from r_eval.environments.base import Environment
from r_eval.environments.conditions.base import Condition
from r_eval.records import Question
from r_eval.seeds import Seeds


@dataclasses.dataclass(frozen=True)
class Combined:
    """What a cell is run under: any number of conditions, each around what those before it made.

    Attributes:
        name: As cells and records call it.
    """

    name: str
    parts: tuple[Condition, ...]

    def identity(self) -> Any:
        """What decides an episode, as plain data; empty for the bare environment."""
        return [[part.name, part.identity()] for part in self.parts] or {}

    @property
    def changes_questions(self) -> bool:
        """Whether some part may change or drop a question."""
        return any(type(part).question is not Condition.question for part in self.parts)

    def dropped(self) -> Counter[str]:
        """The questions that the parts have dropped so far, by reason, as far as they count them."""
        counts: Counter[str] = Counter()
        for part in self.parts:
            counts.update(getattr(part, "dropped", {}))
        return counts

    def question(self, question: Question, environment: Environment) -> Question | None:
        """The question as it is asked; None where some part drops it.

        Raises:
            ValueError: A part gives it another id, by which nothing would find it again.
        """
        for part in self.parts:
            asked = part.question(question, environment)
            if asked is None:
                return None
            if asked.id != question.id:
                raise ValueError(f"the condition {part.name} changes the id of the question '{question.id}'")
            question = asked
        return question

    def environment(self, environment: Environment, question: Question, seeds: Seeds) -> Environment:
        """The environment of one episode; the bare one itself where there is no part."""
        for part in self.parts:
            environment = part.environment(environment, question, seeds)
        return environment


CLEAN = Combined("clean", ())
"""The environment as it is."""
