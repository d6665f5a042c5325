"""Sweeps: each variant is a system of its own, over an environment set as it says."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from r_eval import Grid, UserError, load_run, run
from r_eval.engines.messages import Order
from r_eval.engines.worker import Worker
from r_eval.environments.sandbox import Sandbox
from r_eval.records import Episode
from r_eval.runner.demonstrations import work_out
from r_eval.runner.plan import NO_LLM, Plan, resolve

R_EVAL = Path(sys.executable).with_name("r-eval")

SHELF = '''
from pathlib import Path
from r_eval.environments.base import Environment, query_api

class Shelf(Environment):
    """Books on a shelf."""

    def __init__(self, size: int = 10, order: str = "title", books: str = "") -> None:
        with (Path(__file__).parent / "opened").open("a", encoding="utf-8") as log:
            log.write(f"{size} {order}\\n")
        self.size, self.order, self.books = size, order, books

    @query_api
    def retrieve(self, query: str, top_k: int = 3) -> list[str]:
        """Find books."""
        return [f"{query} {self.size} {self.order} {number}" for number in range(top_k)]

class Bare(Environment):
    """Nothing to set."""

    @query_api
    def retrieve(self, query: str) -> list[str]:
        """Find nothing."""
        return []
'''
LLM = '''
def reply(request):
    """The first passage, and how many there are."""
    passages = [line for line in request.messages[-1].content.splitlines() if line.startswith("[")]
    return f"{passages[0]} of {len(passages)}"
'''
QUESTIONS = [
    {"id": name, "question": name, "answers": ["Ada"], "level": "KS", "program": "answer = retrieve(query='x')[0]"}
    for name in ("one", "two")
]
DEMONSTRATION = {**QUESTIONS[0], "id": "shown", "question": "shown"}
TASK = {"task": "books", "questions": "questions.jsonl", "environment": "./shelf.py:Shelf"}
PARTS: dict[str, Any] = {
    "llms": [{"llm": "scripted/./llm.py:reply", "name": "a"}],
    "workflows": ["rag"],
    "tasks": [TASK],
}
VARY: dict[str, Any] = {"size": [20, 5], "top_k": [4, {"top_k": 2, "order": "year"}]}


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with an environment, an LLM and questions."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "shelf.py").write_text(SHELF, encoding="utf-8")
    (tmp_path / "llm.py").write_text(LLM, encoding="utf-8")
    for name, entries in {"questions": QUESTIONS, "demonstrations": [DEMONSTRATION]}.items():
        (tmp_path / f"{name}.jsonl").write_text("".join(f"{json.dumps(e)}\n" for e in entries), encoding="utf-8")
    return tmp_path


def grid(desk: Path, **keys: Any) -> Grid:
    return Grid(**{**PARTS, "vary": VARY, **keys}, folder=desk)


def systems(plan: Plan) -> list[str]:
    return [cell.cell.system for cell in plan.cells]


def opened(desk: Path) -> list[str]:
    return (desk / "opened").read_text(encoding="utf-8").splitlines()


def answers(out: Path) -> dict[str, str]:
    """What each system answered to the first question."""
    lines = [line for path in out.glob("episodes/*/clean/*.jsonl") for line in path.read_bytes().splitlines()]
    episodes = [Episode.model_validate_json(line) for line in lines]
    return {episode.workflow: episode.answer for episode in episodes if episode.question_id == "one"}


# Which variants there are


def test_each_variant_is_a_system_of_its_own(desk: Path) -> None:
    assert systems(resolve(grid(desk))) == ["rag+a", "rag@size=5+a", "rag@top_k=2+a"]


def test_one_at_a_time_the_base_alone_is_asked_of_every_llm(desk: Path) -> None:
    llms = [{"llm": "scripted/./llm.py:reply", "name": name} for name in ("a", "b")]
    found = systems(resolve(grid(desk, llms=llms, workflows=["direct", "rag"])))
    assert found == ["direct+a", "direct+b", "rag+a", "rag+b", "rag@size=5+a", "rag@top_k=2+a"]


def test_in_a_cross_every_variant_is_asked_of_every_llm(desk: Path) -> None:
    llms = [{"llm": "scripted/./llm.py:reply", "name": name} for name in ("a", "b")]
    found = systems(resolve(grid(desk, llms=llms, vary={"size": [20, 5], "top_k": [4, 2], "protocol": "cross"})))
    assert len(found) == 2 * 2 * 2
    assert "rag@size=5,top_k=2+b" in found


def test_variants_can_be_excluded_by_their_names(desk: Path) -> None:
    assert systems(resolve(grid(desk, exclude=[{"workflow": "rag@size=*"}]))) == ["rag+a", "rag@top_k=2+a"]
    assert "5 title" not in opened(desk), "an environment that nothing is asked over is not opened"


def test_a_workflow_keeps_its_own_name_and_settings_in_its_variants(desk: Path) -> None:
    plan = resolve(grid(desk, workflows=[{"workflow": "rag", "name": "mine", "rewrite": True}]))
    assert systems(plan) == ["mine+a", "mine@size=5+a", "mine@top_k=2+a"]
    assert all(cell.workflow.settings()["rewrite"] for cell in plan.cells)


def test_the_workflow_that_alone_has_all_the_settings_varies(desk: Path) -> None:
    plan = resolve(grid(desk, workflows=["react", "rag"]))
    assert [name for name in systems(plan) if "@" in name] == ["rag@size=5+a", "rag@top_k=2+a"]


def test_a_workflow_is_named_where_several_could_vary(desk: Path) -> None:
    keys: dict[str, Any] = {"workflows": ["react", "rag"], "vary": {"size": [20, 5], "workflow": "react"}}
    assert systems(resolve(grid(desk, **keys))) == ["react+a", "react@size=5+a", "rag+a"]


# Mistakes

MISTAKES: dict[str, tuple[dict[str, Any], str]] = {
    "an unknown setting": (
        {"vary": {"sise": [1]}},
        r"vary\.sise: unknown setting 'sise'\. Did you mean size\? .*workflow 'rag' and the environment '\S*shelf",
    ),
    "an LLM": ({"vary": {"llm": ["a"]}}, r"vary\.llm: LLMs vary by standing in the grid's llms:"),
    "several workflows": (
        {"workflows": ["react", "rag"], "vary": {"size": [1]}},
        r"vary: the settings are those of several workflows; say workflow: with one of react, rag",
    ),
    "an unknown workflow": (
        {"vary": {"size": [1], "workflow": "rga"}},
        r"vary\.workflow: unknown workflow 'rga'\. Did you mean rag\?",
    ),
    "a workflow without the setting": (
        {"workflows": ["react", "rag"], "vary": {"top_k": [1], "workflow": "react"}},
        r"vary\.top_k: unknown setting 'top_k'.*workflow 'react'",
    ),
    "a workflow that uses no environment": (
        {"workflows": ["direct"], "vary": {"size": [1]}},
        r"vary\.size: unknown setting 'size'.*workflow 'direct'",
    ),
    "an environment without the setting": (
        {"tasks": [TASK, {**TASK, "task": "bare", "environment": "./shelf.py:Bare"}], "vary": {"size": [1]}},
        r"vary\.size: not every task's environment has this setting: '\S*shelf\.py:Bare' has none",
    ),
    "what the workflow sets itself": (
        {"workflows": [{"workflow": "rag", "top_k": 3}]},
        r"vary\.top_k: the workflow 'rag' sets it too; give it as the first value of vary\.top_k",
    ),
    "what the workflow sets of the environment itself": (
        {"workflows": [{"workflow": "rag", "environment": {"order": "year"}}]},
        r"vary\.order: the workflow 'rag' sets it too",
    ),
    "a value that the environment refuses": (
        {"vary": {"size": [20, "big"]}},
        r"setting 'size' must be .*, not 'big'",
    ),
    "a value that the workflow refuses": ({"vary": {"top_k": [4, 0]}}, r"workflow 'rag@top_k=0': top_k must be"),
}


@pytest.mark.parametrize("mistake", sorted(MISTAKES))
def test_a_mistake_is_one_sentence_before_anything_is_written(desk: Path, mistake: str) -> None:
    keys, said = MISTAKES[mistake]
    with pytest.raises(UserError, match=said):
        run(grid(desk, **keys), desk / "out")
    assert not (desk / "out").exists()


# The environments


def test_an_environment_is_opened_once_for_the_same_settings(desk: Path) -> None:
    tasks = [TASK, {**TASK, "task": "again"}]
    resolve(grid(desk, tasks=tasks, vary={"size": [20, 5], "top_k": [4, 2], "protocol": "cross"}))
    assert sorted(opened(desk)) == ["20 title", "5 title"]


def test_every_variant_is_asked_over_its_own_environment(desk: Path) -> None:
    out = run(grid(desk), desk / "out").path
    assert answers(out) == {
        "rag": "[1] one 20 title 0 of 4",
        "rag@size=5": "[1] one 5 title 0 of 4",
        "rag@top_k=2": "[1] one 20 year 0 of 2",
    }


def test_a_workflow_replaces_settings_of_the_tasks_environment(desk: Path) -> None:
    task = {**TASK, "environment": {"environment": "./shelf.py:Shelf", "size": 7, "order": "year"}}
    workflows = [{"workflow": "rag", "name": "less", "environment": {"size": 3}}, "rag"]
    out = run(grid(desk, tasks=[task], workflows=workflows, vary=None), desk / "out").path
    assert answers(out) == {"less": "[1] one 3 year 0 of 3", "rag": "[1] one 7 year 0 of 3"}


def test_a_file_in_a_setting_is_found_from_the_grids_folder(
    desk: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    (desk / "list.txt").touch()
    (desk / "lists").mkdir()
    plan = resolve(grid(desk, vary={"books": ["list.txt", "./lists", "lists", "none.txt"]}))
    found = [cell.planned.environment.books for cell in plan.cells]  # type: ignore[attr-defined]
    assert found == [str(desk / "list.txt"), str(desk / "lists"), "lists", "none.txt"]


def test_all_variants_are_shown_the_demonstrations_that_the_task_itself_has(desk: Path) -> None:
    tasks = [{**TASK, "demonstrations": "demonstrations.jsonl"}]
    (desk / "llm.py").write_text(
        "def reply(request):\n"
        "    text = ' '.join(m.content for m in request.messages)\n"
        "    return f\"Action 1: Finish[{'x 10 title' in text} {'x 5 title' in text}]\"\n",
        encoding="utf-8",
    )
    out = run(grid(desk, tasks=tasks, workflows=["react"], vary={"size": [20, 5]}), desk / "out").path
    assert answers(out) == {"react": "True False", "react@size=5": "True False"}


# The run folder


def test_the_run_says_what_each_variant_sets(desk: Path) -> None:
    manifest = run(grid(desk), desk / "out").folder.manifest()
    assert manifest["vary"] == {
        "workflows": {
            "rag": {"size": 20, "top_k": 4},
            "rag@size=5": {"size": 5, "top_k": 4},
            "rag@top_k=2": {"size": 20, "top_k": 2, "order": "year"},
        },
        "base": "rag",
        "protocol": "one",
    }
    assert Grid(**manifest["grid"]).vary == grid(desk).vary


def test_a_run_without_a_sweep_does_not_speak_of_one(desk: Path) -> None:
    assert "vary" not in run(grid(desk, vary=None), desk / "out").folder.manifest()


def test_settings_that_a_workflow_replaces_are_part_of_the_fingerprint(desk: Path) -> None:
    cells = resolve(grid(desk, vary={"size": [20, 5]})).cells
    assert cells[0].planned.environment.version == cells[1].planned.environment.version
    assert cells[0].parts["environment"] != cells[1].parts["environment"]


def test_a_run_goes_on_and_takes_a_new_variant_in(desk: Path) -> None:
    run(grid(desk), desk / "out")
    before = {path: path.read_bytes() for path in (desk / "out").glob("episodes/*/clean/*.jsonl")}
    run(grid(desk, vary={**VARY, "size": [20, 5, 9]}), desk / "out")
    assert {path: path.read_bytes() for path in before} == before
    assert answers(desk / "out")["rag@size=9"] == "[1] one 9 title 0 of 4"
    assert load_run(desk / "out").state == "complete"


def test_another_base_is_refused_in_the_same_folder(desk: Path) -> None:
    run(grid(desk), desk / "out")
    with pytest.raises(UserError, match="differs from this grid in: environment"):
        run(grid(desk, vary={**VARY, "size": [21, 5]}), desk / "out")


# What else meets a sweep


def typed(desk: Path, *arguments: str) -> str:
    (desk / "grid.yaml").write_text(yaml.safe_dump({**PARTS, "vary": VARY}, sort_keys=False), encoding="utf-8")
    process = subprocess.run([str(R_EVAL), *arguments], cwd=desk, capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stderr
    return process.stdout


def test_a_check_counts_the_cells_of_the_variants(desk: Path) -> None:
    assert "3 cells, 6 episodes" in typed(desk, "check", "grid.yaml")


def test_a_dry_run_estimates_every_variant(desk: Path) -> None:
    found = json.loads(typed(desk, "run", "grid.yaml", "--dry-run", "--json"))
    assert [(cell["workflow"], cell["episodes"]) for cell in found["cells"]] == [
        ("rag", 2),
        ("rag@size=5", 2),
        ("rag@top_k=2", 2),
    ]


def test_a_worker_on_another_machine_asks_over_the_variants_own_environment(desk: Path) -> None:
    async def through_a_worker() -> list[tuple[str, str]]:
        own = grid(desk, tasks=[{**TASK, "demonstrations": "demonstrations.jsonl"}], workflows=["rag"])
        plan = resolve(own)
        cells = plan.llm_cells("a")
        with Sandbox() as sandbox:
            (task,) = plan.tasks
            shown = {task.task.name: await work_out(task.shown, task.home or task.environment, sandbox, 100)}
        parts = {c.cell: c.parts for c in cells}
        worker = Worker(Order(own, None, "a", 1, 1, parts, shown, "", False, False, str(desk), {}))
        assert (await worker.open()).trouble == ""
        found = [(c.cell.workflow, (await worker.carry_out(c.cell, "one", 0)).episode.answer) for c in cells]
        await worker.close()
        return found

    assert asyncio.run(through_a_worker()) == [
        ("rag", "[1] one 20 title 0 of 4"),
        ("rag@size=5", "[1] one 5 title 0 of 4"),
        ("rag@top_k=2", "[1] one 20 year 0 of 2"),
    ]


def test_a_workflow_without_an_llm_varies_too(desk: Path) -> None:
    plan = resolve(grid(desk, workflows=["oracle"], vary={"size": [20, 5]}))
    assert [(c.cell.workflow, c.cell.llm) for c in plan.cells] == [("oracle", NO_LLM), ("oracle@size=5", NO_LLM)]
