"""A run that is killed again and again and resumed, with an LLM that notes every call; and what came of it.

A reply that is on its way when the run is killed is lost, and its call is made again. A reply that the run had taken
in, since the episode's next call followed it, is never asked for again (`Again.is_taken_in`).
"""

from __future__ import annotations

import collections
import contextlib
import itertools
import json
import os
import random
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from r_eval import load_run
from r_eval.records import Episode
from tests.runner.desks import contents, started

TURNS = 3
WORDS = '''
"""Words and what they mean."""

from r_eval.environments.base import query_api


@query_api
def look(word: str) -> str:
    """Look a word up.

    Args:
        word: The word.
    """
    return f"{word} is a word of {len(word)} letters."
'''
LLM = """
import asyncio, hashlib, json, os, re, time

LONG = "长" * (5_000_000 // 3)  # a part of the first reply to question 7

async def reply(request):
    texts = [message.content for message in request.messages]
    number = int(re.findall(r"number (\\d+)", str(texts))[-1])
    turn = sum(message.role == "assistant" for message in request.messages)
    note = {{"call": [number, turn], "at": time.monotonic(), "body": hashlib.md5(str(texts).encode()).hexdigest()}}
    await asyncio.sleep({seconds})
    log = os.open({log!r}, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(log, json.dumps(note).encode() + b"\\n")
    os.close(log)
    act = f"look[词{{turn}}]" if turn + 1 < {turns} else "Finish[Bob]" if number % 3 == 0 else "Finish[Ada]"
    thought = f"“第{{turn + 1}}步” – ну что ж 🌍\\u2028{{LONG if number == 7 and not turn else ''}}"
    return f"Thought {{turn + 1}}: {{thought}}\\nAction {{turn + 1}}: {{act}}"
"""
AT_START = 0.15
"""The share of the kills that hit a process while it starts."""
PATIENCE = 120.0


class Again(NamedTuple):
    """A call that was made again after it had been answered, with the same body or another.

    It is taken in where the episode's next call came before the repetition.
    """

    is_taken_in: bool
    is_same: bool


