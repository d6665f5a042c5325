"""Runs the gold programs of many questions again, several at a time, and says what came of each."""

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


async def solve(questions: Sequence[Question], environment: Environment, sandbox: Sandbox) -> list[Solved]:
    """Run the programs of those questions that have one; the results stand in the questions' order."""
    places = asyncio.Semaphore(AT_ONCE)

    async def one(question: Question) -> Solved:
        async with places:
            return await _solve(question, environment, sandbox)

    return list(await asyncio.gather(*(one(q) for q in questions if q.program)))


async def _solve(question: Question, environment: Environment, sandbox: Sandbox) -> Solved:
    steps: list[Step] = []
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


def same_values(one: str, other: str) -> bool:
    """Whether two answers hold the same values; neither case, spaces nor the order of values counts."""
    return _values(one) == _values(other)


def _values(text: str) -> list[str]:
    return sorted(" ".join(value.casefold().split()) for value in text.split(";"))
