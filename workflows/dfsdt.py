"""DFSDT (Qin et al., 2023): depth-first search over a decision tree, as ToolBench's `DFS_woFilter_w2`.

A node is expanded `beam` times; the prompt of every expansion after the first lists the earlier attempts and asks for
a different one. Finish either answers, which ends the search, or gives up: the search then continues at the grandparent
of the step that gave up. If a branch reaches its depth limit, its parent is expanded again. By default a branch has as
many turns as a ReAct episode (`limits.steps`), and the search has four times as many LLM calls. ToolBench counts depth
in nodes: thought, action and action input are one each. With its limits, the number of LLM calls is the original's
(see the tests).

Each node restores its state of the environment, so that branches do not affect each other, if the environment can copy
its state; otherwise all branches share one state.

Two bugs of the original are not copied: the reply at the call limit is used, and a search without an answer returns
that of the latest give-up that states one, which had seen the most attempts, instead of a random one's.

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
)
from r_eval.workflows.conversation import tool_specs, with_note
from r_eval.workflows.fc import initial_messages, observation_of

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
INCOMPLETE = "Finish needs return_type give_answer with final_answer, or give_up_and_restart."
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
        attempts: Expansions so far, as JSON.
        answer: The answer in Finish; with `gave_up`, an answer stated while giving up.
    """

    messages: tuple[Message, ...]
    state: Environment
    depth: int = 0
    turns: int = 0
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
        system = DFSDT.prompt("dfsdt", domain=session.description, instruction=question.instruction)
        messages = initial_messages(question, system, {"return_type": "give_answer"}, "final_answer")
        search = _Search(self, session, llm, limits)
        try:
            answer = await search.expand(Node(messages, session.state()))
            if answer is not None:
                return finished(answer, "finish")
            if not search.give_ups:
                depth = f"{self.max_nodes} nodes" if self.max_nodes else f"{limits.steps} steps"
                raise LimitReached("depth", f"no answer within {depth} of depth", search.latest_messages)
            times = "once" if search.give_ups == 1 else f"{search.give_ups} times"
            outcome = Outcome(kind="gave_up", cause="give_up", detail=f"gave up {times}, no branch gave an answer")
        except LimitReached as limit:
            if not search.given_up:
                raise
            outcome = Outcome(kind="exhausted", cause=limit.cause, detail=str(limit))
        return WorkflowResult(search.given_up, outcome, "give_up" if search.given_up else "unparsed")


class _Search:
    """One search.

    Attributes:
        latest_messages: The conversation of the latest node that did not give up.
        given_up: The answer that the latest give-up with one stated; "" for none.
    """

    def __init__(self, settings: DFSDT, session: SessionProtocol, llm: LLMProtocol, limits: Limits) -> None:
        self.settings, self.session, self.llm, self.limits = settings, session, llm, limits
        self.tools = (*tool_specs(session), FINISH)
        self.calls = self.give_ups = 0
        self.latest_messages: tuple[Message, ...] = ()
        self.given_up = ""

    async def expand(self, node: Node) -> str | None:
        """The answer of the search below a node; None if there is none, and the node's parent is expanded next.

        Raises:
            LimitReached: All LLM calls are used up.
        """
        limit, max_calls = self.settings.max_nodes, self.settings.max_calls or COST * self.limits.steps
        if node.depth >= limit if limit else node.turns >= self.limits.steps:
            return None
        for _ in range(self.settings.beam):
            self.session.restore(node.state)
            tried = DFSDT.prompt("dfsdt_diversity", tried="\n".join(node.attempts))
            messages = with_note(node.messages, tried) if node.attempts else node.messages
            child = await self._grow(node, await self.llm.generate(Request(messages, tools=self.tools), node.depth))
            self.calls += 1
            if child.gave_up:
                self.give_ups += 1
                self.given_up = child.answer or self.given_up
            elif child.answer is not None:
                return child.answer
            else:
                self.latest_messages = child.messages
            if self.calls >= max_calls:
                raise LimitReached("calls", f"no answer within {max_calls} LLM calls", self.latest_messages)
            if child.gave_up:
                return None
            answer = await self.expand(child)
            if answer is not None:
                return answer
        return None

    async def _grow(self, node: Node, reply: Reply) -> Node:
        """The child of a node for a reply, which counts as up to three ToolBench nodes."""
        call = reply.tool_calls[0] if reply.tool_calls else None
        depth = node.depth + (1 if reply.text.strip() or call is None else 0) + (2 if call else 0)
        child = Node(node.messages, node.state, depth, node.turns + 1)
        if call is None:
            attempt: dict[str, Any] = {"thought": cut(reply.text, ATTEMPT_CHARACTERS)}
            child.messages += (reply.message(), Message("user", DFSDT.prompt("dfsdt_continue")))
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
            answers = [call.arguments[key] for key in ("final_answer", "answer") if key in call.arguments]
            child.answer = answer_text(answers[0]) if answers else None
            child.gave_up = call.arguments.get("return_type") == "give_up_and_restart"
            if child.gave_up or answers:
                return "Given up." if child.gave_up else "Answered."
        observation = await observation_of(call, self.session, self.llm, INCOMPLETE)
        child.state = self.session.state()
        return observation
