"""Running a grid: each episode exactly once, whatever happens on the way, and the same bytes every time."""

from __future__ import annotations

import collections
import json
import os
import resource
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from r_eval import Grid, UserError, run
from r_eval.folder import RunFolder
from r_eval.llms.base import make_llm
from r_eval.runner.run import allow_files
from tests.chat_server import Server, good
from tests.commands import R_EVAL
from tests.runner.desks import TASKS, THOUGHTFUL, CommandDesk, contents, wait_for
from tests.serving import serving

PLAIN = """
import asyncio

async def reply(request):
    with open({asked!r}, "a", encoding="utf-8") as log:
        log.write(request.messages[-1].content.replace(chr(10), " ") + chr(10))
    await asyncio.sleep({seconds})
    return "Action 1: Finish[Ada]"
"""
FAILING = """
from pathlib import Path
from r_eval.llms.base import LLMError

def reply(request):
    if Path({broken!r}).exists():
        raise LLMError("server", "the machine is on fire")
    return "Ada"
"""


@pytest.fixture
def desk(tmp_path: Path) -> CommandDesk:
    return CommandDesk(tmp_path)


# Once


def test_a_complete_run_records_every_episode_once_and_running_again_runs_nothing(desk: CommandDesk) -> None:
    grid = desk.grid(desk.llm(PLAIN), workflows=["direct", "react", "oracle"], epochs=2)
    result = run(grid, desk.out)
    found = collections.Counter((e.system, e.task, e.question_id, e.epoch) for e in result.episodes())
    assert (result.state, len(found), set(found.values())) == ("complete", 3 * 2 * 6 * 2, {1})
    requested, before = desk.asked(), desk.lines()
    assert len(requested) == 2 * 2 * 6 * 2
    assert run(grid, desk.out).state == "complete"
    assert (desk.asked(), desk.lines()) == (requested, before)


def test_a_killed_run_leaves_no_process_behind_and_requests_only_what_was_in_flight_again(desk: CommandDesk) -> None:
    desk.write(desk.llm(PLAIN, seconds=0.05), workflows=["oracle", "direct"], samples=40)
    process = desk.start("--quiet", "--connections", "4")
    wait_for(lambda: len(desk.lines()) > 8)
    children = [entry for entry in Path("/proc").iterdir() if f"PPid:\t{process.pid}\n" in status_of(entry)]
    assert children
    assert RunFolder(desk.out).state() == "running"
    process.kill()
    process.communicate()
    assert (RunFolder(desk.out).state(), desk.state()) == ("crashed", "running")
    wait_for(lambda: all("State:\tZ" in (text := status_of(child)) or not text for child in children))
    run(Grid.load(desk.path / "grid.yaml"), desk.out, connections=4)
    found = collections.Counter(record["episode_id"] for record in desk.lines())
    assert (desk.state(), len(found), set(found.values())) == ("complete", 2 * 2 * 40, {1})
    assert 80 <= len(desk.asked()) <= 80 + 4, "only as many again as there are connections"


def status_of(process: Path) -> str:
    try:
        return (process / "status").read_text(encoding="utf-8")
    except OSError:
        return ""


def test_the_machinerys_failures_are_tried_again_and_their_old_lines_go(desk: CommandDesk) -> None:
    broken = desk.path / "broken"
    grid = desk.grid(desk.llm(FAILING, broken=str(broken)), tasks=TASKS[:1])
    broken.touch()
    results = [run(grid, desk.out) for _ in range(2)]
    assert [result.state for result in results] == ["incomplete"] * 2
    assert [(r["outcome"]["kind"], r["outcome"]["cause"]) for r in desk.lines()] == [("llm_failure", "server")] * 12
    assert len({e.episode_id for e in results[1].episodes()}) == len(list(results[1].episodes())) == 6
    broken.unlink()
    assert run(grid, desk.out).state == "complete"
    assert [r["outcome"]["kind"] for r in desk.lines()] == ["finished"] * 6


# The same bytes


def test_the_bytes_do_not_depend_on_the_number_of_connections(desk: CommandDesk, tmp_path: Path) -> None:
    workflows = ["direct", "react", "pal", {"workflow": "dfsdt", "max_calls": 8}, "fc", "oracle"]
    grid = desk.grid(desk.llm(THOUGHTFUL), workflows=workflows, samples=4, limits={"steps": 4})
    runs = {n: run(grid, tmp_path / str(n), connections=n) for n in (1, 16)}
    found = [contents(result.path) for result in runs.values()]
    assert found[0] == found[1]
    kinds = {e.outcome.kind for e in runs[1].episodes()}
    assert kinds >= {"finished", "exhausted", "tool_misuse"}, "the replies show too little"


