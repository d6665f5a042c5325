"""Calls a Python function as the program of an episode: `python -P agent_function.py FILE.py|MODULE FUNCTION`.

It reads the episode from standard input and prints the answer as JSON; output of the function itself goes to standard
error. R-Eval is not imported here, so that the function has the process to itself.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import importlib.util
import inspect
import json
import sys
from pathlib import Path
from typing import Any


def load_function(source: str, name: str) -> Any:
    """Load a function from a module, or from a file, which may import modules next to it."""
    if not source.endswith(".py"):
        return getattr(importlib.import_module(source), name)
    path = Path(source)
    sys.path.insert(0, str(path.parent))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{source} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return getattr(module, name)


def main(source: str, name: str) -> None:
    """Call a function once, with the fields of the episode that it has parameters for."""
    episode = json.load(sys.stdin)
    with contextlib.redirect_stdout(sys.stderr):
        function = load_function(source, name)
        as_text: dict[str, Any] = {"annotation_format": 4} if sys.version_info >= (3, 14) else {}
        parameters = inspect.signature(function, **as_text).parameters  # what types name need not be imported
        takes_all = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())
        answer = function(**{key: value for key, value in episode.items() if takes_all or key in parameters})
        answer = asyncio.run(answer) if inspect.iscoroutine(answer) else answer
    result = answer if isinstance(answer, dict) and "answer" in answer else {"answer": answer}
    sys.stdout.write(json.dumps(result, default=str) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
