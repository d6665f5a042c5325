"""Episodes on many machines: actors of a Ray cluster carry them out, and the run's own process alone writes records.

The cluster is the one that RAY_ADDRESS names, else the one that this machine belongs to, else this machine becomes one
for the time of the run. One more actor, on this machine, holds the reply store: a reply is in it before a workflow on
any machine sees it. Where an actor dies, its episodes run again on another, and only calls in flight are made again.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import logging
import math
import os
import platform
import signal
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import ray
from ray.exceptions import RayError, RayTaskError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from r_eval.environments.sandbox import Sandbox
from r_eval.errors import UserError
from r_eval.folder import Cell
from r_eval.grid import Grid
from r_eval.llms.base import LLM, LLMError
from r_eval.llms.replay import Kept, LLMUsage, ReplyKey, ReplyStores
from r_eval.llms.reply_store import ReplyStore
from r_eval.records import Episode, Question
from r_eval.runner.episode import Resources, run_episode
from r_eval.runner.named import NO_LLM
from r_eval.runner.plan import Plan, PlannedCell, resolve
from r_eval.runner.pools import EpisodePool, LocalEngine

logger = logging.getLogger("r_eval")

ADDRESS = "RAY_ADDRESS"
ATTEMPTS = 3
"""Actors that an episode may outlive; and that may die in a row before any has finished an episode."""
EPISODES_PER_ACTOR = 8
"""A server's connections that one actor serves: with fewer, a process is not busy enough to need another."""
SPARE_CALLS = 4
"""Calls of an actor at once besides its episodes."""
CPU_SHARE = 0.01
"""CPUs that an actor reserves: next to none, since it mostly waits; but Ray puts what reserves none anywhere."""
CLOSING_SECONDS = 30.0
WATCH_SECONDS = 5.0
LOST = "the Ray cluster was lost ({}). What was recorded is kept; start it again, and the same command resumes the run"


class RayEngine:
    """The engine of a run on a cluster; use it as a context manager, in the main thread.

    Raises:
        UserError: The cluster cannot be reached.
    """

    def __init__(self, plan: Plan, resources: Resources, limit: int | None) -> None:
        self._plan, self._resources, self._limit, self._joined = plan, resources, limit, False

    def __enter__(self) -> RayEngine:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        if not ray.is_initialized():
            _join()
            self._joined = True
        here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
        options = {"num_cpus": 0, "max_restarts": -1, "max_task_retries": -1, "max_concurrency": 1000}
        self._store = ray.remote(ReplyStore).options(scheduling_strategy=here, **options).remote()
        return self

    def __exit__(self, *exception: object) -> None:
        ray.kill(self._store)
        if self._joined:
            ray.shutdown()

    @contextlib.asynccontextmanager
    async def pool(self, llm: str) -> AsyncIterator[EpisodePool]:
        """The actors of an LLM.

        Raises:
            LLMError: No actor can open it.
            UserError: It needs more GPUs than there are, or the grid cannot be run on the machines.
        """
        own = None if llm == NO_LLM else self._plan.llms[llm]
        cells, replies = self._plan.llm_cells(llm), self._resources.replies
        episodes = sum(len(cell.planned.questions) for cell in cells) * self._plan.grid.epochs
        sizes = actor_sizes(own, [node["Resources"] for node in ray.nodes() if node["Alive"]], episodes)
        order = Order(
            grid=_divided(self._plan.grid, 1 if own is None or own.is_local or own.num_gpus else len(sizes)),
            limit=self._limit,
            llm=llm,
            cells={cell.cell: cell.parts for cell in cells},
            resources=dataclasses.replace(self._resources, sandbox=None, replies=None),  # type: ignore[arg-type]
            replies=(replies.run, replies.use_cache, replies.cache_all),
            store=self._store,
            folder=str(Path.cwd()),
            variables={key: value for key, value in os.environ.items() if key.startswith("R_EVAL_")},
        )
        actors = RayPool(order, sizes, own, self._resources)
        try:
            await actors.open()
            yield EpisodePool(sum(sizes), actors.run_episode)
        finally:
            await actors.close()

    async def watch(self) -> None:
        """Raise once this machine's part of the cluster, or its head, is no more.

        Raises:
            UserError: It is lost.
        """
        own = ray.get_runtime_context().get_node_id()
        while True:
            await asyncio.sleep(WATCH_SECONDS)
            try:
                nodes = await asyncio.wait_for(asyncio.to_thread(ray.nodes), WATCH_SECONDS * 4)
            except Exception as error:  # noqa: BLE001  whatever it is, nobody answers there
                raise UserError(LOST.format(type(error).__name__)) from None
            if not any(node["NodeID"] == own and node["Alive"] for node in nodes):
                raise UserError(LOST.format("this machine left it"))


