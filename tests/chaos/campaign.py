"""A run that is killed again and again and resumed, against a server that notes what it answered; and what came of it.

What can be asked of a run that is killed: an answer that is on its way at that instant is lost, and its call is made
again. An answer that the run had taken in is never asked for again. Whether it had is known for certain where the
episode's next call had reached the server before the kill (`Again.taken_in`); of the others it is known how long
before the kill the server had sent them off (`Again.lag`).
"""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import itertools
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import yaml

from r_eval import load_run
from r_eval.analysis.scoring import score_episode
from r_eval.records import Episode
from tests.chaos.noting import TURNS
from tests.runner.desks import contents, timeless

R_EVAL = Path(sys.executable).with_name("r-eval")
SERVER = Path(__file__).with_name("noting.py")
WORKFLOWS = ("react", "fc")
WORDS = '''
"""Words and what they mean."""

from r_eval.environments.base import Environment, query_api


class Words(Environment):
    """A dictionary."""

    @query_api
    def look(self, word: str) -> str:
        """Look a word up.

        Args:
            word: The word.
        """
        return f"{word} is a word of {len(word)} letters."
'''
AT_START = 0.15
"""The share of the kills that hit a process while it starts."""
PATIENCE = 120.0

Call = tuple[str, int, int]


@dataclasses.dataclass(frozen=True)
class Note:
    """One answer of the server: to which call, over which port of the client, when (seconds of the shared clock)."""

    call: Call
    port: int
    received: float
    written: float
    body: str


@dataclasses.dataclass(frozen=True)
class Kill:
    """What was killed.

    Attributes:
        ports: The victim's connections; None for the run's own process, which hears of no answer from then on.
        until: When nothing of the victim was left.
    """

    at: float
    ports: frozenset[int] | None
    until: float


@dataclasses.dataclass(frozen=True)
class Again:
    """A call that was made again after it had been answered.

    Attributes:
        lag: Seconds from the first answer's departure to the kill that lost it; not above 0 where it left after the
            kill; None where no kill explains it.
        taken_in: Whether the first answer had certainly arrived: the episode's next call came before the kill.
    """

    call: Call
    lag: float | None
    taken_in: bool
    same: bool


