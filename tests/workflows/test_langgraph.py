"""Agents of LangChain and LangGraph as workflows: over the same session, LLM, record and limits as all others."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("langchain_core", reason="langchain-core is not installed")

from r_eval.environments.base import Environment, EnvironmentFailure, query_api
from r_eval.errors import UserError
from r_eval.grid import Grid
from r_eval.llms.base import LLMError, Reply, Request, ToolCall
from r_eval.records import Question, Tokens
from r_eval.runner.plan import resolve
from r_eval.workflows.base import make
from r_eval.workflows.langgraph import LangGraph

AGENTS = Path(__file__).parent.parent / "agents.py"
EVERY = ("by_hand", "in_a_thread", "prebuilt", "graph", "later")


def agent(name: str) -> LangGraph:
    if name in ("prebuilt", "graph"):
        pytest.importorskip("langchain.agents" if name == "prebuilt" else "langgraph.graph")
    return LangGraph(f"{AGENTS}:{name}")


def calls(*made: tuple[str, dict[str, Any]], text: str = "") -> Reply:
    return Reply(text, tuple(ToolCall("a", *one) for one in made), "tool_calls", Tokens(prompt=10, completion=5))


FIND = calls(("find_dish", {"name": "o"}), text="I look.")
FINISH = calls(("Finish", {"answer": "omelette"}))


@pytest.mark.parametrize("native", [True, False], ids=["native", "prompted"])
@pytest.mark.parametrize("name", EVERY)
def test_an_agent_calls_the_query_apis_and_answers(play: Any, name: str, native: bool) -> None:
    found = FIND if native else 'I look.\n<tool_call>{"name": "find_dish", "arguments": {"name": "o"}}</tool_call>'
    played = play(agent(name), [found, "omelette"], native=native)
    assert (played.answer, played.outcome) == ("omelette", ("finished", ""))
    assert [(step.api, step.arguments, step.error) for step in played.calls] == [("find_dish", {"name": "o"}, None)]
    assert len(played.thoughts) == len(played.requests) == played.episode.usage.calls == 2
    assert "omelette" in played.requests[1].messages[-1].content
    assert played.episode.steps[-1].observation == "text"


@pytest.mark.parametrize("name", EVERY)
def test_the_argument_of_finish_is_the_answer(play: Any, name: str) -> None:
    played = play(agent(name), [FIND, FINISH, "Done."])
    assert (played.answer, played.episode.steps[-1].observation) == ("omelette", "finish")
    assert [step.api for step in played.calls] == ["find_dish"]


def test_langchains_own_agent_ends_with_finish(play: Any) -> None:
    assert len(play(agent("prebuilt"), [FINISH, "More."]).requests) == 1


@pytest.mark.parametrize("name", EVERY)
def test_an_agent_that_never_answers_ends_after_its_steps(play: Any, name: str) -> None:
    played = play(agent(name), [FIND], steps=3, last_chance=False)
    assert played.outcome == ("exhausted", "steps")
    assert len(played.requests) == 3


@pytest.mark.parametrize("name", EVERY)
def test_an_agent_whose_steps_are_used_up_has_a_last_chance(play: Any, name: str) -> None:
    played = play(agent(name), [FIND, FIND, "omelette"], steps=2)
    assert (played.answer, played.outcome) == ("omelette", ("exhausted", "steps"))


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("limit", [{"tokens": 20}, {"calls": 2}])
def test_the_limits_of_all_workflows_hold(play: Any, name: str, limit: dict[str, int]) -> None:
    played = play(agent(name), [FIND], last_chance=False, **limit)
    assert played.outcome == ("exhausted", next(iter(limit)))
    assert len(played.requests) == 2


@pytest.mark.parametrize("name", ["idle", "by_hand", "in_a_thread"])
def test_time_ends_an_agent(play: Any, name: str) -> None:
    def slow(request: Request) -> Reply:
        time.sleep(0.1)
        return FIND

    assert play(agent(name), slow, seconds=0.25).outcome == ("exhausted", "seconds")


def test_an_agent_that_catches_a_limit_is_ended_by_it_all_the_same(play: Any) -> None:
    played = play(agent("stubborn"), [FIND], steps=2, last_chance=False)
    assert played.outcome == ("exhausted", "steps")
    assert len(played.requests) == 2


def test_an_agent_that_catches_a_failure_of_the_llm_is_ended_by_it_all_the_same(play: Any) -> None:
    asked: list[Request] = []

    def fail(request: Request) -> Reply:
        asked.append(request)
        raise LLMError("server", "it is down")

    assert play(agent("stubborn"), fail).outcome == ("llm_failure", "server")
    assert len(asked) == 1


class Broken(Environment):
    """Always fails."""

    @query_api
    def find_dish(self, name: str) -> str:
        """Find."""
        raise EnvironmentFailure("the disk is gone")


@pytest.mark.parametrize("name", [*EVERY, "stubborn"])
def test_a_failure_of_the_environment_ends_the_episode(play: Any, name: str) -> None:
    played = play(agent(name), [FIND, "omelette"], environment=Broken())
    assert played.outcome == ("tool_failure", "environment")


def test_calls_at_the_same_time_are_recorded_in_the_order_in_which_they_were_made(play: Any) -> None:
    played = play(agent("side_by_side"), ["omelette"])
    assert "".join(step.arguments["name"] for step in played.calls) == "zyxwvutsrqponml"


@pytest.mark.parametrize("name", EVERY)
def test_a_call_with_wrong_arguments_is_told_what_was_expected(play: Any, name: str) -> None:
    played = play(agent(name), [calls(("find_dish", {"title": "o"})), "omelette"])
    assert [step.error for step in played.calls] == ["bad_arguments"]
    assert "title" in played.requests[1].messages[-1].content


@pytest.mark.parametrize("name", ["prebuilt", "graph"])
def test_a_call_of_an_unknown_tool_is_told_so_by_the_agent(play: Any, name: str) -> None:
    played = play(agent(name), [calls(("look", {"at": "o"})), "omelette"])
    assert "find_dish" in played.requests[1].messages[-1].content
    assert played.answer == "omelette"


def test_a_finish_without_an_answer_does_not_end_the_episode(play: Any) -> None:
    played = play(agent("by_hand"), [calls(("Finish", {})), FINISH])
    assert played.answer == "omelette"
    assert "needs the argument" in played.notes[0]


@pytest.mark.parametrize("name", EVERY)
def test_parallel_calls_are_answered_one_by_one(play: Any, name: str) -> None:
    both = calls(("find_dish", {"name": "o"}), ("ingredients", {"dish": "omelette"}))
    played = play(agent(name), [both, "egg"])
    assert [step.api for step in played.calls] == ["find_dish", "ingredients"]
    said = played.requests[1].messages
    identities = [call.id for message in said for call in message.tool_calls]
    assert [message.call_id for message in said if message.role == "tool"] == identities
    assert len(set(identities)) == 2


def test_an_agents_own_system_prompt_stands_first_and_ours_after_it(play: Any) -> None:
    first, *rest = play(agent("prebuilt"), ["omelette"]).requests[0].messages
    assert first.role == "system"
    assert first.content.startswith("You are a cook.\n\nDishes and what is in them.")
    assert "system" not in [message.role for message in rest]


def test_an_answer_in_a_form_of_the_agents_own(play: Any) -> None:
    played = play(agent("picks"), [calls(("Pick", {"dish": "omelette"}))])
    assert played.answer == "omelette"
    assert played.requests[0].tool_choice == "required"
    assert [tool.name for tool in played.requests[0].tools] == ["Pick"]


def test_every_tool_has_its_description_and_schema(play: Any) -> None:
    tools = {tool.name: tool for tool in play(agent("by_hand"), ["x"]).requests[0].tools}
    assert list(tools) == ["find_dish", "ingredients", "Finish"]
    assert tools["find_dish"].description == "Find dishes by a part of their name."
    assert tools["find_dish"].parameters["properties"]["limit"]["type"] == "integer"


def test_a_demonstration_is_a_conversation_that_finishes(play: Any) -> None:
    program = "answer = ingredients(dish=find_dish(name='pizza')[0])"
    shown = Question(id="q0", question="What is in a pizza?", answers=["flour"], level="KS", program=program)
    messages = play(agent("by_hand"), ["x"], shown=[shown]).requests[0].messages
    assert [(c.name, c.arguments) for m in messages for c in m.tool_calls] == [
        ("find_dish", {"name": "pizza"}),
        ("ingredients", {"dish": "pizza"}),
        ("Finish", {"answer": "flour"}),
    ]


def test_an_empty_last_message_is_no_answer(play: Any) -> None:
    assert play(agent("by_hand"), [""]).outcome == ("gave_up", "empty_reply")


@pytest.mark.parametrize(
    ("name", "said"), [("nothing", "gives a NoneType"), ("no_messages", "gives a dict without messages")]
)
def test_what_is_no_agent_is_said_to_be_none(play: Any, name: str, said: str) -> None:
    played = play(agent(name), ["x"])
    assert played.outcome == ("tool_failure", "workflow")
    assert said in played.episode.outcome.detail


# In a grid


def grid(workflow: Any, folder: Path) -> Grid:
    return Grid(workflows=[workflow], llms=["openai/m"], tasks=["wiki/high-freq"], samples=1, folder=folder)


def test_the_factory_is_found_from_the_grids_folder(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("def agent(tools, model):\n    return None\n", encoding="utf-8")
    (cell,) = resolve(grid("langgraph/mine.py:agent", tmp_path)).cells
    assert cell.cell.workflow == "langgraph/mine.py:agent"
    assert cell.workflow.settings() == {"agent": str(tmp_path / "mine.py:agent")}


def test_a_change_of_the_agents_file_changes_the_fingerprint_and_its_place_does_not(tmp_path: Path) -> None:
    found = []
    for folder, text in (("a", "x = 1"), ("b", "x = 1"), ("c", "x = 2")):
        (tmp_path / folder).mkdir()
        code = f"{text}\ndef agent(tools, model):\n    return None\n"
        (tmp_path / folder / "mine.py").write_text(code, encoding="utf-8")
        (cell,) = resolve(grid("langgraph/mine.py:agent", tmp_path / folder)).cells
        found.append(cell.parts["workflow"])
    assert found[0] == found[1] != found[2]


@pytest.mark.parametrize(
    ("workflow", "said"),
    [
        ("langgraph", "expected langgraph/<module or file.py>:<factory>"),
        ("langgraph/mine.py", "expected langgraph/<module or file.py>:<factory>"),
        ("langgraph/none.py:agent", "none.py: no such file"),
        ("langgraph/no_such_module_here:agent", "cannot import no_such_module_here"),
        ({"workflow": f"langgraph/{AGENTS}:by_hand", "beam": 2}, "unknown setting 'beam'"),
        (f"langgraph/{AGENTS}:NO_FUNCTION", "is no function that takes"),
        (f"langgraph/{AGENTS}:none_such", "has no none_such"),
    ],
)
def test_a_name_that_leads_to_no_factory_is_refused(tmp_path: Path, workflow: Any, said: str) -> None:
    with pytest.raises(UserError, match="(?s).*" + said.replace("(", r"\(")):
        resolve(grid(workflow, tmp_path))


def test_settings_are_those_of_the_name() -> None:
    assert make(LangGraph, "mine", {"agent": f"{AGENTS}:by_hand"}).settings() == {"agent": f"{AGENTS}:by_hand"}
