"""Checks a file of facts from which placeholder records are made: it is read, and a few records are made of it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from r_eval.checking.finding import Finding, counted
from r_eval.tasks.placeholders.making import made
from r_eval.tasks.placeholders.world import read_world


def check_world(path: Path) -> list[Finding]:
    """What is found in a placeholder file.

    Raises:
        UserError: It cannot be read, or no record comes out of it.
    """
    kinds = Counter(record["id"].rpartition("-")[0] for record in made(read_world(path)))
    parts = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
    return [Finding(str(path), str(path), "note", f"{counted(kinds.total(), 'record')} made: {parts}")]
