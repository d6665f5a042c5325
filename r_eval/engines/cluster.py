"""A Ray cluster, as far as it is needed: which machines there are, a worker on one of them, and its death.

The cluster is the one that RAY_ADDRESS names, or else the one that this machine belongs to; where there is none, this
machine becomes one for as long as the run goes on.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
from collections.abc import Awaitable
from typing import TYPE_CHECKING, Any, TypeVar

from r_eval.engines.messages import Done, Order, Readiness
from r_eval.engines.sharing import Machine
from r_eval.errors import MissingExtra, UserError
from r_eval.folder import Cell

if TYPE_CHECKING:
    from ray import ObjectRef
    from ray.actor import ActorHandle

T = TypeVar("T")

ADDRESS = "RAY_ADDRESS"
CLOSING_SECONDS = 30.0
CPU_SHARE = 0.01
"""What a worker asks of Ray's count of CPUs: next to nothing, as it mostly waits; but Ray puts what asks for nothing
at all anywhere."""
SPARE_CALLS = 8
"""Calls of a worker at once besides its episodes: opening, waiting for its end, closing."""


class WorkerDied(Exception):
    """A worker, or the machine that it was on, is no more."""


class Cluster:
    """The cluster of a run; use it as a context manager, in the main thread.

    Raises:
        MissingExtra: Ray is not installed.
        UserError: The cluster cannot be reached.
    """

    def __init__(self) -> None:
        self._joined = False

    def __enter__(self) -> Cluster:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        try:
            import ray
        except ImportError:
            raise MissingExtra("ray", "ray", "--engine ray") from None
        if ray.is_initialized():
            return self
        if os.environ.get(ADDRESS, "").startswith("ray://"):
            raise UserError(f"{ADDRESS}: type the command on a machine of the cluster, without ray:// in the address")
        before = signal.getsignal(signal.SIGTERM)
        try:
            _join()
        except (ConnectionError, RuntimeError, ValueError) as error:
            said = " ".join(str(error).split())[:300]
            raise UserError(f"the Ray cluster cannot be reached ({said}); `ray status` says what is there") from None
        finally:
            # Ray takes SIGTERM for itself, and would end the process where the run is to stop.
            with contextlib.suppress(ValueError):
                signal.signal(signal.SIGTERM, before)
        self._joined = True
        return self

    def __exit__(self, *exception: object) -> None:
        if self._joined:
            import ray

            ray.shutdown()

    def machines(self) -> list[Machine]:
        """The machines that are alive."""
        import ray

        alive = [node for node in ray.nodes() if node["Alive"]]
        offers = [(node["NodeID"], node["Resources"]) for node in alive]
        return sorted((Machine(i, r.get("CPU", 0.0), r.get("GPU", 0.0)) for i, r in offers), key=lambda m: m.id)

    def hire(self, order: Order, machine: Machine | None, num_gpus: float) -> Hired:
        """Start a worker.

        Args:
            machine: Where, if it is still there; None for wherever the GPUs are.
        """
        import ray
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        from r_eval.engines.worker import Worker

        where = NodeAffinitySchedulingStrategy(machine.id, soft=True) if machine else "SPREAD"
        options: dict[str, Any] = {"max_restarts": 0, "max_task_retries": 0, "scheduling_strategy": where}
        cpus = CPU_SHARE if machine and machine.cpus else 0
        options |= {"num_cpus": cpus, "num_gpus": num_gpus, "max_concurrency": order.places + SPARE_CALLS}
        return Hired(ray.remote(Worker).options(**options).remote(order))


def _join() -> None:
    """Join the cluster; make one of this machine alone where there is none."""
    import ray

    quiet: dict[str, Any] = {"logging_level": logging.ERROR, "log_to_driver": False}
    if os.environ.get(ADDRESS):
        ray.init(**quiet)
        return
    try:
        ray.init("auto", **quiet)
    except ConnectionError:
        ray.init("local", include_dashboard=False, **quiet)


class Hired:
    """A worker as the run's own process sees it; every method may raise `WorkerDied`."""

    def __init__(self, actor: ActorHandle[Any]) -> None:
        self._actor = actor

    async def open(self) -> Readiness:
        return await _of(self._actor.open.remote())

    async def carry_out(self, cell: Cell, question_id: str, epoch: int) -> Done:
        return await _of(self._actor.carry_out.remote(cell, question_id, epoch))

    async def closed(self) -> None:
        """Wait until the worker is closed."""
        await _of(self._actor.closed.remote())

    async def close(self) -> None:
        """Put its LLM away; it gets some seconds for that."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(_of(self._actor.close.remote()), CLOSING_SECONDS)

    def end(self) -> None:
        """End its process."""
        import ray

        ray.kill(self._actor)


async def _of(ref: ObjectRef[T] | Awaitable[T]) -> T:
    """What a call returns.

    Raises:
        WorkerDied: There is nobody to return it.
    """
    from ray.exceptions import RayError, RayTaskError

    try:
        return await ref
    except RayTaskError:
        raise  # an exception in the worker's code is a mistake of ours
    except RayError as error:
        raise WorkerDied(" ".join(str(error).split())[:300]) from None
