"""The Responses backend: the openai package against a stub that speaks the protocol strictly."""

from __future__ import annotations

import asyncio
import gzip
import json
import logging
import subprocess
import sys
import time
from typing import Any

import pytest
from pydantic import TypeAdapter

from r_eval.errors import MissingExtra, UserError
from r_eval.llms import attempts, preflight
from r_eval.llms.base import LLMError, Message, Reply, Request, ToolCall, ToolSpec, make_llm
from r_eval.records import Tokens
from tests.responses_server import KEY, TOKEN, Answer, Server, bad, call, reasoning, response, run, text

pytest.importorskip("openai")

ASK = Request((Message("system", "Be brief."), Message("user", "Où est le Kenya ? 肯尼亚在哪里？")))
SEARCH = ToolSpec("Search", "Find a page.", {"type": "object", "properties": {"entity": {"type": "string"}}})
REPLY: TypeAdapter[Reply] = TypeAdapter(Reply)


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", KEY)
    monkeypatch.setattr(attempts, "LONGEST_WAIT", 0.01)


def ask(server: Server, request: Request = ASK, **settings: Any) -> Reply:
    reply: Reply = run(server, lambda llm: llm.generate(request), **settings)
    return reply


def failure(server: Server, request: Request = ASK, **settings: Any) -> LLMError:
    with pytest.raises(LLMError) as caught:
        ask(server, request, **settings)
    assert str(caught.value).startswith("responses/some-model: ")
    return caught.value


# Requests


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


@pytest.mark.parametrize(
    ("messages", "sent"),
    [
        ((Message("system", "Be brief."),), [{"role": "developer", "content": "Be brief."}]),
        (
            (Message("user", "a"), Message("system", "b"), Message("user", "half \ud83c")),
            [
                {"role": "user", "content": "a"},
                {"role": "developer", "content": "b"},
                {"role": "user", "content": "half \ufffd"},
            ],
        ),
    ],
)
def test_system_messages_find_a_place(messages: tuple[Message, ...], sent: list[Any]) -> None:
    server = Server()
    ask(server, Request(messages, max_tokens=1))
    assert server.bodies[0]["input"] == sent
    assert server.bodies[0]["max_output_tokens"] == 16


def test_a_conversation_of_a_reasoning_model_goes_back_as_it_came() -> None:
    server = Server(
        response(reasoning("Look it up."), call("Search", {"entity": "Kenya"}), call("Search", {"entity": "肯尼亚"})),
        response(reasoning(), call("Search", '{"entity": "Nairobi"}'), reasoning("More"), call("Search", {})),
        response(reasoning("Clear"), text("In Afri", "ca.", phase="final_answer")),
        response(text("Nairobi.")),
    )

    async def talk(llm: Any) -> list[Message]:
        messages = list(ASK.messages)
        for turn in range(4):
            reply = await llm.generate(Request(tuple(messages), tools=(SEARCH,)))
            kept = REPLY.validate_json(REPLY.dump_json(reply))  # as from the reply store
            messages.append(kept.message())
            messages += [Message("tool", "Kenya: 非洲", (), c.id, c.name) for c in kept.tool_calls]
            messages += [Message("user", "And its capital?")] if turn == 2 else []
        return messages

    messages = run(server, talk)
    assert server.wrong == []
    assert [item.get("type", item.get("role")) for item in server.bodies[-1]["input"]] == [
        *("user", "reasoning", "function_call", "function_call", "function_call_output", "function_call_output"),
        *("reasoning", "function_call", "reasoning", "function_call", "function_call_output", "function_call_output"),
        *("reasoning", "message", "user"),
    ]
    assert [m.reasoning for m in messages if m.role == "assistant"] == ["Look it up.", "More", "Clear", ""]
    assert messages[-1].content == "Nairobi."


