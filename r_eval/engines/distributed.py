"""Episodes on many machines: workers on a Ray cluster carry them out, and this process alone writes the run folder.

Each machine has its own reply store, so an episode that runs again on another machine makes its calls again.
"""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import os
from collections.abc import AsyncIterator
from pathlib import Path

from r_eval.engines.base import Lane
from r_eval.engines.cluster import Cluster, Hired
from r_eval.engines.crew import Crew
from r_eval.engines.local import Local
from r_eval.engines.messages import Order
from r_eval.engines.sharing import seat, shares
from r_eval.grid import Grid
from r_eval.llms.base import LLM
from r_eval.runner.plan import NO_LLM

OWN_VARIABLES = "R_EVAL_"


@dataclasses.dataclass
class Distributed:
    """The engine of many machines.

    Attributes:
        local: What would carry the run out in this process.
        grid, limit: What every worker resolves for itself.
    """

    local: Local
    cluster: Cluster
    grid: Grid
    limit: int | None = None

    @contextlib.asynccontextmanager
    async def lane(self, llm: str) -> AsyncIterator[Lane]:
        """The workers of an LLM; where none can open it, all its episodes are recorded as `llm_failure`.

        Raises:
            UserError: The LLM needs more GPUs than there are.
        """
        local = self.local
        own = None if llm == NO_LLM else local.plan.llms[llm]
        cells = local.plan.llm_cells(llm)
        episodes = sum(len(c.planned.asked) for c in cells) * self.grid.epochs
        places = shares(own, self.cluster.machines(), episodes, local.connections)
        order = Order(
            grid=self.grid,
            limit=self.limit,
            llm=llm,
            places=1,
            sharing=1 if _copied(own) else len(places),
            cells={c.cell: c.parts for c in cells},
            demonstrations=local.demonstrations,
            run=local.replies.run,
            cache=local.replies.use_cache,
            cache_all=local.replies.cache_all,
            folder=str(Path.cwd()),
            variables={k: v for k, v in os.environ.items() if k.startswith(OWN_VARIABLES)},
        )
        if own is not None:
            local.watcher.loading(llm)
        async with Crew(local, own, places, _Hiring(self.cluster, own, order).hire) as crew:
            yield crew


def _copied(llm: LLM | None) -> bool:
    return llm is not None and (llm.is_local or llm.num_gpus > 0)


class _Hiring:
    """Chooses the machines of one LLM's workers."""

    def __init__(self, cluster: Cluster, llm: LLM | None, order: Order) -> None:
        self._cluster, self._order = cluster, order
        self._num_gpus = llm.num_gpus if llm is not None else 0.0
        self._even = _copied(llm)
        self._seats: dict[int, str] = {}

    def hire(self, number: int, places: int) -> Hired:
        """Start a worker; one that had the same number is no more."""
        order = dataclasses.replace(self._order, places=places)
        self._seats.pop(number, None)
        if self._num_gpus:
            return self._cluster.hire(order, None, self._num_gpus)
        machine = seat(self._cluster.machines(), collections.Counter(self._seats.values()), self._even)
        self._seats[number] = machine.id
        return self._cluster.hire(order, machine, 0)
