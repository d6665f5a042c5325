"""Reads the blocks of a page of documentation, and runs its commands as a reader would type them.

A `console` block holds commands, each behind `$ `, and what they print; a line `...` stands for any lines, and `...` at
the end of a line for any rest of it. A command that shows nothing may print what it likes.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import yaml

BLOCK = re.compile(r"```(\w+)\n(.*?)```", re.DOTALL)


class Command(NamedTuple):
    """A command of a page and what the page says that it prints."""

    line: str
    expected: str


def blocks(page: Path) -> list[tuple[str, str]]:
    """The kind and text of every block, in order."""
    return BLOCK.findall(page.read_text(encoding="utf-8"))


def block(page: Path, kind: str, marker: str) -> str:
    """The one block of a kind that holds a text."""
    (found,) = [text for k, text in blocks(page) if k == kind and marker in text]
    return found


def commands(page: Path) -> list[Command]:
    """The commands of all console blocks, in order."""
    found = []
    for text in (text for kind, text in blocks(page) if kind == "console"):
        for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
            line, _, expected = part.partition("\n")
            found.append(Command(line, expected))
    return found


def typed(line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a command with this interpreter's own programs first on the path."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    words = shlex.split(line)
    return subprocess.run(
        [str(Path(sys.executable).with_name(words[0])), *words[1:]],
        cwd=folder,
        capture_output=True,
        text=True,
        encoding="utf-8",
        env={**os.environ, "PYTHONUTF8": "1", "PATH": path},
        check=False,
    )


def hurry(grid: Path) -> None:
    """Let a real LLM say little in every episode of a grid: what the commands print has the same form."""
    keys = yaml.safe_load(grid.read_text(encoding="utf-8"))
    keys["llms"] = [{**entry, "max_tokens": 8} for entry in keys["llms"]]
    keys = {**keys, "shots": 0, "limits": {**keys["limits"], "steps": 1}}
    grid.write_text(yaml.safe_dump(keys), encoding="utf-8")


def matches(printed: str, expected: str) -> bool:
    """Whether a command printed what a page shows; trailing blanks do not count."""
    pattern = "".join(
        r"(?:.*\n)*?"
        if line == "..."
        else re.escape(line.removesuffix("...")) + (".*" if line[-3:] == "..." else "") + r"\n"
        for line in _stripped(expected)
    )
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in _stripped(printed))) is not None


def _stripped(text: str) -> list[str]:
    return [line.rstrip() for line in text.splitlines()]
