"""DFSDT (Qin et al., 2023): depth-first search over a decision tree, as ToolBench's `DFS_woFilter_w2`.

A node is expanded `beam` times; the prompt of every expansion after the first lists the earlier attempts and asks for
a different one. Finish either answers, which ends the search, or gives up: the search then continues at the grandparent
of the step that gave up. If a branch reaches its depth limit, its parent is expanded again. By default a branch has as
many turns as a ReAct episode (`limits.steps`), and the search has four times as many LLM calls. ToolBench counts depth
in nodes: thought, action and action input are one each. With its limits, the number of LLM calls is the original's
(see the tests).

Each node restores its state of the environment, so that branches do not affect each other, if the environment can copy
its state; otherwise all branches share one state.

Two bugs of the original are not copied: the reply at the call limit is used, and a search without an answer returns its
best give-up instead of a random one. The best give-up is the one with a final answer and the most successful calls on
its path; ties go to the later one, which had seen more attempts.

Every reply is recorded with the depth of its parent node in search order, which is enough to rebuild the tree
(`r_eval.analysis.tree`).
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
    positive_int,
    prompt,
    tool_specs,
    with_note,
)
from r_eval.workflows.fc import demonstration_messages

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
"""More levels than any tree has: the search is over."""
ATTEMPT_CHARACTERS = 1024
"""Characters of an attempt's result in the prompts of later attempts."""
COST = 4
"""LLM calls of a search as a multiple of ReAct's."""


@dataclasses.dataclass(slots=True)
class Node:
    """A node of the tree: the conversation up to it and the attempts made from it.

    Attributes:
        state: State of the environment at this node.
        depth, turns: ToolBench nodes and LLM replies on the path to it.
        n_successes: Successful calls on the path to it.
        attempts: Expansions so far, as JSON.
        answer: The answer in Finish; with `gave_up`, an answer stated while giving up.
    """

    messages: tuple[Message, ...]
    state: Environment
    depth: int = 0
    turns: int = 0
    n_successes: int = 0
    attempts: list[str] = dataclasses.field(default_factory=list)
    answer: str | None = None
    gave_up: bool = False


