"""Who is to blame, provider by provider; `python -m tests.llms.test_failures` prints the table."""

# ruff: noqa: E501  a row is easier to read on one line

from __future__ import annotations

import asyncio
import dataclasses
import email.utils
import json
import logging
import time
from collections.abc import Sequence
from typing import Any

import httpx
import openai as sdk
import pytest
from hypothesis import given
from hypothesis import strategies as st

from r_eval.llms import attempts
from r_eval.llms.attempts import ATTEMPTS
from r_eval.llms.base import LLMError, Message, Request, ToolCall, make_llm
from r_eval.llms.failures import classify, error_in, of_exception
from tests.chat_server import SEARCH, Answer, Server, good
from tests.llms.failure_cases import CASES, WORDINGS, Case, openai
from tests.timing import quickest

SENTENCES = (
    "invalid x-api-key", "This model's maximum context length is 5 tokens", "flagged by the content filter", "try again in 1s",
    "model 'x' not found", "temperature is not supported", "insufficient balance", "Failed to parse tool call",
)  # fmt: skip
LONGEST_WAIT = 0.02
"""Seconds to which the waits between attempts are cut while the cases are played."""

CALL = ToolCall("call-1", "Search", {"entity": "Bogotá"})
EXTRA = {"foo": 1, "reasoning": "ok", "reasoning_content": "ok", "reasoning_details": [], "extra_content": {}}
CONVERSATION = Request(
    (
        Message("system", "Answer briefly."),
        Message("user", "¿Dónde está Bogotá?"),
        Message("assistant", "", (CALL,), reasoning="I look it up."),
        Message("tool", "In Colombia.", call_id="call-1", name="Search"),
    ),
    stop=("\nObservation",),
    tools=(SEARCH,),
    seed=7,
)


def failure(case: Case) -> Any:
    return error_in(case.body) if case.status == 200 else classify(case.status, case.body, case.headers)


Played = tuple[str, str, int, float]
"""Outcome, score, attempts and seconds of a request whose server answers as a case says."""


async def play(case: Case) -> Played:
    """Ask a server that fails in this way: once where a parameter can be left out, else for as long as it is asked."""
    answer = Answer(case.status, case.body, case.headers)
    is_parameter = case.cause == "parameter"
    server = Server(answer, good("In Colombia."), good("In Colombia.")) if is_parameter else Server(answer)
    runner = await server.start()
    llm = make_llm("openai/some-model", {"base_url": server.url, "native_tools": True})
    messages = [
        dataclasses.replace(message, extra=EXTRA) if is_parameter and message.role == "assistant" else message
        for message in CONVERSATION.messages
    ]
    outcome, score = "goes on", "counts"
    try:
        await llm.open()
        started = time.monotonic()
        try:
            await llm.generate(dataclasses.replace(CONVERSATION, messages=tuple(messages)))
        except LLMError as error:
            outcome = error.outcome + (", LLM stops" if error.cause in LLMError.FATAL else "")
            score = "missing" if error.outcome == "llm_failure" else "counts"
        seconds = time.monotonic() - started
    finally:
        await llm.close()
        await runner.cleanup()
    return outcome, score, len(server.bodies), seconds


def play_all(cases: Sequence[Case]) -> list[Played]:
    """What became of the requests of all cases, in their order."""

    async def main() -> list[Played]:
        places = asyncio.Semaphore(24)

        async def in_turn(case: Case) -> Played:
            async with places:
                return await play(case)

        return await asyncio.gather(*map(in_turn, cases))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(attempts, "LONGEST_WAIT", LONGEST_WAIT)
        patch.delenv("OPENAI_API_KEY", raising=False)
        patch.setattr(logging.getLogger("r_eval"), "disabled", True)
        return asyncio.run(main())


def table() -> str:
    """The cases as a person reads them: what a server says, and what became of a request to it."""
    lines = [
        f"Played by a local server through the OpenAI backend, waits between attempts cut to {LONGEST_WAIT:g} s.",
        f"{'provider':18} {'outcome':23} {'score':7} {'attempts':>8} {'seconds':>7}  {'cause':33} what it says",
    ]
    for case, (outcome, score, tries, seconds) in zip(CASES, play_all(CASES), strict=True):
        cause, told = f"{case.cause} {case.parameter}".strip(), str(failure(case))[:120]
        lines.append(f"{case.provider:18} {outcome:23} {score:7} {tries:8} {seconds:7.3f}  {cause:33} {told}")
    return "\n".join(lines)


