"""DFSDT (Qin et al., 2023): depth-first search over a decision tree, as ToolBench's `DFS_woFilter_w2`.

A node is expanded `beam` times; every expansion after the first is told what was tried before and asked to differ.
Finish either gives an answer, which ends the search, or gives up: then the search goes on at the grandparent of the
step that gave up, while a branch that became too deep lets its parent try again. A branch has as many turns as a
ReAct episode has (`limits.steps`), and the search four times as many LLM calls, unless the settings say otherwise.
ToolBench counts the depth in nodes: thought, action and action input are one each. With its bounds, the original's
counts of LLM calls are reproduced exactly (see the tests).

Each node has the environment's state as it was there, so that what an abandoned branch did does not show in another,
wherever the environment can copy its state; else all branches share it.

Two faults of the original are not copied: the reply at the call limit is used, and a search without an answer returns
its best give-up, not a random one of them: of those that say a final answer all the same, the one that had seen the
most calls succeed on its way; of two that saw as much, the later one, which knew of more attempts.

The tree is in the record: every reply is kept with the depth of the node that it was asked from, in the order of the
search, and that is enough to rebuild it (`r_eval.analysis.tree`).
"""

from __future__ import annotations

import dataclasses
import json
from typing import Any

from r_eval.environments.base import Environment
from r_eval.environments.sandbox import answer_text
from r_eval.environments.session import cut
from r_eval.llms.base import Message, Reply, Request, ToolCall, ToolSpec
from r_eval.workflows.base import (
    LimitReached,
    Limits,
    LLMProtocol,
    SessionProtocol,
    TaskInput,
    Workflow,
    WorkflowResult,
    ended,
    finished,
    positive,
    prompt,
    tool_specs,
    with_note,
)
from r_eval.workflows.fc import demonstration

FINISH = ToolSpec(
    "Finish",
    "End with the answer, or give up and start again from an earlier point.",
    {
        "type": "object",
        "properties": {
            "return_type": {"type": "string", "enum": ["give_answer", "give_up_and_restart"]},
            "final_answer": {"type": "string", "description": "The answer, with give_answer."},
        },
        "required": ["return_type"],
    },
)
STOP = 10_000
"""Levels up, more than any tree has: the search is over."""
TRIED_CHARACTERS = 1024
"""Of what came of an attempt, where a later one is told of it."""
COST = 4
"""LLM calls of a search, in those that ReAct may make."""


@dataclasses.dataclass(slots=True)
class Node:
    """A place in the tree: the conversation that leads to it, and what became of the branches tried from it.

    Attributes:
        state: Of the environment, as it was here.
        depth, turns: Nodes as ToolBench counts them, and LLM replies, on the way to it.
        seen: Calls on the way to it that succeeded.
        answer: What Finish gave as the answer; with `gave_up`, what it said although it gave up.
    """

    messages: tuple[Message, ...]
    state: Environment
    depth: int = 0
    turns: int = 0
    seen: int = 0
    tried: list[str] = dataclasses.field(default_factory=list)
    answer: str | None = None
    gave_up: bool = False


class DFSDT(Workflow):
    """Depth-first search-based decision tree.

    Args:
        beam: Branches tried from a node.
        max_nodes: Depth of the tree in ToolBench's nodes, in place of `limits.steps` turns.
        max_calls: LLM calls of one episode, before the last chance; absent: four times `limits.steps`.
    """

    branches = True
    PROMPTS = ("dfsdt", "dfsdt_diversity", "dfsdt_continue")

    def __init__(self, beam: int = 2, max_nodes: int | None = None, max_calls: int | None = None) -> None:
        self.beam = positive("beam", beam)
        self.max_nodes = None if max_nodes is None else positive("max_nodes", max_nodes)
        self.max_calls = None if max_calls is None else positive("max_calls", max_calls)

    def most_calls(self, limits: Limits) -> int:
        is_chain = self.beam == 1 and self.max_nodes is None
        return min(self.max_calls or COST * limits.steps, limits.steps if is_chain else 10**9) + limits.last_chance

    async def run(
        self, question: TaskInput, session: SessionProtocol, llm: LLMProtocol, limits: Limits
    ) -> WorkflowResult:
        system = prompt(DFSDT, "dfsdt", domain=session.description, instruction=question.instruction)
        messages = [Message("system", system)]
        for shown in question.demonstrations:
            give = {"return_type": "give_answer", "final_answer": shown.answer}
            messages += demonstration(shown, ToolCall("", "Finish", give))
        messages.append(Message("user", question.with_documents(question.text)))
        search = _Search(self, session, llm, limits)
        try:
            await search.expand(Node(tuple(messages), session.state()))
        except LimitReached as reached:
            best = search.best_give_up()
            if not best:
                raise
            return dataclasses.replace(ended("exhausted", reached.cause, str(reached), best), how="give_up")
        if search.answer is not None:
            return finished(search.answer, "finish")
        return search.without_answer()


