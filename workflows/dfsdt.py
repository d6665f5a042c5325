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

Every reply is recorded with the depth of its parent node in search order, which is enough to rebuild the tree.
"""

from __future__ import annotations

import dataclasses
import json
from typing import Any

from r_eval.environments.base import Environment
from r_eval.environments.sandbox import answer_text
from r_eval.environments.session import cut
from r_eval.llms.base import Message, Reply, Request, ToolCall, ToolSpec
from r_eval.records import Outcome
from r_eval.workflows.base import (
    LimitReached,
    Limits,
    LLMProtocol,
    SessionProtocol,
    TaskInput,
    Workflow,
    WorkflowResult,
    finished,
    positive_int,
    prompt,
    tool_specs,
    with_note,
)
from r_eval.workflows.fc import initial_messages

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
ALL_LEVELS = 10_000
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
        messages = initial_messages(question, system, {"return_type": "give_answer"}, "final_answer")
        search = _Search(self, session, llm, limits, Node(messages, session.state()))
        try:
            await search.expand(search.best_node)
        except LimitReached as limit:
            if best := search.best_give_up():
                outcome = Outcome(kind="exhausted", cause=limit.cause, detail=str(limit))
                return WorkflowResult(best, outcome, "give_up")
            raise
        return search.result()


class _Search:
    """One search.

    Attributes:
        answer: None until there is one.
        best_node: The latest of the nodes with the most successful calls, without those that gave up.
    """

    def __init__(self, settings: DFSDT, session: SessionProtocol, llm: LLMProtocol, limits: Limits, root: Node) -> None:
        self.settings, self.session, self.llm, self.limits = settings, session, llm, limits
        self.max_calls = settings.max_calls or COST * limits.steps
        self.tools = (*tool_specs(session), FINISH)
        self.calls = 0
        self.give_ups: list[Node] = []
        self.answer: str | None = None
        self.best_node = root

    async def expand(self, node: Node) -> int:
        """Search below a node; returns how many levels up the search continues (1: the parent, 2: the grandparent).

        Raises:
            LimitReached: All LLM calls are used up.
        """
        limit = self.settings.max_nodes
        if node.depth >= limit if limit else node.turns >= self.limits.steps:
            return 1
        for _ in range(self.settings.beam):
            self.session.restore(node.state)
            tried = prompt(DFSDT, "dfsdt_diversity", tried="\n".join(node.attempts))
            messages = with_note(node.messages, tried) if node.attempts else node.messages
            child = await self._grow(node, await self.llm.generate(Request(messages, tools=self.tools), node.depth))
            self.calls += 1
            if child.gave_up:
                self.give_ups.append(child)
            elif child.answer is not None:
                self.answer = child.answer
                return ALL_LEVELS
            elif child.n_successes >= self.best_node.n_successes:
                self.best_node = child
            if self.calls >= self.max_calls:
                detail = f"no answer within {self.max_calls} LLM calls"
                raise LimitReached("calls", detail, self.best_node.messages)
            levels = 2 if child.gave_up else await self.expand(child)
            if levels > 1:
                return levels - 1
        return 1

    def best_give_up(self) -> str:
        """The answer of the best give-up; "" if none states one."""
        answers = [(node.n_successes, i, node.answer) for i, node in enumerate(self.give_ups) if node.answer]
        return max(answers)[2] if answers else ""

    def result(self) -> WorkflowResult:
        """The result of a complete search.

        Raises:
            LimitReached: No branch gave an answer or gave up.
        """
        if self.answer is not None:
            return finished(self.answer, "finish")
        if not self.give_ups:
            limit = self.settings.max_nodes
            depth = f"{limit} nodes" if limit else f"{self.limits.steps} steps"
            raise LimitReached("depth", f"no answer within {depth} of depth", self.best_node.messages)
        count, best = len(self.give_ups), self.best_give_up()
        detail = f"gave up {'once' if count == 1 else f'{count} times'}, no branch gave an answer"
        outcome = Outcome(kind="gave_up", cause="give_up", detail=detail)
        return WorkflowResult(best, outcome, "give_up" if best else "unparsed")

    async def _grow(self, node: Node, reply: Reply) -> Node:
        """The child of a node for a reply, which counts as up to three ToolBench nodes."""
        call = reply.tool_calls[0] if reply.tool_calls else None
        depth = node.depth + (1 if reply.text.strip() or call is None else 0) + (2 if call else 0)
        child = Node(node.messages, node.state, depth, node.turns + 1, node.n_successes)
        if call is None:
            attempt: dict[str, Any] = {"thought": cut(reply.text, ATTEMPT_CHARACTERS)}
            child.messages += (reply.message(), Message("user", prompt(DFSDT, "dfsdt_continue")))
        else:
            output = await self._carry_out(call, child)
            result = {"function_output": cut(output, ATTEMPT_CHARACTERS)}
            attempt = {"name": call.name, "arguments": call.arguments, **result}
            message = dataclasses.replace(reply.message(), tool_calls=(call,))
            child.messages += (message, Message("tool", output, call_id=call.id, name=call.name))
        node.attempts.append(json.dumps(attempt, ensure_ascii=False))
        return child

    async def _carry_out(self, call: ToolCall, child: Node) -> str:
        """Apply a call to the node that it leads to; returns the observation."""
        if call.name.lower() == "finish":
            keys = [key for key in ("final_answer", "answer") if key in call.arguments]
            child.answer = answer_text(call.arguments[keys[0]]) if keys else None
            child.gave_up = call.arguments.get("return_type") == "give_up_and_restart"
            if child.gave_up or keys:
                return "Given up." if child.gave_up else "Answered."
            error = "Finish needs return_type give_answer with final_answer, or give_up_and_restart."
        elif call.error is None:
            result = await self.session.call(call.name, call.arguments)
            child.n_successes += result.error is None
            child.state = self.session.state()
            return result.observation
        else:
            error = call.error
        self.llm.note(error)
        return error
