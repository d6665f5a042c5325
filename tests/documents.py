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
from unittest import mock

import yaml

from tests.commands import typed_here

LLM = """
def reply(request):
    return "Action 1: Finish[Red]"
"""
BLOCK = re.compile(r"```(\w+)\n(.*?)```", re.DOTALL)
FILE = re.compile(r"# ([\w-]+\.(?:py|yaml))\b")
JSON_FILE = re.compile(r"`([\w-]+\.jsonl?)`[^`]*:\n\n```json\n(.*?)```", re.DOTALL)


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
    typed = "".join(text for kind, text in blocks(page) if kind == "console")
    parts = (part.partition("\n") for part in re.split(r"^\$ ", typed, flags=re.MULTILINE)[1:])
    return [Command(line, expected) for line, _, expected in parts]


def write_files(page: Path, folder: Path) -> None:
    """Write the files that a page shows: those whose first line is their name, and JSON after a sentence with it."""
    for kind, text in blocks(page):
        if kind in ("python", "yaml") and (name := FILE.match(text)):
            (folder / name[1]).write_text(text, encoding="utf-8")
    for file, text in JSON_FILE.findall(page.read_text(encoding="utf-8")):
        (folder / file).write_text(text, encoding="utf-8")


def typed(line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a command with this interpreter's own programs first on the path; `r-eval` itself runs in this process."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    words = [path for word in shlex.split(line) for path in matching(word, folder)]
    with mock.patch.dict(os.environ, {"PYTHONUTF8": "1", "PATH": path}):
        if words[0] == "r-eval":
            return typed_here(words[1:], folder)
        command = [Path(sys.executable).with_name(words[0]), *words[1:]]
        return subprocess.run(command, cwd=folder, capture_output=True, encoding="utf-8")


def matching(word: str, folder: Path) -> list[str]:
    """What a shell makes of a word."""
    found = sorted(path.relative_to(folder).as_posix() for path in folder.glob(word)) if "*" in word else []
    return found or [word]


def follow(page: Path, folder: Path) -> Path:
    """Type the commands of a page in order: each ends well and prints what the page says.

    A function replaces the embedded LLM in the grids of every folder that is entered.

    Args:
        page: The page.
        folder: Where the first command is typed.

    Returns:
        The folder of the last command.
    """
    replace_llms(folder)
    for command in commands(page):
        words = command.line.split()
        if words[0] == "cd":
            folder = folder / words[1]
            replace_llms(folder)
            continue
        done = typed(command.line, folder)
        assert done.returncode == 0, f"{command.line}\n{done.stdout}{done.stderr}"
        assert not command.expected or matches(done.stdout, command.expected), f"{command.line}\n{done.stdout}"
    return folder


def replace_llms(folder: Path) -> None:
    """Put a function in the place of embedded LLMs, under their names: what the commands print has the same form."""
    (folder / "scripted_llm.py").write_text(LLM, encoding="utf-8")
    for grid in folder.glob("*.yaml"):
        keys = yaml.safe_load(grid.read_text(encoding="utf-8"))
        if isinstance(keys, dict) and "gguf/" in str(keys.get("llms")):
            llms = [{"llm": entry} if isinstance(entry, str) else entry for entry in keys["llms"]]
            keys["llms"] = [{"name": llm["llm"], **llm, "llm": "scripted/./scripted_llm.py:reply"} for llm in llms]
            grid.write_text(yaml.safe_dump(keys, sort_keys=False), encoding="utf-8")


def matches(printed: str, expected: str) -> bool:
    """Whether a command printed what a page shows; trailing blanks do not count."""
    printed, expected = ("".join(f"{line.rstrip()}\n" for line in text.splitlines()) for text in (printed, expected))
    pattern = re.sub(r"^\\\.\\\.\\\.\\\n", r"(?:.*\\n)*?", re.escape(expected), flags=re.MULTILINE)
    return re.fullmatch(re.sub(r"\\\.\\\.\\\.\\\n", r".*\\n", pattern), printed) is not None
