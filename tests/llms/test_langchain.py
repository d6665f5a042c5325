"""The LangChain backend with LangChain's own fake chat models, and with ChatOpenAI."""

from __future__ import annotations

import asyncio
import dataclasses
import sys
from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic import TypeAdapter

from r_eval.llms.base import LLMError, Message, Reply, Request, ToolCall, make_llm
from r_eval.llms.langchain import LangChain
from r_eval.records import Tokens
from tests.chat_server import ASK, SEARCH
from tests.responses_server import KEY, Server, call, reasoning, response, text

pytest.importorskip("langchain_core")

from langchain_core.language_models import BaseChatModel
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel, ParrotFakeChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult

REPLY: TypeAdapter[Reply] = TypeAdapter(Reply)


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
        llm = make_llm("langchain/r_eval_chat:chat", settings)
        assert isinstance(llm, LangChain)
        asyncio.run(llm.open())
        return llm

    return open_it


def ask(llm: LangChain, request: Request = ASK) -> Reply:
    return asyncio.run(llm.generate(request))


def fake(*answers: AIMessage | str) -> GenericFakeChatModel:
    return GenericFakeChatModel(messages=iter(answers))


# Requests


def test_every_kind_of_message_arrives_sound(opened: Any) -> None:
    chat = Caller(answer=AIMessage("Africa"), seen=[])
    calls = ToolCall("abcdefghi", "Search", {"entity": "Kenya \ud800"}), ToolCall("", "搜索 página", {})
    messages = (
        Message("system", "Be brief."),
        Message("user", "Where\ud800?"),
        Message("assistant", "", calls),
        Message("tool", "肯尼亚: Africa", call_id="abcdefghi", name="Search"),
        Message("tool", "x", call_id="", name="搜索 página"),
    )
    ask(opened(chat), Request(messages))
    system, user, assistant, tool, other = chat.seen[0][0]
    assert [m.type for m in chat.seen[0][0]] == ["system", "human", "ai", "tool", "tool"]
    assert (system.content, user.content, tool.content) == ("Be brief.", "Where\ufffd?", "肯尼亚: Africa")
    first, second = assistant.tool_calls
    assert (first["id"], first["name"], first["args"]) == ("abcdefghi", "Search", {"entity": "Kenya \ufffd"})
    assert (tool.tool_call_id, tool.name) == ("abcdefghi", "Search")
    assert second["name"].isascii()
    assert second["id"] == other.tool_call_id != ""


def test_temperature_length_and_stop_texts_reach_the_model(opened: Any) -> None:
    chat = Caller(answer=AIMessage("In Africa. b"), seen=[])
    llm = opened(chat, temperature=0.3, max_tokens=20)
    assert ask(llm, Request(ASK.messages, stop=("a", "", "b"))).text == "In Africa. b"  # left whole
    ask(llm, Request(ASK.messages, max_tokens=5))
    assert [(call[1], *call[3:]) for call in chat.seen] == [(["a", "b"], 0.3, 20), (None, 0.3, 5)]
    assert (chat.temperature, chat.max_output_tokens) == (0.7, 7)
    assert llm.adaptations == {}
    assert "temperature" in opened(fake("x")).adaptations


@pytest.mark.parametrize("name", ["stop", "temperature", "system", "extra"])
def test_what_the_model_does_not_take_is_left_out_from_then_on(opened: Any, name: str) -> None:
    class Picky(Caller):
        def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **more: Any) -> Any:
            sent = {"stop": stop, "temperature": self.temperature, "system": messages[0].type == "system" or None}
            sent["extra"] = next((True for message in messages if message.additional_kwargs), None)
            said = {"system": "System role not supported", "extra": "Invalid signature"}
            if sent[name] and name in said:
                raise StatusError(400, said[name])
            if sent[name] is not None:
                raise StatusError(400, f"Unsupported parameter: '{name}' is not supported with this model.")
            return super()._generate(messages, stop, run_manager, **more)

    llm = opened(Picky(answer=AIMessage("非洲", additional_kwargs={"signature": "c2ln"}), seen=[]))
    messages = (Message("system", "Be brief."), *ASK.messages)
    request = Request(messages, ("x",), tools=(SEARCH,), tool_choice="required")
    again = dataclasses.replace(request, messages=(*messages, ask(llm, request).message(), Message("user", "Why?")))
    assert [ask(llm, again).text for _ in range(2)] == ["非洲", "非洲"]
    assert list(llm.adaptations) == [name]
    assert llm.is_greedy is (name != "temperature")


