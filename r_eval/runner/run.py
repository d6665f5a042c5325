"""Runs a grid: every LLM has a pool of workers of its own, as many as it takes connections, so that a slow LLM delays
no other; records go to the run folder as they come; what is recorded already is not run again.
"""

from __future__ import annotations

import asyncio
import collections
import contextlib
import gc
import importlib.util
import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from r_eval import plugins
from r_eval.environments.sandbox import Sandbox
from r_eval.errors import MissingExtra, UserError
from r_eval.folder import Cell, RunFolder
from r_eval.grid import Grid
from r_eval.llms.base import LLMError
from r_eval.llms.replay import ReplyStores
from r_eval.llms.reply_store import ReplyStore
from r_eval.records import INFRASTRUCTURE_FAILURES, Episode, Question
from r_eval.runner.budget import BudgetGuard, check
from r_eval.runner.demonstrations import work_out
from r_eval.runner.episode import Cancelled, Resources
from r_eval.runner.looks import Looks
from r_eval.runner.observer import NullObserver, RunObserver
from r_eval.runner.plan import NO_LLM, Plan, PlannedCell, resolve
from r_eval.runner.pools import Engine, EpisodePool, LocalEngine
from r_eval.runner.store import Store

if TYPE_CHECKING:
    from r_eval.analysis.early_stopping import Rule

ENGINES = ("local", "ray")
MANIFEST_SECONDS = 10.0
"""How often run.json is written during a run."""
SYNC_SECONDS = 1.0
"""How often what is recorded is synced to the disk."""
GRACE_SECONDS = 3.0
"""How long calls in progress may take once the run is to stop."""

Work = Iterator[tuple[PlannedCell, Question, int]]


