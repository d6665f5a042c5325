"""Budgets: no new episode starts, those in progress finish, and the folder keeps what was used."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from r_eval import Grid, UserError, run
from r_eval.api import Run
from r_eval.runner.budget import BudgetGuard, Stopwatch
from r_eval.runner.plan import resolve
from tests.commands import typed_here

LLM = """
from r_eval.llms.base import Reply
from r_eval.records import Tokens

async def reply(request):
    return Reply("Ada", tokens=Tokens(prompt=900, completion=100))
"""
PRICE = {"prompt": 1000.0, "completion": 1000.0}
"""One reply costs one dollar."""


def llm(folder: Path, name: str = "one", **keys: Any) -> dict[str, Any]:
    (folder / "llm.py").write_text(LLM, encoding="utf-8")
    return {"llm": "scripted/./llm.py:reply", "name": name, "connections": 1, **keys}


def keys(*llms: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"llms": list(llms), "workflows": ["direct"], "tasks": ["aminer/soay-easy"], "samples": 10, **more}


def grid(folder: Path, *llms: dict[str, Any], **more: Any) -> Grid:
    return Grid(**keys(*llms, **more), folder=folder)


def count(result: Run, llm: str = "one") -> int:
    return sum(episode.llm == llm for episode in result.episodes())


def manifest(result: Run) -> dict[str, Any]:
    return result.folder.manifest()


def test_money_ends_the_run(tmp_path: Path) -> None:
    result = run(grid(tmp_path, llm(tmp_path, price=PRICE), budget={"usd": 3}), tmp_path / "out")
    assert (result.state, count(result)) == ("budget", 3)
    assert manifest(result)["budget"] == [{"text": "budget of 3 USD reached: 3 USD used"}]


def test_a_runs_budget_counts_all_llms_together(tmp_path: Path) -> None:
    result = run(grid(tmp_path, llm(tmp_path), llm(tmp_path, "two"), budget={"tokens": 4000}), tmp_path / "out")
    assert result.state == "budget"
    assert 4 <= count(result) + count(result, "two") <= 5


def test_what_earlier_sessions_spent_counts_and_a_higher_budget_resumes(tmp_path: Path) -> None:
    def states(budget: float | None) -> tuple[str, int, bool]:
        keys = {} if budget is None else {"budget": {"usd": budget}}
        result = run(grid(tmp_path, llm(tmp_path, price=PRICE), **keys), tmp_path / "out")
        return result.state, count(result), "budget" in manifest(result)

    assert [states(budget) for budget in (3, 3, 5)] == [("budget", 3, True), ("budget", 3, True), ("budget", 5, True)]
    assert states(None) == ("complete", 10, False)


def test_hours_are_counted_over_sessions(tmp_path: Path) -> None:
    clock, texts = Stopwatch(3599.9), list[str]()
    guard = BudgetGuard(resolve(grid(tmp_path, llm(tmp_path), budget={"hours": 1})), {}, clock, texts.append)
    assert guard.allows("one")
    with clock.running():
        time.sleep(0.15)
        assert not guard.allows("one")
        assert not guard.allows("none")
    assert texts == guard.exhausted() == ["budget of 1 hour reached: 1 hour used"]


def test_a_budget_of_money_without_a_price_is_refused_before_the_run(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"budget of 1 USD: the price of 'one' is not known. Give it"):
        run(grid(tmp_path, llm(tmp_path), budget={"usd": 1}), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_the_command_says_what_stopped_it_and_ends_with_1(tmp_path: Path) -> None:
    text = yaml.safe_dump(keys(llm(tmp_path, price=PRICE), budget={"usd": 3}))
    (tmp_path / "grid.yaml").write_text(text, encoding="utf-8")
    done = typed_here(["run", "grid.yaml", "--quiet"], tmp_path)
    assert (done.returncode, "budget of 3 USD reached: 3 USD used" in done.stderr) == (1, True)
    report = tmp_path / "runs" / "grid" / "report"
    texts = (path.read_text(encoding="utf-8") for path in report.rglob("*") if path.suffix in (".html", ".js"))
    assert any("budget of 3 USD reached" in text for text in texts)
