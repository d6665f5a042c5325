"""The Responses backend: the openai package against a stub that speaks the protocol strictly."""

from __future__ import annotations

import asyncio
import gzip
import logging
import subprocess
import sys
from typing import Any

import pytest
from pydantic import TypeAdapter

from r_eval.errors import MissingExtra, UserError
from r_eval.llms import preflight
from r_eval.llms.base import LLMError, Message, Reply, Request, ToolCall, make_llm
from r_eval.records import Tokens
from tests.chat_server import SEARCH, Answer, run
from tests.responses_server import KEY, TOKEN, Server, bad, call, reasoning, response, text

pytest.importorskip("openai")

ASK = Request((Message("system", "Be brief."), Message("user", "Où est le Kenya ? 肯尼亚在哪里？")))
REPLY: TypeAdapter[Reply] = TypeAdapter(Reply)


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", KEY)


def ask(server: Server, request: Request = ASK, **settings: Any) -> Reply:
    reply: Reply = run(server, lambda llm: llm.generate(request), **settings)
    return reply


def failure(server: Server, **settings: Any) -> LLMError:
    with pytest.raises(LLMError) as caught:
        ask(server, **settings)
    assert str(caught.value).startswith("responses/some-model: ")
    return caught.value


def results(reply: Reply, content: str) -> list[Message]:
    return [Message("tool", content, (), one.id, one.name) for one in reply.tool_calls]


def kinds(body: dict[str, Any]) -> list[str]:
    return [item.get("type", item.get("role")) for item in body["input"]]


# Conversations


def test_a_request_says_what_the_grid_says() -> None:
    server = Server()
    ask(server, Request(ASK.messages, ("\n",), 40, (SEARCH,), "required", 7), temperature=0.5, reasoning="low")
    tool = {"type": "function", "name": "Search", "description": "Find a page.", "parameters": SEARCH.parameters}
    assert server.bodies == [
        {
            "model": "some-model",
            "instructions": "Be brief.",
            "input": [{"role": "user", "content": "Où est le Kenya ? 肯尼亚在哪里？"}],
            "max_output_tokens": 40,
            "temperature": 0.5,
            "store": False,
            "include": ["reasoning.encrypted_content"],
            "reasoning": {"effort": "low"},
            "tools": [{**tool, "strict": False}],
            "tool_choice": "required",
        }
    ]


def test_a_conversation_of_a_reasoning_model_goes_back_as_it_came() -> None:
    unknown = {"type": "compaction", "id": "cmp_1", "encrypted_content": "x", "novel": {"a": [1, None]}}
    server = Server(
        response(reasoning("Look it up."), call("Search", {"entity": "Kenya"}), call("Search", {"entity": "肯尼亚"})),
        response(reasoning(), call("Search", '{"entity": "Nairobi"}'), reasoning("More"), call("Search", {})),
        response(
            unknown, reasoning("Clear"), text("Hm.", phase="commentary"), text("Afri", "ca.", phase="final_answer")
        ),
        response(text("Nairobi.")),
    )

    async def talk(llm: Any) -> list[Message]:
        messages = list(ASK.messages)
        for turn in range(4):
            reply = await llm.generate(Request(tuple(messages), tools=(SEARCH,)))
            stored = REPLY.validate_json(REPLY.dump_json(reply))
            messages += [stored.message(), *results(stored, "Kenya: 非洲")]
            messages += [Message("user", "And its capital?")] if turn == 2 else []
        return messages

    messages = run(server, talk)
    assert server.wrong == []
    assert kinds(server.bodies[-1]) == [
        *("user", "reasoning", "function_call", "function_call", "function_call_output", "function_call_output"),
        *("reasoning", "function_call", "reasoning", "function_call", "function_call_output", "function_call_output"),
        *("compaction", "reasoning", "message", "message", "user"),
    ]
    assert [m.reasoning for m in messages if m.role == "assistant"] == ["Look it up.", "More", "Clear\nHm.", ""]
    assert [m.content for m in messages if m.role == "assistant"] == ["", "", "Africa.", "Nairobi."]
    assert next(i for i in server.bodies[-1]["input"] if i.get("type") == "compaction")["novel"] == unknown["novel"]


