"""Where the episodes of an LLM are carried out: a pool for each LLM of a run, in this process or elsewhere (`ray`)."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
from collections.abc import AsyncIterator, Awaitable, Callable

from r_eval.errors import UserError
from r_eval.isolation import describe
from r_eval.llms.base import LLM, LLMError
from r_eval.records import Episode, Question
from r_eval.runner.episode import Resources, run_episode
from r_eval.runner.grid_entries import NO_LLM
from r_eval.runner.plan import Plan, PlannedCell

LLM_FREE_WORKERS = 2
"""Concurrent episodes of workflows that use no LLM."""


@dataclasses.dataclass(frozen=True)
class EpisodePool:
    """Carries out the episodes of one LLM, at most `size` at once."""

    size: int
    run_episode: Callable[[PlannedCell, Question, int], Awaitable[Episode]]


@contextlib.asynccontextmanager
async def local_pool(plan: Plan, resources: Resources, llm: str) -> AsyncIterator[EpisodePool]:
    """The pool of an LLM of the plan in this process; the LLM is open for the time of the block.

    Raises:
        LLMError: The LLM cannot be opened.
    """
    opened: LLM | None = plan.llms[llm] if llm != NO_LLM else None
    try:
        if opened is not None:
            try:
                await opened.open()
            except (LLMError, UserError):
                raise
            except Exception as error:
                raise LLMError("request", f"{opened.name} cannot be opened: {describe(error)}") from error
        size = opened.connections if opened is not None else LLM_FREE_WORKERS
        yield EpisodePool(size, functools.partial(run_episode, llm=opened, resources=resources))
    finally:
        if opened is not None:
            await opened.close()
