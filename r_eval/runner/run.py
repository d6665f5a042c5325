"""Runs a grid: every LLM has a pool of workers of its own, as many as it takes connections, so that a slow LLM delays
no other; records go to the run folder as they come; what is recorded already is not run again.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import gc
import importlib.util
import resource
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractAsyncContextManager
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any

from r_eval import plugins
from r_eval.environments.sandbox import Sandbox
from r_eval.errors import MissingExtra, UserError
from r_eval.folder import Cell, RunFolder
from r_eval.grid import Grid
from r_eval.llms.attempts import Persistent
from r_eval.llms.base import LLM, LLMError
from r_eval.llms.replay import ReplyStores
from r_eval.llms.reply_store import ReplyStore
from r_eval.records import INFRASTRUCTURE_FAILURES, Episode, Question
from r_eval.runner.budget import BudgetGuard
from r_eval.runner.demonstrations import work_out
from r_eval.runner.early_stopping import Looks
from r_eval.runner.episode import Cancelled, EpisodePool, Resources, local_pool
from r_eval.runner.grid_entries import NO_LLM
from r_eval.runner.observer import RunObserver
from r_eval.runner.plan import Plan, PlannedCell, PlannedTask, resolve
from r_eval.runner.store import Store
from r_eval.workflows.base import Demonstration

if TYPE_CHECKING:
    from r_eval.analysis.early_stopping import Rule

ENGINES = ("local", "ray")
MANIFEST_SECONDS = 10.0
"""How often run.json is written during a run."""
SYNC_SECONDS = 1.0
"""How often what is recorded is synced to the disk."""
GRACE_SECONDS = 3.0
"""How long calls in progress may take once the run is to stop."""
OWN_FILES = 32
"""Files and pipes that a run has open besides its connections."""

Pools = Callable[[str], AbstractAsyncContextManager[EpisodePool]]
"""The pool of an LLM, by its name; raises an LLMError where the LLM cannot be opened."""


class Runner:
    """One grid being run in one folder.

    Args:
        watch: A task that runs during the episodes, and raises once none can be carried out any more.

    Attributes:
        stopping: Whether no further episode is begun, since somebody asked for that.
    """

    def __init__(
        self,
        plan: Plan,
        store: Store,
        pools: Pools,
        observer: RunObserver,
        replies: ReplyStores,
        rule: Rule | None = None,
        watch: Callable[[], Any] | None = None,
    ) -> None:
        self.plan, self.store, self.pools, self.observer, self.replies = plan, store, pools, observer, replies
        self.gate = BudgetGuard(plan, store.spent, store.clock, observer.on_budget)
        self.stopping = False
        self.looks = Looks(plan, store, rule) if rule is not None else None
        self._background = [self._report, self._sync, *([watch] if watch is not None else [])]
        self._stopped: set[str] = set()
        self._running: list[asyncio.Task[None]] = []
        self._begun = asyncio.Event()
        self._left: dict[Cell, int] = {}
        self._loop = asyncio.get_running_loop()

    def stop(self) -> None:
        """Begin no further episode; those in progress have a few seconds to end. Any thread may call it."""
        if not self.stopping:
            self.stopping = True
            self._loop.call_soon_threadsafe(self._loop.call_later, GRACE_SECONDS, self._cancel)

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
        llms = [name for name in names if any(map(self._missing, self.plan.llm_cells(name)))]
        if not llms:
            self._begin()
        self.observer.started(self.plan, done, self.store.spent)
        try:
            with self.store.clock.running(), _few_collections():
                async with asyncio.TaskGroup() as group:
                    background = [group.create_task(work()) for work in self._background]
                    for cell in self.plan.cells:  # a run that was killed may have left it in disorder
                        if not self._missing(cell):
                            await self.store.complete(cell)
                    async with contextlib.AsyncExitStack() as stack:
                        await self._run_llms(llms, stack)
                    for task in background:
                        task.cancel()
        except BaseExceptionGroup as errors:
            error: BaseException = errors
            while isinstance(error, BaseExceptionGroup):
                error = error.exceptions[0]
            raise error from None
        if not self._begun.is_set() and not self.stopping:
            reasons = ((name, why.removeprefix(f"{name}: ")) for name, why in self.store.unavailable.items())
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
            await self.store.write_manifest_in_thread()

    async def _sync(self) -> None:
        """See again and again that what is recorded is on the disk."""
        while True:
            await asyncio.sleep(SYNC_SECONDS)
            await self.store.sync()

    async def _run_llms(self, llms: list[str], stack: contextlib.AsyncExitStack) -> None:
        """Run what is missing; with early stopping look by look, and what failed once more before each look."""
        pools: dict[str, EpisodePool] = {}
        is_second = False
        while True:
            async with asyncio.TaskGroup() as group:
                self._running = []
                for llm in llms:
                    self._running.append(group.create_task(self._run_llm(llm, pools, stack)))
            if self.looks is None or self.looks.is_over:
                return
            is_second = not is_second and self.looks.lacks_any()
            if is_second:
                continue
            if self.stopping or self.gate.exhausted():
                return
            await self.looks.take()

    async def _run_llm(self, llm: str, pools: dict[str, EpisodePool], stack: contextlib.AsyncExitStack) -> None:
        """Run the missing episodes of one LLM; where it cannot be opened, none of them is begun."""
        if llm in self.store.unavailable:
            return
        if not self.gate.allows(llm):
            self._begin()
            return
        if llm not in pools:
            self.observer.loading(llm)
            try:
                pools[llm] = await stack.enter_async_context(self.pools(llm))
            except LLMError as error:
                why = self.store.unavailable[llm] = str(error)
                self.observer.failed(llm, f"{why.rstrip('.')}; its episodes are not started")
                return
        self._begin()
        work = self._work(llm)
        async with asyncio.TaskGroup() as group:
            for _ in range(pools[llm].size):
                group.create_task(self._worker(work, pools[llm]))

    def _work(self, llm: str) -> Iterator[tuple[PlannedCell, Question, int]]:
        """The missing episodes; made as they are taken, so that a million of them are never listed."""
        for cell in self.plan.llm_cells(llm):
            ledger = self.store.ledger(cell)
            self._left[cell.cell] = ledger.left()
            for episode in ledger.missing() if self.looks is None else self.looks.wanted(cell):
                if self.stopping or llm in self._stopped or not self.gate.allows(llm):
                    return
                yield cell, *episode

    async def _worker(self, work: Iterator[tuple[PlannedCell, Question, int]], pool: EpisodePool) -> None:
        for cell, question, epoch in work:
            try:
                episode = self.store.append(cell, await pool.run_episode(cell, question, epoch))
            except Cancelled as cancelled:
                self.store.append(cell, cancelled.episode)
                raise asyncio.CancelledError from None
            if self.looks is not None:
                self.looks.add(cell, episode)
            if episode.outcome.kind not in INFRASTRUCTURE_FAILURES:
                self.replies.forget(episode.episode_id, cell.fingerprint)
            elif episode.outcome.cause in LLMError.FATAL:
                self._stop_llm(episode)
            self.observer.finished(episode)
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


async def arun(
    grid: Grid,
    out: str | Path | None = None,
    rule: Rule | None = None,
    *,
    limit: int | None = None,
    connections: int | None = None,
    engine: str = "local",
    fresh: bool = False,
    cache: bool | None = None,
    observer: RunObserver | None = None,
    on_runner: Callable[[Runner], None] | None = None,
) -> RunFolder:
    """Run a grid, or resume it; returns the run's folder. For what is not said here see `r_eval.api.run`.

    Args:
        rule: When a system gets no further questions, where the grid has `stop_early`.

    Raises:
        UserError: The grid is wrong, the folder holds a run that differs from it, or no LLM can be opened.
    """
    _check(engine, limit=limit, connections=connections)
    plan = resolve(grid, limit)
    if rule is not None:
        rule.check([planned.task.metric for planned in plan.tasks])
    for llm in plan.llms.values():
        llm.connections = int(connections or llm.connections)
    folder = RunFolder((Path(out) if out is not None else Path("runs") / grid.name).absolute())
    with contextlib.ExitStack() as stack:
        store, sandbox = stack.enter_context(Store(folder, plan, fresh)), stack.enter_context(Sandbox())
        left = {cell.cell.llm for cell in plan.cells if store.ledger(cell).left()} & plan.llms.keys()
        if engine == "local":
            allow_files(plan.llms[name] for name in left)
        for name in left:
            await asyncio.to_thread(plan.llms[name].fetch)
        examples = {each.task.name: await _worked_out(each, plan, sandbox) for each in plan.tasks}
        reply_store = ReplyStore()
        stack.callback(reply_store.close)
        replies = ReplyStores(reply_store, store.run_id, cache is not False, cache is True, store.spent)
        resources = Resources(plan.limits, sandbox, examples, replies, grid.seed)
        pools: Pools = functools.partial(local_pool, plan, resources)
        watch: Callable[[], Any] | None = None
        if engine == "ray":
            from r_eval.runner.ray import RayEngine

            cluster = stack.enter_context(RayEngine(plan, resources, limit))
            pools, watch = cluster.pool, cluster.watch
        runner = Runner(plan, store, pools, observer or RunObserver(), replies, rule, watch)
        if on_runner is not None:
            on_runner(runner)
        state = "interrupted"
        try:
            await runner.run()
            state = runner.state()
        finally:
            if store.is_written:
                store.write_manifest(state, runner.gate.exhausted() if state == "budget" else ())
    return folder


async def _worked_out(task: PlannedTask, plan: Plan, sandbox: Sandbox) -> tuple[Demonstration, ...]:
    environment = task.demo_environment or task.environment
    return await work_out(task.demonstrations, environment, sandbox, plan.limits.observation)


def allow_files(llms: Iterable[LLM]) -> None:
    """Let the process open as many files as the system allows; each connection to a server is one.

    Raises:
        UserError: It allows fewer than the connections need.
    """
    connections = sum(llm.connections for llm in llms if isinstance(llm, Persistent))
    infinite, needed = resource.RLIM_INFINITY, connections + OWN_FILES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = min(hard, 65_536) if hard != infinite else 10_240  # macOS names no limit and refuses more
    with contextlib.suppress(ValueError, OSError):
        if soft != infinite and soft < wanted:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
            soft = wanted
    if soft != infinite and soft < needed:
        need = f"{connections} connections to LLMs need about {needed} open files"
        raise UserError(f"{need}, but `ulimit -n` allows {soft}: raise it, or lower connections")


def _check(engine: str, **numbers: int | None) -> None:
    for option, value in numbers.items():
        if value is not None and not (isinstance(value, Integral) and value >= 1):
            raise UserError(f"{option} must be a whole number of at least 1, not {value!r}")
    if engine not in ENGINES:
        raise UserError(plugins.unknown("engine", engine, ENGINES))
    if engine == "ray" and importlib.util.find_spec("ray") is None:
        raise MissingExtra("ray", "ray", "The engine ray")