@pytest.mark.parametrize("edit", ["cut", "first call only", "no call", "renamed"])
def test_reasoning_is_left_out_if_the_item_after_it_was_changed(edit: str) -> None:
    calls = [reasoning("a"), call("Search", {}), reasoning("b"), call("Search", {"entity": "x"})]
    first = [reasoning("a"), text("Africa\nObservation: x")] if edit == "cut" else calls
    server = Server(response(*first), response(text("ok")))

    def edited(reply: Reply) -> tuple[Message, ...]:
        if edit in ("cut", "no call"):
            return reply.message("Africa" if edit == "cut" else "No call."), Message("user", "Go on.")
        one = reply.tool_calls[0]
        used = ToolCall(one.id, "Search_2", {}, extra=one.extra) if edit == "renamed" else one
        message = Message("assistant", "", (used,), extra=reply.extra)
        return message, Message("tool", "x", (), one.id, "Search"), Message("user", "Go on.")

    async def talk(llm: Any) -> None:
        reply = await llm.generate(Request(ASK.messages, tools=(SEARCH,)))
        await llm.generate(Request((*ASK.messages, *edited(reply)), tools=(SEARCH,)))

    run(server, talk)
    assert server.wrong == []
    whole = ["reasoning", "function_call", "function_call_output"]
    assert kinds(server.bodies[1]) == ["user", *(["assistant"] if edit in ("cut", "no call") else whole), "user"]


def test_items_that_the_server_does_not_want_back_are_left_out(caplog: pytest.LogCaptureFixture) -> None:
    calls = reasoning("Hm."), call("Search", {"entity": "肯尼亚"})
    refusal = bad(400, "The encrypted content gAAA could not be verified.", "invalid_encrypted_content")
    server = Server(response(*calls), refusal, response(*calls), response(text("ok")))

    async def talk(llm: Any) -> Any:
        reply = await llm.generate(ASK)
        for _ in range(2):
            await llm.generate(Request((*ASK.messages, reply.message(), *results(reply, "x"))))
        return llm

    with caplog.at_level(logging.WARNING, "r_eval"):
        llm = run(server, talk)
    plain = ["user", "function_call", "function_call_output"]
    assert list(map(kinds, server.bodies))[1:] == [["user", "reasoning", *plain[1:]], plain, plain]
    assert list(llm.adaptations) == ["extra"]
    assert caplog.text.count("its own replies") == 1


# Replies and failures

USED = Tokens(prompt=20, completion=5, cached=4)
CUT = {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}


@pytest.mark.parametrize(
    ("answer", "reply"),
    [
        (response(text("In ", "Africa. 🦒")), Reply("In Africa. 🦒", (), "stop", USED)),
        (response(text("In"), **CUT), Reply("In", (), "length", USED)),
        (response({**text(), "content": [{"type": "text", "text": "In"}]}), Reply("In", (), "stop", USED)),
        (response({**text(), "content": [{"type": "refusal", "refusal": "No."}]}), Reply("No.", (), "refusal", USED)),
        (response({**text(), "content": None}), Reply("", (), "stop", USED)),
        (response(call("Search", {"a": "K"}, call_id="c1")), Reply("", (ToolCall("c1", "Search", {"a": "K"}),))),
        (Answer(body=rb'{"output": [{"type": "message", "content": [{"type": "output_text", "text": "\ud83c!"}]}]}'),
         Reply("\ufffd!")),
    ],
)  # fmt: skip
def test_a_response_becomes_a_reply(answer: Answer, reply: Reply) -> None:
    got = ask(Server(answer))
    assert (got.text, got.tool_calls, got.extra) == (reply.text, reply.tool_calls, None)
    assert got.finish == ("tool_calls" if reply.tool_calls else reply.finish)
    if reply.tokens.prompt:
        assert (got.tokens, got.estimated) == (USED, False)


