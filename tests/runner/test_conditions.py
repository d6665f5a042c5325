"""A condition in a grid changes and drops questions, and leaves the clean environment alone."""

from __future__ import annotations

import json
from pathlib import Path

from r_eval import run
from tests.runner.desks import Desk

QUESTIONS = 20
CONDITION = '''
from r_eval.environments.conditions.base import Condition, Wrapped


class Renamed(Wrapped):
    """Every scholar has another name."""

    async def call(self, api, arguments):
        return "Eve 0"


class Renaming(Condition):
    """Every scholar has another name; odd questions are dropped."""

    name = "renaming"
    notes = ("renamed",)

    def question(self, question, environment):
        if int(question.id[1:]) % 2:
            return None
        return question.model_copy(update={"answers": ["Eve 0"], "meta": {"renamed": "Eve"}})

    def environment(self, environment, notes, seeds):
        assert notes["renamed"] == "Eve"
        return Renamed(environment)
'''
LLM = """
def reply(request):
    latest = request.messages[-1].content
    return f"Action 2: Finish[{latest[:200]}]" if "Observation" in latest else "Action 1: searchPerson[Ada]"
"""


def test_a_condition_may_change_and_drop_questions(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(CONDITION, encoding="utf-8")
    known = {"answers": ["Ada 0"], "level": "KS"}
    lines = (json.dumps({"id": f"q{n}", "question": f"Book {n}?", **known}) + "\n" for n in range(QUESTIONS))
    (tmp_path / "questions.jsonl").write_text("".join(lines), encoding="utf-8")
    task = {"task": "books", "questions": "questions.jsonl", "environment": "aminer"}
    conditions = ["clean", {"condition": "./own.py:Renaming", "name": "renamed"}]
    parts = {"workflows": ["react"], "tasks": [task], "conditions": conditions, "samples": None, "shots": 0}
    done = run(desk.grid(desk.llm(LLM), **parts), tmp_path / "run")
    found = [(e.condition, *e.golds, "Eve 0" in e.answer) for e in done.episodes()]
    clean, renamed = ("clean", "Ada 0", False), ("renamed", "Eve 0", True)
    assert found == [clean] * QUESTIONS + [renamed] * (QUESTIONS // 2)
    counts = {cell["condition"]: (cell["episodes"], cell.get("dropped")) for cell in done.folder.manifest()["cells"]}
    assert counts == {"clean": (QUESTIONS, None), "renamed": (QUESTIONS // 2, QUESTIONS // 2)}
