"""A run under the condition counterfactual: who reads is faithful, who remembers leaks."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from r_eval import Grid, run
from r_eval.analysis.results import load
from r_eval.analysis.robustness import VERDICTS, faithful
from r_eval.folder import RunFolder

DOMAIN = '''
from r_eval.environments.base import Environment, query_api

NAMES = ["Danube", "Rhine", "Daugava", "Volga", "Loire", "Neva", "Meuse", "Oder"]


class Towns(Environment):
    """Towns and their rivers."""

    @query_api
    def river(self, town: str) -> str:
        """The river of a town.

        Args:
            town: Its name.
        """
        return NAMES[int(town.removeprefix("Town "))]

    def triples(self):
        for number, name in enumerate(NAMES):
            yield f"Town {number}", "river", name
'''
AGENTS = """
import re

NAMES = ["Danube", "Rhine", "Daugava", "Volga", "Loire", "Neva", "Meuse", "Oder"]


def town(request):
    return re.findall(r"lies (Town \\d)\\?", " ".join(m.content for m in request.messages))[-1]


def remembers(request):
    return f"Action 1: Finish[{NAMES[int(town(request)[-1])]}]"


def reads(request):
    if request.messages[-1].content.startswith("Question: "):
        return f"Action 1: river[{town(request)}]"
    said = next(name for name in NAMES if name in request.messages[-1].content)
    return f"Action 2: Finish[{said}]"
"""
Make = Callable[..., RunFolder]


@pytest.fixture
def ran(tmp_path: Path) -> Make:
    """Runs a grid of eight towns, and of one question that cannot be changed."""
    (tmp_path / "domain.py").write_text(DOMAIN, encoding="utf-8")
    (tmp_path / "agents.py").write_text(AGENTS, encoding="utf-8")
    names = ["Danube", "Rhine", "Daugava", "Volga", "Loire", "Neva", "Meuse", "Oder"]
    lines: list[dict[str, Any]] = [
        {"question": f"On which river lies Town {n}?", "answers": [name], "program": f"answer = river('Town {n}')"}
        for n, name in enumerate(names)
    ]
    lines.append({"question": "On a river lies Town 0?", "answers": ["yes"], "program": "answer = True"})
    text = "".join(json.dumps({"id": f"q{n}", "level": "KS", **line}) + "\n" for n, line in enumerate(lines))
    (tmp_path / "questions.jsonl").write_text(text, encoding="utf-8")

    def made(workflows: list[str], functions: list[str]) -> RunFolder:
        task = {"task": "towns", "questions": "questions.jsonl", "environment": "./domain.py:Towns"}
        entries = {
            "name": "towns",
            "llms": [{"llm": f"scripted/{tmp_path / 'agents.py'}:{one}", "name": one} for one in functions],
            "workflows": workflows,
            "tasks": [task],
            "conditions": ["counterfactual"],
        }
        (tmp_path / "grid.yaml").write_text(yaml.safe_dump(entries), encoding="utf-8")
        run(Grid.load(tmp_path / "grid.yaml"), tmp_path / "run")
        return RunFolder(tmp_path / "run")

    return made


def rows(ran: RunFolder) -> dict[str, tuple[int, ...]]:
    """By LLM: faithful, leaked, other, dropped, incomplete."""
    found = faithful(load(ran)).set_index("llm")[[*VERDICTS, "dropped", "incomplete"]]
    return {str(llm): tuple(row) for llm, row in zip(found.index, found.to_numpy().tolist(), strict=True)}


def test_an_llm_that_reads_is_all_faithful_and_one_that_remembers_all_leaked(ran: Make) -> None:
    found = rows(ran(["react"], ["reads", "remembers"]))
    assert found == {"reads": (8, 0, 0, 1, 0), "remembers": (0, 8, 0, 1, 0)}


def test_the_oracle_is_all_faithful(ran: Make) -> None:
    assert [row[:3] for row in rows(ran(["oracle"], ["reads"])).values()] == [(8, 0, 0)]
