"""The LangChain backend with LangChain's own fake chat models, and with a real one over llama.cpp's server."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from r_eval.errors import MissingExtra, UserError
from r_eval.llms.base import LLMError, Message, Reply, Request, ToolCall, ToolSpec
from r_eval.llms.gguf import GGUF
from r_eval.llms.langchain import LangChain
from r_eval.llms.make import make
from r_eval.records import Tokens

pytest.importorskip("langchain_core")

from langchain_core.language_models import BaseChatModel
from langchain_core.language_models.fake_chat_models import (
    FakeListChatModel,
    FakeListChatModelError,
    GenericFakeChatModel,
    ParrotFakeChatModel,
)
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult

SEARCH = ToolSpec("Search", "Find a page.", {"type": "object", "properties": {"entity": {"type": "string"}}})
ASK = Request((Message("user", "Where is Kenya?"),))


class Caller(BaseChatModel):
    """A chat model with tools: gives an answer and keeps what it was given."""

    answer: Any
    temperature: float = 0.7
    max_output_tokens: int = 7
    seen: list[Any] = []

    @property
    def _llm_type(self) -> str:
        return "caller"

    def bind_tools(self, tools: Any, **more: Any) -> Any:
        return self.bind(tools=tools, **more)

    def _generate(self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **more: Any) -> Any:
        self.seen.append((messages, stop, more, self.temperature, self.max_output_tokens))
        if isinstance(self.answer, Exception):
            raise self.answer
        return ChatResult(generations=[ChatGeneration(message=self.answer)])


class Offered:
    """What the tests name as `module:attribute`."""


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Opens a LangChain LLM over a chat model, or over what a factory gives."""

    def open_it(chat: Any, **settings: Any) -> LangChain:
        monkeypatch.setitem(sys.modules, "r_eval_chat", Offered)
        monkeypatch.setattr(Offered, "chat", chat, raising=False)
        llm = make("langchain/r_eval_chat:chat", settings)
        assert isinstance(llm, LangChain)
        asyncio.run(llm.open())
        return llm

    return open_it


def ask(llm: LangChain, request: Request = ASK) -> Reply:
    return asyncio.run(llm.generate(request))


def fake(*answers: AIMessage | str) -> GenericFakeChatModel:
    return GenericFakeChatModel(messages=iter(answers))


# Replies


def test_a_chat_model_answers_and_its_tokens_are_estimated_where_it_counts_none(opened: Any) -> None:
    reply = ask(opened(fake("In Africa.")))
    assert reply.text == "In Africa."
    assert reply.estimated is True
    assert reply.tokens.prompt > 0 < reply.tokens.completion


def test_usage_is_the_models_own(opened: Any) -> None:
    details = {"cache_read": 4}
    usage = {"input_tokens": 9, "output_tokens": 3, "total_tokens": 12, "input_token_details": details}
    reply = ask(opened(fake(AIMessage("In Africa.", usage_metadata=usage))))
    assert reply.tokens == Tokens(prompt=9, completion=3, cached=4)
    assert reply.estimated is False


def test_every_kind_of_message_arrives(opened: Any) -> None:
    chat = Caller(answer=AIMessage("Africa"), seen=[])
    call = ToolCall("a", "Search", {"entity": "Kenya"})
    messages = (
        Message("system", "Be brief."),
        Message("user", "Where\ud800?"),
        Message("assistant", "", (call,)),
        Message("tool", "Kenya: Africa", call_id="a", name="Search"),
    )
    ask(opened(chat), Request(messages))
    system, user, assistant, tool = chat.seen[0][0]
    assert [m.type for m in chat.seen[0][0]] == ["system", "human", "ai", "tool"]
    assert (system.content, user.content, tool.content) == ("Be brief.", "Where??", "Kenya: Africa")
    assert [(c["id"], c["name"], c["args"]) for c in assistant.tool_calls] == [("a", "Search", {"entity": "Kenya"})]
    assert (tool.tool_call_id, tool.name) == ("a", "Search")


def test_temperature_and_length_are_set_on_a_model_that_has_them(opened: Any) -> None:
    chat = Caller(answer=AIMessage("Africa"), seen=[])
    llm = opened(chat, temperature=0.3, max_tokens=20)
    ask(llm)
    ask(llm, Request(ASK.messages, max_tokens=5))
    assert [call[3:] for call in chat.seen] == [(0.3, 20), (0.3, 5)]
    assert (chat.temperature, chat.max_output_tokens) == (0.7, 7)


@pytest.mark.parametrize(
    ("metadata", "finish"),
    [
        ({"finish_reason": "length"}, "length"),
        ({"finish_reason": "STOP"}, "stop"),
        ({"stop_reason": "end_turn"}, "stop"),
        ({"stop_reason": "max_tokens"}, "length"),
        ({"stop_reason": "refusal"}, "refusal"),
        ({"finish_reason": "SAFETY"}, "content_filter"),
        ({"done_reason": "stop"}, "stop"),
        ({"finish_reason": "malformed"}, "unknown"),
        ({}, "unknown"),
    ],
)
def test_the_end_is_told_in_one_set_of_words(opened: Any, metadata: dict[str, str], finish: str) -> None:
    assert ask(opened(fake(AIMessage("x", response_metadata=metadata)))).finish == finish