BAD_ITEMS = (
    '{"type": ["message"]}', '{"type": "message", "content": [{"type": "output_text", "text": 3}]}',
    '{"type": "reasoning", "summary": 4}', '{"type": "function_call", "name": null, "arguments": "{}"}',
    '{"type": "novel", "weight": NaN}', '{"type": "novel", "deep": ' + "[" * 150 + "]" * 150 + "}",
)  # fmt: skip


@pytest.mark.parametrize(
    "body",
    ["<html>busy</html>", b"\xff\xfe", '{"output": null}', f'{{"output": [], "status": "queued", "note": "{KEY}"}}',
     '{"output": ' + "[" * 5000, '{"output": [' + "{}," * 5000 + "{}]}",
     *(f'{{"output": [{item}]}}' for item in BAD_ITEMS)],
)  # fmt: skip
def test_an_answer_of_another_shape_is_a_bad_reply(body: str | bytes) -> None:
    error = failure(Server(Answer(body=body)))
    assert (error.cause, error.retries) == ("reply", 7)


def ended(code: str, message: Any) -> Answer:
    return response(status="failed", error={"code": code, "message": message})


BLANKS = b" " * 20_000_000


@pytest.mark.parametrize(
    ("answer", "cause", "message"),
    [
        (bad(429, "Slow down", "rate_limit_exceeded", Retry_After="0.01"), "rate_limit", "Slow down"),
        (Answer(body={"error": {"message": f"Wrong key {KEY}", "code": "invalid_api_key"}}), "key", "Wrong key [key]"),
        (response(status="incomplete", incomplete_details={"reason": "content_filter"}), "content_filter", "cut"),
        (ended("context_length_exceeded", "上下文太长"), "context", "上下文"),
        (Answer(500, gzip.compress(BLANKS), {"Content-Encoding": "gzip"}), "request", "larger than 16 MB"),
    ],
    ids=range(5),
)
def test_a_hostile_server_is_classified_and_repeats_no_key(answer: Answer, cause: str, message: str) -> None:
    server = Server(answer)
    error = failure(server)
    assert len(server.bodies) == error.retries + 1
    assert (error.cause, error.retries) == (cause, 7 if cause in LLMError.RETRIED else 0)
    assert message in str(error)
    assert KEY[:8] not in str(error).replace(KEY[:10] + "[key]", "")
    assert len(str(error)) < 600


# What is learnt