@pytest.mark.parametrize("edit", ["cut", "first call only", "no call", "renamed"])
def test_reasoning_stays_out_where_what_it_led_to_was_changed(edit: str) -> None:
    calls = [reasoning("a"), call("Search", {}), reasoning("b"), call("Search", {"entity": "x"})]
    first = [reasoning("a"), text("Africa\nObservation: x")] if edit == "cut" else calls
    server = Server(response(*first), response(text("ok")))

    async def talk(llm: Any) -> None:
        reply = await llm.generate(ASK)
        said = reply.message("Africa" if edit == "cut" else "No call.")
        answers = []
        if edit in ("first call only", "renamed"):
            one = reply.tool_calls[0]
            used = (one,) if edit != "renamed" else (ToolCall(one.id, "Search_2", {}, extra=one.extra),)
            said = Message("assistant", "", used, extra=reply.extra)
            answers = [Message("tool", "x", (), one.id, "Search")]
        await llm.generate(Request((*ASK.messages, said, *answers, Message("user", "Go on."))))

    run(server, talk)
    assert server.wrong == []
    kinds = [item.get("type", item.get("role")) for item in server.bodies[1]["input"]]
    kept = ["reasoning", "function_call", "function_call_output"]
    assert kinds == ["user", *(["assistant"] if edit in ("cut", "no call") else kept), "user"]


def test_items_that_are_not_known_go_back_verbatim() -> None:
    unknown = {"type": "compaction", "id": "cmp_1", "encrypted_content": "x", "novel": {"a": [1, None]}}
    server = Server(response(unknown, text("Africa")), response(text("ok")))

    async def talk(llm: Any) -> None:
        reply = await llm.generate(ASK)
        await llm.generate(Request((*ASK.messages, reply.message(), Message("user", "Why?"))))

    run(server, talk)
    assert server.wrong == []
    assert server.bodies[1]["input"][1] == {**unknown, "encrypted_content": "gAAA1=="}


def test_a_conversation_without_items_of_its_own_is_understood() -> None:
    server = Server()
    one = ToolCall("a1", "Search", {"entity": "Kenya"})
    told = (Message("assistant", "I look.", (one,)), Message("tool", "Africa", (), "a1", "Search"))
    ask(server, Request((*ASK.messages, *told)))
    assert server.bodies[0]["input"][1:] == [
        {"role": "assistant", "content": "I look."},
        {"type": "function_call", "call_id": "a1", "name": "Search", "arguments": '{"entity": "Kenya"}'},
        {"type": "function_call_output", "call_id": "a1", "output": "Africa"},
    ]


def test_tools_are_described_in_the_prompt_where_the_grid_says_so() -> None:
    server = Server()
    ask(server, Request(ASK.messages, tools=(SEARCH,)), native_tools=False)
    assert "tools" not in server.bodies[0]
    assert "Search" in json.dumps(server.bodies[0])


def test_what_a_model_did_oddly_goes_back_sound() -> None:
    odd = call("搜索 página", '{"entity": "\\ud83c 肯尼亚"}', call_id="c 1"), call("Search", {}, call_id="c 1")
    server = Server(response(reasoning("Hm."), *odd), response(text("ok")))

    async def talk(llm: Any) -> None:
        reply = await llm.generate(Request(ASK.messages, tools=(SEARCH,)))
        answers = [Message("tool", "非洲 \ud83c", (), one.id, one.name) for one in reply.tool_calls]
        await llm.generate(Request((*ASK.messages, reply.message(), *answers), tools=(SEARCH,)))

    run(server, talk)
    outputs = [item["output"] for item in server.bodies[-1]["input"] if item.get("type") == "function_call_output"]
    assert outputs == ["非洲 \ufffd"] * 2


@pytest.mark.parametrize(
    "refusal",
    [
        bad(400, "The encrypted content gAAA could not be verified.", "invalid_encrypted_content"),
        bad(400, "Unknown parameter: 'input[1].encrypted_content'.", "unknown_parameter"),
    ],
)
def test_items_that_the_server_does_not_want_back_are_left_out(
    refusal: Answer, caplog: pytest.LogCaptureFixture
) -> None:
    calls = reasoning("Hm."), call("Search", {"entity": "肯尼亚"})
    server = Server(response(*calls), refusal, response(*calls), response(text("ok")))

    async def talk(llm: Any) -> Any:
        reply = await llm.generate(ASK)
        after = [Message("tool", "x", (), one.id, one.name) for one in reply.tool_calls]
        for _ in range(2):
            await llm.generate(Request((*ASK.messages, reply.message(), *after)))
        return llm

    with caplog.at_level(logging.WARNING, "r_eval"):
        llm = run(server, talk)
    kinds = [[item.get("type", "message") for item in body["input"]] for body in server.bodies]
    plain = ["message", "function_call", "function_call_output"]
    assert kinds[1:] == [["message", "reasoning", *plain[1:]], plain, plain]
    assert list(llm.adaptations) == ["extra"]
    assert caplog.text.count("its own replies") == 1


