"""Runs the gold programs of questions, several at a time, and says what came of each."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Sequence

from r_eval.environments.base import Environment, EnvironmentFailure
from r_eval.environments.sandbox import Sandbox, answer_text
from r_eval.environments.session import Session
from r_eval.records import Question, Step

AT_ONCE = 4
"""Programs under way; those for which the sandbox has no worker wait in its queue."""


@dataclasses.dataclass(frozen=True, slots=True)
class Solved:
    """What a question's program came to.

    Attributes:
        answer: As the text that is scored; "" where the program failed.
        steps: Its calls, in their order.
        error: Why it gave no answer, in words; "" where it gave one.
    """

    question: Question
    answer: str
    steps: tuple[Step, ...]
    error: str = ""

    @property
    def is_right(self) -> bool:
        """Whether it gave one of the question's golds."""
        return not self.error and any(same_values(self.answer, gold) for gold in self.question.answers)


async def solve(questions: Sequence[Question], environment: Environment, sandbox: Sandbox) -> list[Solved]:
    """Run the programs of those questions that have one; the results are in the questions' order."""
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
    """Whether two answers hold the same values; neither case, spaces nor the order of values counts."""
    first, second = (sorted(" ".join(part.casefold().split()) for part in text.split(";")) for text in (one, other))
    return first == second
