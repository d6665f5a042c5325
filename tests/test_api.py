"""The Python interface: its names, its signatures, notebooks, and what a run looks like."""

from __future__ import annotations

import asyncio
import inspect
import sys
import threading
import types
from pathlib import Path

import pytest

import r_eval
from r_eval import Grid, Run, UserError, load_run, run
from r_eval.analysis import metrics
from r_eval.checks import check
from r_eval.environments.opening import open_environment
from r_eval.runner.run import Runner, arun

SHOP = '''"""Prices."""

from r_eval.environments import query_api


@query_api
def price() -> int:
    """The price."""
    return 2
'''
LLM = 'def reply(request):\n    return "Ada 张伟"\n'


@pytest.fixture
def grid(tmp_path: Path) -> Grid:
    (tmp_path / "llm.py").write_text(LLM, encoding="utf-8")
    parts = {"llms": ["scripted/./llm.py:reply"], "workflows": ["direct", "oracle"], "tasks": ["aminer/soay-easy"]}
    return Grid(**parts, samples=2, folder=tmp_path)


def test_the_package_shows_its_public_names_and_no_others() -> None:
    assert set(dir(r_eval)) == set(r_eval.__all__)
    assert all(hasattr(r_eval, name) for name in r_eval.__all__)


def test_run_names_its_options_and_they_are_those_of_arun() -> None:
    options = inspect.signature(run).parameters
    assert options.keys() | {"rule"} == inspect.signature(arun).parameters.keys()
    assert {"limit", "connections", "engine", "fresh", "cache"} <= options.keys()


def test_run_works_where_an_event_loop_is_running_and_raises_the_same_errors(grid: Grid, tmp_path: Path) -> None:
    async def notebook(seed: int) -> Run:
        return run(grid.model_copy(update={"seed": seed}), tmp_path / "out")

    assert asyncio.run(notebook(0)).state == "complete"
    with pytest.raises(UserError, match=r"differs from this grid in: (\w+, )*seed"):
        asyncio.run(notebook(1))
    for options in ({"limit": 0}, {"connections": -1}, {"limit": "3"}, {"limit": 1.5}, {"connections": 2.0}):
        with pytest.raises(UserError, match=r"(limit|connections) must be a whole number of at least 1, not"):
            run(grid, tmp_path / "out", **options)
    with pytest.raises(UserError, match=r"run needs a Grid, .*, not 'grid.yaml'"):
        run("grid.yaml")  # type: ignore[arg-type]


def test_whatever_awaits_something_works_where_an_event_loop_is_running(grid: Grid, tmp_path: Path) -> None:
    (tmp_path / "judge.py").write_text("""def reply(request):\n    return '{"grade": 2}'\n""", encoding="utf-8")
    (tmp_path / "priced.py").write_text(SHOP, encoding="utf-8")
    (tmp_path / "q.jsonl").write_text('{"id": "1", "question": "?", "answers": ["2"], "program": "answer = price()"}\n')
    parts = {"task": "shop", "questions": "q.jsonl", "environment": "./priced.py"}
    judged = metrics.get(f"judge@scripted/{tmp_path}/judge.py:reply")

    async def notebook() -> list[object]:
        found = check(open_environment(str(tmp_path / "priced.py")), [("price", {})])
        asked = run(Grid(llms=[], workflows="oracle", tasks=parts, folder=tmp_path), tmp_path / "out")
        return [judged("a", ["b"]), [one for one in found if one.severity == "error"], asked.state]

    assert asyncio.run(notebook()) == [1.0, [], "complete"]


@pytest.mark.parametrize("method", ["summary", "_repr_html_"])
def test_the_tables_are_returned_and_not_displayed_in_a_notebook(
    grid: Grid, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], method: str
) -> None:
    made = run(grid, tmp_path / "out")
    monkeypatch.setattr("rich.console._is_jupyter", lambda: True)
    monkeypatch.setitem(sys.modules, "IPython.display", types.SimpleNamespace(display=print))
    assert "Response types" in getattr(made, method)()
    assert capsys.readouterr().out == ""


def test_any_thread_may_stop_a_run(grid: Grid, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "llm.py").write_text("import time\n\ndef reply(request):\n    time.sleep(60)\n", encoding="utf-8")
    monkeypatch.setattr("r_eval.runner.run.GRACE_SECONDS", 0.1)

    def in_thread(runner: Runner) -> None:
        threading.Timer(0.2, runner.stop).start()

    assert run(grid, tmp_path / "out", on_runner=in_thread).state == "interrupted"


def test_a_run_says_what_it_is(grid: Grid, tmp_path: Path) -> None:
    made = run(grid, tmp_path / "out")
    for one in (made, load_run(tmp_path / "out")):
        assert repr(one).startswith("<Run ")
        assert "out: complete, 4 episodes, 2 systems, 1 task>" in repr(one)
    assert repr(Run(tmp_path / "nowhere")) == f"<Run {tmp_path / 'nowhere'}: cannot be read>"
