"""The OpenAI backend against a real server that misbehaves as it is told to."""

from __future__ import annotations

import asyncio
import json
import socket
import time
from typing import Any

import pytest

from r_eval.errors import UserError
from r_eval.llms import attempts
from r_eval.llms.base import LLMError, Message, Reply, Request, ToolCall, ToolSpec, make_llm
from r_eval.llms.chat import Refusals, chat_body
from r_eval.records import Tokens
from tests.chat_server import ASK, KEY, Answer, Server, bad, good, run

SEARCH = ToolSpec("Search", "Find a page.", {"type": "object", "properties": {"entity": {"type": "string"}}})


def ask(*answers: Answer, request: Request = ASK, **settings: Any) -> tuple[Reply, Server]:
    server = Server(*answers)
    return run(server, lambda llm: llm.generate(request), **settings), server


def refused(*answers: Answer) -> tuple[LLMError, Server]:
    server = Server(*answers)
    with pytest.raises(LLMError) as caught:
        run(server, lambda llm: llm.generate(ASK))
    return caught.value, server


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attempts, "LONGEST_WAIT", 0.01)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("SOME_KEY", raising=False)


# What is sent


def test_a_request_is_sent_as_chat_completions() -> None:
    request = Request(ASK.messages, stop=("\nObservation",), max_tokens=7)
    _, server = ask(good(), request=request, temperature=0.5)
    assert server.bodies == [
        {
            "model": "some-model",
            "messages": [{"role": "user", "content": "Where is Kenya?"}],
            "temperature": 0.5,
            "max_tokens": 7,
            "stop": ["\nObservation"],
        }
    ]


def test_max_tokens_of_the_grid_count_where_the_request_names_none() -> None:
    assert ask(good(), max_tokens=33)[1].bodies[0]["max_tokens"] == 33


def test_no_more_than_four_stops_are_sent() -> None:
    assert len(ask(good(), request=Request(ASK.messages, stop=tuple("abcdef")))[1].bodies[0]["stop"]) == 4


def test_tools_calls_and_results_are_sent_in_the_servers_form() -> None:
    call = ToolCall("id-1", "Search", {"entity": "Côte d'Ivoire"})
    messages = (*ASK.messages, Message("assistant", "", (call,)), Message("tool", "In Africa.", call_id="id-1"))
    body = ask(good(), request=Request(messages, tools=(SEARCH,), tool_choice="required"))[1].bodies[0]
    function = {"name": "Search", "description": "Find a page.", "parameters": SEARCH.parameters}
    assert body["tools"] == [{"type": "function", "function": function}]
    assert body["tool_choice"] == "required"
    sent = body["messages"][1]["tool_calls"][0]
    assert (sent["id"], sent["type"], sent["function"]["name"]) == ("id-1", "function", "Search")
    assert json.loads(sent["function"]["arguments"]) == {"entity": "Côte d'Ivoire"}
    assert body["messages"][2] == {"role": "tool", "content": "In Africa.", "tool_call_id": "id-1"}


def test_half_a_surrogate_pair_is_sent_as_a_question_mark() -> None:
    assert ask(good(), request=Request((Message("user", "a\ud800b"),)))[1].bodies[0]["messages"][0]["content"] == "a?b"


# What comes back


def test_a_reply_is_its_text() -> None:
    reply, _ = ask(good("In Africa."))
    assert (reply.text, reply.tool_calls, reply.finish, reply.retries) == ("In Africa.", (), "stop", 0)