class Campaign:
    """A folder with a grid of `react` and `fc` over some tasks, and its server; use it as a context manager.

    Args:
        seconds: How long the server takes for an answer.

    Attributes:
        kills: Of the run that was begun last.
    """

    def __init__(self, folder: Path, tasks: int, questions: int, seconds: float, connections: int = 8) -> None:
        self.folder, self.connections = folder, connections
        self.episodes = len(WORKFLOWS) * tasks * questions
        self.kills: list[Kill] = []
        self._tasks, self._questions, self._seconds = tasks, questions, seconds
        self._out, self._engine, self._environ = "out", "local", dict(os.environ)
        self._log = folder / "answers.jsonl"
        self._before = 0
        self._server: subprocess.Popen[str]
        self._running: subprocess.Popen[str] | None = None

    def __enter__(self) -> Campaign:
        command = [sys.executable, str(SERVER), str(self._log), str(self._seconds)]
        self._server = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
        )
        assert self._server.stdout is not None
        self._write(int(self._server.stdout.readline()))
        return self

    def __exit__(self, *exception: object) -> None:
        if self._running is not None and self._running.poll() is None:
            self._running.kill()
            self._running.communicate()
        self._server.communicate("")

    def _write(self, port: int) -> None:
        """The files of the grid."""
        (self.folder / "words.py").write_text(WORDS, encoding="utf-8")
        tasks = []
        for task in range(self._tasks):
            lines = [
                {"id": f"q{n}", "question": f"Which name do the words of number {n} stand for?", "answers": ["Ada"]}
                for n in range(task * self._questions, (task + 1) * self._questions)
            ]
            text = "".join(json.dumps({**line, "level": "KS"}) + "\n" for line in lines)
            (self.folder / f"t{task}.jsonl").write_text(text, encoding="utf-8")
            tasks.append({"task": f"t{task}", "questions": f"./t{task}.jsonl", "environment": "./words.py:Words"})
        llm = {"llm": "openai/stub", "base_url": f"http://127.0.0.1:{port}/v1", "connections": self.connections}
        grid = {"llms": [{**llm, "temperature": 0.7}], "workflows": [*WORKFLOWS], "tasks": tasks}
        grid |= {"shots": 0, "limits": {"steps": TURNS}}
        (self.folder / "grid.yaml").write_text(yaml.safe_dump(grid), encoding="utf-8")

    # What is done

    def begin(self, out: str, engine: str = "local", environ: dict[str, str] | None = None) -> None:
        """Turn to a new run, with further environment variables; its answers and kills are counted from now on."""
        self._out, self._engine, self._environ = out, engine, {**os.environ, **(environ or {})}
        self.kills, self._running = [], None
        self._before += self.answered()

    def start(self) -> subprocess.Popen[str]:
        """Begin the run's process, or go on with the run in a new one."""
        command = [str(R_EVAL), "run", "grid.yaml", "--quiet", "--out", self._out, "--engine", self._engine]
        self._running = subprocess.Popen(
            command,
            cwd=self.folder,
            env=self._environ,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            start_new_session=True,
        )
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

    def kill_processes(self, kills: int, chance: random.Random) -> None:
        """Kill the run at random instants of its work, and begin it again each time."""
        for point in self._points(kills, chance):
            process = self.start()
            if chance.random() < AT_START:
                time.sleep(chance.uniform(0.0, 1.0))
            else:
                self._wait_for(self.answered() + 1, process)
                self._wait_for(point, process)
                time.sleep(chance.uniform(0.0, 0.05))
            if process.poll() is not None:
                assert process.returncode == 0, process.communicate()[1]
                return
            self.kill_run(process)

    def kill_run(self, process: subprocess.Popen[str]) -> None:
        """Kill the run's own process."""
        at = time.monotonic()
        process.kill()
        process.communicate()
        self.kills.append(Kill(at, None, time.monotonic()))

    def kill_workers(self, kills: int, chance: random.Random, workers: Callable[[], list[int]], runs: float) -> None:
        """Kill workers of a cluster at random instants of the work; some of the kills hit the run's own process.

        Args:
            workers: The process ids of those that are alive.
            runs: The share of the kills that the run's own process gets.
        """
        process = self.start()
        for point in self._points(kills, chance):
            while not self._wait_for(max(point, self.answered() + 1), process):
                if process.returncode == 0:
                    return
                assert process.returncode == 1, process.communicate()[1]
                process = self.start()  # some episodes lost their worker too often, and are to be tried again
            time.sleep(chance.uniform(0.0, 0.3))
            alive = workers()
            while not alive and process.poll() is None:
                time.sleep(0.01)
                alive = workers()
            if chance.random() < runs:
                self.kill_run(process)
                orphans_gone(alive)
                self.kills[-1] = dataclasses.replace(self.kills[-1], until=time.monotonic())
                process = self.start()
            elif alive:
                self._kill_worker(chance.choice(alive))

    def _kill_worker(self, victim: int) -> None:
        ports = ports_of(victim)
        at = time.monotonic()
        with contextlib.suppress(ProcessLookupError):
            os.kill(victim, signal.SIGKILL)
        orphans_gone([victim])
        self.kills.append(Kill(at, ports, time.monotonic()))

    def _points(self, kills: int, chance: random.Random) -> list[int]:
        """After how many answers to kill."""
        return sorted(chance.randrange(self.episodes * TURNS) for _ in range(kills))

    def _wait_for(self, answers: int, process: subprocess.Popen[str]) -> bool:
        """Wait until the server gave so many answers in all; False where the process ended first."""
        end = time.monotonic() + PATIENCE
        while self.answered() < answers:
            if process.poll() is not None:
                return False
            assert time.monotonic() < end, "the run does not go on"
            time.sleep(0.005)
        return True

    # What came of it

    def answered(self) -> int:
        """How many calls the server answered up to now."""
        return self._log.read_bytes().count(b"\n") - self._before if self._log.exists() else 0

    def notes(self) -> list[Note]:
        """The server's answers in their order."""
        lines = self._log.read_text(encoding="utf-8").splitlines()[self._before :]
        return [Note(**{**(note := json.loads(line)), "call": tuple(note["call"])}) for line in lines]

    def made_again(self) -> list[Again]:
        """The calls that were made again."""
        by_call: dict[Call, list[Note]] = collections.defaultdict(list)
        for note in sorted(self.notes(), key=lambda note: note.received):
            by_call[note.call].append(note)
        return [
            self._again(first, second, by_call)
            for made in by_call.values()
            for first, second in itertools.pairwise(made)
        ]

    def _again(self, first: Note, second: Note, by_call: dict[Call, list[Note]]) -> Again:
        workflow, number, turn = first.call
        kill = next((kill for kill in self.kills if explains(kill, first, second)), None)
        following = by_call.get((workflow, number, turn + 1), [])
        taken_in = kill is not None and any(first.written < note.received < kill.at for note in following)
        return Again(first.call, kill.at - first.written if kill else None, taken_in, first.body == second.body)

    def recorded(self, out: str) -> list[Episode]:
        return list(load_run(self.folder / out).episodes())

    def lines(self, out: str) -> int:
        """Lines of a run's episode files; each must be JSON."""
        return sum(len(lines) for lines in contents(self.folder / out).values())

    def is_as_unbroken(self, out: str) -> bool:
        """Whether a run's files and scores are those of the unbroken one, but for durations."""
        broken, whole = ([score_episode(e) for e in self.recorded(run)] for run in (out, "unbroken"))
        same = contents(self.folder / out) == contents(self.folder / "unbroken")
        return same and timeless(broken) == timeless(whole)

    def left_over(self, out: str) -> list[str]:
        """Files of the run that should be gone at its end."""
        return sorted(p.name for p in (self.folder / out).rglob("*") if ".part" in p.name)


