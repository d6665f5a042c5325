"""The engines by their names."""

from __future__ import annotations

import contextlib
import importlib.util
from collections.abc import Iterator

from r_eval import plugins
from r_eval.engines.base import Engine
from r_eval.engines.local import Local
from r_eval.errors import MissingExtra, UserError
from r_eval.grid import Grid

ENGINES = ("local", "ray")


def check_engine(name: str) -> None:
    """See that there is such an engine, and what it needs.

    Raises:
        UserError: The name is unknown.
        MissingExtra: Ray is not installed.
    """
    if name not in ENGINES:
        raise UserError(plugins.unknown("engine", name, ENGINES))
    if name == "ray" and importlib.util.find_spec("ray") is None:
        raise MissingExtra("ray", "ray", "The engine ray")


@contextlib.contextmanager
def opened(name: str, local: Local, grid: Grid, limit: int | None) -> Iterator[Engine]:
    """An engine, for the time of a run.

    Args:
        local: What would carry the run out in this process.

    Raises:
        UserError: The cluster cannot be reached.
    """
    if name == "local":
        yield local
        return
    from r_eval.engines.cluster import Cluster
    from r_eval.engines.distributed import Distributed

    with Cluster() as cluster:
        yield Distributed(local, cluster, grid, limit)