def test_tokens_are_those_that_the_server_counted() -> None:
    usage = {"prompt_tokens": 100, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": 64}}
    reply, _ = ask(good(usage=usage))
    assert (reply.tokens.prompt, reply.tokens.completion, reply.tokens.cached) == (100, 7, 64)
    assert reply.estimated is False


@pytest.mark.parametrize("details", [None, [1], "x", {"cached_tokens": None}, {"cached_tokens": True}])
def test_cached_tokens_that_the_server_does_not_count_are_none(details: Any) -> None:
    reply, _ = ask(good(usage={"prompt_tokens": 5, "completion_tokens": 2, "prompt_tokens_details": details}))
    assert (reply.tokens.prompt, reply.tokens.completion, reply.tokens.cached) == (5, 2, 0)


@pytest.mark.parametrize(
    ("said", "kept"),
    [(10**400, 10**9), (10**15, 10**9), (7.0, 7), ("7", 7)],
    ids=["more than a float", "too many", "a float", "a text"],
)
def test_a_count_that_no_call_can_have_becomes_the_nearest_that_one_can(said: float, kept: int) -> None:
    assert ask(good(usage={"prompt_tokens": said, "completion_tokens": 1}))[0].tokens.prompt == kept


def test_a_reply_without_usage_says_that_its_tokens_are_no_count() -> None:
    assert ask(good(usage=None))[0].estimated is True


@pytest.mark.parametrize("finish", ["stop", "length", "tool_calls", "content_filter"])
def test_the_reason_for_the_end_is_kept(finish: str) -> None:
    assert ask(good(finish=finish))[0].finish == finish


def test_an_unknown_reason_for_the_end_is_called_unknown() -> None:
    assert ask(good(finish="bored"))[0].finish == "unknown"


def test_hidden_thinking_is_told_apart_from_the_text() -> None:
    reply, _ = ask(good("Nairobi", reasoning_content="Let me think."))
    assert (reply.text, reply.reasoning) == ("Nairobi", "Let me think.")


def native(*functions: Any) -> Answer:
    entries = [{"id": f"id-{i}", "type": "function", "function": f} for i, f in enumerate(functions)]
    return good(None, "tool_calls", tool_calls=entries)


def test_native_tool_calls_are_read_in_their_order() -> None:
    one, two = {"name": "Search", "arguments": '{"entity": "A"}'}, {"name": "Search", "arguments": '{"entity": "B"}'}
    reply, _ = ask(native(one, two))
    assert reply.text == ""
    assert [(c.id, c.name, c.arguments, c.error) for c in reply.tool_calls] == [
        ("id-0", "Search", {"entity": "A"}, None),
        ("id-1", "Search", {"entity": "B"}, None),
    ]


@pytest.mark.parametrize("arguments", ['{"entity": "A",}', "{'entity': 'A'}", '{"entity": "A', {"entity": "A"}])
def test_arguments_of_native_calls_are_read_leniently(arguments: Any) -> None:
    assert ask(native({"name": "Search", "arguments": arguments}))[0].tool_calls[0].arguments == {"entity": "A"}


@pytest.mark.parametrize("arguments", ["Kenya", "[1]", "7"])
def test_native_arguments_that_cannot_be_read_are_an_error_of_the_call(arguments: str) -> None:
    (call,) = ask(native({"name": "Search", "arguments": arguments}))[0].tool_calls
    assert call.arguments == {}
    assert call.error is not None
    assert "Search" in call.error


@pytest.mark.parametrize("arguments", ["", None, "{}"])
def test_a_native_call_without_arguments_has_none(arguments: str | None) -> None:
    (call,) = ask(native({"name": "Search", "arguments": arguments}))[0].tool_calls
    assert (call.arguments, call.error) == ({}, None)


def test_a_server_that_calls_its_json_text_is_understood() -> None:
    answer = good("Nairobi")
    answer.content_type = "text/html"
    assert ask(answer)[0].text == "Nairobi"


# What is tried again


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 504, 529, 599])
def test_a_passing_error_is_tried_again(status: int) -> None:
    reply, server = ask(bad(status), good("Nairobi"))
    assert (reply.text, reply.retries, len(server.bodies)) == ("Nairobi", 1, 2)


