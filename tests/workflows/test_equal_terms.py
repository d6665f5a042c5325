"""Equal terms: every workflow is told the same, has the same turns, and is shown the same observations.

Who is told what is a table of docs/workflows.md; here every workflow's prompt for the same question is rendered and
compared with it.
"""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

from r_eval import Grid, run
from r_eval.environments.base import Environment, query_api
from r_eval.llms.base import Reply, Request, ToolCall
from r_eval.records import Document, Question, Tokens
from r_eval.runner.plan import resolve
from r_eval.runner.terms import terms
from r_eval.workflows.agent import Agent
from r_eval.workflows.base import Limits, Workflow
from r_eval.workflows.dfsdt import DFSDT
from r_eval.workflows.direct import Direct
from r_eval.workflows.fc import FC
from r_eval.workflows.pal import PAL
from r_eval.workflows.rag import RAG
from r_eval.workflows.react import ReAct
from tests.workflows.conftest import Play

ROOT = Path(__file__).parents[2]
AGENT = f"{ROOT / 'tests' / 'agents.py'}:show_input"
WORKFLOWS: dict[str, Workflow] = {"react": ReAct(), "fc": FC(), "dfsdt": DFSDT(), "pal": PAL(), "rag": RAG()}
WORKFLOWS["direct"] = Direct()
STEPWISE = ("react", "fc", "dfsdt")


class Herbarium(Environment):
    """Pressed plants of Żuławy."""

    @query_api
    def find(self, plant: str, most: int = 77) -> list[str]:
        """Find sheets by the plant's name.

        The newest sheet comes first.

        Args:
            plant: A Latin name.
            most: How many are wanted.
        """
        return [f"sheet {number} of {plant}" for number in range(3 if most == 77 else 5000)]


CONTEXT = [Document(title="Notebook", text="The marsh was drained in 1920.")]
QUESTION = Question(id="q1", question="Who pressed Caltha palustris?", answers=["?"], level="KS", context=CONTEXT)
DEMONSTRATION = Question(
    id="q0",
    question="How many sheets of Iris sibirica are there?",
    answers=["three sheets"],
    level="KS",
    program="# The sheets must be counted.\nfound = find(plant='Iris sibirica')\n# All are of one plant.\nanswer = 3",
)
FACTS = {
    "question": ["Who pressed Caltha palustris?"],
    "form of the answer": ["Answer in one word."],
    "documents (`passages: prompt`)": ["Notebook", "The marsh was drained in 1920."],
    "description of the environment": ["Pressed plants of Żuławy."],
    "query APIs: name, what it does, details": [
        "find",
        "Find sheets by the plant's name.",
        "The newest sheet comes first.",
    ],
    "parameters: name, type, default, description": ["plant", "str", "A Latin name.", "most", "int", "77", "How many"],
    "type of the result": ["list[str]"],
    "demonstrations: question": ["How many sheets of Iris sibirica are there?"],
    "demonstrations: answer": ["three sheets"],
    "demonstrations: calls": ["'Iris sibirica'"],
    "demonstrations: reasoning": ["The sheets must be counted.", "All are of one plant."],
    "demonstrations: observations": ["3 results.\nsheet 0 of Iris sibirica\nsheet 1 of Iris sibirica"],
}
"""What there is to tell, and what a prompt that tells it holds."""


def prompt_of(play: Play, name: str) -> str:
    """All that an LLM, or an agent, is told at first."""
    speaker = ["Finish[x]"]
    workflow = Agent(function=AGENT) if name == "agent" else WORKFLOWS[name]
    played = play(workflow, speaker, environment=Herbarium(), question=QUESTION, shown=[DEMONSTRATION])
    if name == "agent":
        return str(played.answer)
    request: Request = played.requests[0]
    assert [m.content for m in request.messages] == [
        m.content for m in played.episode.messages[: len(request.messages)]
    ]
    calls = [call.arguments for message in request.messages for call in message.tool_calls]
    tools = [[tool.name, tool.description, tool.parameters] for tool in request.tools]
    return "\n".join([*(m.content for m in request.messages), json.dumps([calls, tools], ensure_ascii=False)])


def table() -> dict[str, dict[str, bool]]:
    """The table of the page: fact, then workflow."""
    lines = (ROOT / "docs" / "workflows.md").read_text(encoding="utf-8").splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("| the LLM is told |"))
    columns = [cell.strip(" `") for cell in lines[start].strip("|").split("|")][1:]
    rows = {}
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            break
        fact, *cells = (cell.strip() for cell in line.strip("|").split("|"))
        rows[fact] = {column: cell != "–" for column, cell in zip(columns, cells, strict=True)}
    return rows


@pytest.mark.parametrize("name", [*WORKFLOWS, "agent"])
def test_the_page_says_who_is_told_what(play: Play, name: str) -> None:
    if name == "agent" and importlib.util.find_spec("mcp") is None:
        pytest.skip("the MCP SDK is not installed (extra: mcp)")
    text = prompt_of(play, name).replace("\\n", "\n").replace('"string"', "str").replace('"integer"', "int")
    text = text.replace('\\"', '"').replace('"', "'").replace("find[Iris sibirica]", "'Iris sibirica'")
    present = {fact: all(part in text for part in parts) for fact, parts in FACTS.items()}
    assert present == {fact: cells[name] for fact, cells in table().items()}