def _join() -> None:
    """Join the cluster; make one of this machine alone where there is none.

    Raises:
        UserError: There is one, and it cannot be reached.
    """
    quiet: dict[str, Any] = {"logging_level": logging.ERROR, "log_to_driver": False}
    address = os.environ.get(ADDRESS, "")
    if address.startswith("ray://"):
        raise UserError(f"{ADDRESS}: type the command on a machine of the cluster, without ray:// in the address")
    before = signal.getsignal(signal.SIGTERM)
    try:
        try:
            ray.init(None if address else "auto", **quiet)
        except ConnectionError:
            if address:
                raise
            ray.init("local", include_dashboard=False, **quiet)
    except (ConnectionError, RuntimeError, ValueError) as error:
        raise UserError(
            f"the Ray cluster cannot be reached ({_line(error)}); `ray status` says what is there"
        ) from None
    finally:
        with contextlib.suppress(ValueError):  # Ray takes SIGTERM for itself, and would end the process
            signal.signal(signal.SIGTERM, before)


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:300]


def actor_sizes(llm: LLM | None, machines: list[Mapping[str, float]], episodes: int) -> list[int]:
    """How many episodes at once each actor of an LLM carries out.

    An LLM that every process loads for itself has a copy for every `num_gpus` GPUs, or one a machine, each with all its
    connections. One that is a server has its connections divided among the actors. What needs no LLM has an actor for
    every CPU.

    Args:
        machines: What each machine offers, by Ray's names ("CPU", "GPU").
        episodes: How many there are at most; no more actors are made.

    Raises:
        UserError: The LLM needs more GPUs than any machine has.
    """
    cpus = max(len(machines), int(sum(machine.get("CPU", 0) for machine in machines)))
    if llm is None:
        return [2] * max(1, min(cpus, math.ceil(episodes / 2)))
    places, need = llm.connections, llm.num_gpus
    if need or llm.is_local:
        copies = sum(int(machine.get("GPU", 0) / need + 1e-6) for machine in machines) if need else len(machines)
        if not copies:
            most = max((machine.get("GPU", 0) for machine in machines), default=0)
            raise UserError(
                f"LLM '{llm.name}': num_gpus is {need:g}, and no machine of the cluster has more than {most:g}"
            )
        return [places] * max(1, min(copies, math.ceil(episodes / places)))
    wanted = max(len(machines), math.ceil(places / EPISODES_PER_ACTOR))
    count = max(1, min(wanted, cpus, places, episodes))
    return [places // count + (k < places % count) for k in range(count)]


def _divided(grid: Grid, actors: int) -> Grid:
    """A grid in which limits per minute are divided among so many actors."""
    copy = grid.model_copy(deep=True)
    for entry in copy.llms:
        settings: dict[str, Any] = entry.model_extra or {}
        for key in ("requests_per_minute", "tokens_per_minute"):
            if isinstance(settings.get(key), int):
                settings[key] = max(1, settings[key] // actors)
    return copy


@dataclasses.dataclass(frozen=True)
class Order:
    """What an actor is for; it finds everything else itself, as the run's own process did.

    Attributes:
        cells: The cells of the LLM with the parts of their fingerprints, for comparing.
        resources: Without sandbox and replies, which an actor makes for itself.
        replies: The run's id, whether replies of other runs are taken, and whether for every LLM.
        store: The actor that holds the reply store.
        folder: Where the command was typed; relative paths start there.
        variables: Environment variables that R-Eval reads.
    """

    grid: Grid
    limit: int | None
    llm: str
    cells: Mapping[Cell, Mapping[str, str]]
    resources: Resources
    replies: tuple[str, bool, bool]
    store: Any
    folder: str
    variables: Mapping[str, str]


class _Slot:
    """A place for an actor that carries out `size` episodes at once."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.actor: Any = None
        self.starting = asyncio.Lock()

    def end(self) -> None:
        if self.actor is not None:
            ray.kill(self.actor)
        self.actor = None


class RayPool:
    """The actors of one LLM; an actor that dies is replaced when an episode needs it."""

    def __init__(self, order: Order, sizes: list[int], llm: LLM | None, resources: Resources) -> None:
        self._order, self._llm, self._resources = order, llm, resources
        self._slots = [_Slot(size) for size in sizes]
        self._free: asyncio.Queue[_Slot] = asyncio.Queue()
        for k in range(max(sizes)):
            for slot in self._slots:
                if k < slot.size:
                    self._free.put_nowait(slot)

    async def open(self) -> None:
        """Start the actors; one that cannot open the LLM is left out where another can.

        Raises:
            LLMError, UserError: No actor can carry out an episode.
        """
        results = await asyncio.gather(*map(self._started, self._slots), return_exceptions=True)
        errors = [result for result in results if isinstance(result, BaseException)]
        for error in errors:
            if not isinstance(error, LLMError) or len(errors) == len(results):
                raise error

    async def run_episode(self, cell: PlannedCell, question: Question, epoch: int) -> Episode:
        """Run one episode on some machine; one over which several actors die is an `llm_failure`."""
        trouble = LLMError("worker", f"its process died each of {ATTEMPTS} times that this episode was begun")
        for _ in range(ATTEMPTS):
            slot = await self._free.get()
            actor = None
            try:
                actor = await self._started(slot)
                episode, usage = await actor.run_episode.remote(cell.cell, question.id, epoch)
            except RayTaskError:
                raise  # an exception in our own code
            except RayError as error:
                logger.warning("an actor died; its episodes run again (%s)", _line(error))
                if slot.actor is actor:  # else another episode has noticed it before
                    slot.end()
            except LLMError as error:
                trouble = error
            else:
                if self._llm is not None:
                    self._resources.replies.usage.setdefault(self._llm.name, LLMUsage()).include(usage)
                record: Episode = episode
                return record
            finally:
                self._free.put_nowait(slot)
        return await run_episode(cell, question, epoch, self._llm, self._resources, trouble)

    async def close(self) -> None:
        """Put the LLM away everywhere, which may take some seconds, and end the actors."""
        closing = [slot.actor.close.remote() for slot in self._slots if slot.actor is not None]
        try:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(asyncio.gather(*closing, return_exceptions=True), CLOSING_SECONDS)
        finally:
            for slot in self._slots:
                slot.end()

    async def _started(self, slot: _Slot) -> Any:
        """The actor of a slot, with its LLM open.

        Raises:
            LLMError: It cannot be opened there.
            UserError: The grid cannot be resolved there, or becomes something else there.
        """
        async with slot.starting:
            if slot.actor is not None:
                return slot.actor
            gpus = self._llm.num_gpus if self._llm is not None else 0
            options = {"num_cpus": CPU_SHARE, "num_gpus": gpus, "max_concurrency": slot.size + SPARE_CALLS}
            actor = ray.remote(EpisodeActor).options(scheduling_strategy="SPREAD", **options).remote(self._order)
            try:
                cause, text = await actor.open.remote()
            except RayTaskError:
                raise
            except RayError as error:
                raise LLMError("worker", f"its process died: {_line(error)}") from None
            if cause:
                ray.kill(actor)
                raise UserError(text) if cause == "user" else LLMError(cause, text)
            slot.actor = actor
            return actor


class RemoteStore:
    """A `ReplyStore` that an actor holds."""

    def __init__(self, actor: Any) -> None:
        self._actor = actor

    async def find(self, key: ReplyKey) -> Kept | None:
        reply: Kept | None = await self._actor.find.remote(key)
        return reply

    async def put(self, key: ReplyKey, reply: Kept) -> None:
        await self._actor.put.remote(key, reply)

    def forget(self, owner: bytes) -> None:
        """Nothing: the run's own process does this once it has recorded an episode."""


class EpisodeActor:
    """Carries out episodes of one LLM in a process of its own; every method is called from another process."""

    def __init__(self, order: Order) -> None:
        self._order = order
        self._stack = contextlib.AsyncExitStack()
        self._reported = LLMUsage()

    async def open(self) -> tuple[str, str]:
        """Resolve the grid and open the LLM; what is wrong, as cause and text, or two empty texts."""
        order = self._order
        for name, value in order.variables.items():
            os.environ.setdefault(name, value)
        if Path(order.folder).is_dir():
            os.chdir(order.folder)
        self._replies = ReplyStores(RemoteStore(order.store), *order.replies)
        sandbox = self._stack.enter_context(Sandbox())
        resources = dataclasses.replace(order.resources, sandbox=sandbox, replies=self._replies)
        try:
            plan = await asyncio.to_thread(resolve, order.grid, order.limit)
            self._cells = {cell.cell: cell for cell in plan.llm_cells(order.llm)}
            compare(self._cells, order.cells)
            if order.llm != NO_LLM:
                await asyncio.to_thread(plan.llms[order.llm].fetch)
            self._pool = await self._stack.enter_async_context(LocalEngine(plan, resources).pool(order.llm))
        except UserError as error:
            return "user", f"on the machine {platform.node()}: {error}"
        except LLMError as error:
            return error.cause, str(error)
        return "", ""

    async def run_episode(self, cell: Cell, question_id: str, epoch: int) -> tuple[Episode, LLMUsage]:
        """Run one episode; its record, and what was asked of the LLM since the last one."""
        planned = self._cells[cell]
        episode = await self._pool.run_episode(planned, planned.planned.by_id[question_id], epoch)
        usage = self._replies.usage.setdefault(self._order.llm, LLMUsage())
        new, self._reported = usage.since(self._reported), dataclasses.replace(usage)
        return episode, new

    async def close(self) -> None:
        """Put the LLM away."""
        with contextlib.suppress(LLMError):
            await self._stack.aclose()


def compare(here: Mapping[Cell, PlannedCell], there: Mapping[Cell, Mapping[str, str]]) -> None:
    """Check that the grid means the same on this machine as where the run was begun.

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