def explains(kill: Kill, first: Note, second: Note) -> bool:
    """Whether a kill may be why a call was made again: it hit who had asked, after that and before the second time.

    Workers whose run is dead go on for a while, and nobody hears of what they are answered.
    """
    if kill.ports is not None and first.port not in kill.ports:
        return False
    return first.received < kill.until and kill.at < second.received


def ports_of(process: int) -> frozenset[int]:
    """The local ports of a process's connections to this machine."""
    inodes = set()
    with contextlib.suppress(OSError):
        for entry in Path(f"/proc/{process}/fd").iterdir():
            with contextlib.suppress(OSError):
                inodes.update(re.findall(r"socket:\[(\d+)\]", str(entry.readlink())))
    rows = [line.split() for line in Path("/proc/net/tcp").read_text(encoding="utf-8").splitlines()[1:]]
    return frozenset(int(row[1].split(":")[1], 16) for row in rows if row[9] in inodes)


def orphans_gone(processes: list[int]) -> None:
    """Wait until processes are no more."""
    end = time.monotonic() + PATIENCE
    while any(is_alive(process) for process in processes):
        assert time.monotonic() < end, f"processes that nobody needs are still there: {processes}"
        time.sleep(0.01)


def is_alive(process: int) -> bool:
    try:
        status = Path(f"/proc/{process}/stat").read_text(encoding="utf-8")
    except OSError:
        return False
    return status.rpartition(")")[2].split()[0] not in "ZX"


@contextlib.contextmanager
def cluster(nodes: int) -> Iterator[tuple[dict[str, str], Callable[[], list[int]]]]:
    """A Ray cluster on this machine: the environment variables of its drivers, and the processes of its workers."""
    environ = {
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_AUTH_MODE": "disabled",
        "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # else nodes are looked for by an address of the network
    }
    before = {key: os.environ.get(key) for key in environ}
    os.environ.update(environ)
    try:
        from ray.cluster_utils import Cluster

        node: dict[str, Any] = {"node_ip_address": "127.0.0.1", "num_cpus": 1, "include_dashboard": False}
        node["object_store_memory"] = 80 * 1024 * 1024
        made = Cluster(initialize_head=True, head_node_args=node)
        try:
            for _ in range(nodes - 1):
                made.add_node(**node)
            raylets = {entry.process.pid for n in made.list_all_nodes() for entry in n.all_processes["raylet"]}
            yield {**environ, "RAY_ADDRESS": made.address}, lambda: workers_of(raylets)
        finally:
            made.shutdown()
    finally:
        for key, value in before.items():
            os.environ.pop(key)
            if value is not None:
                os.environ[key] = value


def workers_of(raylets: set[int]) -> list[int]:
    """The processes of R-Eval's workers among the children of some raylets."""
    found = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdigit() and (entry / "cmdline").read_bytes().startswith(b"ray::EpisodeActor"):
                parent = int((entry / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()[1])
                found += [int(entry.name)] if parent in raylets else []
    return sorted(found)