class Campaign:
    """A folder with a grid of `react` over some tasks, to be closed.

    Args:
        seconds: How long the LLM takes for a reply.

    Attributes:
        kills: How many hit the run that was begun last; `run_kills` of them its own process.
    """

    def __init__(self, folder: Path, tasks: int, questions: int, seconds: float, connections: int = 8) -> None:
        self.folder, self.connections, self.episodes = folder, connections, tasks * questions
        self.kills = self.run_kills = 0
        self._out, self._engine = "out", "local"
        self._log, self._before = folder / "calls.jsonl", 0
        self._running: subprocess.Popen[str] | None = None
        llm = LLM.format(seconds=seconds, log=str(self._log), turns=TURNS)
        texts = {"words.py": WORDS, "llm.py": llm}
        lines = [
            json.dumps({"id": f"q{n}", "question": f"What is word number {n}?", "answers": ["Ada"], "level": "KS"})
            + "\n"
            for n in range(self.episodes)
        ]
        texts |= {f"t{n}.jsonl": "".join(lines[n * questions : (n + 1) * questions]) for n in range(tasks)}
        grid: dict[str, Any] = {
            "llms": [{"llm": "scripted/./llm.py:reply", "name": "noting", "connections": connections}],
            "workflows": ["react"],
            "tasks": [{"task": f"t{n}", "questions": f"t{n}.jsonl", "environment": "words.py"} for n in range(tasks)],
            "shots": 0,
            "limits": {"steps": TURNS},
        }
        for name, text in {**texts, "grid.yaml": yaml.safe_dump(grid)}.items():
            (folder / name).write_text(text, encoding="utf-8")

    def close(self) -> None:
        if self._running is not None and self._running.poll() is None:
            self._running.kill()
            self._running.communicate()

    # What is done

    def begin(self, out: str, engine: str = "local") -> None:
        """Turn to a new run; its calls and kills are counted from now on."""
        self._out, self._engine = out, engine
        self.kills, self.run_kills, self._running = 0, 0, None
        self._before += self.answered()

    def start(self) -> subprocess.Popen[str]:
        """Begin the run's process, or go on with the run in a new one."""
        options = ("--quiet", "--out", self._out, "--engine", self._engine)
        self._running = started(self.folder, *options, stdout=subprocess.DEVNULL)
        return self._running

    def finish(self) -> None:
        """Let the run go on to its end; episodes that failed for the machinery's sake are tried again."""
        process = self._running if self._running is not None and self._running.returncode is None else None
        for _ in range(5):
            process = process or self.start()
            _, said = process.communicate(timeout=600)
            if process.returncode == 0:
                return
            assert process.returncode == 1, said
            process = None
        raise AssertionError(f"the run does not become complete: {said}")

    def unbroken(self) -> None:
        """Carry the grid out in one go, in a process of this machine."""
        self.begin("unbroken")
        self.finish()

    def kill(
        self, kills: int, chance: random.Random, workers: Callable[[], list[int]] | None = None, runs: float = 1.0
    ) -> None:
        """Kill the run's own process, or workers of a cluster, at random instants of the work; the run is begun again.

        Args:
            workers: The process ids of the workers that are alive.
            runs: The share of the kills that the run's own process gets.
        """
        process = self.start()
        for point in sorted(chance.randrange(self.episodes * TURNS) for _ in range(kills)):  # replies before it
            if workers is None and chance.random() < AT_START:
                time.sleep(chance.uniform(0.0, 1.0))
            else:
                while not self._wait_for(max(point, self.answered() + 1), process):
                    if process.returncode == 0:
                        return
                    assert process.returncode == 1, process.communicate()[1]
                    process = self.start()  # some episodes lost their worker too often, and are to be tried again
                time.sleep(chance.uniform(0.0, 0.05 if workers is None else 0.3))
            alive: list[int] = []
            while workers is not None and not alive and process.poll() is None:
                alive = workers()
            if chance.random() < runs:
                process.kill()
                process.communicate()
                wait_for_end(alive)
                self.kills, self.run_kills = self.kills + 1, self.run_kills + 1
                process = self.start()
            elif alive:
                victim = chance.choice(alive)
                with contextlib.suppress(ProcessLookupError):
                    os.kill(victim, signal.SIGKILL)
                wait_for_end([victim])
                self.kills += 1

    def _wait_for(self, answers: int, process: subprocess.Popen[str]) -> bool:
        """Wait until the LLM gave so many replies in all; False where the process ended first."""
        end = time.monotonic() + PATIENCE
        while self.answered() < answers:
            if process.poll() is not None:
                return False
            assert time.monotonic() < end, "the run does not go on"
            time.sleep(0.005)
        return True

    # What came of it

    def answered(self) -> int:
        """How many calls the LLM answered up to now."""
        return self._log.read_bytes().count(b"\n") - self._before if self._log.exists() else 0

    def made_again(self) -> list[Again]:
        """The calls that were made again."""
        notes = map(json.loads, self._log.read_text(encoding="utf-8").splitlines()[self._before :])
        by_call: dict[tuple[int, int], list[dict[str, Any]]] = collections.defaultdict(list)
        for note in sorted(notes, key=lambda note: float(note["at"])):
            by_call[tuple(note["call"])].append(note)
        found = []
        for (number, turn), made in by_call.items():
            following = [note["at"] for note in by_call.get((number, turn + 1), [])]
            for first, second in itertools.pairwise(made):
                is_taken_in = any(first["at"] < at < second["at"] for at in following)
                found.append(Again(is_taken_in, first["body"] == second["body"]))
        return found

    def recorded(self, out: str) -> list[Episode]:
        return list(load_run(self.folder / out).episodes())

    def lines(self, out: str) -> int:
        """Lines of a run's episode files; each must be JSON."""
        return sum(len(lines) for lines in contents(self.folder / out).values())

    def is_as_unbroken(self, out: str) -> bool:
        """Whether a run's files are those of the unbroken one, but for durations."""
        return contents(self.folder / out) == contents(self.folder / "unbroken")

    def left_over(self, out: str) -> list[str]:
        """Files of the run that should be gone at its end."""
        return sorted(p.name for p in (self.folder / out).rglob("*") if ".part" in p.name)


def wait_for_end(processes: list[int]) -> None:
    """Wait until processes are no more; a zombie is none."""
    end = time.monotonic() + PATIENCE
    for process in processes:
        with contextlib.suppress(OSError):
            while Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] not in "ZX":
                assert time.monotonic() < end, f"a process that nobody needs is still there: {process}"
                time.sleep(0.01)


NODE = {
    "node_ip_address": "127.0.0.1",
    "num_cpus": 1,
    "object_store_memory": 80 * 1024 * 1024,
    "include_dashboard": False,
}
VARIABLES = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_AUTH_MODE": "disabled",
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # else nodes are looked for by an address of the network
}


@contextlib.contextmanager
def cluster(nodes: int, **config: Any) -> Iterator[Any]:
    """A Ray cluster of several nodes on this machine, to which RAY_ADDRESS leads."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in VARIABLES.items():
            patch.setenv(name, value)
        from ray.cluster_utils import Cluster

        made = Cluster(initialize_head=True, head_node_args={**NODE, **({"_system_config": config} if config else {})})
        try:
            for _ in range(nodes - 1):
                made.add_node(**NODE)
            patch.setenv("RAY_ADDRESS", made.address)
            yield made
        finally:
            made.shutdown()


def workers_of(made: Any) -> list[int]:
    """The processes of R-Eval's workers among the children of a cluster's raylets."""
    raylets = {entry.process.pid for node in made.list_all_nodes() for entry in node.all_processes["raylet"]}
    found = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdigit() and (entry / "cmdline").read_bytes().startswith(b"ray::EpisodeActor"):
                parent = int((entry / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()[1])
                found += [int(entry.name)] if parent in raylets else []
    return sorted(found)
