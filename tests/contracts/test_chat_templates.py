"""Every conversation of every workflow goes through the chat templates of eight model families.

The templates are written from the rules that the families document: which roles there are, that turns alternate, what
ids calls have, where tools and their results stand. What a rule forbids is raised, as the real templates raise it.
"""

from __future__ import annotations

import importlib.util
import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import jinja2
import pytest

from r_eval.environments.base import Environment
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

ALTERNATE = """
{%- set turns = namespace(n=0) %}
{%- for m in messages if m.role in ('user', 'assistant') and not m.tool_calls %}
  {%- if (m.role == 'user') != (turns.n % 2 == 0) %}{{ refuse('user and assistant must alternate') }}{% endif %}
  {%- set turns.n = turns.n + 1 %}
{%- endfor %}
"""
"""Turns begin with the user's and alternate, calls and their results aside."""
ROLES = """
{%- for m in messages if m.role not in roles %}{{ refuse('there is no role ' ~ m.role) }}{% endfor %}
{%- for m in messages[1:] if m.role == 'system' %}{{ refuse('the system message comes first') }}{% endfor %}
"""
QWEN = """
{%- if tools %}<|im_start|>system\n{{ messages[0].content }}\n# Tools\n{{ tools | tojson }}<|im_end|>\n{% endif %}
{%- for m in messages %}
  {%- if m.role == 'tool' %}<|im_start|>user\n<tool_response>\n{{ m.content }}\n</tool_response><|im_end|>
  {%- else %}<|im_start|>{{ m.role }}\n{{ m.content }}{% for c in m.tool_calls %}
<tool_call>{{ {'name': c.function.name, 'arguments': c.function.arguments} | tojson }}</tool_call>{% endfor %}<|im_end|>
  {%- endif %}
{%- endfor %}"""
LLAMA_2 = """
{%- for m in messages %}
  {%- if m.role == 'system' %}<<SYS>>{{ m.content }}<</SYS>>
  {%- elif m.role == 'user' %}[INST] {{ m.content | trim }} [/INST]{% else %} {{ m.content | trim }} </s>{% endif %}
{%- endfor %}"""
LLAMA_3 = """
{%- for m in messages %}
  {%- if m.tool_calls and m.tool_calls | length != 1 %}{{ refuse('single tool calls only') }}{% endif %}
  {%- if m.role == 'tool' %}<|start_header_id|>ipython<|end_header_id|>{{ m.content | tojson }}<|eot_id|>
  {%- elif m.tool_calls %}<|start_header_id|>assistant<|end_header_id|>{{ m.tool_calls[0].function | tojson }}<|eot_id|>
  {%- else %}<|start_header_id|>{{ m.role }}<|end_header_id|>{{ m.content | trim }}<|eot_id|>{% endif %}
{%- endfor %}"""
MISTRAL = """
{%- for m in messages %}
  {%- if m.role == 'tool' %}
    {%- if m.tool_call_id | length != 9 or not m.tool_call_id.isalnum() %}{{ refuse('id') }}{% endif %}
    {%- if loop.previtem.role not in ('tool', 'assistant') %}{{ refuse('a result follows its call') }}{% endif %}
[TOOL_RESULTS] {{ {'content': m.content, 'call_id': m.tool_call_id} | tojson }}[/TOOL_RESULTS]
  {%- elif m.tool_calls %}
    {%- for c in m.tool_calls if c.id | length != 9 or not c.id.isalnum() %}{{ refuse('id') }}{% endfor %}
[TOOL_CALLS] {{ m.tool_calls | map(attribute='function') | list | tojson }}</s>
  {%- elif loop.previtem and loop.previtem.role == 'tool' and m.role == 'user' %}{{ refuse('not answered') }}
  {%- elif m.role == 'user' %}[INST] {{ m.content }}[/INST]{% else %} {{ m.content }}</s>{% endif %}
{%- endfor %}"""
GEMMA = """
{%- for m in messages %}
<start_of_turn>{{ 'model' if m.role == 'assistant' else 'user' }}\n{{ m.content | trim }}<end_of_turn>
{% endfor %}"""
DEEPSEEK = """
{%- for m in messages %}
  {%- if m.tool_calls and not loop.nextitem %}{{ refuse('calls need their results') }}{% endif %}
  {%- if m.role == 'tool' %}<|tool_output|>{{ m.content }}{% else %}<|{{ m.role }}|>{{ m.content or '' }}{% endif %}
  {%- for c in m.tool_calls %}<|tool_call|>{{ c.function.name }}\n{{ c.function.arguments }}{% endfor %}
{%- endfor %}"""

