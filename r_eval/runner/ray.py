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
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import ray
from ray.exceptions import RayError, RayTaskError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from r_eval.environments.sandbox import Sandbox
from r_eval.errors import UserError
from r_eval.fingerprints import changed_parts
from r_eval.folder import Cell
from r_eval.grid import Grid
from r_eval.llms.base import LLM, LLMError
from r_eval.llms.replay import LLMUsage, ReplyKey, ReplyStores, StoredReply
from r_eval.llms.reply_store import ReplyStore
from r_eval.records import Episode, Question
from r_eval.runner.episode import Resources, run_episode
from r_eval.runner.named import NO_LLM
from r_eval.runner.plan import Plan, PlannedCell, resolve
from r_eval.runner.pools import EpisodePool, local_pool

logger = logging.getLogger("r_eval")

ADDRESS = "RAY_ADDRESS"
ATTEMPTS = 3
"""How often an episode is begun, where actors die over it."""
RESTARTS = 50
"""How often an actor may die."""
EPISODES_PER_ACTOR = 8
"""A server's connections that one actor serves: with fewer, a process is not busy enough to need another."""
SPARE_CALLS = 4
"""Calls of an actor at once besides its episodes."""
CPU_SHARE = 0.01
"""CPUs that an actor reserves: next to none, since it mostly waits; but Ray puts what reserves none anywhere."""
CLOSING_SECONDS = 30.0
WATCH_SECONDS = 5.0
ELSEWHERE = (
    "the grid means something else here than where the run was begun: other {} (cell {} on {}). "
    "The same R-Eval and the same files must be on every machine"
)
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
        options |= {"scheduling_strategy": "SPREAD", "max_restarts": RESTARTS}
        made = ray.remote(EpisodeActor)
        actors = [made.options(max_concurrency=size + SPARE_CALLS, **options).remote(order) for size in sizes]
        try:
            errors = await asyncio.gather(*(_open(actor) for actor in actors))
            for error in errors:
                if error is not None and (isinstance(error, UserError) or None not in errors):
                    raise error
            usable = [(actor, size) for actor, size, error in zip(actors, sizes, errors, strict=True) if error is None]
            yield self._pool(own, usable)
        finally:
            try:
                closing = asyncio.gather(*(actor.close.remote() for actor in actors), return_exceptions=True)
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(closing, CLOSING_SECONDS)
            finally:
                for actor in actors:
                    ray.kill(actor)

    def _pool(self, llm: LLM | None, actors: Sequence[tuple[Any, int]]) -> EpisodePool:
        """The pool of actors that carry out so many episodes at once; Ray starts one that dies again, somewhere."""
        free = asyncio.Queue[Any]()
        for turn in range(max(size for _, size in actors)):
            for actor in (actor for actor, size in actors if turn < size):
                free.put_nowait(actor)

        async def run_on_some_actor(cell: PlannedCell, question: Question, epoch: int) -> Episode:
            trouble = LLMError("worker", f"its process died each of {ATTEMPTS} times that this episode was begun")
            for _ in range(ATTEMPTS):
                actor = await free.get()
                try:
                    if (error := await _open(actor, restarting=True)) is not None:
                        raise error
                    episode, usage = await actor.run_episode.remote(cell.cell, question.id, epoch)
                except RayTaskError:
                    raise  # an exception in our own code
                except RayError as error:
                    logger.warning("an actor died; its episodes run again (%s)", _line(error))
                except LLMError as error:
                    trouble = error
                else:
                    if llm is not None:
                        self._resources.replies.usage.setdefault(llm.name, LLMUsage()).include(usage)
                    record: Episode = episode
                    return record
                finally:
                    free.put_nowait(actor)
            return await run_episode(cell, question, epoch, llm, self._resources, trouble)

        return EpisodePool(sum(size for _, size in actors), run_on_some_actor)

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
        why = f"the Ray cluster cannot be reached ({_line(error)}); `ray status` says what is there"
        raise UserError(why) from None
    finally:
        with contextlib.suppress(ValueError):  # Ray takes SIGTERM for itself, and would end the process
            signal.signal(signal.SIGTERM, before)


async def _open(actor: Any, restarting: bool = False) -> UserError | LLMError | None:
    """Wait until an actor has its LLM open; what keeps it from that.

    Args:
        restarting: Whether one that died is waited for, which Ray starts again.
    """
    try:
        cause, text = await actor.open.options(max_task_retries=-1 if restarting else 0).remote()
    except RayTaskError:
        raise
    except RayError as error:
        return LLMError("worker", f"its process died: {_line(error)}")
    if cause == "user":
        return UserError(text)
    return LLMError(cause, text) if cause else None


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:300]


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
    places, need = llm.connections, llm.num_gpus
    if need or llm.is_local:
        copies = sum(int(machine.get("GPU", 0) / need + 1e-6) for machine in machines) if need else len(machines)
        if not copies:
            most = max((machine.get("GPU", 0) for machine in machines), default=0)
            why = f"num_gpus is {need:g}, and no machine of the cluster has more than {most:g}"
            raise UserError(f"LLM '{llm.name}': {why}")
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
    """What an actor is for; it resolves the grid itself, as the run's own process did.

    Attributes:
        cells: The cells of the LLM with the parts of their fingerprints, for comparing.
        resources: Without the sandbox, which an actor makes for itself.
        folder: Where the command was typed; relative paths start there.
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
        reply: StoredReply | None = await self._actor.find.remote(key)
        return reply

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

    async def open(self) -> tuple[str, str]:
        """Resolve the grid and open the LLM; what is wrong, as cause and text, or two empty texts."""
        self._opening = self._opening or asyncio.create_task(self._open())
        try:
            await asyncio.shield(self._opening)
        except (UserError, LLMError) as error:
            self._opening = None
            if isinstance(error, LLMError):
                return error.cause, str(error)
            return "user", f"on the machine {platform.node()}: {error}"
        return "", ""

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

    async def run_episode(self, cell: Cell, question_id: str, epoch: int) -> tuple[Episode, LLMUsage]:
        """Run one episode; its record, and what was asked of the LLM since the last one."""
        planned = self._cells[cell]
        question = planned.planned.questions[planned.planned.places[question_id]]
        episode = await self._pool.run_episode(planned, question, epoch)
        usage = self._order.resources.replies.usage.setdefault(self._order.llm, LLMUsage())
        new, self._reported = usage.since(self._reported), dataclasses.replace(usage)
        return episode, new

    async def close(self) -> None:
        """Put the LLM away."""
        with contextlib.suppress(LLMError):
            await self._stack.aclose()
