"""Conditions as an axis of a grid: what they are called, what they change, and what they leave alone."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from r_eval import Grid, UserError, run
from r_eval.environments.sandbox import Sandbox
from r_eval.folder import RunFolder
from r_eval.records import Episode
from r_eval.runner.episode import Resources, run_episode
from r_eval.runner.plan import Plan, resolve

QUESTIONS = 20
PROGRAM = "answer = books('Ada')[0]"
DOMAIN = '''
from r_eval.environments.base import Environment, query_api
from r_eval.environments.conditions.base import Condition, Wrapped


class Shelves(Environment):
    """Books on shelves."""

    @query_api
    def books(self, author: str) -> list[str]:
        """List an author's books.

        Args:
            author: The author's name.
        """
        return [f"{author} {number}" for number in range(10)]


class Renamed(Wrapped):
    """Every book has another name."""

    def __init__(self, inner, name):
        super().__init__(inner)
        self.name = name

    async def call(self, api, arguments):
        return [f"{self.name} {number}" for number in range(3)]


class Renaming(Condition):
    """Every author has another name; odd questions are dropped."""

    name = "renaming"
    notes = ("renamed",)

    def question(self, question, environment):
        if int(question.id[1:]) % 2:
            return None
        return question.model_copy(update={"answers": ["Eve 0"], "meta": {"renamed": "Eve"}})

    def environment(self, environment, about, seeds):
        return Renamed(environment, about.notes["renamed"])


class Failing(Condition):
    """It fails itself."""

    name = "failing"

    def environment(self, environment, about, seeds):
        raise RuntimeError("out of names")
'''
RETRYING = """
def reply(request):
    last = max(n for n, m in enumerate(request.messages) if m.content.startswith("Question: "))
    said = [m.content for m in request.messages]
    step = sum(m.role == "assistant" for m in request.messages[last:]) + 1
    again = step == 2 and "may be made again" in said[-1]
    return f"Action {step}: books[Ada]" if step == 1 or again else f"Action {step}: Finish[{said[-1][:200]}]"
"""

Make = Callable[..., Grid]


@pytest.fixture
def grid(tmp_path: Path) -> Make:
    """A grid with an agent that tries a failed call once more."""
    (tmp_path / "domain.py").write_text(DOMAIN, encoding="utf-8")
    (tmp_path / "agent.py").write_text(RETRYING, encoding="utf-8")
    lines = [
        {"id": f"q{n}", "question": f"Book {n}?", "answers": ["Ada 0"], "level": "KS", "program": PROGRAM}
        for n in range(QUESTIONS)
    ]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (tmp_path / "questions.jsonl").write_text(text, encoding="utf-8")
    demonstration = json.dumps({**lines[0], "id": "shown", "question": "A book to show?"})
    (tmp_path / "demonstration.jsonl").write_text(demonstration + "\n", encoding="utf-8")

    def made(conditions: Sequence[Any], **more: Any) -> Grid:
        entries: dict[str, Any] = {
            "name": "conditions",
            "llms": [f"scripted/{tmp_path / 'agent.py'}:reply"],
            "workflows": ["react"],
            "tasks": [
                {
                    "task": "books",
                    "questions": "questions.jsonl",
                    "demonstrations": "demonstration.jsonl",
                    "environment": "./domain.py:Shelves",
                }
            ],
            "conditions": conditions,
            **more,
        }
        (tmp_path / "grid.yaml").write_text(yaml.safe_dump(entries), encoding="utf-8")
        return Grid.load(tmp_path / "grid.yaml")

    return made


def names(plan: Plan) -> list[str]:
    return [cell.cell.condition for cell in plan.cells]


def episodes(folder: RunFolder, condition: str) -> list[Episode]:
    return [episode for episode in folder.episodes() if episode.condition == condition]


FAULTY: dict[str, Any] = {"condition": "faulty", "rate": 0.2}


@pytest.mark.parametrize(
    ("conditions", "why"),
    [
        (["faulty", FAULTY], "duplicate condition 'faulty'; give one of them a name:"),
        ([{**FAULTY, "name": "clean"}], "clean is the name of the bare environment"),
        ([{"condition": "clean", "name": "dirty"}], "clean is the name of the bare environment"),
        (
            [{**FAULTY, "name": "a/b"}, {"condition": "slow", "name": "a__b"}],
            "'a/b' and 'a__b' would be kept in the same file",
        ),
        *(([{"condition": none}], "unknown condition ''") for none in ("", "faulty+")),
    ],
)
def test_names_that_tell_conditions_not_apart_are_refused(grid: Make, conditions: list[Any], why: str) -> None:
    with pytest.raises(UserError, match=why):
        resolve(grid(conditions))


def test_a_condition_may_change_and_drop_questions(grid: Make, tmp_path: Path) -> None:
    run(grid(["clean", {"condition": "./domain.py:Renaming", "name": "renamed"}]), tmp_path / "run")
    folder = RunFolder(tmp_path / "run")
    renamed, clean = episodes(folder, "renamed"), episodes(folder, "clean")
    assert (len(clean), len(renamed)) == (QUESTIONS, QUESTIONS // 2)
    assert {tuple(episode.golds) for episode in clean} == {("Ada 0",)}
    assert {tuple(episode.golds) for episode in renamed} == {("Eve 0",)}
    assert all("Eve 0" in episode.answer for episode in renamed)
    assert all("Ada 0" in episode.answer for episode in clean)
    counts = {cell["condition"]: (cell["episodes"], cell.get("dropped")) for cell in folder.manifest()["cells"]}
    assert counts == {"clean": (QUESTIONS, None), "renamed": (QUESTIONS // 2, QUESTIONS // 2)}


def test_a_condition_that_fails_is_the_machinerys_failure(grid: Make) -> None:
    plan = resolve(grid([{"condition": "./domain.py:Failing", "name": "failing"}]))
    (cell,), (llm,) = plan.cells, plan.llms.values()

    async def made() -> Episode:
        with Sandbox() as sandbox:
            return await run_episode(cell, cell.planned.questions[0], 0, llm, Resources(plan.limits, sandbox))

    outcome = asyncio.run(made()).outcome
    assert outcome.kind == "tool_failure"
    assert outcome.detail == "the condition failing failed: RuntimeError: out of names (domain.py:51, in environment)"
