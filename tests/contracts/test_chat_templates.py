"""Every conversation of every workflow keeps the rules of the chat templates of eight model families.

The rules are those that the families document: which roles there are, that turns alternate, what ids calls have, where
tools and their results stand. The real templates raise an error at what they forbid.
"""

from __future__ import annotations

import importlib.util
import itertools
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from r_eval.llms.base import Reply, Request, ToolCall
from r_eval.llms.chat import chat_body, fold_system
from r_eval.llms.tool_calls import format_tool_call
from r_eval.records import Document, Question, Tokens
from r_eval.workflows.agent import Agent
from r_eval.workflows.base import Workflow
from r_eval.workflows.dfsdt import DFSDT
from r_eval.workflows.direct import Direct
from r_eval.workflows.fc import FC
from r_eval.workflows.pal import PAL
from r_eval.workflows.rag import RAG
from r_eval.workflows.react import ReAct
from tests.workflow_contract import Talker
from tests.workflows.conftest import brief_sandbox, play  # noqa: F401  fixtures

Messages = list[dict[str, Any]]


def alternates(messages: Messages) -> bool:
    """Turns begin with the user's and alternate, calls and their results aside."""
    turns = [m["role"] for m in messages if m["role"] in ("user", "assistant") and not m.get("tool_calls")]
    return all(role == ("user", "assistant")[place % 2] for place, role in enumerate(turns))


def has_short_ids(messages: Messages) -> bool:
    ids = [m["tool_call_id"] for m in messages if m["role"] == "tool"] + [c["id"] for c in calls_of(messages)]
    return all(len(one) == 9 and one.isalnum() for one in ids)


def answers_each_result(messages: Messages) -> bool:
    """A result follows its call, and the assistant speaks before the user does."""
    pairs = [(before["role"], after["role"]) for before, after in itertools.pairwise(messages)]
    return ("tool", "user") not in pairs and {("user", "tool"), ("system", "tool")}.isdisjoint(pairs)


def calls_of(messages: Messages) -> Messages:
    return [call for message in messages for call in message.get("tool_calls", ())]


class Family(NamedTuple):
    """What a model family's template takes, and its own rules."""

    tools: bool
    system: bool
    rules: tuple[Callable[[Messages], bool], ...]

    @property
    def roles(self) -> set[str]:
        return {"user", "assistant", *(["system"] if self.system else []), *(["tool"] if self.tools else [])}


FAMILIES = {
    "Qwen 2.5": Family(tools=True, system=True, rules=()),
    "Qwen 3": Family(tools=True, system=True, rules=(lambda messages: any(m["role"] == "user" for m in messages),)),
    "Llama 2": Family(tools=False, system=True, rules=(alternates,)),
    "Llama 3.1": Family(
        tools=True, system=True, rules=(lambda messages: all(len(m.get("tool_calls", "1")) == 1 for m in messages),)
    ),
    "Mistral": Family(tools=True, system=True, rules=(alternates, has_short_ids, answers_each_result)),
    "Gemma 2": Family(tools=False, system=False, rules=(alternates,)),
    "DeepSeek": Family(tools=True, system=True, rules=(lambda messages: not messages[-1].get("tool_calls"),)),
    "GPT-OSS": Family(tools=True, system=True, rules=(lambda messages: "<|channel|>" not in str(messages),)),
}
AGENTS = Path(__file__).parents[1] / "agents.py"
WORKFLOWS: dict[str, Any] = {
    "react": ReAct,
    "fc": FC,
    "dfsdt": DFSDT,
    "pal": PAL,
    "rag": RAG,
    "direct": Direct,
    "agent": lambda: Agent(function=f"{AGENTS}:answer"),
}
DEMONSTRATIONS = [
    Question(
        id=f"q{number}",
        question=f"What is in {dish}?",
        answers=["egg"],
        level="KS",
        program=f"dish = find_dish(name='{dish}')[0]\n{comment}answer = ingredients(dish=dish)[0]",
    )
    for number, (dish, comment) in enumerate([("pizza", "# The dish is known.\n"), ("omelette", "")])
]
QUESTION = Question(
    id="q9",
    question="哪道菜里有鸡蛋？ Which dish?",
    answers=["omelette"],
    level="KS",
    context=[Document(title="Книга", text="Яйца.")],
)
REPLIES = ["call", "thought", "cut", "give up", "unreadable", "empty call"]
"""What an LLM answers in turn, so that a conversation has every kind of message."""


