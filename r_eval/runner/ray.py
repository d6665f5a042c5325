"""Episodes on many machines: actors of a Ray cluster carry them out, and the run's own process alone writes records.

The cluster is the one that RAY_ADDRESS names, else the one that this machine belongs to, else this machine becomes one
for the time of the run. One more actor, on this machine, holds the reply store: a reply is in it before a workflow on
any machine sees it. Where an actor dies, its episodes run again on another, and only calls in flight are made again.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import functools
import logging
import math
import os
import platform
import signal
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import ray
from ray.exceptions import ObjectLostError, RayActorError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from r_eval.environments.sandbox import Sandbox
from r_eval.errors import UserError
from r_eval.fingerprints import changed_parts
from r_eval.folder import Cell
from r_eval.grid import Grid
from r_eval.isolation import describe
from r_eval.llms.base import LLM, LLMError
from r_eval.llms.replay import LLMUsage, ReplyKey, ReplyStores, StoredReply
from r_eval.llms.reply_store import ReplyStore
from r_eval.records import Episode, Question
from r_eval.runner.episode import EpisodePool, Resources, local_pool, run_episode
from r_eval.runner.grid_entries import NO_LLM
from r_eval.runner.plan import Plan, PlannedCell, resolve

ATTEMPTS = 3
"""How often an episode is begun, where actors die over it."""
EPISODES_PER_ACTOR = 8
"""A server's connections that one actor serves: with fewer, a process is not busy enough to need another."""
CPU_SHARE = 0.01
"""CPUs that an actor reserves: next to none, since it mostly waits; but Ray puts what reserves none anywhere."""
WATCH_SECONDS = 5.0
ELSEWHERE = (
    "a machine of the cluster differs from the one that started the run: other {} (cell {} on {}). "
    "Install the same R-Eval and the same files on every machine"
)
LOST = "the Ray cluster was lost. What was recorded is kept; start it again, and the same command resumes the run"


class RayEngine:
    """The engine of a run on a cluster; use it as a context manager, in the main thread.

    Raises:
        UserError: The cluster cannot be reached.
    """

    def __init__(self, plan: Plan, resources: Resources, limit: int | None) -> None:
        self._plan, self._resources, self._limit = plan, resources, limit

    def __enter__(self) -> RayEngine:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        self._joined = not ray.is_initialized()
        if self._joined:
            _join()
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
        """The actors of an LLM; one that cannot open it is left out where another can.

        Raises:
            LLMError: No actor can open it.
            UserError: It needs more GPUs than there are, or the grid cannot be run on the machines.
        """
        own = None if llm == NO_LLM else self._plan.llms[llm]
        cells, replies = self._plan.llm_cells(llm), self._resources.replies
        shared = ReplyStores(RemoteStore(self._store), replies.run, replies.use_cache, replies.cache_all)
        episodes = sum(len(cell.planned.questions) for cell in cells) * self._plan.grid.epochs
        sizes = actor_sizes(own, [node["Resources"] for node in ray.nodes() if node["Alive"]], episodes)
        order = Order(
            grid=_divided(self._plan.grid, 1 if own is None or own.is_local or own.num_gpus else len(sizes)),
            limit=self._limit,
            llm=llm,
            cells={cell.cell: cell.parts for cell in cells},
            resources=dataclasses.replace(self._resources, sandbox=None, replies=shared),  # type: ignore[arg-type]
            folder=str(Path.cwd()),
            variables={key: value for key, value in os.environ.items() if key.startswith("R_EVAL_")},
        )
        options: dict[str, Any] = {"num_cpus": CPU_SHARE, "num_gpus": own.num_gpus if own is not None else 0}
        options |= {"scheduling_strategy": "SPREAD", "max_restarts": -1, "max_concurrency": 1000}
        actors = [ray.remote(EpisodeActor).options(**options).remote(order) for _ in sizes]
        try:
            opened = await asyncio.gather(*(actor.open.remote() for actor in actors), return_exceptions=True)
            errors = [LLMError("worker", describe(one)) if isinstance(one, RayActorError) else one for one in opened]
            for error in errors:
                if error is not None and (not isinstance(error, LLMError) or None not in errors):
                    raise error
            free = asyncio.Queue[Any]()  # each actor as often as it has connections
            for turn in range(max(sizes)):
                for actor, size, error in zip(actors, sizes, errors, strict=True):
                    if error is None and turn < size:
                        free.put_nowait(actor)
            yield EpisodePool(free.qsize(), functools.partial(self._run_episode, own, free))
        finally:
            for actor in actors:
                ray.kill(actor)

    async def _run_episode(
        self, llm: LLM | None, free: asyncio.Queue[Any], cell: PlannedCell, question: Question, epoch: int
    ) -> Episode:
        """Run an episode on an actor; where it dies, Ray starts it again somewhere, and the episode runs again."""
        actor, usage = await free.get(), LLMUsage()
        result: Any = LLMError("worker", f"its worker died in all {ATTEMPTS} attempts at this episode")
        try:
            for _ in range(ATTEMPTS):
                with contextlib.suppress(RayActorError, ObjectLostError):
                    await actor.open.options(max_task_retries=-1).remote()  # waits while Ray starts it again
                    result, usage = await actor.run_episode.remote(cell.cell, question.id, epoch)
                    break
        finally:
            free.put_nowait(actor)
        if llm is not None:
            self._resources.replies.usage.setdefault(llm.name, LLMUsage()).include(usage)
        if isinstance(result, UserError):
            raise result
        if isinstance(result, LLMError):
            return await run_episode(cell, question, epoch, llm, self._resources, result)
        return result  # type: ignore[no-any-return]

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
            except Exception:  # noqa: BLE001  whatever it is, nothing answers there
                nodes = []
            if not any(node["NodeID"] == own and node["Alive"] for node in nodes):
                raise UserError(LOST)


