"""What voids a run and what does not: code and data count, comments do not, and a refusal names the file."""

from __future__ import annotations

import contextlib
import linecache
import os
import shutil
import subprocess
import sys
import types
from collections.abc import Callable
from pathlib import Path

import pytest

from r_eval import Grid, UserError, run
from r_eval.fingerprints import code_hash
from tests.commands import R_EVAL

CODE = '''"""Trams of Zürich."""

import csv
from pathlib import Path

from r_eval.environments.base import Environment, NotFound, query_api

from lines import FIRST


class Trams(Environment):
    """Tram lines and their stops."""

    def __init__(self, stops: str, extra: list[str] | None = None, top: int = 3) -> None:
        with Path(stops).open(encoding="utf-8", newline="") as file:
            self._stops = [row[0] for row in csv.reader(file)]
        self._top = top

    @query_api
    def stops(self, line: int) -> list[str]:
        """List the stops of a line.

        Args:
            line: The number of the line.
        """
        return self._stops[: self._top]
'''
WORKFLOW = """from r_eval.llms.base import Message, Request
from r_eval.workflows.base import Workflow, finished


class Mine(Workflow):
    uses_tools = False
    PROMPTS = ("mine",)

    async def run(self, question, session, llm, limits):
        reply = await llm.generate(Request([Message("user", self.prompt("mine"))]))
        return finished(reply.text, "text")
"""
CONDITION = """from r_eval.environments.conditions.base import Condition


class Other(Condition):
    name = "other"

    def __init__(self, word: str = "a"):
        self.word = word

    def environment(self, environment, notes, seeds):
        return environment
"""
GRID = """
llms: [{llm: "scripted/llm.py:reply", name: one}]
workflows: [./mine.py:Mine]
tasks:
  - task: own
    questions: own.jsonl
    environment: {environment: "trams.py:Trams", stops: stops.csv, extra: [more/a.txt, ./more]}
conditions: [{condition: "other.py:Other", name: other, word: b}]
"""


