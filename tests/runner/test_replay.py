"""A run does and records the same whatever the reply store holds; replayed replies are marked."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from r_eval import Grid, Run, run
from tests.runner.desks import Desk

SLOW = """
import asyncio

async def reply(request):
    with open({asked!r}, "a", encoding="utf-8") as log:
        log.write("asked\\n")
    turns = sum(message["role"] == "assistant" for message in request.messages)
    slow = turns == 2 and "How many" not in str(request.messages)
    await asyncio.sleep(3.5 if slow else 0.01)
    if turns < 6:
        return f'Thought: 让我想想 🌍\\u2028\\nAction: searchPerson(name="王{{turns}}")'
    return "Action: Finish[北京]"
"""


def grid(desk: Desk) -> Grid:
    made: Grid = desk.grid(
        desk.llm(SLOW, connections=20), workflows=["react"], samples=10, shots=0, limits={"seconds": 3}
    )
    return made


def ran(desk: Desk, name: str) -> tuple[Run, int]:
    """A run, and how many calls were really made for it."""
    before = len(desk.log())
    done = run(grid(desk), out=desk.path / name, cache=True)
    return done, len(desk.log()) - before


def told(done: Run) -> list[tuple[str, str, str, str, int, int]]:
    """What a run says of its episodes, but for durations."""
    return sorted(
        (e.episode_id, e.outcome.kind, e.outcome.cause, e.answer, len(e.steps), e.usage.calls) for e in done.episodes()
    )


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("R_EVAL_REPLIES", str(tmp_path / "replies"))
    return tmp_path / "replies"


def test_an_empty_a_half_and_a_full_store_have_the_same_outcomes(store: Path, tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    empty, made = ran(desk, "empty")
    full, made_again = ran(desk, "full")
    with sqlite3.connect(store) as connection:
        connection.execute("DELETE FROM replies WHERE rowid % 2")
    connection.close()
    half, made_half = ran(desk, "half")
    assert told(empty) == told(full) == told(half)
    assert len({(kind, cause) for _, kind, cause, *_ in told(empty)}) > 1, "some reach the limit, and some do not"
    assert made_again == 0 < made_half < made


def test_replayed_replies_are_marked_and_have_the_seconds_that_they_took(store: Path, tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    found = []
    for name in ("first", "second"):
        done, _ = ran(desk, name)
        steps = [step for e in sorted(done.episodes(), key=str) for step in e.steps if step.kind == "thought"]
        frame = done.to_pandas()
        found.append(([step.seconds for step in steps], {step.replayed for step in steps}, frame["replayed"].sum()))
    assert found == [(found[0][0], {False}, 0), (found[0][0], {True}, len(found[0][0]))]
