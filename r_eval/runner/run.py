"""Runs a grid: every LLM has a lane of its own with as many workers as it takes connections, so that a slow one holds
nobody else up; records go to the run folder as they come; what is there already is not run again.
"""

from __future__ import annotations

import asyncio
import collections
import contextlib
from collections.abc import Callable, Coroutine, Iterable, Iterator
from pathlib import Path
from typing import Any

from r_eval.engines.base import Engine, Lane
from r_eval.engines.local import Local
from r_eval.environments.sandbox import Sandbox
from r_eval.folder import Cell, RunFolder
from r_eval.grid import Grid
from r_eval.llms.answers import Memory
from r_eval.llms.cache import ReplyCache
from r_eval.records import Question
from r_eval.runner.demonstrations import work_out
from r_eval.runner.plan import NO_LLM, Plan, PlannedCell, resolve
from r_eval.runner.store import Store
from r_eval.runner.watching import Silent, Watcher


class Runner:
    """One grid being run in one folder.

    `stop` lets the episodes under way finish and begins no new ones.
    """

    def __init__(self, plan: Plan, store: Store, engine: Engine, watcher: Watcher) -> None:
        self.plan, self.store, self.engine, self.watcher = plan, store, engine, watcher
        self.stopping = False
        self._left: collections.Counter[Cell] = collections.Counter()

    def stop(self) -> None:
        self.stopping = True

    async def run(self) -> None:
        """Run everything that is missing."""
        done = {c.cell: self.store.count(c) for c in self.plan.cells}
        self.watcher.started(self.plan, done)
        if self.store.crashed:
            for cell in self.plan.cells:
                if not self.store.missing(cell):
                    self.store.complete(cell)
        await _all(self._lane(name) for name in (*self.plan.llms, NO_LLM))

    async def _lane(self, llm: str) -> None:
        cells = [c for c in self.plan.llm_cells(llm) if self.store.missing(c)]
        if not cells:
            return
        work = self._work(cells)
        async with self.engine.lane(llm) as lane:
            await _all(self._worker(work, lane) for _ in range(lane.places))

    def _work(self, cells: list[PlannedCell]) -> Iterator[tuple[PlannedCell, Question, int]]:
        """The missing episodes, cell by cell; made as they are taken, so that a million of them are never listed."""
        for cell in cells:
            missing = self.store.missing(cell)
            self._left[cell.cell] = len(missing)
            for question, epoch in missing:
                if self.stopping:
                    return
                yield cell, question, epoch

    async def _worker(self, work: Iterator[tuple[PlannedCell, Question, int]], lane: Lane) -> None:
        for cell, question, epoch in work:
            episode = await lane.carry_out(cell, question, epoch)
            self.store.append(cell, episode)
            self.watcher.finished(episode)
            self._left[cell.cell] -= 1
            if self._left[cell.cell] == 0:
                self.store.complete(cell)


async def _all(jobs: Iterable[Coroutine[Any, Any, None]]) -> None:
    """Carry out several jobs at the same time; an exception in one ends the others before it is raised."""
    tasks = [asyncio.ensure_future(job) for job in jobs]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@contextlib.contextmanager
def _cache(store: Store, wanted: bool | None) -> Iterator[ReplyCache | None]:
    """The cache while a run goes on; None where none is wanted."""
    if wanted is False:
        yield None
        return
    with contextlib.closing(ReplyCache(store.name_in_cache)) as opened:
        yield opened


async def arun(
    grid: Grid,
    out: str | Path | None = None,
    *,
    limit: int | None = None,
    connections: int | None = None,
    fresh: bool = False,
    cache: bool | None = None,
    watcher: Watcher | None = None,
    on_runner: Callable[[Runner], None] | None = None,
) -> RunFolder:
    """Run a grid, or go on with it; returns the run's folder.

    Args:
        out: The run's folder; `runs/<grid name>` by default. What is recorded there already is kept.
        limit: Keep only the first so many questions of every task.
        connections: Requests at once, for every LLM, in place of its own number.
        fresh: Move what is in the folder aside and begin again.
        cache: Whether replies of earlier runs are taken and new ones kept (see `r_eval.llms.cache`); by default for
            LLMs whose temperature is 0.
        watcher: Is told what happens.
        on_runner: Called with the `Runner` before it starts, for stopping it.

    Raises:
        UserError: The grid is wrong, or the folder holds a run that differs from it.
    """
    plan = resolve(grid, limit)
    needed = {cell.cell.llm for cell in plan.cells}
    for name, llm in plan.llms.items():
        if name in needed:
            await asyncio.to_thread(llm.fetch)
    folder = RunFolder(out if out is not None else Path("runs") / grid.name)
    with Sandbox() as sandbox:
        cut = plan.limits.observation
        shown = {p.task.name: await work_out(p.shown, p.home or p.environment, sandbox, cut) for p in plan.tasks}
        with Store(folder, plan, fresh) as store, _cache(store, cache) as kept:
            memory = Memory(store.replies, kept, cache is True, store.spent)
            told = watcher or Silent()
            runner = Runner(plan, store, Local(plan, sandbox, shown, memory, told, connections), told)
            if on_runner is not None:
                on_runner(runner)
            store.write_manifest("running")
            state = "interrupted"
            try:
                await runner.run()
                state = "complete" if store.is_complete() else "interrupted" if runner.stopping else "incomplete"
            finally:
                store.write_manifest(state)
    return folder
