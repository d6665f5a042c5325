"""R-Eval evaluates LLMs and agent workflows over the query APIs of a domain.

>>> from r_eval import Grid, run, load_run

The names are loaded when they are first used, so that `import r_eval` is fast.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

__all__ = ["Episode", "Grid", "Question", "Run", "UserError", "__version__", "arun", "load_run", "run"]

if TYPE_CHECKING:
    from r_eval.api import Run, arun, load_run, run
    from r_eval.errors import UserError
    from r_eval.grid import Grid
    from r_eval.records import Episode, Question

_HOMES = {
    "Run": "api",
    "arun": "api",
    "load_run": "api",
    "run": "api",
    "UserError": "errors",
    "Grid": "grid",
    "Episode": "records",
    "Question": "records",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        import importlib

        return getattr(importlib.import_module(f"r_eval.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'r_eval' has no attribute '{name}'")


def __dir__() -> list[str]:
    return list(__all__)