def _join() -> None:
    """Join the cluster; make one of this machine alone where there is none.

    Raises:
        UserError: There is one, and it cannot be reached.
    """
    if os.environ.get("RAY_ADDRESS", "").startswith("ray://"):
        raise UserError("RAY_ADDRESS: type the command on a machine of the cluster, without ray:// in the address")
    before = signal.getsignal(signal.SIGTERM)
    try:
        ray.init(include_dashboard=False, logging_level=logging.ERROR, log_to_driver=False)
    except (ConnectionError, RuntimeError, ValueError) as error:
        why = f"the Ray cluster cannot be reached ({describe(error)}); `ray status` says what is there"
        raise UserError(why) from None
    finally:
        with contextlib.suppress(ValueError):  # Ray takes SIGTERM for itself, and would end the process
            signal.signal(signal.SIGTERM, before)


def actor_sizes(llm: LLM | None, machines: list[Mapping[str, float]], episodes: int) -> list[int]:
    """How many episodes at once each actor of an LLM carries out, for so many episodes at most.

    An LLM that every process loads for itself has a copy for every `num_gpus` GPUs, or one a machine, each with all its
    connections. A server's connections are divided among the actors. What needs no LLM has an actor for every CPU.

    Args:
        machines: What each machine offers, by Ray's names ("CPU", "GPU").

    Raises:
        UserError: The LLM needs more GPUs than any machine has.
    """
    cpus = max(len(machines), int(sum(machine.get("CPU", 0) for machine in machines)))
    if llm is None:
        return [2] * max(1, min(cpus, math.ceil(episodes / 2)))
    connections, need = llm.connections, llm.num_gpus
    if need or llm.is_local:
        gpus = [machine.get("GPU", 0) for machine in machines]
        copies = sum(int(number / need + 1e-6) for number in gpus) if need else len(machines)
        if not copies:
            why = f"num_gpus is {need:g}, and no machine of the cluster has more than {max(gpus, default=0):g}"
            raise UserError(f"LLM '{llm.name}': {why}")
        return [connections] * max(1, min(copies, math.ceil(episodes / connections)))
    count = min(max(len(machines), math.ceil(connections / EPISODES_PER_ACTOR)), cpus, connections, episodes)
    return [connections // count + (k < connections % count) for k in range(count)]


def _divided(grid: Grid, actors: int) -> Grid:
    """A grid in which limits per minute are divided among so many actors."""
    copy = grid.model_copy(deep=True)
    for entry in copy.llms:
        own: dict[str, Any] = entry.model_extra or {}
        keys = {"requests_per_minute", "tokens_per_minute"} & own.keys()
        own.update({key: max(1, own[key] // actors) for key in keys if isinstance(own[key], int)})
    return copy


@dataclasses.dataclass(frozen=True)
class Order:
    """What an actor is for; it resolves the grid itself, as the run's own process did.

    Attributes:
        cells: Of the LLM, with the parts of their fingerprints, for comparison.
        resources: Without the sandbox, which an actor makes for itself.
        folder: Where relative paths start.
        variables: Environment variables that R-Eval reads.
    """

    grid: Grid
    limit: int | None
    llm: str
    cells: Mapping[Cell, Mapping[str, str]]
    resources: Resources
    folder: str
    variables: Mapping[str, str]


class RemoteStore:
    """A `ReplyStore` that an actor holds; the run's own process forgets, once it has recorded an episode."""

    def __init__(self, actor: Any) -> None:
        self._actor = actor

    async def find(self, key: ReplyKey) -> StoredReply | None:
        return await self._actor.find.remote(key)  # type: ignore[no-any-return]

    async def put(self, key: ReplyKey, reply: StoredReply) -> None:
        await self._actor.put.remote(key, reply)

    def forget(self, owner: bytes) -> None: ...


class EpisodeActor:
    """Carries out episodes of one LLM in a process of its own; every method is called from another process."""

    def __init__(self, order: Order) -> None:
        self._order = order
        self._stack = contextlib.AsyncExitStack()
        self._reported = LLMUsage()
        self._opening: asyncio.Task[None] | None = None

    async def open(self) -> UserError | LLMError | None:
        """Open the LLM, once; what is wrong with it or with the grid."""
        self._opening = self._opening or asyncio.create_task(self._open())
        try:
            await asyncio.shield(self._opening)
        except (UserError, LLMError) as error:
            self._opening = None
            return error if isinstance(error, LLMError) else UserError(f"on the machine {platform.node()}: {error}")
        return None

    async def _open(self) -> None:
        order = self._order
        for name, value in order.variables.items():
            os.environ.setdefault(name, value)
        if Path(order.folder).is_dir():
            os.chdir(order.folder)
        resources = dataclasses.replace(order.resources, sandbox=self._stack.enter_context(Sandbox()))
        plan = await asyncio.to_thread(resolve, order.grid, order.limit)
        self._cells = {cell.cell: cell for cell in plan.llm_cells(order.llm)}
        for cell, parts in order.cells.items():
            own = self._cells[cell].parts if cell in self._cells else {}
            if own != parts:
                raise UserError(ELSEWHERE.format(changed_parts(parts, own), cell.system, cell.task))
        if order.llm != NO_LLM:
            await asyncio.to_thread(plan.llms[order.llm].fetch)
        self._pool = await self._stack.enter_async_context(local_pool(plan, resources, order.llm))

    async def run_episode(
        self, cell: Cell, question_id: str, epoch: int
    ) -> tuple[Episode | UserError | LLMError, LLMUsage]:
        """Run one episode; its record, and what was requested of the LLM since the last one."""
        if (error := await self.open()) is not None:  # the process has started again, and cannot go on
            return error, LLMUsage()
        planned = self._cells[cell]
        question = planned.planned.questions[planned.planned.places[question_id]]
        episode = await self._pool.run_episode(planned, question, epoch)
        usage = self._order.resources.replies.usage.setdefault(self._order.llm, LLMUsage())
        new, self._reported = usage.since(self._reported), dataclasses.replace(usage)
        return episode, new
