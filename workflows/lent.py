"""What an agent of LangChain is lent for one episode: the session as tools, the LLM as a chat model.

All of it takes turns, so that agents that work in parallel leave the same record every time. Synchronous agents are
served from the threads in which LangChain runs them. After the episode nothing lent answers any more.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import functools
import itertools
from collections.abc import Coroutine, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from r_eval.environments.base import EnvironmentFailure
from r_eval.environments.sandbox import answer_text
from r_eval.llms.base import Message, Reply, Request, Role, ToolCall, ToolSpec
from r_eval.workflows.base import FINISH, LimitReached, LLMProtocol, SessionProtocol, tool_specs

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import BaseMessage
    from langchain_core.tools import BaseTool

ROLES: Mapping[str, Role] = {"system": "system", "ai": "assistant", "tool": "tool"}


class Lent:
    """One episode's session and LLM, in the hands of an agent.

    Args:
        steps: Replies of the LLM that the agent may have.

    Attributes:
        specs: The query APIs and Finish.
        stopped: The first limit reached or failure of the machinery; the agent may have caught it, but nothing is
            answered after it.
        answer: What Finish was given, the first time.
    """

    def __init__(self, session: SessionProtocol, llm: LLMProtocol, steps: int) -> None:
        self._session, self._llm, self._steps = session, llm, steps
        self._loop = asyncio.get_running_loop()
        self._turn = asyncio.Lock()
        self._waiting: set[concurrent.futures.Future[Any]] = set()
        self._over = False
        self._replies = 0
        self.specs = [*tool_specs(session), FINISH]
        self.stopped: Exception | None = None
        self.answer: str | None = None

    async def reply(self, request: Request) -> Reply:
        """The LLM's reply.

        Raises:
            LimitReached, LLMError: No more replies are allowed, or there is none.
        """
        async with self._turn:
            self._check()
            try:
                if self._replies >= self._steps:
                    detail = f"no answer within {self._steps} replies"
                    raise LimitReached("steps", detail, request.messages)
                self._replies += 1
                return await self._llm.generate(request)
            except Exception as error:
                self.stopped = error
                raise

    async def call(self, name: str, arguments: dict[str, Any]) -> str:
        """What a tool says.

        Raises:
            EnvironmentFailure: The environment itself failed.
        """
        async with self._turn:
            self._check()
            if name == FINISH.name:
                return self._finish(arguments)
            try:
                return (await self._session.call(name, arguments)).observation
            except EnvironmentFailure as error:
                self.stopped = error
                raise

    def from_thread(self, work: Coroutine[Any, Any, Any]) -> Any:
        """Wait for work on the episode's event loop, in a thread other than the loop's own.

        Raises:
            RuntimeError: It is the loop's own, or the episode is over.
        """
        try:
            here = asyncio.get_running_loop()
        except RuntimeError:
            here = None
        if here is self._loop or self._over:
            work.close()
            raise RuntimeError("the episode is over" if self._over else "invoke would block here; use ainvoke")
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        self._waiting.add(future)
        try:
            return future.result()
        finally:
            self._waiting.discard(future)

    def close(self) -> None:
        """End the loan; threads that still wait are let go."""
        self._over = True
        for future in list(self._waiting):
            future.cancel()

    def _check(self) -> None:
        if self.stopped is not None:
            raise self.stopped
        if self._over:
            raise RuntimeError("the episode is over")

    def _finish(self, arguments: dict[str, Any]) -> str:
        if not arguments:
            complaint = "Finish needs the argument 'answer'."
            self._llm.note(complaint)
            return complaint
        if self.answer is None:
            self.answer = answer_text(arguments.get("answer", next(iter(arguments.values()))))
        return self.answer


def tools(lent: Lent) -> list[BaseTool]:
    """The query APIs and Finish as LangChain tools; an agent that knows how to ends with the result of Finish."""
    made = []
    for spec in lent.specs:
        tool = _classes()[0](
            name=spec.name,
            description=spec.description or spec.name,
            args_schema=spec.parameters,
            return_direct=spec is FINISH,
        )
        tool._lent = lent
        made.append(tool)
    return made


def chat_model(lent: Lent) -> BaseChatModel:
    """The episode's LLM as a chat model."""
    model: BaseChatModel = _classes()[1](cache=False)
    model._lent = lent
    return model


