"""What the runner needs of an engine: lanes that carry out episodes."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import Protocol

from r_eval.records import Episode, Question
from r_eval.runner.plan import PlannedCell


class Lane(Protocol):
    """All that one LLM answers.

    Attributes:
        places: How many episodes may be under way at the same time.
    """

    places: int

    async def carry_out(self, cell: PlannedCell, question: Question, epoch: int) -> Episode:
        """Run one episode; whatever goes wrong in it stands in its record."""


class Engine(Protocol):
    """Carries out episodes, and records none of them."""

    def lane(self, llm: str) -> AbstractAsyncContextManager[Lane]:
        """Make an LLM of the plan ready; it is put away at the end of the block."""