@pytest.mark.parametrize(
    "broken",
    [
        Answer(body="{not json"),
        Answer(body=""),
        Answer(body="<html>Bad gateway</html>", content_type="text/html"),
        Answer(body=[]),
        Answer(body=[1, 2]),
        Answer(body="7"),
        Answer(body={}),
        Answer(body={"choices": []}),
        Answer(body={"choices": None}),
        Answer(body={"choices": [{}]}),
        Answer(body={"choices": [{"message": None}]}),
        Answer(body={"choices": [{"message": {"content": {"x": 1}}}]}),
        Answer(body=[{"error": {"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}}]),
        Answer(body={"error": {"message": "overloaded"}}),
        Answer(body='{"choices": [', drop=True),
    ],
)
def test_an_answer_that_is_no_reply_is_tried_again(broken: Answer) -> None:
    reply, _ = ask(broken, broken, good("Nairobi"))
    assert (reply.text, reply.retries) == ("Nairobi", 2)


@pytest.mark.parametrize(
    ("answer", "cause"),
    [
        (bad(429), "rate_limit"),
        (bad(500), "server"),
        (Answer(body="{not json"), "reply"),
        (Answer(body={"choices": []}), "reply"),
        (Answer(body='{"choices": [', drop=True), "connection"),
    ],
)
def test_an_error_that_does_not_pass_ends_after_a_bounded_number_of_attempts(answer: Answer, cause: str) -> None:
    error, server = refused(answer)
    assert error.cause == cause
    assert len(server.bodies) == attempts.ATTEMPTS
    assert error.retries == attempts.ATTEMPTS - 1
    assert f"{attempts.ATTEMPTS} attempts" in str(error)


def test_retry_after_is_obeyed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attempts, "LONGEST_WAIT", 30.0)
    _, server = ask(bad(429, Retry_After="1"), good())
    assert server.times[1] - server.times[0] >= 1.0


def test_retry_after_zero_is_obeyed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attempts, "LONGEST_WAIT", 30.0)
    _, server = ask(bad(429, Retry_After="0"), bad(429, Retry_After="0"), bad(503, Retry_After="0"), good())
    assert server.times[-1] - server.times[0] < 1.0


def test_no_wait_is_longer_than_the_longest() -> None:
    _, server = ask(bad(429, Retry_After="3600"), good())
    assert server.times[1] - server.times[0] < 5.0


def test_a_retry_after_that_is_no_number_is_passed_over() -> None:
    reply, _ = ask(bad(503, Retry_After="Wed, 21 Oct 2015 07:28:00 GMT"), good("Nairobi"))
    assert reply.text == "Nairobi"


def test_waits_grow_where_the_server_asks_for_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attempts, "LONGEST_WAIT", 30.0)
    _, server = ask(bad(500), bad(500), good())
    first, second = server.times[1] - server.times[0], server.times[2] - server.times[1]
    assert first >= 0.5
    assert second >= 1.0


def test_a_server_that_never_answers_is_a_timeout() -> None:
    slow = good()
    slow.seconds = 60.0
    server = Server(slow)
    with pytest.raises(LLMError) as caught:
        run(server, lambda llm: llm.generate(ASK, 2), timeout=0.5)
    assert (caught.value.cause, len(server.bodies)) == ("timeout", 2)


def test_a_slow_attempt_is_tried_again() -> None:
    slow = good()
    slow.seconds = 60.0
    assert ask(slow, good("Nairobi"), timeout=1.0)[0].text == "Nairobi"


# What never is


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 422])
def test_a_refusal_is_not_tried_again(status: int) -> None:
    error, server = refused(bad(status, "cannot do that"))
    assert len(server.bodies) == 1
    assert error.retries == 0
    assert f"HTTP {status}" in str(error)
    assert "cannot do that" in str(error)


@pytest.mark.parametrize(("status", "cause"), [(400, "request"), (404, "request"), (401, "key"), (403, "key")])
def test_the_cause_of_a_refusal_is_told(status: int, cause: str) -> None:
    assert refused(bad(status))[0].cause == cause


@pytest.mark.parametrize(
    "message",
    [
        "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
        "the request exceeds the available context size, try increasing it",
        "Input is too long: context window exceeded",
    ],
)
def test_a_request_that_is_too_long_is_the_systems_doing(message: str) -> None:
    error, server = refused(bad(400, message))
    assert (error.cause, len(server.bodies)) == ("context", 1)


def test_an_error_body_that_is_no_json_is_quoted_on_one_line() -> None:
    error, _ = refused(Answer(400, "<html>\n<b>no</b>\n</html>" + "x" * 5000, content_type="text/html"))
    assert "<html> <b>no</b>" in str(error)
    assert "\n" not in str(error)
    assert len(str(error)) < 500


# Keys and connections


def test_the_key_comes_from_the_variable_that_the_grid_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_KEY", KEY)
    _, server = ask(good(), api_key_env="SOME_KEY")
    assert [headers["Authorization"] for headers in server.headers] == [f"Bearer {KEY}"] * 2


def test_without_a_key_none_is_sent() -> None:
    _, server = ask(good())
    assert all("Authorization" not in headers for headers in server.headers)


@pytest.mark.parametrize(
    "answer",
    [
        bad(400, f"Wrong key {KEY}"),
        bad(401, KEY),
        Answer(302, headers={"Location": f"https://{KEY}.example/"}),
        Answer(body=f"{{{KEY}"),
        Answer(body={"choices": [{"message": {"content": {"key": KEY}}}]}),
        Answer(body="{", drop=True),
    ],
)
def test_no_error_message_holds_the_key(monkeypatch: pytest.MonkeyPatch, answer: Answer) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    error, _ = refused(answer)
    assert KEY not in str(error)


