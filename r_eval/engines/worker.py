"""A worker: one process on some machine that carries out episodes of one LLM as `Local` does, and writes no file.

It resolves the grid itself, so the files that the grid names, and the same R-Eval, must be where it runs; the
fingerprints tell whether they are.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import platform
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

from r_eval.engines.local import Local, LocalLane
from r_eval.engines.messages import Done, Kept, Message, Order, Readiness
from r_eval.engines.remembering import FarMemory, Notebook, Outbox
from r_eval.environments.sandbox import Sandbox
from r_eval.errors import UserError
from r_eval.folder import Cell
from r_eval.grid import Grid
from r_eval.llms.base import LLMError, Reply
from r_eval.records import MACHINERY, Question
from r_eval.runner.episode import episode_id
from r_eval.runner.plan import NO_LLM, Plan, PlannedCell, resolve
from r_eval.runner.watching import Silent

A_MINUTE = ("requests_per_minute", "tokens_per_minute")


class Worker:
    """Lives in a process of its own; every method is called from afar."""

    def __init__(self, order: Order) -> None:
        self._order = order
        self._outbox = Outbox()
        self._notebook = Notebook(self._outbox)
        self._open = contextlib.AsyncExitStack()
        self._lane: LocalLane
        self._cells: dict[Cell, PlannedCell] = {}
        self._questions: dict[str, dict[str, Question]] = {}

    async def open(self) -> Readiness:
        """Get ready: resolve the grid, open the LLM."""
        order = self._order
        for name, value in order.variables.items():
            os.environ.setdefault(name, value)
        if Path(order.folder).is_dir():
            os.chdir(order.folder)
        try:
            plan = await asyncio.to_thread(resolve, shared(order.grid, order.sharing), order.limit)
            self._cells = {c.cell: c for c in plan.llm_cells(order.llm)}
            compare(self._cells, order.cells)
            if order.llm != NO_LLM:
                await asyncio.to_thread(plan.llms[order.llm].fetch)
            await self._enter(plan)
        except UserError as error:
            return Readiness("user", text=f"on the machine {platform.node()}: {error}")
        trouble = self._lane.unavailable
        return Readiness("llm", trouble.cause, str(trouble)) if trouble else Readiness()

    async def _enter(self, plan: Plan) -> None:
        order = self._order
        self._questions = {p.task.name: {q.id: q for q in p.asked} for p in plan.tasks}
        memory = FarMemory(None, None, order.cache_all, {}, self._outbox, self._notebook, order.cache)
        sandbox = self._open.enter_context(Sandbox())
        local = Local(plan, sandbox, order.demonstrations, memory, Silent(), order.places)
        self._lane = await self._open.enter_async_context(local.lane(order.llm))

    async def carry_out(self, cell: Cell, question_id: str, epoch: int, kept: Kept) -> Done:
        """Run one episode; `kept` are the replies that it had in an attempt that was broken off."""
        planned = self._cells[cell]
        question = self._questions[cell.task][question_id]
        key = episode_id(planned, question, epoch)
        self._notebook.begin(key, kept)
        try:
            episode = await self._lane.carry_out(planned, question, epoch)
        finally:
            made = self._notebook.end(key, kept)
        return Done(episode, made if episode.outcome.kind in MACHINERY else [])

    async def messages(self) -> AsyncIterator[list[Message]]:
        """What the run's own process is to know, as it comes; ends after `close`."""
        async for batch in self._outbox.batches():
            yield batch

    async def answered(self, key: str, found: tuple[Reply, float] | None) -> None:
        """What the cache holds under a key."""
        self._outbox.answered(key, found)

    async def close(self) -> None:
        """Put the LLM away, and end the messages."""
        try:
            with contextlib.suppress(LLMError):
                await self._open.aclose()
        finally:
            self._outbox.close()


def shared(grid: Grid, workers: int) -> Grid:
    """A grid in which limits a minute are divided among so many workers."""
    if workers == 1:
        return grid
    copy = grid.model_copy(deep=True)
    for entry in copy.llms:
        settings: dict[str, Any] = entry.model_extra or {}
        for key in A_MINUTE:
            if isinstance(settings.get(key), int):
                settings[key] = max(1, settings[key] // workers)
    return copy


def compare(here: Mapping[Cell, PlannedCell], there: Mapping[Cell, Mapping[str, str]]) -> None:
    """See that the grid means the same on this machine as where the run was begun.

    Raises:
        UserError: It does not.
    """
    for cell, parts in there.items():
        own = here[cell].parts if cell in here else {}
        changed = ", ".join(key for key, value in parts.items() if own.get(key) != value)
        if changed:
            raise UserError(
                f"the grid means something else here than where the run was begun: other {changed} "
                f"(cell {cell.system} on {cell.task}). The same R-Eval and the same files must be on every machine"
            )