QWEN_3 = (
    """
{%- if not messages | selectattr('role', 'equalto', 'user') | list %}{{ refuse('no user query') }}{% endif %}"""
    + QWEN
)
GPT_OSS = """
{%- set last = namespace(name=none) %}
{%- for m in messages %}
  {%- if m.role == 'assistant' and '<|channel|>' in (m.content or '') %}{{ refuse('tags in the content') }}{% endif %}
  {%- if m.tool_calls %}{% set last.name = m.tool_calls[0].function.name %}{% endif %}
  {%- if m.role == 'tool' and last.name is none %}{{ refuse('no assistant message with a tool call') }}{% endif %}
<|start|>{{ m.role }}<|message|>{{ m.content or '' }}<|end|>
{% endfor %}"""


class Family(NamedTuple):
    """A model family's template, what it takes, and whether turns must alternate."""

    template: str
    tools: bool
    system: bool
    alternates: bool

    @property
    def roles(self) -> list[str]:
        return [*(["system"] if self.system else []), "user", "assistant", *(["tool"] if self.tools else [])]


FAMILIES = {
    "Qwen 2.5": Family(QWEN, tools=True, system=True, alternates=False),
    "Llama 2": Family(LLAMA_2, tools=False, system=True, alternates=True),
    "Llama 3.1": Family(LLAMA_3, tools=True, system=True, alternates=False),
    "Mistral": Family(MISTRAL, tools=True, system=True, alternates=True),
    "Gemma 2": Family(GEMMA, tools=False, system=False, alternates=True),
    "DeepSeek": Family(DEEPSEEK, tools=True, system=True, alternates=False),
    "Qwen 3": Family(QWEN_3, tools=True, system=True, alternates=False),
    "GPT-OSS": Family(GPT_OSS, tools=True, system=True, alternates=False),
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


def rendered(family: Family, request: Request) -> str:
    """A request as the family's template writes it.

    Raises:
        ValueError: It refuses the request.
    """

    def refuse(why: str) -> None:
        raise ValueError(why)

    messages = request.messages if family.system else fold_system(request.messages)
    body = chat_body(Talker(lambda request: ""), Request(messages, tools=request.tools))
    for call in (call["function"] for message in body["messages"] for call in message.get("tool_calls", ())):
        call["arguments"] = json.loads(call["arguments"])
    source = f"{ROLES}{ALTERNATE if family.alternates else ''}{family.template}"
    template = jinja2.Environment().from_string(source)
    return template.render(messages=body["messages"], tools=body.get("tools"), roles=family.roles, refuse=refuse)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("name", WORKFLOWS)
def test_a_template_takes_every_conversation_of_a_workflow(
    name: str,
    family: str,
    play: Any,  # noqa: F811
    known: dict[tuple[str, bool], list[Request]],
    pantry: Environment,
) -> None:
    if name == "agent" and importlib.util.find_spec("mcp") is None:
        pytest.skip("the MCP SDK is not installed (extra: mcp)")
    key = (name, FAMILIES[family].tools)
    known[key] = known.get(key) or list(conversations(*key, play))
    for request in known[key]:
        for message in request.messages:
            assert message.content.strip() or message.tool_calls, "an empty turn"
        assert QUESTION.question in rendered(FAMILIES[family], request)
