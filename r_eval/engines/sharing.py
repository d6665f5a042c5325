"""How the work on one LLM is divided: how many workers, with how many episodes under way in each."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence

from r_eval.engines.local import LLM_FREE_PLACES
from r_eval.errors import UserError
from r_eval.llms.base import LLM

PLACES_A_WORKER = 8
"""A worker for every so many connections of a server: below that, a process is not busy enough to need another."""


@dataclasses.dataclass(frozen=True)
class Machine:
    """A machine of the cluster; `cpus` and `gpus` are what it offers, in Ray's count."""

    id: str
    cpus: float
    gpus: float


def shares(llm: LLM | None, machines: Sequence[Machine], episodes: int, connections: int | None = None) -> list[int]:
    """The places of each worker.

    An LLM that every process loads for itself has a copy for every `num_gpus` GPUs, or one a machine, each with all its
    connections. One that is a server has its connections divided among the workers, at least one a machine. What needs
    no LLM has a worker for every CPU.

    Args:
        llm: None for what needs no LLM.
        episodes: How many there are at most; no more places are made.
        connections: In place of the LLM's own.

    Raises:
        UserError: The LLM needs more GPUs than any machine has.
    """
    cpus = max(len(machines), int(sum(m.cpus for m in machines)))
    if llm is None:
        return [LLM_FREE_PLACES] * _at_most(cpus, episodes / LLM_FREE_PLACES)
    places = connections or llm.connections
    if llm.num_gpus:
        return [places] * _at_most(_copies(llm, machines), episodes / places)
    if llm.is_local:
        return [places] * _at_most(len(machines), episodes / places)
    wanted = max(len(machines), math.ceil(places / PLACES_A_WORKER))
    count = _at_most(min(wanted, cpus, places), episodes)
    return [places // count + (k < places % count) for k in range(count)]


def _at_most(count: int, needed: float) -> int:
    return max(1, min(count, math.ceil(needed)))


def _copies(llm: LLM, machines: Sequence[Machine]) -> int:
    """How many copies of an LLM the GPUs of the cluster hold."""
    need = llm.num_gpus
    count = sum(int(m.gpus / need + 1e-6) for m in machines)
    if not count:
        most = max((m.gpus for m in machines), default=0)
        raise UserError(f"LLM '{llm.name}': num_gpus is {need:g}, and no machine of the cluster has more than {most:g}")
    return count


def seat(machines: Sequence[Machine], held: Mapping[str, int], even: bool) -> Machine:
    """The machine for the next worker.

    Args:
        held: How many workers each machine has, by its id.
        even: Whether a machine with more CPUs is to have no more of them.
    """
    usable = [m for m in machines if m.cpus] or list(machines)
    return min(usable, key=lambda m: ((held.get(m.id, 0) + 1) / (1 if even else max(m.cpus, 1)), m.id))