def test_tools_are_native_where_the_model_binds_them_and_the_grid_does_not_mind(opened: Any) -> None:
    chat = Caller(answer=AIMessage("x"), seen=[])
    llm, other = opened(chat), opened(chat, native_tools=False)
    request = Request(ASK.messages, tools=(SEARCH,))
    for one in (llm, other):
        ask(one, request)
    ask(llm, dataclasses.replace(request, tool_choice="required"))
    auto, none, required = (seen[2] for seen in chat.seen)
    assert "Find a page." in chat.seen[1][0][0].content
    assert auto["tools"][0]["function"]["parameters"] == SEARCH.parameters
    assert "tool_choice" not in auto
    assert "tools" not in none
    assert required["tool_choice"] == "any"
    assert [one.native_tools for one in (llm, other, opened(fake("x")))] == [True, False, False]


# Replies

USAGE = {"input_tokens": 9, "output_tokens": 3, "total_tokens": 12, "input_token_details": {"cache_read": 4}}


def about(**metadata: Any) -> AIMessage:
    return AIMessage("x", response_metadata=metadata)


COUNTED = Tokens(prompt=9, completion=3, cached=4)


@pytest.mark.parametrize(
    ("message", "text", "more"),
    [
        (AIMessage("In Africa. 🦒"), "In Africa. 🦒", {"finish": "unknown", "estimated": True}),
        (AIMessage("Africa", usage_metadata=USAGE), "Africa", {"tokens": COUNTED, "estimated": False}),
        (AIMessage([{"type": "reasoning", "reasoning": "Hm."}, "Africa"]), "Africa", {"reasoning": "Hm."}),
        (AIMessage("Africa", additional_kwargs={"reasoning_content": "Hm."}), "Africa", {"reasoning": "Hm."}),
        (AIMessage("", additional_kwargs={"refusal": "I cannot."}), "I cannot.", {"finish": "refusal"}),
        (AIMessageChunk("Africa", chunk_position="last"), "Africa", {"extra": None}),
        (AIMessage("half \ud83c"), "half \ufffd", {}),
        (about(finish_reason="STOP"), "x", {"finish": "stop"}),
        (about(stop_reason="max_tokens"), "x", {"finish": "length"}),
        (about(done_reason="stop"), "x", {"finish": "stop"}),
        (about(status="incomplete", incomplete_details={"reason": "max_tokens"}), "x", {"finish": "length"}),
    ],
)
def test_a_message_becomes_a_reply(opened: Any, message: AIMessage, text: str, more: dict[str, Any]) -> None:
    reply = ask(opened(Caller(answer=message, seen=[])))
    assert reply.text == text
    assert {name: getattr(reply, name) for name in more} == more
    assert reply.tokens.prompt > 0


def test_tool_calls_are_read_where_langchain_could_not(opened: Any) -> None:
    good: Any = {"id": "a", "name": "Search", "args": {"entity": "Kenya"}}, {"id": None, "name": "S", "args": {}}
    of_bad: Any = {"type": "invalid_tool_call", "name": "Search", "error": None}
    bad = [of_bad | {"id": "b", "args": "{'entity': 'Kenya',}"}, of_bad | {"id": "c", "args": "Kenya"}]
    calls = ask(opened(fake(AIMessage("", tool_calls=list(good), invalid_tool_calls=bad)))).tool_calls
    kenya = {"entity": "Kenya"}
    assert [(c.id, c.arguments) for c in calls] == [("a", kenya), ("", {}), ("b", kenya), ("c", {})]
    assert [c.error is None for c in calls] == [True, True, True, False]


