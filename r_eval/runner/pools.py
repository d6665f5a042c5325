"""Where the episodes of an LLM are carried out: a pool for each LLM of a run, in this process or elsewhere (`ray`)."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from r_eval.errors import UserError
from r_eval.isolation import describe
from r_eval.llms.base import LLM, LLMError
from r_eval.records import Episode, Question
from r_eval.runner.episode import Resources, run_episode
from r_eval.runner.named import NO_LLM
from r_eval.runner.plan import Plan, PlannedCell

LLM_FREE_WORKERS = 2
"""Concurrent episodes of workflows that use no LLM."""


@dataclasses.dataclass(frozen=True)
class EpisodePool:
    """Carries out the episodes of one LLM, at most `size` at once."""

    size: int
    run_episode: Callable[[PlannedCell, Question, int], Awaitable[Episode]]


class Engine(Protocol):
    """Where episodes are carried out; records none of them."""

    def pool(self, llm: str) -> AbstractAsyncContextManager[EpisodePool]:
        """The pool of an LLM of the plan, which is open for the time of the block.

        Raises:
            LLMError: The LLM cannot be opened.
        """

    async def watch(self) -> None:
        """Runs beside the episodes, and raises once none can be carried out any more."""


@dataclasses.dataclass
class LocalEngine:
    """Carries out episodes in this process, concurrently in its event loop."""

    plan: Plan
    resources: Resources

    @contextlib.asynccontextmanager
    async def pool(self, llm: str) -> AsyncIterator[EpisodePool]:
        if llm == NO_LLM:
            yield self._pool(None, LLM_FREE_WORKERS)
            return
        opened = self.plan.llms[llm]
        try:
            try:
                await opened.open()
            except (LLMError, UserError):
                raise
            except Exception as error:
                raise LLMError("request", f"{opened.name} cannot be opened: {describe(error)}") from error
            yield self._pool(opened, opened.connections)
        finally:
            await opened.close()

    def _pool(self, llm: LLM | None, size: int) -> EpisodePool:
        return EpisodePool(size, lambda cell, question, epoch: run_episode(cell, question, epoch, llm, self.resources))

    async def watch(self) -> None:
        await asyncio.Event().wait()
