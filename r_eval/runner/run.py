"""Runs a grid: every LLM has a lane of its own with as many workers as it takes connections, so that a slow one holds
nobody else up; records go to the run folder as they come; what is there already is not run again.
"""

from __future__ import annotations

import asyncio
import collections
import math
from collections.abc import Callable, Coroutine, Iterable, Iterator
from pathlib import Path
from typing import Any

from r_eval.engines.base import Engine, Lane
from r_eval.engines.choosing import check_engine, opened
from r_eval.engines.local import Local
from r_eval.environments.sandbox import Sandbox
from r_eval.folder import Cell, RunFolder
from r_eval.grid import Grid
from r_eval.llms.base import LLMError
from r_eval.llms.replay import ReplyStores
from r_eval.llms.reply_store import ReplyStore
from r_eval.records import INFRASTRUCTURE_FAILURES, Episode, Question
from r_eval.runner.budget import Gate, check
from r_eval.runner.demonstrations import work_out
from r_eval.runner.episode import Cancelled
from r_eval.runner.plan import NO_LLM, Plan, PlannedCell, resolve
from r_eval.runner.store import Store
from r_eval.runner.tracing import traced
from r_eval.runner.watching import Silent, Watcher

TELL_SECONDS = 10.0
"""How often run.json is written while a run goes on."""
SYNC_SECONDS = 1.0
"""How often what is recorded is seen to be on the disk."""


class Runner:
    """One grid being run in one folder.

    `stop` lets the episodes under way finish and begins no new ones.
    """

    def __init__(
        self, plan: Plan, store: Store, engine: Engine, watcher: Watcher, replies: ReplyStores | None = None
    ) -> None:
        self.plan, self.store, self.engine, self.watcher = plan, store, engine, watcher
        self.replies = replies or ReplyStores()
        self._stopped: set[str] = set()
        self.gate = Gate(plan, store.spent, store.clock, watcher.held)
        self.stopping = False
        self._left: collections.Counter[Cell] = collections.Counter()
        self._took: dict[tuple[str, str], _Mean] = collections.defaultdict(_Mean)

    def stop(self) -> None:
        self.stopping = True

    async def run(self) -> None:
        """Run everything that is missing."""
        done = {c.cell: self.store.count(c) for c in self.plan.cells}
        self.watcher.started(self.plan, done, self.store.spent)
        if self.store.crashed:
            for cell in self.plan.cells:
                if not self.store.left(cell):
                    self.store.complete(cell)
        with self.store.clock.running():
            lanes = _all(self._lane(name) for name in (*self.plan.llms, NO_LLM))
            await _beside(lanes, self._tell(), self._sync())

    async def _tell(self) -> None:
        """Write run.json again and again, so that a crash loses little of what is known to be spent."""
        while True:
            await asyncio.sleep(TELL_SECONDS)
            self.gate.settle()
            self.store.write_manifest("running")

    async def _sync(self) -> None:
        """See again and again that what is recorded is on the disk."""
        while True:
            await asyncio.sleep(SYNC_SECONDS)
            await self.store.sync()

    def state(self) -> str:
        """How the run ended."""
        if self.store.is_complete():
            return "complete"
        if self.stopping:
            return "interrupted"
        return "budget" if self.gate.reached() else "incomplete"

    async def _lane(self, llm: str) -> None:
        cells = [c for c in self.plan.llm_cells(llm) if self.store.left(c)]
        if not cells or not self.gate.open(llm):
            return
        work = self._work(llm, cells)
        with self.gate.lane(llm):
            async with self.engine.lane(llm) as lane:
                await _all(self._worker(work, lane) for _ in range(lane.places))

    def _work(self, llm: str, cells: list[PlannedCell]) -> Iterator[tuple[PlannedCell, Question, int]]:
        """The missing episodes; made as they are taken, so that a million of them are never listed.

        One episode of each workflow comes first. Then go the cells whose episodes take longest, so that those which the
        end of the run has to wait for are short.
        """
        waiting = [(cell, self.store.missing(cell)) for cell in cells]
        self._left.update({cell.cell: self.store.left(cell) for cell in cells})
        firsts = {cell.cell.workflow: (cell, missing) for cell, missing in reversed(waiting)}
        yield from self._open(llm, ((cell, *next(missing)) for cell, missing in reversed(firsts.values())))
        while waiting:
            longest = max(waiting, key=lambda entry: self._took[llm, entry[0].cell.workflow].value)
            waiting.remove(longest)
            cell, missing = longest
            yield from self._open(llm, ((cell, question, epoch) for question, epoch in missing))

    def _open(
        self, llm: str, episodes: Iterator[tuple[PlannedCell, Question, int]]
    ) -> Iterator[tuple[PlannedCell, Question, int]]:
        """Episodes for as long as new ones may begin."""
        while (episode := next(episodes, None)) is not None and not self.stopping and self.gate.open(llm):
            if llm in self._stopped:
                return
            yield episode

    async def _worker(self, work: Iterator[tuple[PlannedCell, Question, int]], lane: Lane) -> None:
        for cell, question, epoch in work:
            try:
                episode = await lane.carry_out(cell, question, epoch)
            except Cancelled as cancelled:
                self.store.append(cell, cancelled.episode)
                raise asyncio.CancelledError from None
            self.store.append(cell, episode)
            if episode.outcome.kind not in INFRASTRUCTURE_FAILURES:
                self.replies.forget(episode.episode_id, cell.fingerprint)
            elif episode.outcome.cause in LLMError.FATAL:
                self._stop_llm(episode)
            self.watcher.finished(episode)
            self._took[cell.cell.llm, cell.cell.workflow].add(episode.seconds.total)
            self._left[cell.cell] -= 1
            if self._left[cell.cell] == 0:
                self.store.complete(cell)

    def _stop_llm(self, episode: Episode) -> None:
        """Start no further episode of an LLM that would fail in the same way every time."""
        if episode.llm not in self._stopped:
            self._stopped.add(episode.llm)
            if episode.usage.calls:  # else it could not be opened, which has been told
                why = episode.outcome.detail.rstrip(".")
                self.watcher.failed(episode.llm, f"{why}; its remaining episodes are not started")


