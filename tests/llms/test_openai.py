"""The OpenAI backend against a real server that misbehaves as it is told to; what the preflight finds out."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import errno
import json
import os
import traceback
from typing import Any
from unittest import mock

import aiohttp
import pytest

from r_eval.errors import UserError
from r_eval.llms import attempts, openai
from r_eval.llms.base import LLMError, Message, Reply, Request, ToolCall, make_llm
from r_eval.records import Tokens
from tests.chat_server import ASK, KEY, SEARCH, USED, Answer, Server, bad, good, run

HERE = "http://127.0.0.1:9/v1"


def ask(*answers: Answer, request: Request = ASK, **settings: Any) -> tuple[Reply, Server]:
    server = Server(*answers)
    return run(server, lambda llm: llm.generate(request), **settings), server


def refused(*answers: Answer, opening: tuple[Answer, ...] = (), **settings: Any) -> tuple[LLMError, Server]:
    server = Server(*answers, opening=opening)
    with pytest.raises(LLMError) as caught:
        run(server, lambda llm: llm.generate(ASK), **settings)
    return caught.value, server


# What is sent, and what comes back


def test_a_request_is_sent_as_chat_completions() -> None:
    call = ToolCall("id-1", "Search", {"entity": "Côte d'Ivoire"})
    messages = (
        Message("user", "Where is it? a\ud800b"),
        Message("assistant", "", (call,)),
        Message("tool", "In Africa.", call_id="id-1"),
    )
    request = Request(messages, tuple("abcdef"), 7, (SEARCH,), "required")
    body = ask(good(), request=request, temperature=0.5)[1].bodies[0]
    function = body["messages"][1]["tool_calls"][0].pop("function")
    assert (function["name"], json.loads(function["arguments"])) == ("Search", {"entity": "Côte d'Ivoire"})
    assert body == {
        "model": "some-model",
        "messages": [
            {"role": "user", "content": "Where is it? a?b"},
            {"role": "assistant", "content": "", "tool_calls": [{"id": "id-1", "type": "function"}]},
            {"role": "tool", "content": "In Africa.", "tool_call_id": "id-1"},
        ],
        "temperature": 0.5,
        "max_tokens": 7,
        "stop": ["a", "b", "c", "d"],
        "tools": [{"type": "function", "function": dataclasses.asdict(SEARCH)}],
        "tool_choice": "required",
    }


# What is tried again, and what never is


@pytest.mark.parametrize(
    ("answer", "cause"),
    [(Answer(body='{"choices": [', drop=True), "connection"), (Answer(body="{not json"), "reply"),
     (Answer(seconds=60.0), "timeout")],
)  # fmt: skip
def test_an_error_that_persists_ends_after_a_bounded_number_of_attempts(answer: Answer, cause: str) -> None:
    error, server = refused(answer, timeout=0.2)
    assert (error.cause, error.retries, len(server.bodies)) == (cause, attempts.ATTEMPTS - 1, attempts.ATTEMPTS)
    assert f"{attempts.ATTEMPTS} attempts" in str(error)


@pytest.mark.parametrize(
    ("longest", "answers", "least", "most"),
    [
        (30.0, [bad(429, Retry_After="1")], 1.0, 20.0),
        (30.0, [bad(500), bad(500)], 1.5, 20.0),  # half a second, and then a whole one
        (0.01, [bad(429, Retry_After="3600")], 0.0, 20.0),
    ],
)
def test_waits_are_the_servers_or_grow_and_have_a_bound(
    longest: float, answers: list[Answer], least: float, most: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attempts, "LONGEST_WAIT", longest)
    _, server = ask(*answers, good())
    assert least <= server.times[-1] - server.times[0] < most


@pytest.mark.parametrize("status", [200, 400, 500])
def test_a_failure_holds_nothing_of_a_large_answer(status: int) -> None:
    error, _ = refused(Answer(status, {"choices": "长" * 2_000_000}))
    frames = [frame.f_locals.values() for frame, _ in traceback.walk_tb(error.__traceback__)]
    texts = [value for values in frames for value in values if isinstance(value, str | bytes | bytearray)]
    assert (error.__context__, max(map(len, texts), default=0) < 10_000) == (None, True)


# Keys and connections


@pytest.mark.parametrize(
    "answer",
    [
        bad(400, f"Wrong key {KEY}"),
        bad(401, KEY),
        Answer(302, headers={"Location": f"https://{KEY}.example/"}),
        Answer(body=f"{{{KEY}"),
        Answer(body={"choices": [{"message": {"content": {"key": KEY}}}]}),
        Answer(body={"error": {"message": f"{'x' * 285}{KEY}"}}),
        Answer(body={"error": {"message": KEY, "code": "x" * 300_000}}),
        Answer(body="{", drop=True),
    ],
)
def test_no_error_message_holds_the_key(monkeypatch: pytest.MonkeyPatch, answer: Answer) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    error, _ = refused(answer)
    assert KEY[:10] not in str(error)
    assert KEY not in json.dumps(make_llm("openai/some-model", {"base_url": HERE}).identity())


@pytest.mark.parametrize("url", [HERE, "http://no.such.host.invalid/v1"])
def test_no_server_is_a_connection_error_that_names_the_address(url: str) -> None:
    error, _ = refused(good(), base_url=url)
    assert (error.cause, url in str(error)) == ("connection", True)


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE])
def test_a_process_out_of_files_does_not_blame_the_server(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    async def talk(llm: Any) -> Any:
        error = aiohttp.ClientConnectorError(mock.Mock(), OSError(number, os.strerror(number)))
        monkeypatch.setattr(llm._client, "post", mock.Mock(side_effect=error))
        return await llm.generate(ASK, attempts=1)

    with pytest.raises(LLMError, match=r"^openai/some-model: no further connection .*ulimit -n") as caught:
        run(Server(good()), talk)
    assert caught.value.cause == "connection"


@pytest.mark.parametrize("exempt", ["", "llm.invalid"])
def test_requests_go_through_the_proxy_that_the_environment_names(exempt: str, monkeypatch: pytest.MonkeyPatch) -> None:
    class Proxy(Server):
        def settings(self, more: dict[str, Any]) -> dict[str, Any]:
            monkeypatch.setenv("HTTP_PROXY", self.url.removesuffix("/v1"))
            monkeypatch.setenv("NO_PROXY", exempt)
            return {"base_url": "http://llm.invalid/v1"}

    with pytest.raises(LLMError, match="no server answers") if exempt else contextlib.nullcontext():
        assert run(Proxy(good("by proxy")), lambda llm: llm.generate(ASK)).text == "by proxy"


@pytest.mark.parametrize(
    ("copied", "address"),
    [
        ("http://h/v1/", "http://h/v1"),
        (" http://[::1]:9/v1/chat/completions\n", "http://[::1]:9/v1"),
        ("https://h/v1/responses/", "https://h/v1"),
        ("https://h/openai/deployments/北京/chat/completions?v=1", "https://h/openai/deployments/北京?v=1"),
        ("h:9/v1", None),
        ("http://h:99999/v1", None),
    ],
)
def test_an_address_is_taken_as_it_was_copied(copied: str, address: str | None) -> None:
    if address is None:
        with pytest.raises(UserError, match="base_url must be the address of a server"):
            make_llm("openai/some-model", {"base_url": copied})
    else:
        assert make_llm("openai/some-model", {"base_url": copied}).identity()["base_url"] == address


# Money


@pytest.mark.parametrize(
    ("name", "settings", "cost"),
    [
        ("openai/gpt-4o-mini", {"price": {"prompt": 1.0, "completion": 2.0}}, 3.0),
        ("openai/gpt-4o-mini", {}, 0.75),
        ("openai/no-such-model", {}, None),
        ("openai/gpt-4o-mini", {"base_url": HERE}, None),
    ],
)
def test_a_price_is_the_grids_or_the_published_one_or_not_known(
    name: str, settings: dict[str, Any], cost: float | None
) -> None:
    pytest.importorskip("genai_prices")
    assert make_llm(name, settings).cost(Tokens(prompt=1_000_000, completion=1_000_000)) == pytest.approx(cost)


# The first request, before a run


def counted(*prompts: int) -> list[Answer]:
    """Answers to the first requests, with the tokens that a server counts in their prompts."""
    return [good("ready", usage={**USED, "prompt_tokens": number}) for number in prompts]


@pytest.mark.parametrize(
    "answers",
    [
        [bad(400, "registry.ollama.ai/library/some-model does not support tools"), good("ready", usage=USED)],
        [bad(422, "Extra inputs are not permitted: functions"), good("ready", usage=USED)],
        counted(40, 40, 60),  # with tools, without, and a longer prompt
    ],
)
def test_a_server_that_refuses_or_drops_tools_gets_them_in_the_prompt(
    answers: list[Answer], caplog: pytest.LogCaptureFixture
) -> None:
    server = Server(good(), opening=tuple(answers))
    assert run(server, lambda llm: asyncio.sleep(0, llm.native_tools)) is False
    assert "tools" not in server.opened[-1]
    assert "described in the prompt" in caplog.text


@pytest.mark.parametrize("answers", [counted(40, 40, 40), counted(60, 40), counted(1), [*counted(40), bad(500, "x")]])
def test_a_count_that_does_not_show_that_tools_are_dropped_changes_nothing(answers: list[Answer]) -> None:
    assert run(Server(good(), opening=tuple(answers)), lambda llm: asyncio.sleep(0, llm.native_tools)) is True


@pytest.mark.parametrize(
    ("answer", "cause", "hint"),
    [
        (bad(404, "The model `some-model` does not exist."), "model", "does not exist."),
        (bad(401, f"Incorrect API key provided: {KEY}"), "key", "refuses the key in SOME_KEY (HTTP 401"),
        (bad(404, "Not Found"), "request", "/v1 refuses a request (HTTP 404: Not Found"),
    ],
)
def test_a_failure_says_what_to_do(answer: Answer, cause: str, hint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_KEY", KEY)
    error, _ = refused(good(), opening=(answer,), api_key_env="SOME_KEY")
    assert (error.cause, hint in str(error), KEY in str(error)) == (cause, True, False)


def test_an_address_without_a_path_is_doubted_where_nothing_answers() -> None:
    class Bare(Server):
        def settings(self, more: dict[str, Any]) -> dict[str, Any]:
            return {"base_url": self.url.removesuffix("/v1")}

    with pytest.raises(LLMError, match=r"refuses a request \(HTTP 404: .*\); does its address end in /v1\?"):
        run(Bare(good()), lambda llm: llm.generate(ASK))


def test_a_server_that_counts_no_tokens_is_warned_of_and_they_are_estimated(caplog: pytest.LogCaptureFixture) -> None:
    reply = run(Server(good("In Africa."), opening=(good("ready"),)), lambda llm: llm.generate(ASK))
    assert "counts no tokens" in caplog.text
    assert reply.estimated is True
    assert 2 <= reply.tokens.completion <= 4 < reply.tokens.prompt <= 15


# A server that dies in the middle of a run


def test_a_dead_server_is_soon_tried_once_per_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attempts, "LONGEST_WAIT", 0.05)
    monkeypatch.setattr(openai, "DOWN_SECONDS", 0.1)
    server = Server(bad(503))
    errors: list[LLMError] = []

    async def talk(llm: Any) -> Any:
        for _ in range(30):
            with pytest.raises(LLMError) as caught:
                await llm.generate(ASK)
            errors.append(caught.value)
        server.answers = [good("back")]
        return await llm.generate(ASK)

    assert run(server, talk, connections=1).text == "back"
    assert 30 < len(server.bodies) < 30 + 2 * attempts.ATTEMPTS
    assert "has been down for" in str(errors[-1])