def test_a_refusal_is_told_apart(opened: Any) -> None:
    reply = ask(opened(fake(AIMessage("", additional_kwargs={"refusal": "I cannot."}))))
    assert (reply.text, reply.finish) == ("I cannot.", "refusal")


def test_reasoning_is_kept_apart_from_the_answer(opened: Any) -> None:
    content: list[Any] = [{"type": "reasoning", "reasoning": "Kenya..."}, {"type": "text", "text": "In Africa."}]
    reply = ask(opened(fake(AIMessage(content))))
    assert (reply.text, reply.reasoning) == ("In Africa.", "Kenya...")


def test_a_stop_is_passed_on_and_kept_where_the_model_does_not(opened: Any) -> None:
    reply = ask(opened(fake("In Africa. Observation: none")), Request(ASK.messages, stop=("", "Observation")))
    assert (reply.text, reply.finish) == ("In Africa. ", "stop")
    chat = Caller(answer=AIMessage("x"), seen=[])
    ask(opened(chat), Request(ASK.messages, stop=("a", "", "b")))
    ask(opened(chat))
    assert [call[1] for call in chat.seen] == [["a", "b"], None]


def test_requests_at_the_same_time_have_their_own_replies(opened: Any) -> None:
    llm = opened(ParrotFakeChatModel())

    async def main() -> list[Reply]:
        return list(await asyncio.gather(*(llm.generate(Request((Message("user", str(i)),))) for i in range(20))))

    assert [reply.text for reply in asyncio.run(main())] == [str(i) for i in range(20)]


# Tools


def test_tools_are_native_where_the_model_binds_them(opened: Any) -> None:
    calls = [{"id": "a", "name": "Search", "args": {"entity": "Kenya"}}, {"id": None, "name": "Search", "args": {}}]
    chat = Caller(answer=AIMessage("", tool_calls=calls), seen=[])
    llm = opened(chat)
    reply = ask(llm, Request(ASK.messages, tools=(SEARCH,)))
    assert llm.native_tools is True
    assert reply.tool_calls == (ToolCall("a", "Search", {"entity": "Kenya"}), ToolCall("call_1", "Search", {}))
    assert chat.seen[0][2]["tools"][0]["function"]["parameters"] == SEARCH.parameters
    assert "tool_choice" not in chat.seen[0][2]


def test_a_call_can_be_asked_for(opened: Any) -> None:
    chat = Caller(answer=AIMessage("x"), seen=[])
    ask(opened(chat), Request(ASK.messages, tools=(SEARCH,), tool_choice="required"))
    assert chat.seen[0][2]["tool_choice"] == "any"


def test_a_call_that_langchain_cannot_read_is_read_or_becomes_an_error(opened: Any) -> None:
    bad: list[Any] = [
        {"type": "invalid_tool_call", "id": "a", "name": "Search", "args": "{'entity': 'Kenya',}", "error": None},
        {"type": "invalid_tool_call", "id": "b", "name": "Search", "args": "Kenya", "error": None},
    ]
    first, second = ask(opened(fake(AIMessage("", invalid_tool_calls=bad)))).tool_calls
    assert first == ToolCall("a", "Search", {"entity": "Kenya"})
    assert (second.id, second.arguments) == ("b", {})
    assert "not a JSON object" in (second.error or "")


def test_tools_are_not_native_where_the_model_does_not_bind_them_or_the_grid_says_so(opened: Any) -> None:
    assert opened(fake("x")).native_tools is False
    chat = Caller(answer=AIMessage("x"), seen=[])
    llm = opened(chat, native_tools=False)
    ask(llm, Request(ASK.messages, tools=(SEARCH,)))
    assert llm.native_tools is False
    assert "tools" not in chat.seen[0][2]


# Failures


class RateLimitError(Exception):
    pass


class StatusError(Exception):
    def __init__(self, status_code: int, message: str = "no") -> None:
        super().__init__(message)
        self.status_code = status_code


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        (ValueError("x" * 400 + " maximum context length is 8192 tokens"), "context"),
        (StatusError(400, "the request exceeds the available context size"), "context"),
        (StatusError(400, "prompt is too long: 210000 tokens > 200000 maximum"), "context"),
        (StatusError(400, "unknown parameter"), "request"),
        (StatusError(401), "key"),
        (StatusError(403), "key"),
        (StatusError(429), "rate_limit"),
        (RateLimitError("later"), "rate_limit"),
        (StatusError(503), "server"),
        (TimeoutError(), "timeout"),
        (ConnectionRefusedError("no"), "connection"),
        (KeyError("x"), "server"),
    ],
)
def test_an_error_of_the_model_has_its_cause(opened: Any, error: Exception, cause: str) -> None:
    with pytest.raises(LLMError) as caught:
        ask(opened(Caller(answer=error, seen=[])))
    assert caught.value.cause == cause
    assert type(error).__name__ in str(caught.value)


