"""A run that stops early: the same decisions in any order, whatever breaks, however often it resumes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from r_eval import Grid, arun, run
from r_eval.api import Run
from r_eval.runner.observer import RunObserver
from r_eval.runner.run import Runner
from tests.runner.desks import Desk, contents

QUESTIONS = 40
TASKS = ("a", "ß")
LLM = """
import asyncio, hashlib, random
from pathlib import Path
from r_eval.llms.base import LLMError

async def reply(request):
    text = request.messages[-1].content
    with open({asked!r}, "a", encoding="utf-8") as log:
        log.write("asked 0 0 0" + chr(10))
    await asyncio.sleep(random.random() / 100)
    if Path({broken!r}).exists():
        raise LLMError({cause!r}, "the machine is on fire")
    place = hashlib.sha256((text + {own!r}).encode()).digest()[0]
    return "Zürich" if place < 256 * {share} else "Łódź"
"""
SHARES = {"good": 0.9, "fair": 0.5, "poor": 0.1}

Make = Callable[..., Grid]


def broken(desk: Desk, name: str) -> Path:
    """The file that breaks an LLM as long as it is there."""
    return desk.path / f"{name}.broken"


@pytest.fixture
def grid(desk: Desk) -> Make:
    """Makes grids of two tasks with LLMs that are right on these shares of the questions."""

    def make(cause: str = "server", connections: int = 4, **keys: Any) -> Grid:
        for task in TASKS:
            known = {"answers": ["Zürich"], "level": "KS", "program": "answer = 'Zürich'"}
            lines = [{"id": f"{task}{i}", "question": f"Where is {task}{i}?", **known} for i in range(QUESTIONS)]
            text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
            (desk.path / f"{task}.jsonl").write_text(text, encoding="utf-8")
        llms = [
            desk.llm(LLM, name, connections, share=share, own=name, cause=cause, broken=str(broken(desk, name)))
            for name, share in SHARES.items()
        ]
        tasks = [{"task": task, "questions": f"{task}.jsonl", "environment": "aminer"} for task in TASKS]
        return desk.grid(*llms, **{"tasks": tasks, "shots": 0, "stop_early": True, "samples": None, **keys})

    return make


def stopped(result: Run) -> dict[str, tuple[int, str]]:
    """After how many questions a system was stopped, and who is ahead of it."""
    parts = result.folder.manifest().get("stopped", ())
    return {part["system"]: (part["after"], part["behind"]) for part in parts}


class Counting(RunObserver):
    """Stops a run after some episodes."""

    def __init__(self, episodes: int) -> None:
        self.left = episodes
        self.runner: Runner | None = None

    def on_runner(self, runner: Runner) -> None:
        self.runner = runner

    def finished(self, episode: Any) -> None:
        self.left -= 1
        if self.left == 0 and self.runner is not None:
            self.runner.stop()


def test_who_is_certainly_behind_is_asked_no_further_and_the_run_is_complete(desk: Desk, grid: Make) -> None:
    result = run(grid(), desk.path / "run")
    found, manifest = stopped(result), result.folder.manifest()
    assert result.state == "complete"
    assert {name: behind for name, (_, behind) in found.items()} == {
        "direct+good": "",
        "direct+fair": "direct+good",
        "direct+poor": "direct+good",
    }
    assert found["direct+poor"][0] < found["direct+fair"][0] == found["direct+good"][0] < 2 * QUESTIONS
    texts = [part["text"] for part in manifest["stopped"]]
    after = found["direct+poor"][0]
    assert texts[0] == f"direct+poor stopped after {after} of 80 questions: certainly behind direct+good"
    for cell in manifest["cells"]:
        assert cell["episodes"] + cell["skipped"] == QUESTIONS
        assert cell["episodes"] == found[f"direct+{cell['llm']}"][0] // 2
    assert sum(1 for _ in result.episodes()) == sum(cell["episodes"] for cell in manifest["cells"])
    frame = result.to_pandas()
    assert len({frozenset(own["question_id"]) for _, own in frame[frame["llm"] != "poor"].groupby("llm")}) == 1

    asked = len(desk.log("good"))
    again = run(grid(), desk.path / "run", cache=False)
    assert (again.state, stopped(again), len(desk.log("good"))) == ("complete", found, asked)


def test_decisions_and_records_are_the_same_in_any_order_and_after_any_interruption(desk: Desk, grid: Make) -> None:
    whole = run(grid(connections=7), desk.path / "whole", cache=False)
    serial = run(grid(connections=1), desk.path / "serial", cache=False)
    assert stopped(serial) == stopped(whole)
    assert contents(serial.path) == contents(whole.path)

    async def broken_off() -> Run:
        for episodes in (1, 5, 11, 2, 17):
            counting = Counting(episodes)
            result = await arun(grid(), desk.path / "cut", observer=counting, on_runner=counting.on_runner)
        assert result.state in ("interrupted", "complete")
        return await arun(grid(), desk.path / "cut")

    cut = asyncio.run(broken_off())
    assert cut.state == "complete"
    assert stopped(cut) == stopped(whole)
    assert contents(cut.path) == contents(whole.path)


@pytest.mark.parametrize("cause", ["server", "key"])
def test_an_llm_that_fails_is_never_stopped_for_it_and_the_others_go_on(desk: Desk, grid: Make, cause: str) -> None:
    broken(desk, "fair").touch()
    result = run(grid(cause), desk.path / "run")
    found = stopped(result)
    assert result.state == "incomplete"
    assert found["direct+poor"][1] == "direct+good"
    assert "direct+fair" not in found
    if cause == "server":  # every question is tried once more, and no more than that
        assert len(desk.log("fair")) == 2 * 2 * QUESTIONS
    else:
        assert len(desk.log("fair")) <= 4

    broken(desk, "fair").unlink()
    healed = run(grid(cause), desk.path / "run")
    assert healed.state == "complete"
    assert stopped(healed)["direct+poor"] == found["direct+poor"]


def test_references_go_along_and_every_condition_and_epoch_counts(desk: Desk, grid: Make) -> None:
    keys = {"workflows": ["direct", "oracle"], "conditions": ["clean", "slow"], "epochs": 2}
    result = run(grid(**keys), desk.path / "run")
    parts = result.folder.manifest()["stopped"]
    assert result.state == "complete"
    assert {part["condition"] for part in parts} == {"clean", "slow"}
    for condition in ("clean", "slow"):
        own = {part["system"]: part for part in parts if part["condition"] == condition}
        assert own["oracle+none"]["after"] == own["direct+good"]["after"] < 2 * QUESTIONS
        assert own["oracle+none"]["behind"] == ""
    frame = result.to_pandas()
    assert set(frame.groupby(["condition", "llm", "question_id"]).size()) == {2}