class _Search:
    """One search; `answer` is set when it has found one."""

    def __init__(self, settings: DFSDT, session: SessionProtocol, llm: LLMProtocol, limits: Limits) -> None:
        self.settings, self.session, self.llm, self.limits = settings, session, llm, limits
        self.max_calls = settings.max_calls or COST * limits.steps
        self.tools = (*tool_specs(session), FINISH)
        self.calls = 0
        self.given_up: list[Node] = []
        self.answer: str | None = None
        self._leaf: Node | None = None

    async def expand(self, node: Node) -> int:
        """Search below a node; returns how many levels up the search goes on (1: the parent, 2: the grandparent)."""
        if self._settle(node):
            return 2 if node.gave_up else STOP
        if self._is_deep(node):
            return 1
        for _ in range(self.settings.beam):
            self.session.restore(node.state)
            reply = await self.llm.generate(Request(self._messages(node), tools=self.tools), depth=node.depth)
            self.calls += 1
            child = await self._grow(node, reply)
            if self.calls >= self.max_calls:
                self._settle(child)
                return STOP
            levels = await self.expand(child)
            if levels > 1:
                return levels if levels == STOP else levels - 1
        return 1

    def _is_deep(self, node: Node) -> bool:
        if self.settings.max_nodes:
            return node.depth >= self.settings.max_nodes
        return node.turns >= self.limits.steps

    def _settle(self, node: Node) -> bool:
        """Keep what a node's Finish says, if it has one; whether the search goes no further below it."""
        if node.gave_up:
            self.given_up.append(node)
        else:
            self.answer = node.answer
            if self._leaf is None or node.seen >= self._leaf.seen:
                self._leaf = node
        return node.gave_up or node.answer is not None

    def best_give_up(self) -> str:
        """The answer of the best give-up; "" where none of them says one."""
        answers = [(node.seen, i, node.answer) for i, node in enumerate(self.given_up) if node.answer]
        return max(answers)[2] if answers else ""

    def without_answer(self) -> WorkflowResult:
        """How a search ends that found no answer: with its best give-up, where there was one.

        Raises:
            LimitReached: It was ended by its bounds, and no give-up says an answer.
        """
        best, count, spent = self.best_give_up(), len(self.given_up), self.calls >= self.max_calls
        if not spent and count:
            times = "once" if count == 1 else f"{count} times"
            ending = ended("gave_up", "give_up", f"gave up {times}, no branch gave an answer", best)
            return dataclasses.replace(ending, how="give_up") if best else ending
        depth = f"{self.settings.max_nodes} nodes" if self.settings.max_nodes else f"{self.limits.steps} steps"
        detail = f"no answer within {f'{self.max_calls} LLM calls' if spent else f'{depth} of depth'}"
        if not best:
            raise LimitReached("calls" if spent else "depth", detail, self._leaf.messages if self._leaf else ())
        return dataclasses.replace(ended("exhausted", "calls" if spent else "depth", detail, best), how="give_up")

    def _messages(self, node: Node) -> tuple[Message, ...]:
        if node.tried:
            return with_note(node.messages, prompt(DFSDT, "dfsdt_diversity", tried="\n".join(node.tried)))
        return node.messages

    async def _grow(self, node: Node, reply: Reply) -> Node:
        """The chain of up to three of ToolBench's nodes that a reply adds, as one node."""
        call = reply.tool_calls[0] if reply.tool_calls else None
        depth = node.depth + (1 if reply.text.strip() or call is None else 0) + (2 if call else 0)
        child = Node(node.messages, node.state, depth, node.turns + 1, node.seen)
        if call is None:
            node.tried.append(_tried({"thought": cut(reply.text, TRIED_CHARACTERS)}))
            child.messages = (*node.messages, reply.message(), Message("user", prompt(DFSDT, "dfsdt_continue")))
            return child
        if call.name.lower() == "finish":
            output = self._finish(call, child)
        elif call.error is not None:
            output = call.error
            self.llm.note(output)
        else:
            result = await self.session.call(call.name, call.arguments)
            child.seen += result.error is None
            child.state = self.session.state()
            output = result.observation
        attempt = {"name": call.name, "arguments": call.arguments, "function_output": cut(output, TRIED_CHARACTERS)}
        node.tried.append(_tried(attempt))
        message = dataclasses.replace(reply.message(), tool_calls=(call,))
        child.messages = (*node.messages, message, Message("tool", output, call_id=call.id, name=call.name))
        return child

    def _finish(self, call: ToolCall, child: Node) -> str:
        """Carry out a Finish call on the node that it made; returns what is said about it."""
        kind = str(call.arguments.get("return_type", ""))
        answer = next((call.arguments[k] for k in ("final_answer", "answer") if k in call.arguments), None)
        child.answer = None if answer is None else answer_text(answer)
        if kind == "give_up_and_restart":
            child.gave_up = True
            return "Given up."
        if answer is not None:
            return "Answered."
        complaint = "Finish needs return_type give_answer with final_answer, or give_up_and_restart."
        self.llm.note(complaint)
        return complaint


def _tried(attempt: dict[str, Any]) -> str:
    return json.dumps(attempt, ensure_ascii=False)
