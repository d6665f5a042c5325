"""`r-eval run --dry-run`: says what is left and what it would take; asks and writes nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from r_eval import Grid, UserError, run
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


def test_without_episodes_there_are_bounds_and_they_say_so(folder: Path) -> None:
    s = only(folder, grid(folder, workflows=["react"], limits={"steps": 4, "seconds": 60}))
    assert (s.basis, s.episodes, s.recorded, s.sample) == ("bounds", 10, 0, 0)
    assert (s.calls, s.completion_tokens, s.seconds) == (50, 2500, 300)
    assert (s.prompt_tokens, s.cost) == (None, None)


def test_a_limit_of_tokens_bounds_prompts_and_money(folder: Path) -> None:
    s = only(folder, grid(folder, limits={"tokens": 1000}))
    assert (s.calls, s.prompt_tokens, s.completion_tokens) == (10, 9500, 500)
    assert s.cost == pytest.approx((9500 * 1000 + 500 * 2000) / 1e6)


def test_a_dry_run_writes_nothing(folder: Path) -> None:
    plan = resolve(grid(folder))  # imports the grid's own files, which may be compiled then
    before = sorted(folder.rglob("*"))
    estimate(plan, folder / "out")
    assert sorted(folder.rglob("*")) == before


def test_recorded_episodes_say_what_the_rest_takes(folder: Path) -> None:
    run(grid(folder), folder / "out", limit=4)
    s = only(folder, grid(folder))
    assert (s.basis, s.episodes, s.recorded, s.left, s.sample) == ("episodes", 10, 4, 6, 4)
    assert (s.calls, s.prompt_tokens, s.completion_tokens) == (6, 5400, 600)
    assert s.cost == pytest.approx(6 * 0.6)
    assert 6 * 0.05 / 2 <= s.seconds < 5


def test_a_cell_without_episodes_goes_by_its_systems_others(folder: Path) -> None:
    run(grid(folder), folder / "out", limit=2)
    s = only(folder, grid(folder, tasks=["aminer/soay-easy", "aminer/soay-hard"]))
    assert (s.cells, s.basis, s.left, s.calls, s.prompt_tokens) == (2, "episodes", 18, 18, 16200)


def test_a_complete_run_takes_nothing_more(folder: Path) -> None:
    run(grid(folder), folder / "out")
    found = estimate(resolve(grid(folder)), folder / "out")
    assert (found.systems[0].left, found.systems[0].calls, found.cost, found.seconds) == (0, 0, 0, 0)


def test_episodes_that_failed_are_to_be_run_again_and_show_nothing(folder: Path) -> None:
    one = {"llm": "scripted/./llm.py:failing", "name": "one"}
    run(grid(folder, llms=[one]), folder / "out")
    s = only(folder, grid(folder, llms=[one]))
    assert (s.basis, s.recorded, s.left) == ("bounds", 0, 10)


def test_no_price_is_not_the_same_as_nothing(folder: Path) -> None:
    one = {"llm": "scripted/./llm.py:reply", "name": "one"}
    run(grid(folder, llms=[one]), folder / "out", limit=2)
    assert only(folder, grid(folder, llms=[one])).cost is None


def test_what_costs_nothing_costs_nothing_at_most(folder: Path) -> None:
    one = {"llm": "scripted/./llm.py:reply", "name": "one", "price": {"prompt": 0, "completion": 0}}
    assert only(folder, grid(folder, llms=[one])).cost == 0


def test_llms_work_side_by_side_and_the_systems_of_one_share_it(folder: Path) -> None:
    llms = [{"llm": "scripted/./llm.py:reply", "name": name, "connections": n} for name, n in (("a", 1), ("b", 10))]
    found = estimate(resolve(grid(folder, llms=llms, workflows=["direct", "react"])), folder / "out")
    assert [s.seconds for s in found.systems] == [3000, 300, 3000, 300]
    assert found.seconds == 6000


def test_a_folder_that_differs_is_refused_as_by_a_run(folder: Path) -> None:
    run(grid(folder), folder / "out", limit=2)
    with pytest.raises(UserError, match=r"the run there differs from this grid in: .*seed"):
        estimate(resolve(grid(folder, seed=1)), folder / "out")


def test_a_budget_that_will_not_do_is_told(folder: Path) -> None:
    run(grid(folder), folder / "out", limit=4)
    found = estimate(resolve(grid(folder, budget={"usd": 5})), folder / "out")
    assert found.warnings == ("budget of 5 USD for the run will not do: 2.40 spent, 3.6 USD more expected",)
    assert estimate(resolve(grid(folder, budget={"usd": 7})), folder / "out").warnings == ()


def test_a_budget_below_the_bounds_may_not_do(folder: Path) -> None:
    limited = grid(folder, limits={"tokens": 1000}, budget={"tokens": 5000})
    warnings = estimate(resolve(limited), folder / "out").warnings
    assert warnings == ("budget of 5,000 tokens for the run may not do: 10,000 tokens more expected",)


def test_a_budget_that_is_used_up_is_told(folder: Path) -> None:
    run(grid(folder), folder / "out", limit=4)
    warnings = estimate(resolve(grid(folder, budget={"tokens": 4000})), folder / "out").warnings
    assert warnings == ("budget of 4,000 tokens for the run reached: 4,000 spent; no new episode will be begun",)


# The command


@pytest.fixture
def typed(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """The command in a folder with a grid; gives its status, output and complaints."""
    import yaml

    from r_eval.cli.app import app

    keys = grid(folder).model_dump(mode="json", exclude_none=True, include={"llms", "workflows", "samples"})
    keys["tasks"] = ["aminer/soay-easy"]
    (folder / "grid.yaml").write_text(yaml.safe_dump(keys), encoding="utf-8")
    monkeypatch.chdir(folder)

    def type_(*words: str) -> tuple[int, str, str]:
        status = app(["run", "grid.yaml", *words], standalone_mode=False)
        return (status, *capsys.readouterr())

    return type_


def test_the_table_marks_bounds_and_says_how_to_know_better(typed: Any, folder: Path) -> None:
    status, out, err = typed("--dry-run")
    assert (status, err, (folder / "runs").exists()) == (0, "", False)
    assert "direct+one" in out
    assert "500*" in out
    assert "* at most, by the limits" in out
    assert "--probe 2 runs two of every task" in out


def test_a_probe_is_kept_so_that_nothing_is_paid_twice(typed: Any, folder: Path) -> None:
    status, out, _ = typed("--dry-run", "--probe", "2", "--quiet")
    assert (status, "* at most" in out) == (0, False)
    kept = (folder / "runs/grid/episodes/direct+one/clean/aminer__soay-easy.jsonl").read_text(encoding="utf-8")
    assert len(kept.splitlines()) == 2
    typed("--quiet")
    whole = (folder / "runs/grid/episodes/direct+one/clean/aminer__soay-easy.jsonl").read_text(encoding="utf-8")
    assert (whole.startswith(kept), len(whole.splitlines())) == (True, 10)


def test_json_holds_cells_systems_and_totals(typed: Any) -> None:
    status, out, _ = typed("--dry-run", "--probe", "4", "--quiet", "--json")
    found = json.loads(out)
    cell = {"workflow": "direct", "llm": "one", "condition": "clean", "task": "aminer/soay-easy"}
    assert (status, found["run"], found["episodes"], found["recorded"]) == (0, "runs/grid", 10, 4)
    assert found["cells"] == [{**cell, "episodes": 10, "recorded": 4}]
    assert found["systems"][0]["basis"] == "episodes"
    assert found["cost"] == pytest.approx(3.6)
    assert found["warnings"] == []


def test_a_probe_without_a_dry_run_is_an_error(typed: Any) -> None:
    with pytest.raises(UserError, match="--probe goes with --dry-run"):
        typed("--probe", "2")
