"""Demonstrations: written once as question + gold program, worked out by running the program.

Each workflow renders what comes of it in its own notation, so that all of them see the same examples without
hand-written few-shot text.
"""

from __future__ import annotations

import io
import tokenize
from collections.abc import Container, Iterable, Sequence
from itertools import pairwise

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
    made = []
    for question in questions:
        if not question.program:
            raise UserError(f"demonstration '{question.id}' has no program")
        calls: list[Step] = []
        session = Session(environment.for_documents(question.context), sandbox, calls.append)
        try:
            result = await session.run_program(question.program)
        finally:
            session.close()
        if result.error is not None:
            raise UserError(f"demonstration '{question.id}': its program fails: {result.error.message}")
        for call in calls:
            call.observation = cut(call.observation or "", observation * CHARACTERS_A_TOKEN)
        thoughts = reasoning(question.program, [call.api or "" for call in calls], session.specs)
        made.append(Demonstration(question.question, question.program, tuple(calls), question.answers[0], thoughts))
    return tuple(made)


def reasoning(program: str, calls: Sequence[str], apis: Container[str]) -> tuple[str, ...]:
    """What a program's comments say before each of the calls that it made, and before its answer.

    A comment belongs to the first call of an API in the statements after it; for a call in a loop it comes before the
    first one. What follows the last call is said before the answer.

    Args:
        calls: The APIs' names, in the order of the calls.
        apis: The names of all APIs.
    """
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(program).readline))
    except (tokenize.TokenError, SyntaxError):  # the sandbox reads a newer Python than ours
        return ("",) * (len(calls) + 1)
    sites: list[tuple[str, str]] = []
    waiting: list[str] = []
    for token, after in pairwise(tokens):
        if token.type == tokenize.COMMENT:
            waiting.append(token.string.lstrip("#").strip())
        elif token.type == tokenize.NAME and after.string == "(" and token.string in apis:
            sites.append((token.string, " ".join(filter(None, waiting))))
            waiting = []
    thoughts = []
    for call in calls:
        found = next((site for site in sites if site[0] == call), None)
        thoughts.append(found[1] if found else "")
        if found:
            sites.remove(found)
    return (*thoughts, " ".join(filter(None, waiting)))
