"""Budgets: no new episode starts, those in progress finish, and the folder keeps what was used."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from r_eval import Grid, run
from r_eval.runner.budget import BudgetGuard, Stopwatch
from r_eval.runner.plan import resolve
from tests.commands import typed_here
from tests.runner.desks import CommandDesk, Desk

LLM = """
from r_eval.llms.base import Reply
from r_eval.records import Tokens

async def reply(request):
    return Reply("Ada", tokens=Tokens(prompt=900, completion=100))
"""
PRICE = {"prompt": 1000.0, "completion": 1000.0}
"""One reply costs one dollar."""


@pytest.fixture
def llm(desk: Desk) -> dict[str, Any]:
    return {**desk.llm(LLM, connections=1), "price": PRICE}


def grid(desk: Desk, *llms: dict[str, Any], **keys: Any) -> Grid:
    return desk.grid(*llms, samples=10, **keys)


def test_a_runs_budget_counts_all_llms_together(desk: Desk, llm: dict[str, Any]) -> None:
    result = run(grid(desk, llm, {**llm, "name": "two"}, budget={"tokens": 4000}), desk.path / "out")
    assert result.state == "budget"
    assert 4 <= len(list(result.episodes())) <= 5


def test_what_earlier_sessions_spent_counts_and_a_higher_budget_resumes(desk: Desk, llm: dict[str, Any]) -> None:
    def states(budget: float | None) -> tuple[str, int, list[dict[str, str]]]:
        keys = {} if budget is None else {"budget": {"usd": budget}}
        result = run(grid(desk, llm, **keys), desk.path / "out")
        return result.state, len(list(result.episodes())), result.folder.manifest().get("budget", [])

    three, five = ([{"text": f"budget of {n} USD reached: {n} USD used"}] for n in (3, 5))
    assert [states(budget) for budget in (3, 3, 5)] == [("budget", 3, three), ("budget", 3, three), ("budget", 5, five)]
    assert states(None) == ("complete", 10, [])


def test_hours_are_counted_over_sessions(desk: Desk, llm: dict[str, Any]) -> None:
    clock, texts = Stopwatch(3599.9), list[str]()
    guard = BudgetGuard(resolve(grid(desk, llm, budget={"hours": 1})), {}, clock, texts.append)
    assert guard.allows("one")
    with clock.running():
        time.sleep(0.15)
        assert not guard.allows("one")
        assert not guard.allows("none")
    assert texts == guard.exhausted() == ["budget of 1 hour reached: 1 hour used"]


def test_the_command_says_what_stopped_it_and_ends_with_1(tmp_path: Path, llm: dict[str, Any]) -> None:
    CommandDesk(tmp_path).write(llm, budget={"usd": 3})
    done = typed_here(["run", "grid.yaml", "--quiet"], tmp_path)
    assert (done.returncode, "budget of 3 USD reached: 3 USD used" in done.stderr) == (1, True)
    report = tmp_path / "runs" / "grid" / "report"
    texts = (path.read_text(encoding="utf-8") for path in report.rglob("*") if path.suffix in (".html", ".js"))
    assert any("budget of 3 USD reached" in text for text in texts)
