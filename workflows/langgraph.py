"""`langgraph/<module or file.py>:<factory>`: any agent of LangChain or LangGraph as a workflow.

The factory takes `(tools, model)` and returns anything with `ainvoke({"messages": [...]})`, such as what LangChain's
`create_agent` or a compiled graph of LangGraph is. It is called once an episode. The tools are the query APIs and
Finish; the model is a chat model that speaks through the episode's LLM (see `lent`). So every reply and every call is
recorded and counted, and all limits hold; a reply of the LLM is a step.

The answer is what Finish was given, else the text of the last message. An agent may catch what its tools and its model
raise: an episode in which a limit was reached or the machinery failed ends with that all the same.
"""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

from r_eval import plugins
from r_eval.errors import MissingExtra, UserError
from r_eval.llms.base import Message, ToolCall
from r_eval.llms.model_files import file_fingerprint as stamp
from r_eval.workflows.answers import free_answer
from r_eval.workflows.base import (
    Asked,
    Ending,
    LimitReached,
    Limits,
    LLMProtocol,
    SessionProtocol,
    Workflow,
    ended,
    finished,
    prompt,
)
from r_eval.workflows.fc import demonstration
from r_eval.workflows.lent import Lent, chat_model, to_langchain, tools

ROUNDS_A_STEP = 10
"""Rounds of a graph that are allowed for one step; what ends an agent is the number of its LLM's replies."""


class LangGraph(Workflow):
    """An agent of LangChain or LangGraph.

    Args:
        agent: `<module or file.py>:<factory>`; in a grid it stands in the workflow's name.
    """

    PROMPTS = ("langgraph",)

    def __init__(self, agent: str = "") -> None:
        """Find the factory.

        Raises:
            MissingExtra, UserError: langchain-core is not installed; there is no such factory.
        """
        if not isinstance(agent, str) or ":" not in agent:
            raise ValueError("expected langgraph/<module or file.py>:<factory>")
        try:
            import langchain_core  # noqa: F401
        except ImportError:
            raise MissingExtra("langchain-core", "langgraph", f"The workflow langgraph/{agent}") from None
        self.agent = agent
        self._factory = plugins.from_path(agent, "workflows")
        if not callable(self._factory):
            raise UserError(f"{agent} is no function that takes (tools, model) and returns an agent")

    def identity(self) -> dict[str, Any]:
        """A factory is told by its file's content, wherever that lies."""
        where, _, factory = self.agent.rpartition(":")
        return {**super().identity(), "agent": f"{Path(where).name}:{factory}", "file": stamp(Path(where))}

    async def run(self, question: Asked, session: SessionProtocol, llm: LLMProtocol, limits: Limits) -> Ending:
        lent = Lent(session, llm, limits.steps)
        try:
            said = await self._said(lent, self._asked(question, session), limits)
        except RecursionError as error:
            if lent.stopped is None:
                raise LimitReached("steps", f"the agent went round too often: {error}"[:300]) from None
            raise lent.stopped from None
        except Exception:
            if lent.stopped is not None:
                raise lent.stopped from None
            raise
        finally:
            lent.close()
        if lent.stopped is not None:
            raise lent.stopped
        if lent.answer is not None:
            return finished(lent.answer, "finish")
        answer = free_answer(said)
        return finished(answer, "text") if answer else ended("gave_up", "empty_reply")

    def _asked(self, question: Asked, session: SessionProtocol) -> list[Message]:
        system = prompt(LangGraph, "langgraph", domain=session.description, instruction=question.instruction)
        messages = [Message("system", system)]
        for shown in question.demonstrations:
            messages += demonstration(shown, ToolCall("", "Finish", {"answer": shown.answer}))
        return [*messages, Message("user", question.text)]

    async def _said(self, lent: Lent, asked: list[Message], limits: Limits) -> str:
        """The text of the agent's last message.

        Raises:
            UserError: The factory gives no agent, or the agent gives no messages.
        """
        from langchain_core.runnables import Runnable

        agent = self._factory(tools(lent), chat_model(lent))
        agent = await agent if inspect.isawaitable(agent) else agent
        if not hasattr(agent, "ainvoke"):
            raise UserError(f"{self.agent} gives a {type(agent).__name__}, which has no ainvoke")
        more = (
            {"config": {"recursion_limit": ROUNDS_A_STEP * (limits.steps + 2)}} if isinstance(agent, Runnable) else {}
        )
        result = await agent.ainvoke({"messages": to_langchain(asked)}, **more)
        messages = result.get("messages") if isinstance(result, dict) else [result]
        last = messages[-1] if isinstance(messages, list) and messages else None
        text = last if isinstance(last, str) else getattr(last, "text", None)
        if text is None:
            raise UserError(f"the agent of {self.agent} gives a {type(result).__name__} without messages")
        return str(text)