def looking(request: Request, most: int = 77) -> Reply:
    """The same call for ever, in the notation that is wanted."""
    tokens = Tokens(prompt=10, completion=5)
    if not request.tools:
        return Reply(f'Action: find(plant="Caltha", most={most})', tokens=tokens)
    return Reply("", (ToolCall("a", "find", {"plant": "Caltha", "most": most}),), "tool_calls", tokens)


@pytest.mark.parametrize(("limits", "turns"), [({"steps": 10}, 10), ({"steps": 1}, 1), ({"steps": 10, "calls": 4}, 3)])
def test_react_and_fc_have_the_same_turns_and_dfsdt_as_many_in_a_branch(
    play: Play, limits: dict[str, int], turns: int
) -> None:
    for name, workflow in (("react", ReAct()), ("fc", FC()), ("dfsdt", DFSDT(beam=1))):
        played = play(workflow, looking, environment=Herbarium(), **limits)
        assert len(played.calls) == turns, name
        assert (
            len(played.requests) == turns + 1 == min(workflow.most_calls(Limits(**limits)), limits.get("calls", 99))
        ), name
        assert "Answer now" in played.requests[-1].messages[-1].content, name


def test_an_observation_is_cut_at_the_same_place_for_all_and_says_so_and_a_repeated_call_has_the_same(
    play: Play,
) -> None:
    observations = set()
    for name in STEPWISE:
        limits: dict[str, Any] = {"steps": 3, "observation": 50, "last_chance": False}
        played = play(WORKFLOWS[name], lambda request: looking(request, 5), environment=Herbarium(), **limits)
        assert played.said(1)[-1][1].removeprefix("Observation 1: ") == played.calls[0].observation
        assert (all(call.cut for call in played.calls), played.notes) == (True, [])
        observations |= {call.observation for call in played.calls}
    (text,) = observations
    assert "more lines" in str(text)


# Passages and demonstrations, as a grid has them

SPEAKER = """
def speak(request):
    said = "\\n".join(m["content"] for m in request.messages)
    return f"{'Bruges' in said} {'Ghent' in said}"
"""


def grid(folder: Path, **task: Any) -> Grid:
    documents = [{"title": "Bruges", "text": "A town of lace."}]
    question = {"id": "q", "question": "Where is lace made?", "answers": ["x"], "level": "KS", "context": documents}
    (folder / "q.jsonl").write_text(json.dumps(question), encoding="utf-8")
    program = "answer = Search(entity='Kenya')"
    shown = {"id": "d", "question": "Is Ghent a town?", "answers": ["yes"], "level": "KS", "program": program}
    (folder / "d.jsonl").write_text(json.dumps(shown), encoding="utf-8")
    (folder / "speaker.py").write_text(SPEAKER, encoding="utf-8")
    entry = {"task": "mine", "questions": "q.jsonl", **task}
    llm = "scripted/speaker.py:speak"
    return Grid(workflows=["direct", "rag"], llms=[llm], tasks=[entry], shots=0, folder=folder)


@pytest.mark.parametrize(
    ("task", "direct", "rag"),
    [
        ({"environment": "documents"}, False, True),
        ({"environment": "documents", "passages": "prompt"}, True, True),
        ({"environment": "documents", "passages": "none"}, False, False),
        ({"environment": "wiki"}, True, True),
        ({"environment": "wiki", "passages": "environment"}, False, False),
    ],
    ids=str,
)
def test_passages_are_where_the_grid_wants_them(tmp_path: Path, task: Any, direct: bool, rag: bool) -> None:
    answers = {e.workflow: e.answer for e in run(grid(tmp_path, **task), tmp_path / "run").episodes()}
    assert {name: answer.startswith("True") for name, answer in answers.items()} == {"direct": direct, "rag": rag}


def test_demonstrations_whose_apis_the_environment_lacks_are_left_out_and_named(tmp_path: Path) -> None:
    start = "from r_eval.environments import query_api\n@query_api\n"
    api = start + "def {}({}: str) -> str:\n    '''Find.'''\n    return 'x'\n"
    for name, parameter, left in (("Search", "entity", 0), ("Search", "title", 2), ("find", "entity", 2)):
        module = tmp_path / f"{name}_{parameter}.py"
        module.write_text(api.format(name, parameter), encoding="utf-8")
        entry = {"task": "wiki/high-freq", "environment": f"./{module.name}"}
        plan = resolve(Grid(workflows=["fc"], llms=["openai/m"], tasks=[entry], samples=1, shots=2, folder=tmp_path))
        assert len(plan.tasks[0].unsuited) == 2 - len(plan.tasks[0].demonstrations) == left
        assert any("demonstrations left out" in line for line in terms(plan)) == bool(left)