def test_the_preflight_ends_and_says_what_it_waits_for(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(preflight, "SECONDS", 0.6)
    monkeypatch.setattr(preflight, "NOTICE_SECONDS", 0.1)
    slow = response(text("late"))
    slow.seconds = 20.0
    assert failure(Server(opening=(slow,))).cause == "timeout"
    assert "waiting for http://127.0.0.1" in caplog.text


@pytest.mark.parametrize("refused", ["temperature", "include", "reasoning", "tools"])
def test_the_preflight_learns_what_the_model_refuses(refused: str, caplog: pytest.LogCaptureFixture) -> None:
    server = Server(refuses=(refused,))

    async def talk(llm: Any) -> Any:
        await llm.generate(Request(ASK.messages, tools=(SEARCH,)))
        return llm

    llm = run(server, talk, reasoning="high")
    assert refused not in server.bodies[0]
    assert len(server.wrong) == 1
    assert list(llm.adaptations) == ([] if refused == "include" else [refused])
    assert (refused in caplog.text) is (refused != "include")
    assert llm.is_greedy is (refused != "temperature")


def test_a_lesson_in_mid_run_costs_no_episode_in_flight() -> None:
    server = Server(response(text("Africa")))

    async def talk(llm: Any) -> list[Reply]:
        server.refuses = ("temperature",)
        return list(await asyncio.gather(*(llm.generate(ASK) for _ in range(20))))

    replies = run(server, talk, connections=20)
    assert [(reply.text, reply.retries) for reply in replies] == [("Africa", 0)] * 20
    assert 1 <= len(server.wrong) <= 20


# Keys and addresses

BEARER = ("Authorization", f"Bearer {KEY}")


@pytest.mark.parametrize(
    ("settings", "path", "header"),
    [
        ({}, "/v1/responses", BEARER),
        ({"api_key_header": "api-key"}, "/v1/responses", ("api-key", KEY)),
        ({"azure_endpoint": "URL/openai/v1/"}, "/openai/v1/responses", BEARER),
        ({"azure_endpoint": "URL", "entra": True}, "/openai/v1/responses", ("Authorization", f"Bearer {TOKEN}")),
    ],
)
def test_key_and_token_go_where_they_belong(
    settings: dict[str, Any], path: str, header: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    server = Server()
    if "entra" in settings:
        managed_identity(server, monkeypatch)
    assert ask(server, **settings).text == "ready"
    assert server.paths[-1] == path
    assert server.headers[-1].get(header[0]) == header[1]
    assert {"api-key", "Authorization"}.intersection(server.headers[-1]) == {header[0]}


def managed_identity(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let azure-identity find its credential at the server, as App Service offers it."""
    pytest.importorskip("azure.identity")
    monkeypatch.setenv("AZURE_TOKEN_CREDENTIALS", "ManagedIdentityCredential")
    monkeypatch.setenv("IDENTITY_HEADER", KEY)
    start = server.start

    async def started() -> Any:
        runner = await start()
        monkeypatch.setenv("IDENTITY_ENDPOINT", server.url.removesuffix("/v1") + "/msi/token")
        return runner

    monkeypatch.setattr(server, "start", started)


@pytest.mark.parametrize(("signs_in", "cause", "message"), [(False, "key", "Entra"), (True, "request", "Odd")])
def test_a_failed_sign_in_is_the_keys_and_no_message_repeats_a_token(
    signs_in: bool, cause: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = Server(bad(400, f"Odd: Bearer {TOKEN}, {TOKEN[:-1]}\\u0065"), signs_in=signs_in)
    managed_identity(server, monkeypatch)
    error = failure(server, azure_endpoint="URL", entra=True)
    assert (error.cause, message in str(error), TOKEN in str(error)) == (cause, True, False)


def test_further_headers_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GATEWAY_KEY", "gateway-secret")
    server = Server(bad(400, "Wrong: gateway-secret"))
    assert "gateway-secret" not in str(failure(server, headers={"x-gateway": "GATEWAY_KEY"}))
    assert server.headers[-1]["x-gateway"] == "gateway-secret"


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"headers": {"x-key": KEY}}, UserError, "names of environment variables"),
        ({"headers": {"x-key": "NOT_SET"}}, UserError, "NOT_SET"),
        ({"api_key_env": "NOT_SET"}, LLMError, "NOT_SET"),
        ({"api_key_env": "CYRILLIC"}, UserError, "CYRILLIC"),
        ({"azure_endpoint": "https://x.example", "base_url": "http://y.example"}, UserError, "exclude each other"),
        ({"entra": True}, UserError, "azure_endpoint"),
        ({"base_url": "ftp://肯尼亚.example"}, UserError, "base_url must be the address"),
        ({"azure_endpoint": "https://x.example", "entra": True}, MissingExtra, "azure-identity"),
    ],
)
def test_a_wrong_setting_is_refused(
    settings: dict[str, Any], error: type[Exception], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CYRILLIC", f"ключ-{KEY}")
    monkeypatch.setitem(sys.modules, "azure.identity.aio", None)
    with pytest.raises(error, match=message) as caught:
        asyncio.run(make_llm("responses/some-model", settings).open())
    assert KEY not in str(caught.value)


def test_no_backend_imports_what_is_heavy_before_it_is_opened() -> None:
    code = """import sys
from r_eval.llms import gguf, hf, langchain, openai, responses
names = "aiohttp azure httpx httpx2 langchain_core openai tenacity torch transformers xllamacpp"
print(set(names.split()) & set(sys.modules))"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300)
    assert done.stdout == "set()\n"
