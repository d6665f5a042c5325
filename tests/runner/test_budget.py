"""Budgets: no new episode starts, those in progress finish, and the folder keeps what was used."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from r_eval import Grid, UserError, arun, run
from r_eval.api import Run
from r_eval.runner.budget import BudgetGuard, Stopwatch
from r_eval.runner.observer import RunObserver
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


def test_episodes_in_progress_finish(tmp_path: Path) -> None:
    result = run(grid(tmp_path, llm(tmp_path, price=PRICE), budget={"usd": 3}), tmp_path / "out", connections=4)
    assert 3 <= count(result) <= 6
    assert {episode.outcome.kind for episode in result.episodes()} == {"finished"}
    assert manifest(result)["budget"][0]["text"].endswith(f": {count(result)} USD used")


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


def test_workflows_without_an_llm_are_not_held_back_by_money(tmp_path: Path) -> None:
    one = llm(tmp_path, price=PRICE)
    workflows = ["direct", "oracle"]
    result = run(grid(tmp_path, one, workflows=workflows, budget={"usd": 1}), tmp_path / "out")
    assert (result.state, count(result), count(result, "none")) == ("budget", 1, 10)


def test_a_budget_of_money_without_a_price_is_refused_before_the_run(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"budget of 1 USD: the price of 'one' is not known. Give it"):
        run(grid(tmp_path, llm(tmp_path), budget={"usd": 1}), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_money_that_was_spent_without_a_price_is_not_taken_for_nothing(tmp_path: Path) -> None:
    run(grid(tmp_path, llm(tmp_path)), tmp_path / "out")
    with pytest.raises(UserError, match="what the run has spent on 'one' is not known"):
        run(grid(tmp_path, llm(tmp_path, price=PRICE), budget={"usd": 1}, samples=20), tmp_path / "out")


def test_an_llm_whose_budget_is_used_up_is_not_even_opened(tmp_path: Path) -> None:
    class Noting(RunObserver):
        def __init__(self) -> None:
            self.said: list[str] = []

        def loading(self, llm: str) -> None:
            self.said.append(llm)

        def on_budget(self, why: str) -> None:
            self.said.append(why)

    watcher = Noting()
    for _ in range(2):
        run(grid(tmp_path, llm(tmp_path, price=PRICE), budget={"usd": 3}), tmp_path / "out", watcher=watcher)
    text = "budget of 3 USD reached: 3 USD used"
    assert watcher.said == ["one", text, text]


def test_the_command_says_what_stopped_it_and_ends_with_1(tmp_path: Path) -> None:
    text = yaml.safe_dump(keys(llm(tmp_path, price=PRICE), budget={"usd": 3}))
    (tmp_path / "grid.yaml").write_text(text, encoding="utf-8")
    done = typed_here(["run", "grid.yaml", "--quiet"], tmp_path)
    assert (done.returncode, "budget of 3 USD reached: 3 USD used" in done.stderr) == (1, True)
    report = tmp_path / "runs" / "grid" / "report"
    texts = (path.read_text(encoding="utf-8") for path in report.rglob("*") if path.suffix in (".html", ".js"))
    assert any("budget of 3 USD reached" in text for text in texts)


@pytest.mark.parametrize(
    ("budget", "said"),
    [
        ("{}", "at least one of usd, tokens and hours"),
        ("{usd: 0}", r":\d: budget\.usd: must be more than 0"),
        ("{dollars: 3}", r"unknown key 'budget\.dollars'. Known: hours, tokens, usd"),
        ("{tokens: 1.5}", "must be a whole number"),
        ("{usd: .nan}", "must be more than 0"),
    ],
)
def test_a_wrong_budget_is_an_error_of_the_grid(tmp_path: Path, budget: str, said: str) -> None:
    path = tmp_path / "grid.yaml"
    text = "llms: [gguf/smollm2-135m]\nworkflows: [direct]\ntasks: [aminer/soay-easy]\n"
    path.write_text(f"{text}budget: {budget}\n", encoding="utf-8")
    with pytest.raises(UserError, match=said):
        Grid.load(path)


def test_what_is_spent_is_written_down_while_the_run_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("r_eval.runner.run.MANIFEST_SECONDS", 0.05)
    code = LLM.replace("    return", "    import asyncio\n    await asyncio.sleep(0.1)\n    return")
    one = llm(tmp_path)
    (tmp_path / "llm.py").write_text(code, encoding="utf-8")
    seen: list[dict[str, Any]] = []

    async def watch() -> None:
        going = asyncio.create_task(arun(grid(tmp_path, one), tmp_path / "out"))
        while not going.done():
            await asyncio.sleep(0.1)
            if (tmp_path / "out" / "run.json").exists():
                seen.append(json.loads((tmp_path / "out" / "run.json").read_text(encoding="utf-8")))

    asyncio.run(watch())
    under_way = [found["spent"]["one"] for found in seen if found["state"] == "running" and found["spent"]]
    assert 0 < under_way[-1]["calls"] <= 10