class DFSDT(Workflow):
    """Depth-first search-based decision tree.

    Args:
        beam: Number of branches per node.
        max_nodes: Maximum depth in ToolBench nodes, instead of `limits.steps` turns.
        max_calls: Maximum LLM calls of an episode before the last chance; default: four times `limits.steps`.
    """

    branches = True
    PROMPTS = ("dfsdt", "dfsdt_diversity", "dfsdt_continue")

    def __init__(self, beam: int = 2, max_nodes: int | None = None, max_calls: int | None = None) -> None:
        self.beam = positive_int("beam", beam)
        self.max_nodes = None if max_nodes is None else positive_int("max_nodes", max_nodes)
        self.max_calls = None if max_calls is None else positive_int("max_calls", max_calls)

    def most_calls(self, limits: Limits) -> int:
        is_chain = self.beam == 1 and self.max_nodes is None
        return min(self.max_calls or COST * limits.steps, limits.steps if is_chain else 10**9) + limits.last_chance

    async def run(
        self, question: TaskInput, session: SessionProtocol, llm: LLMProtocol, limits: Limits
    ) -> WorkflowResult:
        system = prompt(DFSDT, "dfsdt", domain=session.description, instruction=question.instruction)
        messages = [Message("system", system)]
        for demonstration in question.demonstrations:
            give = {"return_type": "give_answer", "final_answer": demonstration.answer}
            messages += demonstration_messages(demonstration, ToolCall("", "Finish", give))
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
    """One search; `answer` is set once there is one."""

    def __init__(self, settings: DFSDT, session: SessionProtocol, llm: LLMProtocol, limits: Limits) -> None:
        self.settings, self.session, self.llm, self.limits = settings, session, llm, limits
        self.max_calls = settings.max_calls or COST * limits.steps
        self.tools = (*tool_specs(session), FINISH)
        self.calls = 0
        self.give_ups: list[Node] = []
        self.answer: str | None = None
        self._leaf: Node | None = None

    async def expand(self, node: Node) -> int:
        """Search below a node; returns how many levels up the search continues (1: the parent, 2: the grandparent)."""
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
        """Store the result of a node's Finish; returns whether the search ends below it."""
        if node.gave_up:
            self.give_ups.append(node)
        else:
            self.answer = node.answer
            if self._leaf is None or node.n_successes >= self._leaf.n_successes:
                self._leaf = node
        return node.gave_up or node.answer is not None

    def best_give_up(self) -> str:
        """The answer of the best give-up; "" if none states one."""
        answers = [(node.n_successes, i, node.answer) for i, node in enumerate(self.give_ups) if node.answer]
        return max(answers)[2] if answers else ""

    def without_answer(self) -> WorkflowResult:
        """The result of a search without an answer: its best give-up, if there is one.

        Raises:
            LimitReached: The search reached a limit and no give-up states an answer.
        """
        best, count, is_over = self.best_give_up(), len(self.give_ups), self.calls >= self.max_calls
        if not is_over and count:
            times = "once" if count == 1 else f"{count} times"
            ending = ended("gave_up", "give_up", f"gave up {times}, no branch gave an answer", best)
            return dataclasses.replace(ending, how="give_up") if best else ending
        depth = f"{self.settings.max_nodes} nodes" if self.settings.max_nodes else f"{self.limits.steps} steps"
        detail = f"no answer within {f'{self.max_calls} LLM calls' if is_over else f'{depth} of depth'}"
        if not best:
            raise LimitReached("calls" if is_over else "depth", detail, self._leaf.messages if self._leaf else ())
        return dataclasses.replace(ended("exhausted", "calls" if is_over else "depth", detail, best), how="give_up")

    def _messages(self, node: Node) -> tuple[Message, ...]:
        if node.attempts:
            return with_note(node.messages, prompt(DFSDT, "dfsdt_diversity", tried="\n".join(node.attempts)))
        return node.messages

    async def _grow(self, node: Node, reply: Reply) -> Node:
        """The child of a node for a reply, which counts as up to three ToolBench nodes."""
        call = reply.tool_calls[0] if reply.tool_calls else None
        depth = node.depth + (1 if reply.text.strip() or call is None else 0) + (2 if call else 0)
        child = Node(node.messages, node.state, depth, node.turns + 1, node.n_successes)
        if call is None:
            node.attempts.append(_attempt_text({"thought": cut(reply.text, ATTEMPT_CHARACTERS)}))
            child.messages = (*node.messages, reply.message(), Message("user", prompt(DFSDT, "dfsdt_continue")))
            return child
        if call.name.lower() == "finish":
            output = self._finish(call, child)
        elif call.error is not None:
            output = call.error
            self.llm.note(output)
        else:
            result = await self.session.call(call.name, call.arguments)
            child.n_successes += result.error is None
            child.state = self.session.state()
            output = result.observation
        attempt = {"name": call.name, "arguments": call.arguments, "function_output": cut(output, ATTEMPT_CHARACTERS)}
        node.attempts.append(_attempt_text(attempt))
        message = dataclasses.replace(reply.message(), tool_calls=(call,))
        child.messages = (*node.messages, message, Message("tool", output, call_id=call.id, name=call.name))
        return child

    def _finish(self, call: ToolCall, child: Node) -> str:
        """Apply a Finish call to its node; returns the observation."""
        kind = str(call.arguments.get("return_type", ""))
        answer = next((call.arguments[k] for k in ("final_answer", "answer") if k in call.arguments), None)
        child.answer = None if answer is None else answer_text(answer)
        if kind == "give_up_and_restart":
            child.gave_up = True
            return "Given up."
        if answer is not None:
            return "Answered."
        correction = "Finish needs return_type give_answer with final_answer, or give_up_and_restart."
        self.llm.note(correction)
        return correction


def _attempt_text(attempt: dict[str, Any]) -> str:
    return json.dumps(attempt, ensure_ascii=False)
