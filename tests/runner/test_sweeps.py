"""Sweeps (`vary:`): each variant is a system of its own, over an environment with the variant's settings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from r_eval import Grid, UserError, run
from r_eval.records import Episode
from r_eval.runner.plan import Plan, resolve

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
CROSS = ("", "@top_k=2", "@size=5", "@size=5,top_k=2")
DEMONSTRATION = {**QUESTIONS[0], "id": "shown", "question": "shown"}
TASK = {"task": "books", "questions": "questions.jsonl", "environment": "./shelf.py:Shelf"}
PARTS: dict[str, Any] = {
    "llms": [{"llm": "scripted/./llm.py:reply", "name": "a"}],
    "workflows": ["rag"],
    "tasks": [TASK],
}
SIZE, TOP_K = "environment.size", "workflow.top_k"
VARY: dict[str, Any] = {SIZE: [20, 5], TOP_K: [4, {TOP_K: 2, "environment.order": "year"}]}


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


def answers(out: Path) -> dict[str, str]:
    """What each system answered to the first question."""
    lines = [line for path in out.glob("episodes/*/clean/*.jsonl") for line in path.read_bytes().splitlines()]
    episodes = [Episode.model_validate_json(line) for line in lines]
    return {episode.workflow: episode.answer for episode in episodes if episode.question_id == "one"}


@pytest.mark.parametrize(
    ("protocol", "expected"),
    [
        ("one", ["direct+a", "direct+b", "rag+a", "rag+b", "rag@size=5+a", "rag@top_k=2+a"]),
        ("cross", ["direct+a", "direct+b", *(f"rag{v}+{llm}" for v in CROSS for llm in "ab")]),
    ],
)
def test_one_at_a_time_only_the_base_runs_with_every_llm(desk: Path, protocol: str, expected: list[str]) -> None:
    llms = [{"llm": "scripted/./llm.py:reply", "name": name} for name in ("a", "b")]
    vary = {SIZE: [20, 5], TOP_K: [4, 2], "protocol": protocol, "workflow": "rag"}
    assert systems(resolve(grid(desk, llms=llms, workflows=["direct", "rag"], vary=vary))) == expected


MISTAKES: dict[str, tuple[dict[str, Any], str]] = {
    "nothing": ({"vary": {}}, r"yaml:\d+: vary: name at least one setting"),
    "no list": ({"vary": {TOP_K: 5}}, r"yaml:\d+: vary\.workflow\.top_k: give a list of values"),
    "a list in the list": ({"vary": {TOP_K: [[1]]}}, r"vary\.workflow\.top_k: invalid value \[1\]"),
    "no owner": ({"vary": {"size": [1]}}, r"vary\.size: unknown setting 'size'\. Did you mean \S+size"),
    "a misspelt owner": ({"vary": {"enviroment.size": [1]}}, r"unknown .*\. Did you mean environment\.size\?"),
    "an unknown protocol": ({"vary": {"protocol": "all", TOP_K: [1]}}, r"vary\.protocol: .*'one' or 'cross'"),
    "two values alike in a path": (
        {"vary": {"environment.order": ["a/b", "x/y", "x__y"]}},
        r"'rag@order=x/y\+a' and 'rag@order=x__y\+a' would be kept in the same file",
    ),
    "two settings of one name": ({"vary": {"environment.top_k": [1], TOP_K: [2]}}, r"cannot vary in one grid"),
    "a cross that sets one twice": (
        {"vary": {SIZE: [20, 5], TOP_K: [8, {TOP_K: 2, SIZE: 5}], "protocol": "cross"}},
        r"it sets environment\.size, which varies by itself",
    ),
    "an unknown setting of the environment": (
        {"vary": {"environment.sise": [1]}},
        r"environment '\S*shelf\.py:Shelf': unknown setting 'sise'\. Did you mean size\?",
    ),
    "several workflows": ({"workflows": ["react", "rag"]}, r"vary: the grid has several workflows; add workflow: with"),
    "a workflow that calls no query API": (
        {"workflows": ["direct"], "vary": {SIZE: [1]}},
        r"workflow 'direct' calls no query API",
    ),
    "what the workflow sets itself": (
        {"workflows": [{"workflow": "rag", "top_k": 3}]},
        r"vary\.workflow\.top_k: the workflow's entry sets it too",
    ),
    "a value that the environment refuses": ({"vary": {SIZE: [20, "big"]}}, r"setting 'size' must be .*, not 'big'"),
    "a value that the workflow refuses": ({"vary": {TOP_K: [4, 0]}}, r"workflow 'rag@top_k=0': top_k must be"),
}


@pytest.mark.parametrize("mistake", sorted(MISTAKES))
def test_a_mistake_is_reported_before_anything_is_written(desk: Path, mistake: str) -> None:
    keys, message = MISTAKES[mistake]
    text = yaml.safe_dump({**PARTS, "vary": VARY, **keys}, sort_keys=False)
    (desk / "grid.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match=message):
        run(Grid.load(desk / "grid.yaml"), desk / "out")
    assert not (desk / "out").exists()


def test_every_variant_has_its_own_environment_and_a_run_resumes_with_a_further_one(desk: Path) -> None:
    expected = {
        "rag": "[1] one 20 title 0 of 4",
        "rag@size=5": "[1] one 5 title 0 of 4",
        "rag@top_k=2": "[1] one 20 year 0 of 2",
    }
    assert answers(run(grid(desk), desk / "out").path) == expected
    before = {path: path.read_bytes() for path in (desk / "out").glob("episodes/*/clean/*.jsonl")}
    resumed = run(grid(desk, vary={**VARY, SIZE: [20, 5, 9]}), desk / "out")
    assert {path: path.read_bytes() for path in before} == before
    assert (resumed.state, answers(resumed.path)["rag@size=9"]) == ("complete", "[1] one 9 title 0 of 4")


def test_all_variants_are_shown_the_demonstrations_that_the_task_itself_has(desk: Path) -> None:
    tasks = [{**TASK, "demonstrations": "demonstrations.jsonl"}]
    (desk / "llm.py").write_text(
        "def reply(request):\n"
        "    text = ' '.join(m.content for m in request.messages)\n"
        "    return f\"Action 1: Finish[{'x 10 title' in text} {'x 5 title' in text}]\"\n",
        encoding="utf-8",
    )
    out = run(grid(desk, tasks=tasks, workflows=["react"], vary={SIZE: [20, 5]}), desk / "out").path
    assert answers(out) == {"react": "True False", "react@size=5": "True False"}