# Replies

USED = Tokens(prompt=20, completion=5, cached=4)


@pytest.mark.parametrize(
    ("answer", "reply"),
    [
        (response(text("In ", "Africa. 🦒")), Reply("In Africa. 🦒", (), "stop", USED)),
        (response(text("<think>Hm.</think>Africa")), Reply("Africa", (), "stop", USED, reasoning="Hm.")),
        (
            response(text("In Af"), status="incomplete", incomplete_details={"reason": "max_output_tokens"}),
            Reply("In Af", (), "length", USED),
        ),
        (response(text("In"), status="incomplete", incomplete_details=None), Reply("In", (), "unknown", USED)),
        (
            response({**text(), "content": [{"type": "refusal", "refusal": "I cannot."}]}),
            Reply("I cannot.", (), "refusal", USED),
        ),
        (response(), Reply("", (), "stop", USED)),
        (response({**text(), "content": None}, text("Africa")), Reply("Africa", (), "stop", USED)),
        (
            response(call("Search", {"entity": "K"}, call_id="c1", id="f1")),
            Reply("", (ToolCall("c1", "Search", {"entity": "K"}),)),
        ),
        (Answer(body=rb'{"output": [{"type": "message", "content": [{"type": "output_text", "text": "\ud83c!"}]}]}'),
         Reply("\ufffd!")),
    ],
)  # fmt: skip
def test_a_response_becomes_a_reply(answer: Answer, reply: Reply) -> None:
    got = ask(Server(answer))
    assert (got.text, got.tool_calls, got.reasoning) == (reply.text, reply.tool_calls, reply.reasoning)
    assert got.finish == ("tool_calls" if reply.tool_calls else reply.finish)
    assert got.extra is None
    if reply.tokens.prompt:
        assert (got.tokens, got.estimated) == (USED, False)


def test_arguments_that_are_no_object_are_the_models_own_fault() -> None:
    made = ask(Server(response(call("Search", "Kenya"), call("Search", '{"entity": "Kenya",}')))).tool_calls
    assert made[0].arguments == {}
    assert made[0].error
    assert (made[1].arguments, made[1].error) == ({"entity": "Kenya"}, None)


@pytest.mark.parametrize("usage", [None, "many", {}, {"input_tokens": None, "output_tokens": "x"}, [1]])
def test_tokens_that_were_not_counted_are_estimated(usage: Any) -> None:
    reply = ask(Server(response(text("Africa"), usage=usage)))
    assert reply.estimated
    assert reply.tokens.prompt > 5 > reply.tokens.completion > 0


@pytest.mark.parametrize(
    "body",
    [
        "<html>busy</html>",
        "null",
        "[]",
        "7",
        '{"output": null}',
        '{"output": "text"}',
        '{"output": [3]}',
        '{"output": [{"type": "message", "content": "text"}]}',
        '{"output": [{"type": "message", "content": [{"type": "output_text", "text": 3}]}]}',
        '{"output": [null]}',
        '{"output": {"type": "message"}}',
        '{"output": [{"type": "message", "content": 3}]}',
        '{"output": [{"type": "message", "content": [null]}]}',
        '{"output": [{"type": "message", "content": [{"type": "output_text", "text": null}]}]}',
        '{"output": [{"type": "message", "content": [{"type": "refusal", "refusal": ["no"]}]}]}',
        '{"output": [{"type": "function_call", "name": null, "arguments": "{}"}]}',
        '{"output": [{"type": "novel", "weight": NaN}]}',
        '{"output": [{"type": "novel", "deep": ' + "[" * 150 + "]" * 150 + "}]}",
        '{"output": [], "status": ["completed"]}',
        f'{{"output": [], "status": "in_progress", "note": "{KEY}"}}',
        '{"output": [{"type": "function_call", "name": "Search", "call_id": {"a": 1}, "arguments": "{}"}]}',
        '{"output": [{"type": ["message"]}]}',
        '{"output": [{"type": "reasoning", "summary": 4}]}',
        '{"output": [], "incomplete_details": "x"}',
        '{"output": [], "status": "in_progress"}',
        '{"output": ' + "[" * 5000,
        '{"output": [' + "{}," * 5000 + "{}]}",
        b"\xff\xfe",
    ],
)
def test_an_answer_of_another_shape_is_a_bad_reply(body: str | bytes) -> None:
    error = failure(Server(Answer(body=body)))
    assert (error.cause, error.retries) == ("reply", 7)


