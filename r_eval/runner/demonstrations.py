"""Demonstrations: written once as question + gold program, worked out by running the program.

Each workflow renders what comes of it in its own notation, so that all of them see the same examples and nobody
writes few-shot text by hand.
"""

from __future__ import annotations

from collections.abc import Iterable

from r_eval.environments.base import Environment
from r_eval.environments.sandbox import Sandbox
from r_eval.environments.session import CHARACTERS_A_TOKEN, Session, cut
from r_eval.errors import UserError
from r_eval.records import Question, Step
from r_eval.workflows.base import Demonstration


async def work_out(
    questions: Iterable[Question], environment: Environment, sandbox: Sandbox, observation: int
) -> tuple[Demonstration, ...]:
    """Run the programs of demonstrations and keep the calls that they really make.

    Args:
        observation: Tokens after which an observation is cut, as in the episodes.

    Raises:
        UserError: A demonstration has no program, or its program fails.
    """
    shown = []
    for question in questions:
        if not question.program:
            raise UserError(f"demonstration '{question.id}' has no program")
        calls: list[Step] = []
        session = Session(environment.for_documents(question.context), sandbox, calls.append)
        result = await session.run_program(question.program)
        if result.error is not None:
            raise UserError(f"demonstration '{question.id}': its program fails: {result.error.message}")
        for call in calls:
            call.observation = cut(call.observation or "", observation * CHARACTERS_A_TOKEN)
        shown.append(Demonstration(question.question, question.program, tuple(calls), question.answers[0]))
    return tuple(shown)