@functools.cache
def _classes() -> tuple[Any, Any]:
    """The classes of the tools and of the chat model; made late, since LangChain is heavy."""
    from langchain_core.language_models import BaseChatModel
    from langchain_core.outputs import ChatGeneration, ChatResult
    from langchain_core.tools import BaseTool
    from langchain_core.utils.function_calling import convert_to_openai_tool
    from pydantic import PrivateAttr

    class LentTool(BaseTool):  # type: ignore[misc]
        _lent: Any = PrivateAttr()

        def _run(self, /, *positional: Any, **arguments: Any) -> str:
            return str(self._lent.from_thread(self._arun(*positional, **arguments)))

        async def _arun(self, /, *positional: Any, **arguments: Any) -> str:
            return whole(await self._lent.call(self.name, arguments))

    class LentChatModel(BaseChatModel):  # type: ignore[misc]
        _lent: Any = PrivateAttr()
        _numbers: Any = PrivateAttr(default_factory=itertools.count)

        @property
        def _llm_type(self) -> str:
            return "r-eval"

        def bind_tools(self, tools: Sequence[Any], *, tool_choice: Any = None, **more: Any) -> Any:
            """The model with tools to call."""
            return self.bind(tools=[convert_to_openai_tool(tool) for tool in tools], tool_choice=tool_choice, **more)

        def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **more: Any) -> Any:
            return self._lent.from_thread(self._agenerate(messages, stop, run_manager, **more))

        async def _agenerate(self, messages: Any, stop: Any = None, run_manager: Any = None, **more: Any) -> Any:
            reply = await self._lent.reply(request_of(messages, stop, more))
            message = message_of(reply, self._numbers)
            return ChatResult(generations=[ChatGeneration(message=message)])

    return LentTool, LentChatModel


def request_of(messages: Sequence[BaseMessage], stop: Sequence[str] | None, more: Mapping[str, Any]) -> Request:
    """What an agent asks of its chat model, as a request. All system messages become one, the first."""
    converted = [_message(message) for message in messages]
    system = "\n\n".join(message.content for message in converted if message.role == "system")
    rest = [message for message in converted if message.role != "system"]
    functions = [tool["function"] for tool in more.get("tools") or ()]
    specs = tuple(ToolSpec(f["name"], f.get("description", ""), f.get("parameters", {})) for f in functions)
    length = more.get("max_tokens")
    return Request(
        messages=(*([Message("system", system)] if system else []), *rest),
        stop=tuple(stop or ()),
        max_tokens=length if isinstance(length, int) else None,
        tools=specs,
        tool_choice="auto" if more.get("tool_choice") in (None, False, "auto", "none") else "required",
    )


def _message(message: BaseMessage) -> Message:
    calls = tuple(ToolCall(c["id"] or "", c["name"], dict(c["args"])) for c in getattr(message, "tool_calls", ()))
    role = ROLES.get(message.type, "user")
    return Message(role, str(message.text), calls, getattr(message, "tool_call_id", ""), message.name or "")


def message_of(reply: Reply, numbers: itertools.count[int]) -> BaseMessage:
    """A reply as a LangChain message.

    Calls get numbers of their own, since prompted LLMs count them anew in every reply. A call that could not be read
    is passed on without arguments, so that its tool says what it needs.
    """
    from langchain_core.messages import AIMessage

    calls = [
        {"id": f"call_{next(numbers)}", "name": whole(c.name) or "unknown", "args": c.arguments, "type": "tool_call"}
        for c in reply.tool_calls
    ]
    prompt, completion = reply.tokens.prompt, reply.tokens.completion
    usage = {"input_tokens": prompt, "output_tokens": completion, "total_tokens": prompt + completion}
    return AIMessage(
        content=whole(reply.text),
        tool_calls=calls,
        usage_metadata=usage,
        response_metadata={"finish_reason": reply.finish},
    )


def to_langchain(messages: Sequence[Message]) -> list[BaseMessage]:
    """A conversation as LangChain messages."""
    from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage

    made: list[BaseMessage] = []
    for message in messages:
        content = whole(message.content)
        if message.role == "tool":
            made.append(ToolMessage(content, tool_call_id=message.call_id, name=message.name))
        elif message.role == "assistant":
            calls = [{"id": c.id, "name": c.name, "args": c.arguments, "type": "tool_call"} for c in message.tool_calls]
            made.append(AIMessage(content, tool_calls=calls))
        else:
            made.append((SystemMessage if message.role == "system" else HumanMessage)(content))
    return made


def whole(text: str) -> str:
    """A text that LangChain takes: half a surrogate pair, which some models write, becomes "?"."""
    return text.encode("utf-8", "replace").decode("utf-8")