def test_the_identity_holds_the_address_but_not_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    identity = make_llm("openai/some-model", {"base_url": "http://127.0.0.1:9/v1"}).identity()
    assert identity["base_url"] == "http://127.0.0.1:9/v1"
    assert KEY not in json.dumps(identity)


def test_a_key_that_the_server_refuses_is_found_when_opening(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_KEY", KEY)
    with pytest.raises(LLMError, match="SOME_KEY") as caught:
        run(Server(good(), opening=(bad(401),)), lambda llm: llm.generate(ASK), api_key_env="SOME_KEY")
    assert caught.value.cause == "key"
    assert KEY not in str(caught.value)


def test_openai_itself_needs_a_key() -> None:
    with pytest.raises(LLMError, match="OPENAI_API_KEY is not set") as caught:
        asyncio.run(make_llm("openai/gpt-4o-mini").open())
    assert caught.value.cause == "key"


def test_a_server_without_a_list_of_models_can_be_used() -> None:
    assert run(Server(good("Nairobi"), models=bad(404)), lambda llm: llm.generate(ASK)).text == "Nairobi"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


async def opened_and_closed(url: str) -> None:
    llm = make_llm("openai/some-model", {"base_url": url})
    try:
        await llm.open()
    finally:
        await llm.close()


def test_no_server_is_a_connection_error_that_names_the_address() -> None:
    url = f"http://127.0.0.1:{free_port()}/v1"
    with pytest.raises(LLMError, match=url) as caught:
        asyncio.run(opened_and_closed(url))
    assert caught.value.cause == "connection"


def test_a_host_that_is_not_there_is_a_connection_error() -> None:
    with pytest.raises(LLMError) as caught:
        asyncio.run(opened_and_closed("http://no.such.host.invalid/v1"))
    assert caught.value.cause == "connection"


@pytest.mark.parametrize("url", ["not an address", "http://", "ftp://127.0.0.1/v1", "http://[x"])
def test_what_is_no_address_is_told_before_anything_is_sent(url: str) -> None:
    with pytest.raises(UserError, match="base_url must be the address of a server"):
        make_llm("openai/some-model", {"base_url": url})


def test_an_llm_that_is_not_open_says_so_at_once() -> None:
    with pytest.raises(LLMError, match=r"^openai/some-model: it is not open$") as caught:
        asyncio.run(make_llm("openai/some-model", {"base_url": "http://127.0.0.1:9/v1"}).generate(ASK))
    assert caught.value.retries == 0


def test_a_server_that_dies_is_a_connection_error() -> None:
    async def main() -> None:
        server = Server(good())
        runner = await server.start()
        llm = make_llm("openai/some-model", {"base_url": server.url})
        await llm.open()
        await runner.cleanup()
        try:
            await llm.generate(ASK)
        finally:
            await llm.close()

    with pytest.raises(LLMError) as caught:
        asyncio.run(main())
    assert caught.value.cause == "connection"


@pytest.mark.parametrize("connections", [1, 4])
def test_as_many_requests_are_under_way_as_connections_are_allowed(connections: int) -> None:
    answer = good()
    answer.seconds = 0.05
    server = Server(answer)

    async def talk(llm: Any) -> list[Reply]:
        return list(await asyncio.gather(*(llm.generate(ASK) for _ in range(8))))

    assert len(run(server, talk, connections=connections)) == 8
    assert server.most_at_once == connections


def test_a_request_that_is_given_up_frees_its_connection() -> None:
    slow = good()
    slow.seconds = 20.0

    async def talk(llm: Any) -> float:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await llm.generate(ASK)
        started = time.monotonic()
        await llm.generate(ASK)
        return time.monotonic() - started

    assert run(Server(slow, good()), talk, connections=1) < 10.0


def test_closing_twice_is_no_error() -> None:
    async def main() -> None:
        llm = make_llm("openai/some-model", {"base_url": "http://127.0.0.1:9/v1"})
        await llm.close()
        await llm.close()

    asyncio.run(main())


# Models that refuse a parameter


@pytest.mark.parametrize(
    ("said", "parameter"),
    [
        ("Unsupported value: 'temperature' does not support 0 with this model.", "temperature"),
        ("Unsupported parameter: 'stop' is not supported with this model.", "stop"),
        ("Unsupported parameter: 'max_tokens' is not supported. Use 'max_completion_tokens' instead.", "max_tokens"),
    ],
)
def test_a_refused_parameter_is_left_out_from_then_on(said: str, parameter: str) -> None:
    server = Server(bad(400, said), good())
    asked = Request((Message("user", "Where?"),), stop=("\nX",))

    async def twice(llm: Any) -> None:
        await llm.generate(asked)
        await llm.generate(asked)

    run(server, twice)
    assert [parameter in body for body in server.bodies] == [True, False, False]


def test_a_server_that_cannot_be_made_to_call_a_tool_is_asked_all_the_same() -> None:
    server = Server(bad(400, "tool_choice 'required' is not supported"), good())
    run(server, lambda llm: llm.generate(Request(ASK.messages, tools=(SEARCH,), tool_choice="required")))
    assert ["tool_choice" in body for body in server.bodies] == [True, False]


def test_the_limit_on_tokens_is_sent_under_its_newer_name() -> None:
    server = Server(bad(400, "Unsupported parameter: 'max_tokens' is not supported with this model."), good())
    run(server, lambda llm: llm.generate(ASK), max_tokens=77)
    assert server.bodies[1]["max_completion_tokens"] == 77


def test_a_refused_parameter_is_no_retry() -> None:
    server = Server(bad(400, "Unsupported value: 'temperature' does not support 0."), good())
    assert run(server, lambda llm: llm.generate(ASK)).retries == 0


def test_a_refused_parameter_is_warned_of_once(caplog: pytest.LogCaptureFixture) -> None:
    server = Server(bad(400, "Unsupported value: 'temperature' does not support 0."), good())

    async def twice(llm: Any) -> None:
        await llm.generate(ASK)
        await llm.generate(ASK)

    run(server, twice)
    (record,) = caplog.records
    assert record.message.startswith("openai/some-model: temperature is not sent: HTTP 400")


def test_a_server_that_refuses_a_parameter_which_is_not_sent_is_an_error() -> None:
    server = Server(bad(400, "Unsupported value: 'temperature' does not support 0."))
    with pytest.raises(LLMError, match="'temperature' does not support 0"):
        run(server, lambda llm: llm.generate(ASK))


def test_reasoning_that_its_own_provider_refuses_is_not_sent_again() -> None:
    llm, refusals = make_llm("openai/m"), Refusals("openai/m", "https://api.deepseek.com", "m", {})
    request = Request((Message("assistant", "Africa", reasoning="想一想。"),))
    error = LLMError("parameter", "not supported", parameter="reasoning_content")
    first = refusals.snapshot()
    assert chat_body(llm, request, first)["messages"][0]["reasoning_content"] == "想一想。"
    assert refusals.learn_from(error, request, first)
    assert "reasoning_content" not in chat_body(llm, request, refusals.snapshot())["messages"][0]
    assert not refusals.learn_from(error, request, refusals.snapshot())


def test_a_refusal_of_the_model_is_told_apart() -> None:
    server = Server(good(None, refusal="I will not answer that."))
    reply = run(server, lambda llm: llm.generate(ASK))
    assert (reply.finish, reply.text) == ("refusal", "I will not answer that.")


# A storm of 429


def test_a_storm_of_429_narrows_the_connections_and_loses_nothing() -> None:
    server = Server(*[bad(429, Retry_After="0")] * 30, good())

    async def many(llm: Any) -> tuple[list[Reply], int]:
        replies = await asyncio.gather(*(llm.generate(ASK) for _ in range(40)))
        return replies, llm._limiter.allowed

    replies, allowed = run(server, many, connections=16)
    assert ({reply.text for reply in replies}, len(replies), allowed < 16) == ({"In Africa."}, 40, True)


# Money


def test_the_grids_price_counts() -> None:
    llm = make_llm("openai/gpt-4o-mini", {"price": {"prompt": 1.0, "completion": 2.0}})
    assert llm.cost(Tokens(prompt=1_000_000, completion=1_000_000)) == 3.0


def test_a_known_model_of_openai_has_its_published_price() -> None:
    pytest.importorskip("genai_prices")
    cost = make_llm("openai/gpt-4o-mini").cost(Tokens(prompt=1_000_000, completion=1_000_000))
    assert cost == pytest.approx(0.75)


@pytest.mark.parametrize(
    ("name", "settings"),
    [("openai/no-such-model", {}), ("openai/gpt-4o-mini", {"base_url": "http://127.0.0.1:1/v1"})],
)
def test_a_price_that_is_not_known_is_none(name: str, settings: dict[str, Any]) -> None:
    assert make_llm(name, settings).cost(Tokens(prompt=10)) is None
