"""DFSDT (Qin et al., 2023): depth-first search over a decision tree, as ToolBench's `DFS_woFilter_w2`.

Thought, action and action input are nodes, so twelve nodes are four tool steps with thoughts, or six without. A node is
expanded `beam` times; every expansion after the first is told what was tried before and asked to differ. Finish
either gives an answer, which ends the search, or gives up: then the search goes on at the grandparent of the
step that gave up, while a branch that became too deep lets its parent try again.

Two faults of the original are not copied: the reply at the call limit is used, and a search without an answer returns
its best give-up, not a random one of them: of those that say a final answer all the same, the one that had seen the
most calls succeed on its way; of two that saw as much, the later one, which knew of more attempts. The original's
counts of LLM calls are reproduced exactly (see the tests).

The tree is in the record: every reply is kept with the depth of the node that it was asked from, in the order of the
search, and that is enough to rebuild it (`r_eval.analysis.tree`).
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence

from r_eval.environments.sandbox import answer_text
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
OBSERVATION_CHARACTERS = 1024


@dataclasses.dataclass(slots=True)
class Node:
    """A place in the tree: the conversation that leads to it, and what became of the branches tried from it.

    Attributes:
        seen: Calls on the way to it that succeeded.
        answer: What Finish gave as the answer; with `gave_up`, what it said although it gave up.
    """

    depth: int
    messages: tuple[Message, ...]
    seen: int = 0
    tried: list[str] = dataclasses.field(default_factory=list)
    answer: str | None = None
    gave_up: bool = False


class DFSDT(Workflow):
    """Depth-first search-based decision tree.

    Args:
        beam: Branches tried from a node.
        max_nodes: Depth of the tree, in nodes.
        max_calls: LLM calls of one episode.
    """

    last_chance = False
    PROMPTS = ("dfsdt", "dfsdt_diversity", "dfsdt_continue")

    def __init__(self, beam: int = 2, max_nodes: int = 12, max_calls: int = 200) -> None:
        self.beam = positive("beam", beam)
        self.max_nodes = positive("max_nodes", max_nodes)
        self.max_calls = positive("max_calls", max_calls)

    async def run(
        self, question: TaskInput, session: SessionProtocol, llm: LLMProtocol, limits: Limits
    ) -> WorkflowResult:
        system = prompt(DFSDT, "dfsdt", domain=session.description, instruction=question.instruction)
        messages = [Message("system", system)]
        for shown in question.demonstrations:
            give = {"return_type": "give_answer", "final_answer": shown.answer}
            messages += demonstration(shown, ToolCall("", "Finish", give))
        messages.append(Message("user", question.text))
        search = _Search(self, session, llm)
        try:
            await search.expand(Node(0, tuple(messages)))
        except LimitReached as reached:
            best = _best(search.given_up)
            if not best:
                raise
            return dataclasses.replace(ended("exhausted", reached.cause, str(reached), best), how="give_up")
        if search.answer is not None:
            return finished(search.answer, "finish")
        return self._without_answer(search)

    def _without_answer(self, search: _Search) -> WorkflowResult:
        """How a search ends that found no answer: with its best give-up, where there was one."""
        count, best = len(search.given_up), _best(search.given_up)
        if search.calls >= self.max_calls:
            ending = ended("exhausted", "calls", f"no answer within {self.max_calls} LLM calls", best)
        elif count:
            times = "once" if count == 1 else f"{count} times"
            ending = ended("gave_up", "give_up", f"gave up {times}, no branch gave an answer", best)
        else:
            ending = ended("exhausted", "depth", f"no answer within {self.max_nodes} nodes of depth")
        return dataclasses.replace(ending, how="give_up") if best else ending


def _best(given_up: Sequence[Node]) -> str:
    """The answer of the best give-up; "" where none of them says one."""
    told = [(node.seen, i, node.answer) for i, node in enumerate(given_up) if node.answer]
    return max(told)[2] if told else ""


class _Search:
    """One search; `answer` is set when it has found one."""

    def __init__(self, settings: DFSDT, session: SessionProtocol, llm: LLMProtocol) -> None:
        self.settings, self.session, self.llm = settings, session, llm
        self.tools = (*tool_specs(session), FINISH)
        self.calls = 0
        self.given_up: list[Node] = []
        self.answer: str | None = None

    async def expand(self, node: Node) -> int:
        """Search below a node; returns how many levels up the search goes on (1: the parent, 2: the grandparent)."""
        if self._settle(node):
            return 2 if node.gave_up else STOP
        if node.depth >= self.settings.max_nodes:
            return 1
        for _ in range(self.settings.beam):
            reply = await self.llm.generate(Request(self._messages(node), tools=self.tools), depth=node.depth)
            self.calls += 1
            child = await self._grow(node, reply)
            if self.calls >= self.settings.max_calls:
                self._settle(child)
                return STOP
            levels = await self.expand(child)
            if levels > 1:
                return levels if levels == STOP else levels - 1
        return 1

    def _settle(self, node: Node) -> bool:
        """Keep what a node's Finish says, if it has one; whether the search goes no further below it."""
        if node.gave_up:
            self.given_up.append(node)
        else:
            self.answer = node.answer
        return node.gave_up or node.answer is not None

    def _messages(self, node: Node) -> tuple[Message, ...]:
        messages = node.messages
        if node.tried:
            tried = "\n".join(node.tried)
            return (*messages, Message("user", prompt(DFSDT, "dfsdt_diversity", tried=tried)))
        if messages[-1].role == "assistant":
            return (*messages, Message("user", prompt(DFSDT, "dfsdt_continue")))
        return messages

    async def _grow(self, node: Node, reply: Reply) -> Node:
        """The chain of up to three nodes that a reply adds; the last of them."""
        call = reply.tool_calls[0] if reply.tool_calls else None
        depth = node.depth + (1 if reply.text.strip() or call is None else 0) + (2 if call else 0)
        if call is None:
            node.tried.append(json.dumps({"thought": reply.text[:OBSERVATION_CHARACTERS]}, ensure_ascii=False))
            return Node(depth, (*node.messages, reply.message()), node.seen)
        child = Node(depth, node.messages, node.seen)
        if call.name.lower() == "finish":
            output = self._finish(call, child)
        elif call.error is not None:
            output = call.error
            self.llm.note(output)
        else:
            result = await self.session.call(call.name, call.arguments)
            child.seen += result.error is None
            output = result.observation
        if len(output) > OBSERVATION_CHARACTERS:
            output = output[:OBSERVATION_CHARACTERS] + "..."
        tried = {"name": call.name, "arguments": call.arguments, "function_output": output}
        node.tried.append(json.dumps(tried, ensure_ascii=False))
        said = dataclasses.replace(reply.message(), tool_calls=(call,))
        child.messages = (*node.messages, said, Message("tool", output, call_id=call.id, name=call.name))
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