def test_langchains_own_context_error_is_known(opened: Any) -> None:
    exceptions = pytest.importorskip("langchain_core.exceptions")
    if not hasattr(exceptions, "ContextOverflowError"):
        pytest.skip("older langchain-core")
    with pytest.raises(LLMError) as caught:
        ask(opened(Caller(answer=exceptions.ContextOverflowError("too much"), seen=[])))
    assert caught.value.cause == "context"


def test_a_fake_that_fails_is_no_crash(opened: Any) -> None:
    llm = opened(FakeListChatModel(responses=["a", "b"], error_on_chunk_number=None))
    assert [ask(llm).text, ask(llm).text] == ["a", "b"]
    with pytest.raises(LLMError, match="FakeListChatModelError"):
        ask(opened(Caller(answer=FakeListChatModelError("x"), seen=[])))
    with pytest.raises(LLMError):
        ask(opened(fake()))


def test_a_request_that_is_given_up_is_stopped(opened: Any) -> None:
    ended: list[str] = []

    class Slow(Caller):
        async def _agenerate(self, *arguments: Any, **more: Any) -> Any:
            try:
                await asyncio.sleep(60)
            finally:
                ended.append("stopped")

    async def main() -> None:
        async with asyncio.timeout(1.0):
            await llm.generate(ASK)

    llm = opened(Slow(answer=None, seen=[]))
    with pytest.raises(TimeoutError):
        asyncio.run(main())
    end = time.monotonic() + 60
    while not ended and time.monotonic() < end:
        time.sleep(0.01)
    assert ended == ["stopped"]


def test_a_model_that_is_not_open_says_so() -> None:
    with pytest.raises(LLMError, match="not open"):
        asyncio.run(make("langchain/module:chat").generate(ASK))


# The factory


def test_a_factory_a_class_and_a_model_will_do(opened: Any) -> None:
    assert ask(opened(lambda: fake("x"))).text == "x"
    assert ask(opened(ParrotFakeChatModel)).text == "Where is Kenya?"
    assert ask(opened(fake("x"))).text == "x"


def test_a_factory_that_fails_or_gives_something_else_is_refused(opened: Any) -> None:
    def broken() -> None:
        raise ValueError("no key in CHAT_KEY")

    with pytest.raises(UserError, match="no key in CHAT_KEY"):
        opened(broken)
    with pytest.raises(UserError, match="gives a str, not a chat model"):
        opened(lambda: "x")
    with pytest.raises(UserError, match="gives a int, not a chat model"):
        opened(3)


def test_a_name_without_a_factory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="factory"):
        make("langchain/module")
    with pytest.raises(UserError, match="no such file"):
        asyncio.run(make(f"langchain/{tmp_path}/none.py:chat").open())


def test_without_langchain_the_command_that_installs_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "langchain_core.language_models", None)
    with pytest.raises(MissingExtra, match=r"r-eval\[langchain\]"):
        asyncio.run(make("langchain/module:chat").open())


def test_the_module_imports_nothing_heavy() -> None:
    code = "import sys, r_eval.llms.langchain; print({'langchain_core'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300)
    assert done.stdout == "set()\n"


# A real chat model over llama.cpp's server


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    local = make("gguf/smollm2-135m", {"context": 512, "slots": 1})
    assert isinstance(local, GGUF)
    asyncio.run(local.open())
    yield f"{local._server.listening_address}/v1"
    local._server = None


@pytest.fixture
def real(server: str, opened: Any) -> LangChain:
    chats = pytest.importorskip("langchain_openai")
    chat = chats.ChatOpenAI(model="smollm2-135m", base_url=server, api_key="none", max_retries=1)
    llm: LangChain = opened(chat, max_tokens=12)
    return llm


def test_a_real_model_answers_in_one_event_loop_after_another(real: LangChain) -> None:
    asked = Request((Message("user", "What is the capital of France? Answer with one word."),))
    replies = [ask(real, asked) for _ in range(3)]
    assert all("Paris" in reply.text for reply in replies)
    assert {reply.finish for reply in replies} == {"stop"}
    assert replies[0].estimated is False


def test_a_real_model_obeys_length_and_stop_and_counts(real: LangChain) -> None:
    count = Message("user", "Count from 1 to 100.")
    reply = ask(real, Request((count,), max_tokens=5))
    assert (reply.tokens.completion, reply.finish) == (5, "length")
    whole = ask(real, Request((count,))).text
    assert ask(real, Request((count,), stop=("2",))).text == whole.partition("2")[0]


def test_a_real_model_says_that_a_request_is_too_long(real: LangChain) -> None:
    with pytest.raises(LLMError) as caught:
        ask(real, Request((Message("user", "word " * 1000),)))
    assert caught.value.cause == "context"


def test_a_server_that_is_down_is_told(opened: Any) -> None:
    chats = pytest.importorskip("langchain_openai")
    chat = chats.ChatOpenAI(model="x", base_url="http://127.0.0.1:9/v1", api_key="none", max_retries=0)
    with pytest.raises(LLMError) as caught:
        ask(opened(chat))
    assert caught.value.cause == "connection"