class Runner:
    """One grid being run in one folder.

    Attributes:
        stopping: Whether no further episode is begun, since somebody asked for that.
        unavailable: Why LLMs could not be opened, by their names.
    """

    def __init__(
        self,
        plan: Plan,
        store: Store,
        engine: Engine,
        watcher: RunObserver,
        replies: ReplyStores | None = None,
        rule: Rule | None = None,
    ) -> None:
        self.plan, self.store, self.engine, self.watcher = plan, store, engine, watcher
        self.replies = replies or ReplyStores()
        self.gate = BudgetGuard(plan, store.spent, store.clock, watcher.held)
        self.stopping = False
        self.unavailable: dict[str, str] = {}
        self.looks = Looks(plan, store, rule, self._is_halted) if rule is not None else None
        self._stopped: set[str] = set()
        self._running: list[asyncio.Task[None]] = []
        self._to_open: list[str] = []
        self._begun = asyncio.Event()
        self._left: collections.Counter[Cell] = collections.Counter()
        self._took: dict[tuple[str, str], _Mean] = collections.defaultdict(_Mean)

    def stop(self) -> None:
        """Begin no further episode; those in progress have a few seconds to end."""
        if not self.stopping:
            self.stopping = True
            asyncio.get_running_loop().call_later(GRACE_SECONDS, self._cancel)

    def _cancel(self) -> None:
        for task in self._running:
            task.cancel()

    async def run(self) -> None:
        """Run everything that is missing.

        Raises:
            UserError: No LLM can be opened; then nothing is written. Or the engine can go on no more.
            Unwritable: The disk refuses a record.
        """
        if self.looks is not None:
            await self.looks.resume()
        done = {c.cell: self.store.count(c) for c in self.plan.cells}
        names = (*self.plan.llms, NO_LLM)
        self._to_open = [name for name in names if any(map(self.store.left, self.plan.llm_cells(name)))]
        if not self._to_open:
            self._begin()
        if self.looks is not None:
            self.looks.join(self._to_open)
        self.watcher.started(self.plan, done, self.store.spent)
        try:
            with self.store.clock.running(), _few_collections():
                async with asyncio.TaskGroup() as group:
                    beside = [group.create_task(work) for work in (self._report(), self._sync(), self.engine.watch())]
                    await self._run_llms()
                    for task in beside:
                        task.cancel()
        except BaseExceptionGroup as errors:
            raise _first(errors) from None
        if not self._begun.is_set() and not self.stopping:
            reasons = ((name, why.removeprefix(f"{name}: ")) for name, why in self.unavailable.items())
            raise UserError("; ".join(f"{name} cannot be used: {why}" for name, why in reasons))

    def _begin(self) -> None:
        """Write down that the run goes on; before that nothing was written."""
        if not self._begun.is_set():
            self.store.write_manifest("running")
            self.store.write_questions()
            self._begun.set()

    async def _report(self) -> None:
        """Write run.json again and again, so that a crash loses little of what is known to be spent."""
        await self._begun.wait()
        while True:
            await asyncio.sleep(MANIFEST_SECONDS)
            self.gate.flush()
            await self.store.write_manifest_beside("running")

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
        return "budget" if self.gate.exhausted() else "incomplete"

    def _is_halted(self) -> bool:
        """Whether no episode of any LLM may be begun."""
        return self.stopping or any(reached.limit.llm is None for reached in self.gate.exhausted())

    async def _run_llms(self) -> None:
        if self.store.crashed:
            for cell in self.plan.cells:
                if not self.store.left(cell):
                    await self.store.complete(cell)
        async with asyncio.TaskGroup() as group:
            self._running = [group.create_task(self._take_part(llm)) for llm in self._to_open]

    async def _take_part(self, llm: str) -> None:
        await self._run_llm(llm)
        if self.looks is not None:
            await self.looks.leave(llm)

    async def _run_llm(self, llm: str) -> None:
        """Run the missing episodes of one LLM; where it cannot be opened, none of them is begun."""
        if not self.gate.allows(llm):
            self._begin()
            return
        self.watcher.loading(llm)
        async with contextlib.AsyncExitStack() as stack:
            try:
                pool = await stack.enter_async_context(self.engine.pool(llm))
            except LLMError as error:
                self._leave_out(llm, str(error))
                return
            self._begin()
            with self.gate.running(llm):
                while True:
                    work = self._work(llm, [cell for cell in self.plan.llm_cells(llm) if self.store.left(cell)])
                    async with asyncio.TaskGroup() as group:
                        for _ in range(pool.size):
                            group.create_task(self._worker(work, pool))
                    if self.looks is None or not await self.looks.reached(llm):
                        break

    def _leave_out(self, llm: str, why: str) -> None:
        """Begin no episode of an LLM that cannot be opened."""
        self.unavailable[llm] = self.store.unavailable[llm] = why
        self.watcher.failed(llm, f"{why.rstrip('.')}; its episodes are not started")

    def _work(self, llm: str, cells: Sequence[PlannedCell]) -> Work:
        """The missing episodes; made as they are taken, so that a million of them are never listed.

        One episode of each workflow comes first. Then come the cells whose episodes take longest, so that those which
        the end of the run has to wait for are short.
        """
        wanted = self.store.missing if self.looks is None else self.looks.wanted
        missing = {cell.cell: wanted(cell) for cell in cells}
        for cell in cells:
            self._left[cell.cell] = self.store.left(cell)
        firsts = {cell.cell.workflow: cell for cell in reversed(cells)}
        waiting = list(cells)
        order = [cell for cell in cells if firsts[cell.cell.workflow] is cell]
        while order or waiting:
            if order:
                cell, count = order.pop(0), 1
            else:
                cell = max(waiting, key=lambda one: self._took[llm, one.cell.workflow].value)
                waiting.remove(cell)
                count = -1
            while count and (episode := next(missing[cell.cell], None)) is not None:
                if self.stopping or llm in self._stopped or not self.gate.allows(llm):
                    return
                yield cell, *episode
                count -= 1

    async def _worker(self, work: Work, pool: EpisodePool) -> None:
        for cell, question, epoch in work:
            try:
                episode = await pool.run_episode(cell, question, epoch)
            except Cancelled as cancelled:
                self.store.append(cell, cancelled.episode)
                raise asyncio.CancelledError from None
            self.store.append(cell, episode)
            if self.looks is not None:
                self.looks.add(cell, episode)
            if episode.outcome.kind not in INFRASTRUCTURE_FAILURES:
                self.replies.forget(episode.episode_id, cell.fingerprint)
            elif episode.outcome.cause in LLMError.FATAL:
                self._stop_llm(episode)
            self.watcher.finished(episode)
            self._took[cell.cell.llm, cell.cell.workflow].add(episode.seconds.total)
            self._left[cell.cell] -= 1
            if self._left[cell.cell] == 0:
                await self.store.complete(cell)

    def _stop_llm(self, episode: Episode) -> None:
        """Start no further episode of an LLM that would fail in the same way every time."""
        if episode.llm not in self._stopped:
            self._stopped.add(episode.llm)
            why = episode.outcome.detail.rstrip(".")
            self.watcher.failed(episode.llm, f"{why}; its remaining episodes are not started")


