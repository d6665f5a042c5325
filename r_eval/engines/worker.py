"""A worker: one process on some machine that carries out episodes of one LLM as `Local` does.

It writes nothing but its machine's reply store, from which an episode that runs again there is resumed.

It resolves the grid itself, so the files that the grid names, and the same R-Eval, must be where it runs; the
fingerprints tell whether they are.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import os
import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from r_eval.engines.local import Local, LocalLane
from r_eval.engines.messages import Done, Order, Readiness
from r_eval.environments.sandbox import Sandbox
from r_eval.errors import UserError
from r_eval.folder import Cell
from r_eval.grid import Grid
from r_eval.llms.base import LLMError
from r_eval.llms.replay import LLMUsage, ReplyStores
from r_eval.llms.reply_store import ReplyStore
from r_eval.records import Question
from r_eval.runner.plan import NO_LLM, Plan, PlannedCell, resolve
from r_eval.runner.watching import Silent

A_MINUTE = ("requests_per_minute", "tokens_per_minute")


class Worker:
    """Lives in a process of its own; every method is called from afar."""

    def __init__(self, order: Order) -> None:
        self._order = order
        self._closed = asyncio.Event()
        self._open = contextlib.AsyncExitStack()
        self._lane: LocalLane
        self._cells: dict[Cell, PlannedCell] = {}
        self._questions: dict[str, dict[str, Question]] = {}
        self._reported = LLMUsage()

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
        store = self._open.enter_context(contextlib.closing(ReplyStore()))
        self._replies = ReplyStores(store, order.run, order.cache, order.cache_all)
        sandbox = self._open.enter_context(Sandbox())
        local = Local(plan, sandbox, order.demonstrations, self._replies, Silent(), order.places)
        self._lane = await self._open.enter_async_context(local.lane(order.llm))

    async def carry_out(self, cell: Cell, question_id: str, epoch: int) -> Done:
        """Run one episode."""
        question = self._questions[cell.task][question_id]
        episode = await self._lane.carry_out(self._cells[cell], question, epoch)
        usage = self._replies.usage.setdefault(self._order.llm, LLMUsage())
        new, self._reported = usage.since(self._reported), dataclasses.replace(usage)
        return Done(episode, new)

    async def closed(self) -> None:
        """Return once this worker is closed."""
        await self._closed.wait()

    async def close(self) -> None:
        """Put the LLM away."""
        try:
            with contextlib.suppress(LLMError):
                await self._open.aclose()
        finally:
            self._closed.set()


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
