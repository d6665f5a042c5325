"""A small environment for the tests of conditions, and how a call of it goes."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

from r_eval.environments.base import Environment, NotFound, query_api
from r_eval.environments.conditions.base import Condition
from r_eval.environments.conditions.combined import Combined
from r_eval.environments.sandbox import Sandbox
from r_eval.environments.session import CallResult, Session
from r_eval.records import Question
from r_eval.seeds import Seeds

QUESTION = Question(id="q1", question="Who wrote it?", answers=["Ada"], level="KS")


class Shelves(Environment):
    """Books on shelves."""

    @query_api
    def books(self, author: str) -> list[str]:
        """List an author's books.

        Args:
            author: The author's name.
        """
        if author == "nobody":
            raise NotFound("There are no books by nobody.")
        return [f"{author} {number}" for number in range(10)]

    @query_api
    def count(self) -> int:
        """How many books there are."""
        return 7


Call = tuple[str, dict[str, Any]]
BOOKS: Call = ("books", {"author": "Ada"})


def environment_under(condition: Condition, inner: Environment, seeds: Seeds, question: Question) -> Environment:
    """The environment of an episode of a question as it is asked under a condition."""
    combined = Combined(condition.name, (condition,))
    planned = combined.question(question, inner.for_documents(question.context))
    assert planned is not None
    return combined.environment(inner.for_documents(question.context), planned, seeds)


def under(condition: Condition, calls: Iterable[Call], epoch: int = 0) -> list[CallResult]:
    """What calls come to in one episode under a condition."""
    environment = environment_under(condition, Shelves(), Seeds(0, QUESTION.id, epoch), QUESTION)

    async def made() -> list[CallResult]:
        with Sandbox() as sandbox:
            session = Session(environment, sandbox)
            return [await session.call(api, arguments) for api, arguments in calls]

    return asyncio.run(made())
