"""DFSDT walks the tree as ToolBench's `DFS_woFilter_w2` does: the same LLM calls, in the same order.

A reply of a thought and a call adds three nodes, one without a thought two. Without settings of its own it obeys the
limits of all workflows: `steps` per branch, and four times as many calls.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest

from r_eval.environments.base import Environment, query_api
from r_eval.environments.conditions.base import Wrapped
from r_eval.llms.base import Reply, Request, ToolCall
from r_eval.llms.tool_calls import format_tool_call as written
from r_eval.records import Tokens
from r_eval.workflows.base import Limits
from r_eval.workflows.dfsdt import DFSDT
from tests.workflows.conftest import Play

DIVERSITY = "was reached before"
TOOLBENCH = {"max_nodes": 12, "max_calls": 200}


@pytest.fixture
def search(play: Play) -> Any:
    """An episode within ToolBench's bounds, or others; without a last chance, which ToolBench does not give."""

    def run(replies: Any, beam: int = 2, native: bool = True, limits: Any = None, **bounds: int) -> Any:
        workflow = DFSDT(beam, **{**TOOLBENCH, **bounds})
        return play(workflow, replies, native=native, last_chance=False, **(limits or {}))

    return run


def tool(thought: str = "I look.") -> Reply:
    return Reply(thought, (ToolCall("a", "find_dish", {"name": "o"}),), "tool_calls")


def finish(**arguments: str) -> Reply:
    return Reply("I end.", (ToolCall("a", "Finish", arguments),), "tool_calls")


def give_up(answer: str = "") -> Reply:
    return finish(return_type="give_up_and_restart", **({"final_answer": answer} if answer else {}))


GIVE_UP = give_up()
ANSWER = finish(return_type="give_answer", final_answer="omelette")


def level(request: Request) -> int:
    """How many replies lead to the node that is asked for the next one."""
    return sum(message.role == "assistant" for message in request.messages)


def by_level(*replies: Reply) -> Callable[[Request], Reply]:
    """The reply of a node's level in the tree."""
    return lambda request: replies[min(level(request), len(replies) - 1)]


def order(played: Any) -> list[str]:
    """Level of every request, with a D where it was asked to differ from what was tried."""
    return [f"{level(r)}{'D' if DIVERSITY in r.messages[-1].content else ''}" for r in played.requests]


@pytest.mark.parametrize("native", [True, False], ids=["native", "prompted"])
@pytest.mark.parametrize(
    ("beam", "reply", "count"),
    [
        (2, tool(), 30),
        (2, tool(""), 126),
        (1, tool(), 4),
        (3, tool(), 120),
        (2, GIVE_UP, 1),
        (2, ANSWER, 1),
    ],
    ids=["thought and tool", "tool alone", "beam 1", "beam 3", "give up", "answer"],
)
def test_the_same_reply_for_ever_takes_as_many_calls_as_in_the_original(
    search: Any, beam: int, reply: Reply, count: int, native: bool
) -> None:
    if not native:
        reply = Reply("\n".join([reply.text, *(written(call) for call in reply.tool_calls)]))
    assert len(search([reply], beam, native).requests) == count


def test_a_give_up_goes_on_at_the_grandparent_and_asks_for_something_else(search: Any) -> None:
    played = search(by_level(tool(), tool(), GIVE_UP))
    assert order(played) == ["0", "1", "2", "1D", "2", "0D", "1", "2", "1D", "2"]
    assert [step.depth for step in played.thoughts] == [0, 3, 6, 3, 6, 0, 3, 6, 3, 6]
    assert played.outcome == ("gave_up", "give_up")
    assert "gave up 4 times" in played.episode.outcome.detail
    tried = played.requests[3].messages[-1].content
    assert "find_dish" in tried
    assert "omelette" in tried
    assert not any(DIVERSITY in message.content for message in played.requests[4].messages)


def test_a_branch_that_is_too_deep_lets_its_parent_try_again(search: Any) -> None:
    played = search([tool()])
    assert order(played)[:8] == ["0", "1", "2", "3", "3D", "2D", "3", "3D"]
    assert played.outcome == ("exhausted", "depth")


def test_the_limit_of_the_original_is_two_hundred_calls_and_the_last_reply_is_used(search: Any) -> None:
    assert len(search([tool("")], 4).requests) == 200
    played = search(max_calls=3, replies=by_level(tool(), tool(), ANSWER))
    assert (len(played.requests), played.answer, played.outcome) == (3, "omelette", ("finished", ""))
    played = search(max_calls=2, replies=[tool(), give_up("pie")])
    assert (played.answer, played.outcome) == ("pie", ("exhausted", "calls"))