# In another process

FORKING = """
import multiprocessing, sys
from r_eval import Grid, UserError, run

def again(out, workflow):
    try:
        print(run(grid(workflow), out).state, flush=True)
    except UserError as error:
        print(error, flush=True)

def grid(workflow):
    task = {"task": "t", "questions": "q.jsonl", "environment": "dom.py"}
    return Grid(workflows=[workflow], llms=["openai/m"], tasks=[task], shots=0)

for name, workflow in (("threads", "own.py:Own"), ("programs", "oracle")):
    again(name, workflow)
    for _ in range(2):
        child = multiprocessing.get_context("fork").Process(target=again, args=(f"{name}-{_}", workflow))
        child.start()
        child.join(20)
        child.kill()
"""
OWN = """
from r_eval.workflows.base import Workflow, finished

class Own(Workflow):
    uses_llm = False

    async def run(self, question, session, llm, limits):
        first, second = await session.call("sync", {}), await session.call("other", {})
        return finished(first.observation + second.observation, "")
"""
APIS = """
from r_eval.environments.base import query_api

@query_api
def sync() -> str:
    return "a"

@query_api
async def other() -> str:
    return "b"
"""


def test_a_process_that_was_forked_after_a_run_runs_too_or_is_told_why_it_cannot(tmp_path: Path) -> None:
    question = {"id": "1", "question": "?", "answers": ["ab"], "level": "KS", "program": "answer = sync() + other()"}
    files = {"own.py": OWN, "dom.py": APIS, "fork.py": FORKING, "q.jsonl": json.dumps(question) + "\n"}
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    command = [sys.executable, "fork.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True, timeout=60)
    threads, programs = done.stdout.splitlines()[:3], done.stdout.splitlines()[3:]
    assert threads == ["complete"] * 3
    assert programs[0] == "complete"
    assert all("forked from one that has run programs" in line for line in programs[1:])


# What differs is never mixed


def own_questions(desk: CommandDesk, first: str = "Who?") -> dict[str, Any]:
    texts = [first, "Where?", "When?"]
    lines = [{"id": str(i), "question": text, "answers": ["Ada"], "level": "KS"} for i, text in enumerate(texts)]
    path = desk.path / "own.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return {"task": "own", "questions": "own.jsonl", "environment": "aminer"}


CHANGES: dict[str, dict[str, Any]] = {
    "limits": {"limits": {"steps": 3}},
    "seed": {"seed": 1},
    "shots": {"shots": 3},
    "workflow": {"workflows": [{"workflow": "dfsdt", "beam": 3}]},
    "llm": {"llms": [{"llm": "scripted/./one.py:reply", "name": "one", "temperature": 0.5}]},
    "task": {"tasks": [{"task": "aminer/soay-easy", "instruction": "Shout."}]},
}


def test_a_change_is_refused_with_a_message_that_names_it(desk: CommandDesk) -> None:
    llms, keys = [desk.llm(PLAIN)], {"workflows": ["dfsdt"], "tasks": TASKS[:1], "samples": 2}
    run(desk.grid(*llms, **keys), desk.out)
    run(desk.grid(*llms, **{**keys, "workflows": ["oracle"]}), desk.out)  # what ran in between hides nothing
    before = {p: p.read_bytes() for p in desk.out.rglob("*") if p.is_file()}
    for part, change in CHANGES.items():
        with pytest.raises(UserError, match=rf"differs from this grid in: (\w+, )*{part}\b.*--fresh"):
            run(Grid(**{"llms": llms, **keys, **change}, folder=desk.path), desk.out)
    assert {p: p.read_bytes() for p in desk.out.rglob("*") if p.is_file()} == before


def test_a_grid_may_grow(desk: CommandDesk) -> None:
    llm = desk.llm(PLAIN)
    run(desk.grid(llm, tasks=TASKS[:1]), desk.out)
    asked = desk.asked()
    grown = run(desk.grid(llm, workflows=["direct", "oracle"], samples=8, epochs=2), desk.out)
    assert grown.state == "complete"
    assert len(list(grown.episodes())) == 2 * 2 * 8 * 2
    assert len(desk.asked()) == 2 * 8 * 2
    assert desk.asked()[: len(asked)] == asked


def test_fresh_moves_the_old_run_aside_and_begins_again(desk: CommandDesk) -> None:
    grid = desk.grid(desk.llm(PLAIN))
    run(grid, desk.out)
    before = desk.lines()
    desk.out.joinpath("run.json").unlink()
    with pytest.raises(UserError, match=r"lost its run.json; put it back, or --fresh moves the rest aside"):
        run(grid, desk.out)
    run(grid, desk.out, fresh=True)
    run(grid, desk.out, fresh=True)
    assert len(desk.asked()) == 3 * 12
    aside = [path for path in desk.out.parent.iterdir() if path.name.startswith("grid.")]
    assert len(aside) == 2
    assert before in [desk.lines(path) for path in aside]


@pytest.mark.parametrize("fresh", [False, True])
def test_a_folder_that_is_not_a_run_is_refused_and_left_alone(desk: CommandDesk, fresh: bool) -> None:
    precious = desk.path / "precious"
    precious.mkdir()
    (precious / "thesis.txt").write_text("years of work", encoding="utf-8")
    with pytest.raises(UserError, match=r"precious is not empty and not a run; choose another folder with --out"):
        run(desk.grid(desk.llm(PLAIN)), precious, fresh=fresh)
    assert [path.name for path in precious.iterdir()] == ["thesis.txt"]
    assert desk.asked() == []


# LLMs that are down, slow, or strange


def test_a_server_that_is_down_ends_quickly_and_is_asked_again_when_it_is_up(desk: CommandDesk) -> None:
    with socket.socket() as probe:  # a port on which nobody listens yet
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    address, name = f"http://127.0.0.1:{port}/v1", "openai/some-model"
    remote = {"llm": name, "base_url": address, "price": {"prompt": 1, "completion": 2}}
    desk.write(remote, desk.llm(PLAIN), workflows=["direct", "oracle"])
    down = desk.type()
    assert (down.returncode, desk.state()) == (1, "incomplete")
    assert f"no server answers at {address}" in down.stderr
    assert "Traceback" not in down.stderr
    ends = collections.Counter((r["llm"], r["outcome"]["kind"], r["outcome"]["cause"]) for r in desk.lines())
    assert ends == {("one", "finished", ""): 12, ("none", "finished", ""): 12}
    assert address in json.loads((desk.out / "run.json").read_text(encoding="utf-8"))["llms"][name]["unavailable"]
    server = Server(good("Ada", usage={"prompt_tokens": 5, "completion_tokens": 1}))
    with serving(server.app(), port):
        up = desk.type()
    assert (up.returncode, desk.state(), len(server.bodies), len(desk.asked())) == (0, "complete", 12, 12)
    mine = [r for r in desk.lines() if r["llm"] == name]
    assert [r["outcome"]["kind"] for r in mine] == ["finished"] * 12
    assert mine[0]["usage"]["cost"] == pytest.approx((5 * 1 + 1 * 2) / 1e6)


INFINITE = resource.RLIM_INFINITY


@pytest.mark.parametrize(
    ("soft", "hard", "taken", "becomes"),
    [
        (256, INFINITE, 10_240, 10_240),  # macOS
        (1_024, 1_048_576, INFINITE, 65_536),
        (256, 4_096, INFINITE, 4_096),
        (70_000, 100_000, INFINITE, 70_000),
        (INFINITE, INFINITE, INFINITE, INFINITE),
        (332, 10_000, 0, 332),  # a system that takes no other, of which 300 connections leave 32
    ],
)
def test_a_run_may_open_as_many_files_as_the_system_allows(
    soft: int, hard: int, taken: int, becomes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = [(soft, hard)]

    def set_limit(_: int, wanted: tuple[int, int]) -> None:
        if taken != INFINITE and wanted[0] > taken:
            raise ValueError("not allowed to raise maximum limit")
        limits[0] = wanted

    monkeypatch.setattr(resource, "getrlimit", lambda _: limits[0])
    monkeypatch.setattr(resource, "setrlimit", set_limit)
    allow_files([make_llm("openai/m", {"base_url": "http://127.0.0.1:9/v1", "connections": 300})])
    assert limits == [(becomes, hard)]


def test_connections_that_may_open_too_few_files_are_refused_before_anything_is_written(desk: CommandDesk) -> None:
    remote = {"llm": "openai/some-model", "base_url": "http://127.0.0.1:9/v1", "connections": 200}
    desk.write(remote, desk.llm(PLAIN), workflows=["direct"])
    words = f"ulimit -n 128; exec {R_EVAL} run {desk.path / 'grid.yaml'} --out {desk.out}"
    done = subprocess.run(["sh", "-c", words], capture_output=True, encoding="utf-8", check=False)
    need = "200 connections to LLMs need about 232 open files, but `ulimit -n` allows 128"
    assert (done.returncode, done.stderr.strip()) == (2, f"r-eval: {need}: raise it, or lower connections")
    assert not desk.out.exists()


# Stopping


def test_an_interrupt_that_reaches_the_whole_process_group_spoils_no_program(desk: CommandDesk) -> None:
    code = """
def reply(request):
    with open({asked!r}, "a", encoding="utf-8") as log:
        log.write("asked" + chr(10))
    lines = ["```python", "x = 0", "for i in range(4_000_000): x += i", "answer = x", "```"]
    return chr(10).join(lines)
"""
    desk.write(desk.llm(code), workflows=["pal"], samples=20)
    process = desk.start("--connections", "1", "--quiet")
    wait_for(lambda: len(desk.asked()) == 1)
    time.sleep(0.2)
    os.killpg(process.pid, signal.SIGINT)
    process.communicate(timeout=300)
    assert process.returncode == 130
    assert [(r["outcome"]["kind"], r["answer"]) for r in desk.lines()] == [("finished", "7999998000000")]


def test_cancelled_episodes_run_again_and_ask_nothing_twice(desk: CommandDesk) -> None:
    code = """
import asyncio, os

async def reply(request):
    with open({asked!r}, "a", encoding="utf-8") as log:
        log.write("asked" + chr(10))
    if len(request.messages) == 2 and "Observation" not in request.messages[-1].content:
        return "Action 1: searchPerson(name='Jonas')"
    await asyncio.sleep(3600 if os.path.exists({slow!r}) else 0)
    return "Action 2: Finish[Ada]"
"""
    slow = desk.path / "slow"
    slow.touch()
    desk.write(desk.llm(code, slow=str(slow)), workflows=["react"], samples=3, shots=0, tasks=TASKS[:1])
    process = desk.start("--connections", "3")
    wait_for(lambda: len(desk.asked()) == 6)
    for _ in range(2):
        process.send_signal(signal.SIGTERM)
        time.sleep(0.2)
    process.communicate(timeout=300)
    kinds = [(r["outcome"]["kind"], [s["kind"] for s in r["steps"]]) for r in desk.lines()]
    assert kinds == [("cancelled", ["thought", "call", "answer"])] * 3
    slow.unlink()
    run(Grid.load(desk.path / "grid.yaml"), desk.out, connections=3)
    assert [r["outcome"]["kind"] for r in desk.lines()] == ["finished"] * 3
    assert len(desk.asked()) == 9


# Bring your own


def test_a_question_that_is_shown_as_a_demonstration_is_never_asked(desk: CommandDesk) -> None:
    task = own_questions(desk)
    shown = {"id": "d", "question": "Where?", "answers": ["Oslo"], "level": "KS", "program": "answer = 'Oslo'"}
    by_id = {**shown, "id": "2", "question": "When then?"}
    (desk.path / "shown.jsonl").write_text(f"{json.dumps(shown)}\n{json.dumps(by_id)}\n", encoding="utf-8")
    task["demonstrations"] = "shown.jsonl"
    run(desk.grid(desk.llm(PLAIN), tasks=[task], shots=2, samples=None), desk.out)
    assert desk.asked() == ["Who?"]


def test_nothing_of_the_gold_reaches_the_llm(desk: CommandDesk) -> None:
    code = """
def reply(request):
    with open({asked!r}, "a", encoding="utf-8") as log:
        log.write(repr(request) + chr(10))
    return "no idea"
"""
    secret = "Zanzibar-7731"
    line = {
        "id": "a", "question": "Where?", "answers": [secret], "level": "KS", "program": f"answer = '{secret}'",
        "evidence": [secret], "entities": [secret], "meta": {"note": secret},
    }  # fmt: skip
    (desk.path / "own.jsonl").write_text(json.dumps(line) + "\n", encoding="utf-8")
    task = {"task": "own", "questions": "own.jsonl", "environment": "aminer"}
    result = run(desk.grid(desk.llm(code), workflows=["direct", "react", "pal", "fc", "dfsdt"], tasks=[task]), desk.out)
    assert len(desk.asked()) >= 5
    assert secret not in "".join(desk.asked())
    assert all(secret not in step.model_dump_json() for e in result.episodes() for step in e.steps)


@pytest.mark.parametrize("program", [None, "answer = 1 / 0"])
def test_a_demonstration_without_a_working_program_is_refused_before_anything_is_written(
    desk: CommandDesk, program: str | None
) -> None:
    task = own_questions(desk)
    shown = {"id": "d", "question": "Which?", "answers": ["Oslo"], "level": "KS", "program": program}
    (desk.path / "shown.jsonl").write_text(f"{json.dumps(shown)}\n", encoding="utf-8")
    with pytest.raises(UserError, match=r"demonstration 'd'.*program"):
        run(desk.grid(desk.llm(PLAIN), tasks=[{**task, "demonstrations": "shown.jsonl"}]), desk.out)
    assert not desk.out.parent.exists()
