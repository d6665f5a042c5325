"""Runs a grid: every LLM has a lane of its own with as many workers as it takes connections, so that a slow one holds
nobody else up; records go to the run folder as they come; what is there already is not run again.
"""

from __future__ import annotations

import asyncio
import collections
import contextlib
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

from r_eval.environments.sandbox import Sandbox
from r_eval.folder import Cell, RunFolder
from r_eval.grid import Grid
from r_eval.llms.answers import Memory
from r_eval.llms.base import LLM, LLMError
from r_eval.llms.cache import ReplyCache
from r_eval.records import Episode, Question
from r_eval.runner.demonstrations import work_out
from r_eval.runner.episode import run_episode
from r_eval.runner.plan import NO_LLM, Plan, PlannedCell, resolve
from r_eval.runner.store import Store
from r_eval.workflows.base import Demonstration

LLM_FREE_WORKERS = 2


class Watcher(Protocol):
    """Is told what happens, to show it."""

    def started(self, plan: Plan, done: dict[Cell, int]) -> None:
        """The run begins; `done` says how many episodes of each cell are kept from before."""

    def loading(self, llm: str) -> None:
        """An LLM is being made ready."""

    def finished(self, episode: Episode) -> None:
        """An episode is recorded."""

    def failed(self, llm: str, why: str) -> None:
        """An LLM could not be opened; its episodes are recorded as llm_failure."""


class Silent:
    """Shows nothing."""

    def started(self, plan: Plan, done: dict[Cell, int]) -> None: ...

    def loading(self, llm: str) -> None: ...

    def finished(self, episode: Episode) -> None: ...

    def failed(self, llm: str, why: str) -> None: ...


class Runner:
    """One grid being run in one folder.

    `stop` lets the episodes under way finish and begins no new ones.

    Args:
        demonstrations: By the name of their task.
        memory: Where replies are kept, and where they may come from.
    """

    def __init__(
        self,
        plan: Plan,
        store: Store,
        sandbox: Sandbox,
        demonstrations: Mapping[str, tuple[Demonstration, ...]],
        watcher: Watcher,
        memory: Memory,
        connections: int | None = None,
    ) -> None:
        self.plan, self.store, self.sandbox, self.demonstrations = plan, store, sandbox, demonstrations
        self.memory = memory
        self.watcher, self.connections = watcher, connections
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
        lanes: dict[str, LLM | None] = {**self.plan.llms, NO_LLM: None}
        await _all(self._lane(name, llm) for name, llm in lanes.items())

    async def _lane(self, name: str, llm: LLM | None) -> None:
        cells = [c for c in self.plan.llm_cells(name) if self.store.missing(c)]
        if not cells:
            return
        unavailable: LLMError | None = None
        if llm is not None:
            self.watcher.loading(name)
            llm.connections = self.connections or llm.connections
            try:
                await llm.open()
            except LLMError as error:
                unavailable = error
                self.watcher.failed(name, str(error))
        try:
            work = self._work(cells)
            count = llm.connections if llm is not None else LLM_FREE_WORKERS
            await _all(self._worker(work, llm, unavailable) for _ in range(count))
        finally:
            if llm is not None:
                await llm.close()

    def _work(self, cells: list[PlannedCell]) -> Iterator[tuple[PlannedCell, Question, int]]:
        """The missing episodes, cell by cell; made as they are taken, so that a million of them are never listed."""
        for cell in cells:
            missing = self.store.missing(cell)
            self._left[cell.cell] = len(missing)
            for question, epoch in missing:
                if self.stopping:
                    return
                yield cell, question, epoch

    async def _worker(
        self,
        work: Iterator[tuple[PlannedCell, Question, int]],
        llm: LLM | None,
        unavailable: LLMError | None,
    ) -> None:
        for cell, question, epoch in work:
            shown = self.demonstrations[cell.planned.task.name]
            limits, memory = self.plan.limits, self.memory
            episode = await run_episode(cell, question, epoch, llm, limits, shown, self.sandbox, unavailable, memory)
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
            runner = Runner(plan, store, sandbox, shown, watcher or Silent(), memory, connections)
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
