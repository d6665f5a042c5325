"""Repeats calls in another process, where the environment is opened anew and the order of sets is another one.

Calls and results go through files, so that whatever the environment prints does no harm.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from r_eval.checking.outcome import carry_out
from r_eval.tasks.base import open_environment

SECONDS = 300
CODE = "import sys; from r_eval.checking.again import repeat; repeat(sys.argv[1], sys.argv[2])"


def in_another_process(target: str, calls: Sequence[tuple[str, dict[str, Any]]]) -> list[str | None] | None:
    """The results of calls as text, made in this order in one session; None where that process came to no end.

    Args:
        target: The environment's name.
        calls: API and arguments of each.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "calls.json").write_text(json.dumps(calls), encoding="utf-8")
        seed = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
        try:
            subprocess.run(
                [sys.executable, "-c", CODE, target, name],
                env={**os.environ, "PYTHONHASHSEED": seed},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=SECONDS,
                check=True,
            )
        except subprocess.SubprocessError:
            return None
        results: list[str | None] = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    return results


def repeat(target: str, folder: str) -> None:
    """What the other process does: from calls.json in the folder it makes results.json."""
    calls = json.loads((Path(folder) / "calls.json").read_text(encoding="utf-8"))
    results = asyncio.run(_results(target, calls))
    (Path(folder) / "results.json").write_text(json.dumps(results), encoding="utf-8")


async def _results(target: str, calls: Sequence[tuple[str, dict[str, Any]]]) -> list[str | None]:
    environment = open_environment(target)
    session, specs = environment.open(), environment.specs()
    outcomes = [await carry_out(session, specs[api], arguments) for api, arguments in calls]
    session.close()
    environment.close()
    return [None if outcome is None else outcome.text for outcome in outcomes]