class _Mean:
    """The mean of numbers that come one by one; infinite as long as none came."""

    def __init__(self) -> None:
        self._sum, self._count = 0.0, 0

    def add(self, number: float) -> None:
        self._sum += number
        self._count += 1

    @property
    def value(self) -> float:
        return self._sum / self._count if self._count else math.inf


@contextlib.contextmanager
def _few_collections() -> Iterator[None]:
    """Collect garbage less often: what a run makes by the thousand has no cycles, and what is loaded stays."""
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


def _first(errors: BaseExceptionGroup[BaseException]) -> BaseException:
    """The exception that is told of a group: the first that is none itself."""
    error: BaseException = errors
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def check_engine(name: str) -> None:
    """Check that there is such an engine, and that what it needs is installed.

    Raises:
        UserError: The name is unknown.
        MissingExtra: Ray is not installed.
    """
    if name not in ENGINES:
        raise UserError(plugins.unknown("engine", name, ENGINES))
    if name == "ray" and importlib.util.find_spec("ray") is None:
        raise MissingExtra("ray", "ray", "The engine ray")


@contextlib.contextmanager
def _engine(name: str, plan: Plan, resources: Resources, grid: Grid, limit: int | None) -> Iterator[Engine]:
    if name == "local":
        yield LocalEngine(plan, resources)
        return
    from r_eval.runner.ray import RayEngine

    with RayEngine(plan, resources, grid, limit) as engine:
        yield engine


async def arun(
    grid: Grid,
    out: str | Path | None = None,
    *,
    limit: int | None = None,
    connections: int | None = None,
    engine: str = "local",
    fresh: bool = False,
    cache: bool | None = None,
    watcher: RunObserver | None = None,
    on_runner: Callable[[Runner], None] | None = None,
    rule: Rule | None = None,
) -> RunFolder:
    """Run a grid, or resume it; returns the run's folder.

    Args:
        out: The run's folder; `runs/<grid name>` by default. What is recorded there already is kept.
        limit: Keep only the first so many questions of every task.
        connections: Requests at once, for every LLM, in place of its own number.
        engine: "local", this process, or "ray", the machines of a Ray cluster (see docs/scale.md).
        fresh: Move what is in the folder aside and start over.
        cache: Whether replies of earlier runs are taken and new ones kept (see `r_eval.llms.reply_store`); by default
            for LLMs whose temperature is 0.
        watcher: Is told what happens.
        on_runner: Called with the `Runner` before it starts, for stopping it.
        rule: When a system is asked no further, where the grid has `stop_early`.

    Raises:
        UserError: The grid is wrong, the folder holds a run that differs from it, or no LLM can be opened.
    """
    check_engine(engine)
    plan = resolve(grid, limit)
    check(plan)
    if rule is not None:
        rule.check([planned.task.metric for planned in plan.tasks])
    for llm in plan.llms.values():
        llm.connections = connections or llm.connections
    folder = RunFolder((Path(out) if out is not None else Path("runs") / grid.name).absolute())
    with Store(folder, plan, fresh) as store, Sandbox() as sandbox:
        needed = {cell.cell.llm for cell in plan.cells if store.left(cell)}
        for name in needed & plan.llms.keys():
            await asyncio.to_thread(plan.llms[name].fetch)
        cut = plan.limits.observation
        shown = {p.task.name: await work_out(p.shown, p.home or p.environment, sandbox, cut) for p in plan.tasks}
        kept = ReplyStore()
        replies = ReplyStores(kept, store.run_id, cache is not False, cache is True, store.spent, store.is_new)
        resources = Resources(plan.limits, sandbox, shown, replies, grid.seed)
        state = "interrupted"
        try:
            with _engine(engine, plan, resources, grid, limit) as carrying_out:
                runner = Runner(plan, store, carrying_out, watcher or NullObserver(), replies, rule)
                if on_runner is not None:
                    on_runner(runner)
                try:
                    await runner.run()
                    state = runner.state()
                finally:
                    if store.is_written:
                        store.write_manifest(state, runner.gate.exhausted() if state == "budget" else ())
        finally:
            await asyncio.to_thread(kept.close)
    return folder