SIGNED = [
    {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"},
    {"type": "text", "text": "I look."},
    {"type": "tool_use", "id": "abcdefghi", "name": "Search", "input": {"entity": "Kenya"}},
]
CALL: list[Any] = [{"id": "abcdefghi", "name": "Search", "args": {"entity": "Kenya"}}]


@pytest.mark.parametrize(
    "message",
    [AIMessage(SIGNED, tool_calls=CALL, response_metadata={"model_provider": "anthropic", "when": datetime.now(UTC)}),
     AIMessage("I look.", tool_calls=CALL, additional_kwargs={"signatures": {"abcdefghi": "c2ln"}})],
    ids=["blocks", "additional_kwargs"],
)  # fmt: skip
def test_a_message_with_signatures_goes_back_as_it_came(opened: Any, message: AIMessage) -> None:
    chat = Caller(answer=message, seen=[])
    llm = opened(chat)
    reply = REPLY.validate_json(REPLY.dump_json(ask(llm)))  # as from the reply store
    after = Message("tool", "Africa", (), "abcdefghi", "Search")
    ask(llm, Request((*ASK.messages, reply.message(), after)))
    ask(llm, Request((*ASK.messages, reply.message("I guess."))))
    back, edited = chat.seen[1][0][1], chat.seen[2][0][1]
    assert (back.content, back.tool_calls) == (message.content, message.tool_calls)
    assert back.additional_kwargs == message.additional_kwargs
    assert (edited.content, edited.tool_calls, edited.additional_kwargs) == ("I guess.", [], {})


@pytest.mark.parametrize(
    "fields",
    [{"content": 3}, {"response_metadata": ["x"]}, {"tool_calls": [{"name": "a"}]}, {"tool_calls": None}],
)
def test_a_message_with_a_wrong_type_is_a_bad_reply(opened: Any, fields: dict[str, Any]) -> None:
    empty: dict[str, Any] = {"tool_calls": [], "invalid_tool_calls": [], "usage_metadata": None}
    rest = {"content": "x", **empty, "additional_kwargs": {}, "response_metadata": {}, **fields}
    message = AIMessage.model_construct(**rest)
    with pytest.raises(LLMError) as caught:
        ask(opened(Caller(answer=message, seen=[])))
    assert (caught.value.cause, caught.value.retries) == ("reply", 7)


class StatusError(Exception):
    def __init__(self, status_code: int, message: str) -> None:
        super().__init__(message)
        self.status_code = status_code


# The factory


@pytest.mark.parametrize(
    ("chat", "text"), [(lambda: fake("x"), "x"), (ParrotFakeChatModel, "Where is Kenya?"), (fake("x"), "x")]
)
def test_a_factory_a_class_and_a_model_will_do(opened: Any, chat: Any, text: str) -> None:
    assert ask(opened(chat)).text == text


# A real integration


@pytest.mark.parametrize("version", ["responses/v1", "v1", "v0"])
def test_a_real_integration_has_its_reasoning_back(opened: Any, version: str) -> None:
    openai = pytest.importorskip("langchain_openai")
    calls = call("Search", {"entity": "Kenya"}), call("Search", {"entity": "肯尼亚"})
    server = Server(response(reasoning("Look it up."), *calls), response(reasoning("Clear"), text("In Africa. 🦒")))

    async def main() -> list[Reply]:
        runner = await server.start()
        more = {"store": False, "include": ["reasoning.encrypted_content"], "max_retries": 0}
        chat = openai.ChatOpenAI(
            model="m", base_url=server.url, api_key=KEY, use_responses_api=True, output_version=version, **more
        )
        llm = await asyncio.to_thread(opened, chat)
        replies, messages = [], list(ASK.messages)
        for _ in range(2):
            replies.append(await llm.generate(Request(tuple(messages), tools=(SEARCH,))))
            messages.append(REPLY.validate_json(REPLY.dump_json(replies[-1])).message())
            messages += [Message("tool", "Africa", (), one.id, one.name) for one in replies[-1].tool_calls]
        await runner.cleanup()
        return replies

    first, answer = asyncio.run(main())
    assert server.wrong == []
    kinds = [item.get("type", item.get("role")) for item in server.bodies[1]["input"]]
    assert kinds[1:4] == ["reasoning", "function_call", "function_call"]
    assert ([one.name for one in first.tool_calls], first.reasoning) == (["Search", "Search"], "Look it up.")
    assert (answer.text, answer.finish, answer.tokens.cached) == ("In Africa. 🦒", "stop", 4)
