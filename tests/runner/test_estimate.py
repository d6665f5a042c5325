"""What is left of a run and what it would take, from recorded episodes or, for calls alone, from the limits."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from r_eval import Grid, run
from r_eval.runner.estimate import SystemEstimate, estimate
from r_eval.runner.plan import resolve

LLM = """
import asyncio
from r_eval.llms.base import LLMError, Reply
from r_eval.records import Tokens

async def reply(request):
    await asyncio.sleep(0.05)
    return Reply("Action 1: Finish[Ada]", tokens=Tokens(prompt=900, completion=100, cached=500))

def failing(request):
    raise LLMError("server", "on fire")
"""
PRICE = {"prompt": 1000.0, "completion": 2000.0, "cached": 0.0}
"""One reply costs 0.6 dollars."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "llm.py").write_text(LLM, encoding="utf-8")
    return tmp_path


def grid(folder: Path, **more: Any) -> Grid:
    one = {"llm": "scripted/./llm.py:reply", "name": "one", "connections": 2, "price": PRICE, "max_tokens": 50}
    keys = {"llms": [one], "workflows": ["direct"], "tasks": ["aminer/soay-easy"], "samples": 10}
    return Grid(**{**keys, **more}, folder=folder)


def only(folder: Path, grid: Grid) -> SystemEstimate:
    systems = estimate(resolve(grid), folder / "out").systems
    assert len(systems) == 1
    return systems[0]


@pytest.mark.parametrize(
    ("workflow", "limits", "calls"),
    [
        ("direct", {}, 10),
        ("react", {"steps": 4}, 50),
        ("react", {"steps": 4, "calls": 3}, 30),
        ({"workflow": "dfsdt", "max_calls": 7}, {"steps": 4}, 80),
        ("oracle", {}, 0),
    ],
)
def test_without_episodes_only_the_calls_have_a_bound(
    folder: Path, workflow: Any, limits: dict[str, Any], calls: int
) -> None:
    s = only(folder, grid(folder, workflows=[workflow], limits=limits))
    assert (s.basis, s.episodes, s.recorded, s.calls, s.seconds) == ("bounds", 10, 0, calls, None)
    known = 0 if workflow == "oracle" else None
    assert (s.prompt_tokens, s.completion_tokens, s.cost) == (known, known, known)


def test_the_rest_takes_what_recorded_episodes_took_on_average(folder: Path) -> None:
    run(grid(folder), folder / "out", limit=4)
    s = only(folder, grid(folder))
    assert (s.basis, s.episodes, s.recorded, s.left) == ("episodes", 10, 4, 6)
    assert (s.calls, s.prompt_tokens, s.completion_tokens) == (6, 5400, 600)
    assert s.cost == pytest.approx(6 * 0.6)
    assert s.seconds is not None
    assert 6 * 0.05 / 2 <= s.seconds < 5


def test_a_cell_without_episodes_is_estimated_by_the_systems_others(folder: Path) -> None:
    run(grid(folder), folder / "out", limit=2)
    s = only(folder, grid(folder, tasks=["aminer/soay-easy", "aminer/soay-hard"]))
    assert (s.cells, s.basis, s.left, s.calls, s.prompt_tokens) == (2, "episodes", 18, 18, 16200)


def test_infrastructure_failures_are_run_again_and_estimate_nothing(folder: Path) -> None:
    one = {"llm": "scripted/./llm.py:failing", "name": "one"}
    run(grid(folder, llms=[one]), folder / "out")
    s = only(folder, grid(folder, llms=[one]))
    assert (s.basis, s.recorded, s.left) == ("bounds", 0, 10)


@pytest.mark.parametrize(("price", "cost"), [({}, None), ({"price": {"prompt": 0, "completion": 0}}, 0)])
def test_no_price_is_not_the_same_as_free(folder: Path, price: dict[str, Any], cost: float | None) -> None:
    one = {"llm": "scripted/./llm.py:reply", "name": "一", **price}
    assert only(folder, grid(folder, llms=[one])).cost == cost
    run(grid(folder, llms=[one]), folder / "out", limit=2)
    assert only(folder, grid(folder, llms=[one])).cost == cost


def test_llms_run_at_the_same_time_and_the_systems_of_one_share_it(folder: Path) -> None:
    llms = [{"llm": "scripted/./llm.py:reply", "name": name, "connections": n} for name, n in (("a", 1), ("b", 8))]
    whole = grid(folder, llms=llms, workflows=["direct", "react"])
    assert estimate(resolve(whole), folder / "out").seconds is None
    run(whole, folder / "out", limit=2)
    found = estimate(resolve(whole), folder / "out")
    times = {s.system: s.seconds or 0.0 for s in found.systems}
    assert all(0.05 <= times[f"{workflow}+b"] < times[f"{workflow}+a"] for workflow in ("direct", "react"))
    assert found.seconds == times["direct+a"] + times["react+a"]


BUDGETS: tuple[tuple[dict[str, float], list[str]], ...] = (
    ({"usd": 5}, ["budget of 5 USD for the run will not suffice: 2.4 USD used, 3.6 USD more expected"]),
    ({"usd": 7}, []),
    ({"tokens": 9000}, ["budget of 9,000 tokens for the run will not suffice: 4,000 tokens used, 6,000 .*"]),
    ({"tokens": 4000}, ["budget of 4,000 tokens for the run reached: 4,000 tokens used; no new episode .*"]),
    ({"hours": 1e-9}, ["budget of 1e-09 hours for the run reached: .*"]),
    ({"hours": 1}, []),
)


def test_a_budget_that_does_not_suffice_is_a_warning(folder: Path) -> None:
    run(grid(folder), folder / "out", limit=4)
    for budget, patterns in BUDGETS:
        found = estimate(resolve(grid(folder, budget=budget)), folder / "out").warnings
        assert len(found) == len(patterns)
        assert all(re.fullmatch(pattern, warning) for pattern, warning in zip(patterns, found, strict=True))
