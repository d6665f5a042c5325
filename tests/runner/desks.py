"""A desk to run grids from, and records compared but for their durations."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from r_eval import Grid
from r_eval.records import Episode, Outcome, OutcomeKind
from r_eval.runner.episode import episode_id
from r_eval.runner.plan import PlannedCell
from tests.commands import R_EVAL

TASKS = ["aminer/soay-easy", "aminer/soay-hard"]

THOUGHTFUL = """
import asyncio, hashlib, random

REPLIES = [
    "Action 1: Finish[Ada]",
    "Thought 1: Look it up.\\nAction 1: searchPerson(name=\\"Anil Mishra\\")",
    "I do not know.",
    "```python\\nanswer = [p['name'] for p in searchPerson(name='Jonas')]\\n```",
    "```python\\nanswer = searchPerson(nam='Jonas')\\n```",
    '<tool_call>{"name": "getPerson", "arguments": {}}</tool_call>',
    '<tool_call>{"name": "Finish", "arguments": {"return_type": "give_answer", "answer": "Ada"}}</tool_call>',
]

async def reply(request):
    said = repr([(m.role, m.content, [(c.name, c.arguments) for c in m.tool_calls]) for m in request.messages])
    await asyncio.sleep(random.random() / 200)
    return REPLIES[hashlib.sha256(said.encode()).digest()[0] % len(REPLIES)]
"""

LOGGING = """
import asyncio, os, sys, time

def machine():
    ray = sys.modules.get("ray")
    return ray.get_runtime_context().get_node_id() if ray and ray.is_initialized() else "-"

def log(word):
    line = f"{word} {os.getpid()} {machine()} {time.time()}\\n"
    with open({asked!r}, "a", encoding="utf-8") as file:
        file.write(line)

async def company(count):
    # Wait for requests from so many processes, so that a quick one does not do all the work.
    until = time.time() + 60
    while time.time() < until:
        with open({asked!r}, encoding="utf-8") as file:
            if len({line.split()[1] for line in file}) >= count:
                return
        await asyncio.sleep(0.05)

async def reply(request):
    log("asked")
    await company({crowd})
    await asyncio.sleep({seconds})
    log("told")
    return "Thought 1: I know.\\nAction 1: Finish[Ada]"
"""


class Desk:
    """A folder with scripted LLMs in it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def llm(self, code: str, name: str = "one", connections: int = 8, **values: Any) -> dict[str, Any]:
        """Write a scripted LLM; returns its entry in a grid."""
        for key, value in {"asked": str(self.path / f"{name}.asked"), "crowd": 1, "seconds": 0, **values}.items():
            code = code.replace(f"{{{key}!r}}", repr(value)).replace(f"{{{key}}}", str(value))
        (self.path / f"{name}.py").write_text(code, encoding="utf-8")
        return {"llm": f"scripted/./{name}.py:reply", "name": name, "connections": connections}

    def grid(self, *llms: dict[str, Any], **keys: Any) -> Grid:
        """The direct workflow over an embedded task, unless the keys say otherwise."""
        keys = {"workflows": ["direct"], "tasks": ["aminer/soay-easy"], "samples": 6, **keys}
        return Grid(llms=list(llms), folder=self.path, **keys)

    def log(self, name: str = "one") -> list[list[str]]:
        """What a logging LLM wrote: word, process, machine, time."""
        path = self.path / f"{name}.asked"
        return [line.split() for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []

    def most_at_once(self, name: str = "one") -> int:
        """How many requests were under way at the same time, at most."""
        now = most = 0
        for word, *_ in self.log(name):
            now += 1 if word == "asked" else -1
            most = max(most, now)
        return most


def started(folder: Path, *options: str, stdout: int = subprocess.PIPE) -> subprocess.Popen[str]:
    """`r-eval run grid.yaml` in a folder, in a process group of its own."""
    return subprocess.Popen(
        [str(R_EVAL), "run", "grid.yaml", *options],
        cwd=folder,
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        start_new_session=True,
    )


class CommandDesk(Desk):
    """A folder with a grid in it, and the `r-eval` command."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.out = path / "runs" / "grid"

    def grid(self, *llms: dict[str, Any], **keys: Any) -> Grid:
        return super().grid(*llms, **{"tasks": TASKS, **keys})

    def write(self, *llms: dict[str, Any], **keys: Any) -> None:
        keys = {"workflows": ["direct"], "tasks": TASKS, "samples": 6, **keys}
        text = yaml.safe_dump({"llms": list(llms), **keys}, allow_unicode=True)
        (self.path / "grid.yaml").write_text(text, encoding="utf-8")

    def start(self, *options: str) -> subprocess.Popen[str]:
        return started(self.path, *options)

    def type(self, *options: str) -> subprocess.CompletedProcess[str]:
        process = self.start(*options)
        out, err = process.communicate(timeout=300)
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    def asked(self, name: str = "one") -> list[str]:
        """The questions that a scripted LLM was asked, in order."""
        path = self.path / f"{name}.asked"
        return path.read_text(encoding="utf-8").splitlines() if path.exists() else []

    def lines(self, out: Path | None = None) -> list[dict[str, Any]]:
        """The whole lines of all episode files."""
        return [
            json.loads(line)
            for path in sorted(((out or self.out) / "episodes").rglob("*.jsonl"))
            for line in path.read_bytes().split(b"\n")[:-1]
        ]

    def state(self) -> str:
        return str(json.loads((self.out / "run.json").read_text(encoding="utf-8"))["state"])


def wait_for(what: Callable[[], bool], seconds: float = 120.0) -> None:
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)


def make_episode(cell: PlannedCell, number: int, kind: OutcomeKind = "finished", answer: str = "Ada") -> Episode:
    """An episode of the cell's question of that number."""
    question = cell.planned.questions[number]
    return Episode(
        **cell.cell._asdict(),
        episode_id=episode_id(cell, question, 0),
        question_id=question.id,
        domain="aminer",
        level=question.level,
        question=question.question,
        golds=question.answers,
        answer=answer,
        outcome=Outcome(kind=kind),
        fingerprint=cell.fingerprint,
    )


def timeless(record: Any) -> Any:
    """A record with every duration set to zero, as if no reply had been replayed."""
    if isinstance(record, list):
        return [timeless(item) for item in record]
    if not isinstance(record, dict):
        return record
    known = {key: value for key, value in record.items() if key not in ("replayed", "checksum")}
    durations = ("seconds", "queue", "retry", *(f"{part}_seconds" for part in ("llm", "environment", "queue", "retry")))
    return {key: 0 if key in durations else timeless(value) for key, value in known.items()}


def contents(out: Path) -> dict[str, list[str]]:
    """The lines of a run's episode files by their path, durations set to zero."""
    root = out / "episodes"
    return {
        str(path.relative_to(root)): [
            json.dumps(timeless(json.loads(line)), ensure_ascii=False) for line in path.read_bytes().splitlines()
        ]
        for path in sorted(root.rglob("*.jsonl"))
    }