def write_desk(tmp_path: Path) -> None:
    files = {
        "llm.py": "def reply(request):\n    return 'Bellevue'\n",
        "trams.py": CODE,
        "mine.py": WORKFLOW,
        "lines.py": "FIRST = 2  # the number\n",
        "unused.py": "FIRST = 3\n",
        "other.py": CONDITION,
        "prompts/mine.md": "Be brief.\n",
        "stops.csv": "Bellevue\nBürkliplatz\n",
        "more/a.txt": "a",
        "own.jsonl": '{"id": "1", "question": "Wo?", "answers": ["Bellevue"], "level": "KS"}\n',
        "grid.yaml": GRID,
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")


def typed(desk: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """A process of its own, since Python reads a module once."""
    command = [R_EVAL, "run", desk / "grid.yaml", "--out", desk / "out", "--quiet", "--no-cache"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=300)


def replaced(name: str, *pairs: tuple[str, str]) -> Callable[[Path], object]:
    def change(desk: Path) -> None:
        text = (desk / name).read_text(encoding="utf-8")
        for old, new in pairs:
            assert old in text
            text = text.replace(old, new)
        (desk / name).write_text(text, encoding="utf-8")

    return change


HARMLESS: dict[str, Callable[[Path], object]] = {
    "a comment": replaced("trams.py", ("self._top = top\n", "self._top = top  # as many as a person reads\n")),
    "a comment in a module beside it": replaced("lines.py", ("the number", "a number")),
    "a module that is not imported": replaced("unused.py", ("3", "4")),
    "blank lines and layout": replaced("trams.py", ("\n\n\n", "\n\n\n\n\n"), ("[: self._top]", "[ : self._top ]")),
    "other quotes": replaced("trams.py", ('encoding="utf-8"', "encoding='utf-8'")),
    "line ends": lambda desk: (desk / "trams.py").write_bytes((desk / "trams.py").read_bytes().replace(b"\n", b"\r\n")),
    "a comment in the workflow": replaced("mine.py", ("    uses_tools", "    # no tools\n    uses_tools")),
    "a comment in the LLM": replaced("llm.py", ("    return", "    # the end of a line\n    return")),
    "a comment in the condition": replaced("other.py", ("\n\n\n", "\n\n# mine\n")),
    "data that was written again": lambda desk: os.utime(desk / "stops.csv", (1, 1)),
    "another file beside": lambda desk: (desk / "notes.txt").write_text("x", encoding="utf-8"),
}
CHANGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "code": (replaced("trams.py", ("[: self._top]", "[: self._top - 1]")), "environment code trams.py"),
    "the code of a module beside it": (replaced("lines.py", ("2", "3")), "environment code lines.py ("),
    "what models read of an API": (
        replaced("trams.py", ("The number of the line", "A number")),
        "environment APIs, environment code trams.py (",
    ),
    "a setting": (replaced("grid.yaml", ("stops: stops.csv", "stops: stops.csv, top: 2")), "environment settings ("),
    "data": (replaced("stops.csv", ("Bellevue", "Stadelhofen")), "environment file stops.csv (stops)"),
    "a file of the same size": (replaced("stops.csv", ("Bellevue", "Bellevux")), "environment file stops.csv (stops)"),
    "a file in a list": (replaced("more/a.txt", ("a", "b")), "environment file a.txt (extra.0), environment file more"),
    "a new file in a folder": (
        lambda desk: (desk / "more" / "b.txt").write_text("", encoding="utf-8"),
        "environment file more (extra.1)",
    ),
    "the workflow": (replaced("mine.py", ("reply.text", "reply.text.strip()")), "workflow code mine.py"),
    "a prompt": (replaced("prompts/mine.md", ("brief", "short")), "workflow prompt mine ("),
    "the LLM": (replaced("llm.py", ("Bellevue", "Kreuzplatz")), "llm code llm.py ("),
    "the condition": (replaced("other.py", ("environment\n", "environment.open()\n")), "condition code other"),
    "a setting of the condition": (replaced("grid.yaml", ("word: b", "word: c")), "condition settings ("),
    "a question": (replaced("own.jsonl", ("Wo?", "Where?")), "task ("),
}


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A desk with a run in it."""
    folder = tmp_path_factory.mktemp("done")
    write_desk(folder)
    assert typed(folder, folder).returncode == 0
    return folder


@pytest.fixture
def desk(done: Path, tmp_path: Path) -> Path:
    """A copy in another folder."""
    return Path(shutil.copytree(done, tmp_path / "moved"))


def test_what_decides_nothing_voids_no_run_and_neither_does_another_folder(desk: Path) -> None:
    for change in HARMLESS.values():
        change(desk)
    assert (again := typed(desk, Path("/"))).returncode == 0, again.stderr


@pytest.mark.parametrize("change", sorted(CHANGES))
def test_a_refusal_names_what_differs_and_the_file(desk: Path, change: str) -> None:
    make, named = CHANGES[change]
    make(desk)
    again = typed(desk, desk)
    assert again.returncode == 2
    assert f"differs from this grid in: {named}" in " ".join(again.stderr.split())


def test_code_is_told_apart_by_what_it_means() -> None:
    assert code_hash(b"if a:\n    b()  # Ada") == code_hash(b"if a: b()")
    others = (b"a - (b - c)", b"a - b - c", b"'A.'", b"'B.'", b"x = 1", b"x = 1.0")
    assert len({*map(code_hash, others)}) == len(others)


NOTEBOOK = """
from r_eval.environments import Environment, query_api
from r_eval.workflows.base import Workflow, finished

PRICES = {"Ugali": 120}

def spelt(number):
    return f"{number} KES" if f0 else ""

class Shop(Environment):
    TAX = 0

    @query_api
    def price(self, dish: str) -> str:
        return [spelt(PRICES[each] + self.TAX) for each in [dish]][0]

class Mine(Workflow):
    async def run(self, question, session, llm, limits):
        return finished("120", "text")

def reply(request):
    return "120"
"""
NAMES = [f"f{number}" for number in range(25)]
NOTEBOOK += "".join(f"\ndef {name}():\n    return {NAMES}\n".replace("'", "") for name in NAMES)  # each names each
CELLS = {
    "environment code Shop": ("    TAX = 0", "    TAX = 1"),
    "environment code Shop (a helper)": ("KES", "KSh"),
    "environment code Shop (data)": ("120}", "130}"),
    "environment code Shop (a query API)": ("[0]", "[-1]"),
    "workflow code Mine": ('finished("120"', 'finished("130"'),
    "llm code reply": ('return "120"', 'return "130"'),
    "": ("PRICES = {", "\n\n# of today\nPRICES =  {"),
}


@pytest.mark.parametrize("part", CELLS)
def test_code_of_a_notebook_counts_as_that_of_files_does(
    part: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    question = '{"id": "1", "question": "?", "answers": ["120"]}\n'
    (tmp_path / "q.jsonl").write_text(question, encoding="utf-8")
    task = {"task": "own", "questions": str(tmp_path / "q.jsonl"), "environment": "cells:Shop"}
    grid = Grid(llms=["scripted/cells:reply"], workflows=["cells:Mine"], tasks=[task])

    def evaluate(source: str) -> None:
        """As IPython runs a cell: the module has no file, but the lines of the cell are known."""
        module, name = types.ModuleType("cells"), f"<cell {len(linecache.cache)}>"
        linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
        monkeypatch.setitem(sys.modules, "cells", module)
        exec(compile(source, name, "exec"), vars(module))
        assert run(grid, tmp_path / "out").state == "complete"

    evaluate(NOTEBOOK)
    changed = NOTEBOOK.replace(*CELLS[part])
    assert changed != NOTEBOOK
    refusal = f"differs from this grid in: {part.partition(' (')[0]} "
    with pytest.raises(UserError, match=refusal) if part else contextlib.nullcontext():
        evaluate(changed)


def test_the_code_of_an_llm_in_a_module_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    grid = Grid(llms=["scripted/talker:reply"], workflows=["direct"], tasks=["wiki/high-freq"], samples=1)
    for answer in ("a", "b"):
        (tmp_path / "talker.py").write_text(f"def reply(request):\n    return '{answer}'\n", encoding="utf-8")
        with contextlib.nullcontext() if answer == "a" else pytest.raises(UserError, match=r"llm code talker\.py"):
            run(grid, tmp_path / "out")
