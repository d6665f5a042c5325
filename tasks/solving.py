"""Runs the gold programs of questions in parallel."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Sequence

from r_eval.environments.base import Environment, EnvironmentFailure
from r_eval.environments.sandbox import Sandbox, answer_text
from r_eval.environments.session import Session
from r_eval.records import Question, Step

AT_ONCE = 4
"""Maximum number of programs in parallel; the sandbox queues those without a free worker."""


@dataclasses.dataclass(frozen=True, slots=True)
class Solved:
    """The result of a question's program.

    Attributes:
        answer: The answer as text; "" if the program failed.
        steps: Its calls in order.
        error: Why it has no answer; "" if it has one.
    """

    question: Question
    answer: str
    steps: tuple[Step, ...]
    error: str = ""

    @property
    def is_right(self) -> bool:
        """Whether the answer is one of the question's golds."""
        return not self.error and any(same_values(self.answer, gold) for gold in self.question.answers)


async def solve(questions: Sequence[Question], environment: Environment, sandbox: Sandbox) -> list[Solved]:
    """Run the programs of questions that have one; returns the results in order."""
    places = asyncio.Semaphore(AT_ONCE)

    async def run(question: Question) -> Solved:
        steps: list[Step] = []
        async with places:
            session = Session(environment.for_documents(question.context), sandbox, steps.append)
            try:
                result = await session.run_program(question.program or "")
            except EnvironmentFailure as failure:
                return Solved(question, "", tuple(steps), f"the environment failed: {failure}")
            finally:
                session.close()
        if result.error is not None:
            return Solved(question, "", tuple(steps), result.error.message)
        answer = answer_text(result.answer).strip()
        return Solved(question, answer, tuple(steps), "" if answer else "it gives an empty answer")

    return list(await asyncio.gather(*(run(question) for question in questions if question.program)))


def same_values(one: str, other: str) -> bool:
    """Whether two answers have the same values, ignoring case, spaces and order."""
    first, second = (sorted(" ".join(part.casefold().split()) for part in text.split(";")) for text in (one, other))
    return first == second