class _Mean:
    """The mean of numbers that come one by one; without end as long as none came."""

    def __init__(self) -> None:
        self._sum, self._count = 0.0, 0

    def add(self, number: float) -> None:
        self._sum += number
        self._count += 1

    @property
    def value(self) -> float:
        return self._sum / self._count if self._count else math.inf


async def _beside(job: Coroutine[Any, Any, None], *others: Coroutine[Any, Any, None]) -> None:
    """Carry out a job while others go on without end; an exception in one of them ends it."""
    tasks = [asyncio.ensure_future(one) for one in (job, *others)]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            if task.done():
                task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _all(jobs: Iterable[Coroutine[Any, Any, None]]) -> None:
    """Carry out several jobs at the same time; an exception in one ends the others before it is raised."""
    tasks = [asyncio.ensure_future(job) for job in jobs]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def arun(
    grid: Grid,
    out: str | Path | None = None,
    *,
    limit: int | None = None,
    connections: int | None = None,
    engine: str = "local",
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
        engine: "local", this process, or "ray", the machines of a Ray cluster (see docs/scale.md).
        fresh: Move what is in the folder aside and begin again.
        cache: Whether replies of earlier runs are taken and new ones kept (see `r_eval.llms.reply_store`); by default
            for LLMs whose temperature is 0.
        watcher: Is told what happens.
        on_runner: Called with the `Runner` before it starts, for stopping it.

    Raises:
        UserError: The grid is wrong, or the folder holds a run that differs from it.
    """
    check_engine(engine)
    plan = resolve(grid, limit)
    check(plan)
    needed = {cell.cell.llm for cell in plan.cells}
    for name, llm in plan.llms.items():
        llm.connections = connections or llm.connections
        if name in needed:
            await asyncio.to_thread(llm.fetch)
    folder = RunFolder(out if out is not None else Path("runs") / grid.name)
    with Sandbox() as sandbox:
        cut = plan.limits.observation
        shown = {p.task.name: await work_out(p.shown, p.home or p.environment, sandbox, cut) for p in plan.tasks}
        with Store(folder, plan, fresh) as store, traced(watcher or Silent()) as told:
            kept = ReplyStore()
            replies = ReplyStores(kept, store.run_id, cache is not False, cache is True, store.spent, store.is_new)
            local = Local(plan, sandbox, shown, replies, told, connections)
            with opened(engine, local, grid, limit) as carrying_out:
                runner = Runner(plan, store, carrying_out, told, replies)
                if on_runner is not None:
                    on_runner(runner)
                store.write_manifest("running")
                store.write_questions()
                state = "interrupted"
                try:
                    await runner.run()
                    state = runner.state()
                finally:
                    await asyncio.to_thread(kept.close)
                    store.write_manifest(state, runner.gate.reached() if state == "budget" else ())
    return folder
