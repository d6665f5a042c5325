"""A condition in a grid changes and drops questions, and leaves the clean environment alone."""

from __future__ import annotations

import json
from pathlib import Path

from r_eval import run
from tests.runner.desks import Desk

QUESTIONS = 20
DOMAIN = '''
from r_eval.environments.base import Environment, query_api
from r_eval.environments.conditions.base import Condition, Wrapped


class Shelves(Environment):
    """Books on shelves."""

    @query_api
    def books(self, author: str) -> list[str]:
        """List an author's books."""
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
'''
LLM = """
def reply(request):
    latest = request.messages[-1].content
    return f"Action 2: Finish[{latest[:200]}]" if "Observation" in latest else "Action 1: books[Ada]"
"""


def test_a_condition_may_change_and_drop_questions(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    (tmp_path / "domain.py").write_text(DOMAIN, encoding="utf-8")
    known = {"answers": ["Ada 0"], "level": "KS"}
    lines = (json.dumps({"id": f"q{n}", "question": f"Book {n}?", **known}) + "\n" for n in range(QUESTIONS))
    (tmp_path / "questions.jsonl").write_text("".join(lines), encoding="utf-8")
    task = {"task": "books", "questions": "questions.jsonl", "environment": "./domain.py:Shelves"}
    conditions = ["clean", {"condition": "./domain.py:Renaming", "name": "renamed"}]
    parts = {"workflows": ["react"], "tasks": [task], "conditions": conditions, "samples": None}
    done = run(desk.grid(desk.llm(LLM), **parts), tmp_path / "run")
    found = [(e.condition, *e.golds, "Ada 0" in e.answer, "Eve 0" in e.answer) for e in done.episodes()]
    clean, renamed = ("clean", "Ada 0", True, False), ("renamed", "Eve 0", False, True)
    assert found == [clean] * QUESTIONS + [renamed] * (QUESTIONS // 2)
    counts = {cell["condition"]: (cell["episodes"], cell.get("dropped")) for cell in done.folder.manifest()["cells"]}
    assert counts == {"clean": (QUESTIONS, None), "renamed": (QUESTIONS // 2, QUESTIONS // 2)}