def test_without_an_answer_the_latest_give_up_with_one_is_the_answer(search: Any) -> None:
    played = search([tool(), tool(), give_up("pie"), tool(), give_up("flan"), give_up()])
    assert (played.answer, played.outcome) == ("flan", ("gave_up", "give_up"))
    assert played.episode.steps[-1].observation == "give_up"


@pytest.mark.parametrize("limit", [{"calls": 3}, {"tokens": 1}])
def test_a_limit_of_all_workflows_leaves_the_best_give_up(search: Any, limit: dict[str, int]) -> None:
    def spoken(request: Request) -> Reply:
        found = by_level(tool(), give_up("pie"))(request)
        return dataclasses.replace(found, tokens=Tokens(prompt=1 if found.text == "I end." else 0))

    played = search(spoken, limits=limit)
    assert (played.answer, played.outcome) == ("pie", ("exhausted", next(iter(limit))))


def test_only_the_first_of_parallel_calls_is_made(search: Any) -> None:
    two = (ToolCall("a", "find_dish", {"name": "o"}), ToolCall("b", "find_dish", {"name": "p"}))
    played = search([Reply("", two), ANSWER])
    assert [step.arguments for step in played.calls] == [{"name": "o"}]


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        (finish(return_type="give_answer", answer="omelette"), "omelette"),
        (finish(final_answer="omelette"), "omelette"),
        (Reply("", (ToolCall("a", "finish", {"final_answer": ["egg", "butter"]}),)), "egg; butter"),
        (Reply("", (ToolCall("a", "Finish", {"return_type": "give_answer", "final_answer": 2}),)), "2"),
    ],
)
def test_finish_gives_the_answer(search: Any, reply: Reply, answer: str) -> None:
    played = search([reply])
    assert (played.answer, played.outcome) == (answer, ("finished", ""))


def test_a_finish_that_says_nothing_is_told_how_to_finish(search: Any) -> None:
    played = search([finish(), ANSWER])
    assert played.requests[1].messages[-1].content == played.notes[0]
    assert ("give_answer" in played.notes[0], played.answer) == (True, "omelette")


# The limits of all workflows


@pytest.mark.parametrize("steps", [1, 2, 3])
def test_a_branch_has_as_many_turns_as_other_workflows_have(play: Play, steps: int) -> None:
    played = play(DFSDT(), [tool("")], steps=steps, last_chance=False)
    assert max(map(level, played.requests)) == steps - 1
    assert len(played.requests) == min(2 ** (steps + 1) - 2, 4 * steps)


@pytest.mark.parametrize("limits", [{"steps": 10}, {"steps": 3, "calls": 7}], ids=str)
def test_a_search_costs_at_most_four_times_what_react_does(play: Play, limits: dict[str, int]) -> None:
    played = play(DFSDT(beam=9), [tool("")], **limits)
    assert len(played.requests) == played.episode.usage.calls <= DFSDT(beam=9).most_calls(Limits(**limits))
    assert len(played.requests) == limits.get("calls", 41)
    assert "Answer now" in played.requests[-1].messages[-1].content, "the last chance"


# The state of the environment


class Book(Environment):
    """A book with pages to turn."""

    def __init__(self) -> None:
        self.page = 0

    @query_api
    def turn(self) -> str:
        """Turn the page."""
        self.page += 1
        return f"page {self.page}"


class Shared(Book):
    """A book that all read together."""

    copies_state = False


TURN = Reply("", (ToolCall("a", "turn", {}),), "tool_calls")


@pytest.mark.parametrize("condition", ["", "slow"])
def test_what_an_abandoned_branch_did_does_not_show_in_another(play: Play, condition: str) -> None:
    replies = by_level(TURN, TURN, GIVE_UP)
    book = Wrapped(Book()) if condition else Book()
    pages = [step.observation for step in play(DFSDT(), replies, environment=book).calls]
    assert pages == ["page 1", "page 2", "page 2", "page 1", "page 2", "page 2"]


def test_where_the_state_cannot_be_copied_branches_share_it(play: Play) -> None:
    for shared in (Shared(), Wrapped(Shared())):
        pages = [step.observation for step in play(DFSDT(), by_level(TURN, GIVE_UP), environment=shared).calls]
        assert pages == [f"page {number}" for number in range(1, len(pages) + 1)]
