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
from typing import TYPE_CHECKING, TypedDict, Unpack

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
from r_eval.runner.named import NO_LLM
from r_eval.runner.observer import RunObserver
from r_eval.runner.plan import Plan, PlannedCell, resolve
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
        observer: RunObserver,
        replies: ReplyStores,
        rule: Rule | None = None,
    ) -> None:
        self.plan, self.store, self.engine, self.observer, self.replies = plan, store, engine, observer, replies
        self.gate = BudgetGuard(plan, store.spent, store.clock, observer.on_budget)
        self.stopping = False
        self.unavailable: dict[str, str] = {}
        self.looks = Looks(plan, store, rule, self._is_halted) if rule is not None else None
        self._stopped: set[str] = set()
        self._running: list[asyncio.Task[None]] = []
        self._to_open: list[str] = []
        self._begun = asyncio.Event()
        self._left: dict[Cell, int] = {}
        self._durations: dict[tuple[str, str], list[float]] = collections.defaultdict(lambda: [0.0, 0])

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
        done = {c.cell: self.store.ledger(c).count() for c in self.plan.cells}
        names = (*self.plan.llms, NO_LLM)
        self._to_open = [name for name in names if any(map(self._missing, self.plan.llm_cells(name)))]
        if not self._to_open:
            self._begin()
        if self.looks is not None:
            self.looks.join(self._to_open)
        self.observer.started(self.plan, done, self.store.spent)
        try:
            with self.store.clock.running(), _few_collections():
                async with asyncio.TaskGroup() as group:
                    background = (self._report(), self._sync(), self.engine.watch())
                    tasks = [group.create_task(work) for work in background]
                    await self._run_llms()
                    for task in tasks:
                        task.cancel()
        except BaseExceptionGroup as errors:
            error: BaseException = errors
            while isinstance(error, BaseExceptionGroup):
                error = error.exceptions[0]
            raise error from None
        if not self._begun.is_set() and not self.stopping:
            reasons = ((name, why.removeprefix(f"{name}: ")) for name, why in self.unavailable.items())
            raise UserError("; ".join(f"{name} cannot be used: {why}" for name, why in reasons))

    def state(self) -> str:
        """How the run ended."""
        if self.store.is_complete():
            return "complete"
        if self.stopping:
            return "interrupted"
        return "budget" if self.gate.exhausted() else "incomplete"

    def _missing(self, cell: PlannedCell) -> int:
        return self.store.ledger(cell).left()

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
            await self.store.write_manifest_in_thread("running")

    async def _sync(self) -> None:
        """See again and again that what is recorded is on the disk."""
        while True:
            await asyncio.sleep(SYNC_SECONDS)
            await self.store.sync()

    def _is_halted(self) -> bool:
        """Whether no episode of any LLM may be begun."""
        return self.stopping or any(reached.limit.llm is None for reached in self.gate.exhausted())

    async def _run_llms(self) -> None:
        if self.store.crashed:
            for cell in self.plan.cells:
                if not self._missing(cell):
                    await self.store.complete(cell)
        async with asyncio.TaskGroup() as group:
            self._running = [group.create_task(self._run_llm(llm)) for llm in self._to_open]

    async def _run_llm(self, llm: str) -> None:
        await self._run_missing(llm)
        if self.looks is not None:
            await self.looks.leave(llm)

    async def _run_missing(self, llm: str) -> None:
        """Run the missing episodes of one LLM; where it cannot be opened, none of them is begun."""
        if not self.gate.allows(llm):
            self._begin()
            return
        self.observer.loading(llm)
        async with contextlib.AsyncExitStack() as stack:
            try:
                pool = await stack.enter_async_context(self.engine.pool(llm))
            except LLMError as error:
                why = self.unavailable[llm] = self.store.unavailable[llm] = str(error)
                self.observer.failed(llm, f"{why.rstrip('.')}; its episodes are not started")
                return
            self._begin()
            with self.gate.running(llm):
                while True:
                    work = self._work(llm, [cell for cell in self.plan.llm_cells(llm) if self._missing(cell)])
                    async with asyncio.TaskGroup() as group:
                        for _ in range(pool.size):
                            group.create_task(self._worker(work, pool))
                    if self.looks is None or not await self.looks.reached(llm):
                        break

    def _work(self, llm: str, cells: Sequence[PlannedCell]) -> Work:
        """The missing episodes; made as they are taken, so that a million of them are never listed.

        One episode of each workflow comes first. Then come the cells whose episodes take longest, so that those which
        the end of the run has to wait for are short.
        """
        wanted = self.store.missing if self.looks is None else self.looks.wanted
        missing = {cell.cell: wanted(cell) for cell in cells}
        self._left |= {cell.cell: self._missing(cell) for cell in cells}
        waiting = list(cells)
        firsts = {cell.cell.workflow: cell for cell in reversed(cells)}
        order = [cell for cell in cells if firsts[cell.cell.workflow] is cell]
        while order or waiting:
            count = 1 if order else -1
            cell = order.pop(0) if order else max(waiting, key=self._mean_seconds)
            if count < 0:
                waiting.remove(cell)
            while count and (episode := next(missing[cell.cell], None)) is not None:
                if self.stopping or llm in self._stopped or not self.gate.allows(llm):
                    return
                yield cell, *episode
                count -= 1

    def _mean_seconds(self, cell: PlannedCell) -> float:
        """What an episode of the cell's LLM and workflow takes; infinite as long as none has ended."""
        total, count = self._durations[cell.cell.llm, cell.cell.workflow]
        return total / count if count else math.inf

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
            self.observer.finished(episode)
            durations = self._durations[cell.cell.llm, cell.cell.workflow]
            durations[0] += episode.seconds.total
            durations[1] += 1
            self._left[cell.cell] -= 1
            if self._left[cell.cell] == 0:
                await self.store.complete(cell)

    def _stop_llm(self, episode: Episode) -> None:
        """Start no further episode of an LLM that would fail in the same way every time."""
        if episode.llm not in self._stopped:
            self._stopped.add(episode.llm)
            why = episode.outcome.detail.rstrip(".")
            self.observer.failed(episode.llm, f"{why}; its remaining episodes are not started")


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


