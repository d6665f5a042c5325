"""Where the episodes of an LLM are carried out: a pool for each LLM of a run, in this process or elsewhere (`ray`)."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from r_eval.errors import UserError
from r_eval.isolation import describe
from r_eval.llms.base import LLM, LLMError
from r_eval.records import Episode, Question
from r_eval.runner.episode import Resources, run_episode
from r_eval.runner.plan import NO_LLM, Plan, PlannedCell

LLM_FREE_WORKERS = 2
"""Episodes at once of workflows that use no LLM."""


class EpisodePool(Protocol):
    """Whatever carries out the episodes of one LLM, at most `size` at once."""

    size: int

    async def run_episode(self, cell: PlannedCell, question: Question, epoch: int) -> Episode: ...


class Engine(Protocol):
    """Where episodes are carried out; records none of them."""

    def pool(self, llm: str) -> AbstractAsyncContextManager[EpisodePool]:
        """The pool of an LLM of the plan, which is opened for the time of the block.

        Raises:
            LLMError: The LLM cannot be opened.
        """

    async def watch(self) -> None:
        """Runs beside the episodes, and raises once none can be carried out any more."""


@dataclasses.dataclass
class LocalEngine:
    """Carries out episodes in this process, side by side in its event loop."""

    plan: Plan
    resources: Resources

    @contextlib.asynccontextmanager
    async def pool(self, llm: str) -> AsyncIterator[EpisodePool]:
        if llm == NO_LLM:
            yield LocalPool(self.resources, None, LLM_FREE_WORKERS)
            return
        opened = self.plan.llms[llm]
        try:
            try:
                await opened.open()
            except (LLMError, UserError):
                raise
            except Exception as error:
                raise LLMError("request", f"{opened.name} cannot be opened: {describe(error)}") from error
            yield LocalPool(self.resources, opened, opened.connections)
        finally:
            await opened.close()

    async def watch(self) -> None:
        await asyncio.Event().wait()


@dataclasses.dataclass
class LocalPool:
    """The episodes of one LLM, which is open."""

    resources: Resources
    llm: LLM | None
    size: int

    async def run_episode(self, cell: PlannedCell, question: Question, epoch: int) -> Episode:
        return await run_episode(cell, question, epoch, self.llm, self.resources)