def test_each_case_as_a_server_plays_it() -> None:
    assert {case.cause for case in CASES} == LLMError.OUTCOMES.keys() - {"connection", "timeout", "reply"}
    seen = {(case.provider, case.cause, case.parameter): case for case in CASES}
    adapted = set()
    for case, (*played, _) in zip(seen.values(), play_all(list(seen.values())), strict=True):
        error = LLMError(case.cause, "")
        if case.cause == "tool_call":
            expected = ["goes on", "counts", 1]
        elif case.cause == "parameter" and played[-1] == 2:
            expected = ["goes on", "counts", 2]
            adapted.add(case.parameter)
        else:
            fatal = ", LLM stops" if error.cause in LLMError.FATAL else ""
            score = "missing" if error.outcome == "llm_failure" else "counts"
            expected = [error.outcome + fatal, score, ATTEMPTS if error.cause in error.RETRIED else 1]
        assert played == expected, case
    assert adapted >= {"max_tokens", "temperature", "stop", "seed", "tool_choice", "tools", "system"}
    assert adapted >= {"reasoning_content", "reasoning_content+", "reasoning_details", "extra_content", "foo"}


@pytest.mark.parametrize("case", CASES, ids=[f"{i}-{case.provider}-{case.cause}" for i, case in enumerate(CASES)])
def test_each_provider_is_understood(case: Case) -> None:
    error = failure(case)
    assert error is not None
    assert (error.cause, error.parameter, error.text) == (case.cause, case.parameter, case.text)
    assert error.wait == pytest.approx(case.wait)
    assert len(str(error)) <= 300
    assert str(error).isprintable()


@pytest.mark.parametrize(("cause", "words"), [(cause, words) for cause in WORDINGS for words in WORDINGS[cause]])
def test_words_decide_where_there_is_no_code(cause: str, words: str) -> None:
    assert classify(400, {"error": words}).cause == cause
    assert classify(400, f"Error: {words}.").cause == cause


@pytest.mark.parametrize(
    ("headers", "text", "wait"),
    [
        ({"Retry-After": "7"}, "", 7.0),
        *(({"RETRY-AFTER": odd}, "", None) for odd in ("-3", "nan", "soon", "Wed, 21 Oct 2015 07:28:00 GMT")),
        ({"retry-after-ms": "250", "retry-after": "9"}, "", 0.25),
        ({"retry-after": "6m0s"}, "", 360.0),
        ({"retry-after": "3600"}, "", 3600.0),
        ({}, "Please try again in 20ms.", 0.02),
        ({}, "Try again in a while", None),
    ],
)
def test_the_wait_that_a_server_asks_for(headers: dict[str, str], text: str, wait: float | None) -> None:
    assert classify(429, openai(text or "x"), headers).wait == pytest.approx(wait)


def test_a_server_may_ask_to_wait_until_a_date() -> None:
    date = email.utils.formatdate(time.time() + 60, usegmt=True)
    assert classify(429, openai("x"), {"Retry-After": date}).wait == pytest.approx(60, abs=2)


@pytest.mark.parametrize(
    "data",
    [
        {"error": {}, "choices": [{"message": {"content": "error"}, "error": None}]},
        {"error": {"code": 0, "message": ""}, "choices": [{"message": {}}]},
        {"error": False, "choices": [{"finish_reason": "content_filter", "message": {"content": ""}}]},
        {"choices": [{"finish_reason": ["error"], "message": {"content": "x"}}]},
        {"choices": [], "base_resp": {"status_code": 0, "status_msg": "success"}},
        {"object": "response", "output": [], "error": None, "message": "x"},
        {"message": {"role": "assistant", "content": "x"}},
        *([1, None], [[{"error": {"message": "x"}}]], "error", None, [{"choices": []}]),
    ],
)
def test_a_success_holds_no_error(data: Any) -> None:
    assert error_in(data) is None


def exception(name: str, text: str = "", **attributes: Any) -> Any:
    return type(name, (Exception,), attributes)(text)


class Mute(Exception):
    def __str__(self) -> str:
        raise ValueError("no str")


REQUEST = httpx.Request("POST", "https://api.example/v1/chat/completions")