def speak(kind: str, number: int, request: Request) -> Reply:
    """A reply of a kind, natively where tools are offered."""
    calls: dict[str, tuple[str, dict[str, Any]]] = {
        "call": ("find_dish", {"name": "o"}),
        "give up": ("Finish", {"return_type": "give_up_and_restart"}),
        "empty call": ("Finish", {}),
        "unreadable": ("find_dish", {"x": 1}),
    }
    text = 'I look.\nAction: find_dish(name="o")\n```python\nanswer = find_dish(name=3)[9]\n```'
    text, made = {"thought": "Hm.", "empty call": ""}.get(kind, text), ()
    if kind in calls and (request.tools or "<tool_call>" in request.messages[0].content):
        call = ToolCall(f"id{number:07d}", *calls[kind])
        text, made = ("", (call,)) if request.tools else (format_tool_call(call), ())
    return Reply(text, made, "length" if kind == "cut" else "stop", Tokens(prompt=10, completion=5))


@pytest.fixture(scope="module")
def known() -> dict[tuple[str, bool], list[Request]]:
    """Requests of workflows, by their names and whether the LLM takes tools; what families share is played once."""
    return {}


def conversations(name: str, native: bool, play: Any) -> Iterator[Request]:  # noqa: F811
    """Everything that an LLM is sent in some episodes of a workflow."""
    for turn in range(len(REPLIES)):
        numbers = itertools.count()
        kinds = itertools.islice(itertools.cycle(REPLIES), turn, None)
        workflow: Workflow = WORKFLOWS[name]()
        played = play(
            workflow,
            lambda request, kinds=kinds, numbers=numbers: speak(next(kinds), next(numbers), request),
            shown=DEMONSTRATIONS,
            native=native,
            question=QUESTION,
            steps=5,
        )
        assert played.requests
        assert played.episode.outcome.kind not in ("llm_failure", "tool_failure"), played.episode.outcome
        yield from played.requests
        if name == "agent":
            break  # whose conversation is its own doing


def sent(family: Family, request: Request) -> Messages:
    """The messages of a request as a server hands them to the family's template."""
    messages = request.messages if family.system else fold_system(request.messages)
    made: Messages = chat_body(Talker(lambda request: ""), Request(messages, tools=request.tools))["messages"]
    return made


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("name", WORKFLOWS)
def test_a_template_takes_every_conversation_of_a_workflow(
    name: str,
    family: str,
    play: Any,  # noqa: F811
    known: dict[tuple[str, bool], list[Request]],
) -> None:
    if name == "agent" and importlib.util.find_spec("mcp") is None:
        pytest.skip("the MCP SDK is not installed (extra: mcp)")
    takes = FAMILIES[family]
    key = (name, takes.tools)
    known[key] = known.get(key) or list(conversations(*key, play))
    for messages in (sent(takes, request) for request in known[key]):
        assert all((m["content"] or "").strip() or m.get("tool_calls") for m in messages), "an empty turn"
        assert {m["role"] for m in messages} <= takes.roles
        assert "system" not in [m["role"] for m in messages[1:]]
        assert all(isinstance(json.loads(call["function"]["arguments"]), dict) for call in calls_of(messages))
        assert all(rule(messages) for rule in takes.rules), messages
        assert any(QUESTION.question in (m["content"] or "") for m in messages)