# Failures


@pytest.mark.parametrize(
    ("answer", "cause", "attempts"),
    [
        (bad(429, "Slow down", "rate_limit_exceeded", Retry_After="0.01"), "rate_limit", 8),
        (bad(500, "The server had an error"), "server", 8),
        (bad(503, "Overloaded"), "server", 8),
        (bad(401, f"Incorrect API key provided: {KEY}.", "invalid_api_key"), "key", 1),
        (bad(404, "The model `some-model` does not exist", "model_not_found"), "model", 1),
        (bad(429, "You exceeded your current quota", "insufficient_quota"), "quota", 1),
        (bad(400, "Your input exceeds the context window of this model.", "context_length_exceeded"), "context", 1),
        (bad(400, "The response was filtered", "content_filter"), "content_filter", 1),
        (bad(400, "Invalid prompt: flagged by our usage policy.", "invalid_prompt"), "content_filter", 1),
        (bad(400, "Invalid value: 'x'"), "request", 1),
        (bad(400, "Unsupported parameter: 'seed' is not supported with this model."), "parameter", 1),
        (response(status="incomplete", incomplete_details={"reason": "content_filter"}), "content_filter", 1),
        (response(status="failed", error={"code": "server_error", "message": "An error occurred"}), "server", 8),
        (response(status="failed", error={"code": "rate_limit_exceeded", "message": "Slow"}), "rate_limit", 8),
        (response(status="failed", error={"code": "invalid_prompt", "message": "Invalid prompt"}), "content_filter", 1),
        (response(status="failed"), "server", 8),
        (response(status="cancelled"), "reply", 8),
        (Answer(307, "", {"Location": "https://elsewhere.example/"}), "request", 1),
    ],
)
def test_a_failure_has_its_cause_and_its_attempts(answer: Answer, cause: str, attempts: int) -> None:
    server = Server(answer)
    error = failure(server)
    assert (error.cause, error.retries + 1, len(server.bodies)) == (cause, attempts, attempts)
    assert KEY not in str(error)