def raised(kind: type[sdk.APIStatusError], status: int, error: dict[str, Any]) -> sdk.APIStatusError:
    """An exception of the OpenAI SDK, as its client makes it."""
    answer = httpx.Response(status, json={"error": error}, request=REQUEST)
    return kind(f"Error code: {status} - {error}", response=answer, body=error)


EXCEPTIONS: tuple[tuple[BaseException, str, str], ...] = (
    (exception("BadRequestError", "400", status_code=400, body={"message": "x", "param": "stop", "code": "unsupported_parameter"}), "parameter", "stop"),
    (exception("ClientError", "x", response={"Error": {"Code": "ThrottlingException", "Message": "Too many requests"}, "ResponseMetadata": {"HTTPStatusCode": 400}}), "rate_limit", ""),
    (exception("ValidationException", "x", response={"Error": {"Code": "ValidationException", "Message": "Input is too long for requested model."}, "ResponseMetadata": {"HTTPStatusCode": 400}}), "context", ""),
    (TimeoutError(), "timeout", ""),
    (json.JSONDecodeError("Expecting value", "", 0), "reply", ""),
    (exception("ChatError", "Error calling model 'x' (RESOURCE_EXHAUSTED): 429 RESOURCE_EXHAUSTED"), "rate_limit", ""),
    (Mute(), "server", ""),
    (exception("Odd", "x", status_code=True, code=[], body=7, response="x", headers=3), "server", ""),
    (raised(sdk.BadRequestError, 400, {"message": "x", "code": "unsupported_parameter", "param": "seed"}), "parameter", "seed"),
    (sdk.APITimeoutError(request=REQUEST), "timeout", ""),
    (sdk.APIConnectionError(request=REQUEST), "connection", ""),
    (ConnectionRefusedError(111, "Connection refused"), "connection", ""),
)  # fmt: skip


@pytest.mark.parametrize(("error", "cause", "parameter"), EXCEPTIONS)
def test_exceptions_of_clients(error: BaseException, cause: str, parameter: str) -> None:
    failed = of_exception(error)
    assert (failed.cause, failed.parameter) == (cause, parameter)
    assert str(failed).isprintable()
    assert len(str(failed)) <= 300


NAMES = """error errors message msg detail details code type status param metadata raw innererror loc choices body Error
    finish_reason base_resp promptFeedback blockReason failed_generation retryDelay object status_code violations"""
KEYS = st.sampled_from(NAMES.split())
ODD = ('{"error": {"code": 429}}', "[[[[", "Error {", "\ud800", "1301", "extra_forbidden", "at stop.", *SENTENCES)
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20) | st.sampled_from(ODD)
BODIES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=5), max_leaves=25
)


@given(
    st.integers(0, 999),
    BODIES,
    st.dictionaries(st.sampled_from(["Retry-After", "x-ratelimit-reset-tokens", "Location"]), st.text(max_size=12)),
)
def test_no_body_raises(status: int, body: Any, headers: dict[str, str]) -> None:
    error = classify(status, body, headers)
    assert error.cause in LLMError.OUTCOMES
    assert bool(error.parameter) == (error.cause == "parameter")
    assert error.wait is None or error.wait >= 0
    assert str(error).isprintable()
    assert len(str(error)) <= 300
    inside = error_in(body)
    assert inside is None or inside.cause in LLMError.OUTCOMES


HOSTILE = (
    "[", "a.", "raw='", "error:", "a.error: ", "exceeds a ", "prompt (a", "model ", "model a", "max_tokens ", "'", "``",
    "unknown parameter ", "property a``", "'loc': (a, ", "not supp a ", "tool_choice a", "argument not supported",
    "limit: 1 ", "again in 1", "content='", "<title ", '{"error":', "expecting ", "Error {", "上下文", "\n", "\ud800",
    "seed at ", "body.stop", " ",
)  # fmt: skip


@pytest.mark.parametrize("piece", HOSTILE)
@pytest.mark.parametrize("status", [0, 400, 429, 503])
def test_no_text_is_slow_to_judge(status: int, piece: str) -> None:
    body = openai(piece * (100_000 // len(piece)))
    assert quickest(lambda: classify(status, body), 0.05) < 0.25


if __name__ == "__main__":
    print(table())  # noqa: T201  what this module prints is its purpose