class RunOptions(TypedDict, total=False):
    """How a grid is run.

    Attributes:
        limit: Keep only the first so many questions of every task.
        connections: Concurrent requests to every LLM, in place of its own number.
        engine: "local", this process, or "ray", the machines of a Ray cluster (see docs/scale.md).
        fresh: Move what is in the folder aside and start over.
        cache: Whether replies of earlier runs are reused and new ones kept (see `r_eval.llms.reply_store`); None does
            so for LLMs at temperature 0.
        watcher: Is called as the run proceeds.
        on_runner: Called with the `Runner` before it starts; its `stop` ends the run early.
    """

    limit: int | None
    connections: int | None
    engine: str
    fresh: bool
    cache: bool | None
    watcher: RunObserver | None
    on_runner: Callable[[Runner], None] | None


async def arun(
    grid: Grid, out: str | Path | None = None, rule: Rule | None = None, **options: Unpack[RunOptions]
) -> RunFolder:
    """Run a grid, or resume it; returns the run's folder.

    Args:
        out: The run's folder; `runs/<grid name>` by default. What is recorded there already is kept.
        rule: When a system gets no further questions, where the grid has `stop_early`.

    Raises:
        UserError: The grid is wrong, the folder holds a run that differs from it, or no LLM can be opened.
    """
    engine, cache = options.get("engine", "local"), options.get("cache")
    if engine not in ENGINES:
        raise UserError(plugins.unknown("engine", engine, ENGINES))
    if engine == "ray" and importlib.util.find_spec("ray") is None:
        raise MissingExtra("ray", "ray", "The engine ray")
    plan = resolve(grid, options.get("limit"))
    check(plan)
    if rule is not None:
        rule.check([planned.task.metric for planned in plan.tasks])
    for llm in plan.llms.values():
        llm.connections = options.get("connections") or llm.connections
    folder = RunFolder((Path(out) if out is not None else Path("runs") / grid.name).absolute())
    with Store(folder, plan, options.get("fresh", False)) as store, Sandbox() as sandbox:
        needed = {cell.cell.llm for cell in plan.cells if store.ledger(cell).left()}
        for name in needed & plan.llms.keys():
            await asyncio.to_thread(plan.llms[name].fetch)
        cut = plan.limits.observation
        examples = {
            p.task.name: await work_out(p.demonstrations, p.demo_environment or p.environment, sandbox, cut)
            for p in plan.tasks
        }
        reply_store = ReplyStore()
        replies = ReplyStores(reply_store, store.run_id, cache is not False, cache is True, store.spent)
        resources = Resources(plan.limits, sandbox, examples, replies, grid.seed)
        try:
            with _engine(engine, plan, resources, options.get("limit")) as carrying_out:
                runner = Runner(plan, store, carrying_out, options.get("watcher") or RunObserver(), replies, rule)
                if on_runner := options.get("on_runner"):
                    on_runner(runner)
                state = "interrupted"
                try:
                    await runner.run()
                    state = runner.state()
                finally:
                    if store.is_written:
                        store.write_manifest(state, runner.gate.exhausted() if state == "budget" else ())
        finally:
            await asyncio.to_thread(reply_store.close)
    return folder


@contextlib.contextmanager
def _engine(name: str, plan: Plan, resources: Resources, limit: int | None) -> Iterator[Engine]:
    if name == "local":
        yield LocalEngine(plan, resources)
        return
    from r_eval.runner.ray import RayEngine

    with RayEngine(plan, resources, limit) as engine:
        yield engine