@pytest.mark.parametrize(
    ("answer", "cause", "said"),
    [
        (Answer(body={"error": {"message": "Slow down", "code": "rate_limit_exceeded"}}), "rate_limit", "Slow down"),
        (Answer(body={"error": {"message": f"Wrong key {KEY}", "code": "invalid_api_key"}}), "key", "Wrong key [key]"),
        (Answer(body={"error": "overloaded"}), "server", "overloaded"),
        (
            Answer(body={"error": {"message": "预算已用完", "code": "insufficient_quota"}, "output": []}),
            "quota",
            "预算",
        ),
        (Answer(body={"detail": "Invalid API key"}), "key", "Invalid"),
        (response(status="failed", error={"code": "context_length_exceeded", "message": "Too long"}), "context", "Too"),
        (response(status="failed", error={"code": "x" * 10**6, "message": {"a": [1]}}), "server", "200"),
        (Answer(429, "wait", {"Retry-After": "0"}), "rate_limit", "429"),
        (Answer(429, "wait", {"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}), "rate_limit", "429"),
        (Answer(429, "wait", {"Retry-After": "-7"}), "rate_limit", "429"),
        (Answer(302, "", {"Location": f"https://{KEY}@elsewhere.example/?key={KEY}"}), "request", "elsewhere.example"),
        (Answer(308, "", {"Location": f"https://{KEY}.example/"}), "request", "redirects"),
        (Answer(301, "", {"Location": "/v2/responses"}), "request", "redirects"),
        (Answer(304, ""), "request", "304"),
        (Answer(500, f"<html>{' ' * 250}{KEY[:10]}{KEY}"), "server", "500"),
        (Answer(400, "x" * 285 + KEY), "request", "xxx"),
        (Answer(body="y" * 90 + KEY), "reply", "yyy"),
        (Answer(body="x" * 2_000_000, headers={"Content-Type": "application/json; charset=punycode"}), "reply", "xxx"),
        (Answer(400, rb'{"error": {"message": "half \ud83c sk-very\u002dsecret-1234567890"}}'), "request", "half"),
    ],
)
def test_a_hostile_server_is_told_apart_and_repeats_no_key(answer: Answer, cause: str, said: str) -> None:
    began = time.monotonic()
    error = failure(Server(answer))
    assert (error.cause, error.retries) == (cause, 7 if LLMError(cause, "").retryable else 0)
    assert said in str(error)
    assert KEY[:8] not in str(error).replace(KEY[:10] + "[key]", "")
    assert len(str(error)) < 600
    assert time.monotonic() - began < 10


def test_a_wait_that_a_server_asks_for_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attempts, "LONGEST_WAIT", 30.0)
    reply = ask(Server(bad(429, "Slow", Retry_After="0.4"), response(text("Africa"))))
    assert (reply.text, reply.retries) == ("Africa", 1)
    assert reply.retry >= 0.4


def test_what_passes_costs_attempts_and_no_episode() -> None:
    server = Server(
        bad(429, "Slow", Retry_After="0.01"), bad(500, "x"), Answer(body="<html>"), response(text("Africa"))
    )
    reply = ask(server)
    assert (reply.text, reply.retries) == ("Africa", 3)
    assert reply.retry > 0.02


def test_a_call_that_the_server_could_not_read_is_the_models_turn() -> None:
    server = Server(bad(500, "Failed to parse tool call arguments as JSON: unexpected end of input"))
    reply = ask(server, Request(ASK.messages, tools=(SEARCH,)))
    assert (reply.retries, len(reply.tool_calls), reply.finish) == (0, 1, "tool_calls")
    assert reply.tool_calls[0].error


def test_the_preflight_ends_and_says_what_it_waits_for(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(preflight, "SECONDS", 0.6)
    monkeypatch.setattr(preflight, "NOTICE_SECONDS", 0.1)
    slow = response(text("late"))
    slow.seconds = 20.0
    with caplog.at_level(logging.WARNING, "r_eval"):
        error = failure(Server(opening=(slow,)))
    assert error.cause == "timeout"
    assert "waiting for http://127.0.0.1" in caplog.text


def test_an_attempt_ends_in_time() -> None:
    slow = response(text("late"))
    slow.seconds = 5.0
    server = Server(slow, response(text("Africa")))
    assert ask(server, timeout=0.3).retries == 1


def test_a_server_that_is_not_there_is_told_at_once() -> None:
    began = time.monotonic()
    with pytest.raises(LLMError) as caught:
        asyncio.run(make_llm("responses/m", {"base_url": "http://127.0.0.1:9/v1"}).open())
    assert caught.value.cause == "connection"
    assert time.monotonic() - began < 5


BLANKS = b" " * 20_000_000


@pytest.mark.parametrize(
    ("body", "encoding", "message"),
    [
        (BLANKS, "identity", "larger than 16 MB"),
        (gzip.compress(BLANKS), "gzip", "larger than 16 MB"),
        (gzip.compress(gzip.compress(BLANKS)), "gzip, gzip", "not asked for"),
        (b"x", "br", "not asked for"),
        (b"no gzip", "gzip", "cannot be decompressed"),
    ],
)
@pytest.mark.parametrize("status", [200, 500])
def test_no_more_than_the_bound_is_read(body: bytes, encoding: str, message: str, status: int) -> None:
    assert message in str(failure(Server(Answer(status, body, {"Content-Encoding": encoding}))))


def test_a_long_reply_is_read_beside_the_event_loop() -> None:
    long = "Nairobi 内罗毕 " * 100_000
    assert ask(Server(response(text(long)))).text == long


def test_other_episodes_go_on_while_broken_arguments_are_read() -> None:
    broken = call("Search", "{'entity': '肯尼亚',, x: (1,2" + " 'y'" * 900)
    server = Server(response(*[broken] * 64))

    async def talk(llm: Any) -> float:
        held, ended = 0.0, asyncio.ensure_future(llm.generate(ASK))
        while not ended.done():
            began = time.perf_counter()
            await asyncio.sleep(0.005)
            held = max(held, time.perf_counter() - began)
        assert len(ended.result().tool_calls) == 64
        return held

    assert run(server, talk) < 0.4  # it takes 1.6 s in all; the bound leaves room for a busy machine


# What a model does not take


@pytest.mark.parametrize(
    "refused", ["temperature", "include", "reasoning", "tool_choice", "max_output_tokens", "tools"]
)
def test_the_preflight_learns_what_the_model_refuses(refused: str, caplog: pytest.LogCaptureFixture) -> None:
    server = Server(refuses=(refused,))

    async def talk(llm: Any) -> Any:
        await llm.generate(Request(ASK.messages, tools=(SEARCH,)))
        return llm

    with caplog.at_level(logging.WARNING, "r_eval"):
        llm = run(server, talk, reasoning="high")
    of_the_grid = refused not in ("include", "store")
    assert refused not in server.bodies[0]
    assert len(server.wrong) == 1
    assert list(llm.adaptations) == ([refused] if of_the_grid else [])
    assert (refused in caplog.text) is of_the_grid
    assert llm.is_greedy is (refused != "temperature")


def test_a_lesson_in_mid_run_costs_no_episode_in_flight() -> None:
    server = Server(response(text("Africa")))

    async def talk(llm: Any) -> list[Reply]:
        server.refuses = ("temperature",)
        return list(await asyncio.gather(*(llm.generate(ASK) for _ in range(20))))

    replies = run(server, talk, connections=20)
    assert [reply.text for reply in replies] == ["Africa"] * 20
    assert 1 <= len(server.wrong) <= 20
    assert {reply.retries for reply in replies} == {0}


# Keys and addresses


@pytest.mark.parametrize(
    ("settings", "path", "header"),
    [
        ({}, "/v1/responses", ("Authorization", f"Bearer {KEY}")),
        ({"api_key_header": "api-key"}, "/v1/responses", ("api-key", KEY)),
        ({"azure_endpoint": "URL/"}, "/openai/v1/responses", ("Authorization", f"Bearer {KEY}")),
        ({"azure_endpoint": "URL/openai/v1/"}, "/openai/v1/responses", ("Authorization", f"Bearer {KEY}")),
        ({"azure_endpoint": "URL", "entra": True}, "/openai/v1/responses", ("Authorization", f"Bearer {TOKEN}")),
        (
            {"azure_endpoint": "URL", "api_version": "2025-04-01-preview"},
            "/openai/responses?api-version=2025-04-01-preview",
            ("api-key", KEY),
        ),
        (
            {"azure_endpoint": "URL", "api_version": "2025-04-01-preview", "entra": True},
            "/openai/responses?api-version=2025-04-01-preview",
            ("Authorization", f"Bearer {TOKEN}"),
        ),
    ],
)
def test_key_and_token_go_where_they_belong(
    settings: dict[str, Any], path: str, header: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    server = Server(azure="api_version" in settings)
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
        monkeypatch.setenv("IDENTITY_ENDPOINT", f"{server.url}/msi/token")
        return runner

    monkeypatch.setattr(server, "start", started)


def test_who_cannot_sign_in_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server(signs_in=False)
    managed_identity(server, monkeypatch)
    error = failure(server, azure_endpoint="URL", entra=True)
    assert error.cause == "key"
    assert "Entra" in str(error)


def test_no_message_repeats_a_token(monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server(bad(400, f"Odd: Bearer {TOKEN}, {TOKEN[:-1]}\\u0065"), opening=(response(text("ready")),))
    managed_identity(server, monkeypatch)
    error = failure(server, azure_endpoint="URL", entra=True)
    assert "Odd" in str(error)
    assert TOKEN not in str(error)


def test_further_headers_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GATEWAY_KEY", "gateway-secret")
    server = Server(bad(400, "Wrong: gateway-secret"))
    error = failure(server, headers={"x-gateway": "GATEWAY_KEY"})
    assert server.headers[-1]["x-gateway"] == "gateway-secret"
    assert "gateway-secret" not in str(error)


@pytest.mark.parametrize("key", ["none", "test", "1", "EMPTY"])
def test_a_good_reply_is_never_touched(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", key)
    monkeypatch.setattr("tests.responses_server.KEY", key)
    assert ask(Server(response(text(f"It is {key}.")))).text == f"It is {key}."


def test_the_message_about_a_wrong_key_names_its_variable() -> None:
    error = failure(Server(opening=(bad(401, f"Incorrect API key provided: {KEY}", "invalid_api_key"),)))
    assert error.cause == "key"
    assert "OPENAI_API_KEY" in str(error)
    assert KEY not in str(error)


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"api_key_env": KEY}, UserError, "api_key_env looks like a key"),
        ({"headers": {"x-key": KEY}}, UserError, "names of environment variables"),
        ({"headers": {"x-key": "NOT_SET"}}, UserError, "NOT_SET"),
        ({"api_key_env": "NOT_SET"}, LLMError, "NOT_SET"),
        ({"azure_endpoint": "https://x.example", "base_url": "http://y.example"}, UserError, "exclude each other"),
        ({"entra": True}, UserError, "azure_endpoint"),
        ({"azure_endpoint": "name.openai.azure.com"}, UserError, "azure_endpoint must be the address"),
        ({"base_url": "ftp://肯尼亚.example"}, UserError, "base_url must be the address"),
        ({"azure_endpoint": "https://x.example", "entra": True}, MissingExtra, "azure-identity"),
        ({"reasoning": "a lot"}, UserError, "reasoning must be"),
        ({"stop": "x"}, UserError, "unknown setting 'stop'"),
    ],
)
def test_a_wrong_setting_is_told(
    settings: dict[str, Any], error: type[Exception], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NOT_SET", raising=False)
    monkeypatch.setitem(sys.modules, "azure.identity.aio", None)
    with pytest.raises(error, match=message) as caught:
        asyncio.run(make_llm("responses/some-model", settings).open())
    assert KEY not in str(caught.value)


@pytest.mark.parametrize("value", ["sk-1234567890\n1234", "ключ-1234567890"])
def test_a_key_that_no_header_can_hold_is_told(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", value)
    with pytest.raises(UserError, match="OPENAI_API_KEY") as caught:
        asyncio.run(make_llm("responses/m").open())
    assert value[:5] not in str(caught.value)


def test_what_is_not_open_says_so_at_once() -> None:
    with pytest.raises(LLMError, match="not open") as caught:
        asyncio.run(make_llm("responses/m").generate(ASK))
    assert caught.value.retries == 0


def test_a_server_of_ones_own_needs_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    monkeypatch.setattr("tests.responses_server.KEY", "none")
    assert ask(Server()).text == "ready"


def test_a_price_is_known_for_openai_itself_only() -> None:
    pytest.importorskip("genai_prices")
    million = Tokens(prompt=10**6)
    assert (make_llm("responses/gpt-4o-mini").cost(million) or 0) > 0
    assert make_llm("responses/gpt-4o-mini", {"base_url": "http://x.example/v1"}).cost(million) is None
    assert make_llm("responses/m", {"price": {"prompt": 2.0, "completion": 1.0}}).cost(million) == 2.0


def test_nothing_heavy_is_imported() -> None:
    code = "import sys, r_eval.llms.responses; print({'openai', 'httpx', 'httpx2', 'azure'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300)
    assert done.stdout == "set()\n"
