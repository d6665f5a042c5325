"""What a server's answer holds: validated where it enters, whatever its types are."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from r_eval.llms import wire
from r_eval.llms.base import LLMError, Reply
from r_eval.llms.http import refusal, said
from r_eval.llms.journal import ReplyLog
from tests.chat_server import ASK, USED, Answer, Server, bad, good, run


def answer(usage: Any = USED, **message: Any) -> dict[str, Any]:
    return {"choices": [{"message": message, "finish_reason": "stop"}], "usage": usage}


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("内罗毕", "内罗毕"),
        (None, ""),
        ([{"type": "text", "text": "Nai"}, {"type": "text", "text": "robi"}], "Nairobi"),
        (["Nai", "robi"], "Nairobi"),
        ([{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, {"type": "text", "text": "x"}], "x"),
        ([], ""),
    ],
)
def test_content_is_a_text_or_parts(content: Any, text: str) -> None:
    assert wire.reply(answer(content=content), 0).text == text


@pytest.mark.parametrize("content", [{"x": 1}, 5, True, [5], [[]], [{"type": "text", "text": 5}], [None]])
@pytest.mark.parametrize("field", ["content", "reasoning_content", "reasoning"])
def test_a_wrong_type_is_a_bad_reply(field: str, content: Any) -> None:
    with pytest.raises(wire.BadReply):
        wire.reply(answer(**{"content": "x", field: content}), 0)


def test_an_answer_nested_too_deep_is_a_bad_reply() -> None:
    deep: Any = []
    for _ in range(5000):
        deep = [deep]
    with pytest.raises(wire.BadReply):
        wire.reply(answer(content=deep), 0)


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning", "thinking"])
def test_reasoning_has_several_names(field: str) -> None:
    assert wire.reply(answer(content="x", **{field: "Ich überlege"}), 0).reasoning == "Ich überlege"


@pytest.mark.parametrize(
    "usage",
    [None, {}, {"prompt_tokens": 0, "completion_tokens": 0}, {"prompt_tokens": None}, [1], "12", 5, True],
)
def test_a_usage_that_counts_nothing_is_estimated(usage: Any) -> None:
    assert wire.reply(answer(usage, content="x"), 0).estimated


@pytest.mark.parametrize("odd", [{"completion_tokens": {"a": 1}}, {"prompt_tokens_details": [1]}])
def test_an_odd_part_of_a_usage_does_not_cost_the_reply(odd: dict[str, Any]) -> None:
    reply = wire.reply(answer({**USED, **odd}, content="x"), 0)
    assert (reply.text, reply.estimated, reply.tokens.prompt) == ("x", False, 20)


@pytest.mark.parametrize("arguments", [{"entity": "肯尼亚"}, '{"entity": "肯尼亚"}', '"{\\"entity\\": \\"肯尼亚\\"}"'])
def test_arguments_are_an_object_a_text_or_a_text_of_a_text(arguments: Any) -> None:
    calls = [None, {"id": "a", "function": {"name": "Search", "arguments": arguments}}]
    (call,) = wire.reply(answer(content=None, tool_calls=calls), 0).tool_calls
    assert (call.arguments, call.error) == ({"entity": "肯尼亚"}, None)


def test_arguments_beyond_all_measure_are_an_error_of_the_call() -> None:
    calls = [{"id": "a", "function": {"name": "Search", "arguments": '{"entity": "' + "a\\\\" * 10**6}}]
    (call,) = wire.reply(answer(content=None, tool_calls=calls), 0).tool_calls
    assert call.id == "a"
    assert "too long" in (call.error or "")


@pytest.mark.parametrize(
    ("status", "message", "code", "cause"),
    [
        (400, "prompt is too long: 210000 tokens > 200000 maximum", "invalid_request_error", "context"),
        (400, "The input token count (70000) exceeds the maximum number of tokens allowed", "", "context"),
        (422, "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096", "", "context"),
        (400, "Input is too long for requested model.", "ValidationException", "context"),
        (400, "Please reduce the length of the messages or completion.", "context_length_exceeded", "context"),
        (400, "Range of input length should be [1, 30720]", "InvalidParameter", "context"),
        (413, "Request too large for model x on tokens per minute (TPM): Limit 6000, Requested 9000", "", "context"),
        (400, "The response was filtered due to the prompt", "content_filter", "content_filter"),
        (400, "This prompt is not allowed by the content policy; please stop sending it.", "", "content_filter"),
        (400, "Content Exists Risk", "invalid_request_error", "content_filter"),
        (400, "Input data may contain inappropriate content.", "data_inspection_failed", "content_filter"),
        (400, "Your credit balance is too low to access the API.", "invalid_request_error", "quota"),
        (402, "Insufficient Balance", "", "quota"),
        (401, "Incorrect API key provided", "invalid_api_key", "key"),
        (404, "The model `x` does not exist", "model_not_found", "model"),
    ],
)
def test_who_is_to_blame(status: int, message: str, code: str, cause: str) -> None:
    error = refusal(status, message, "x", code)
    assert isinstance(error, LLMError)
    assert error.cause == cause


@pytest.mark.parametrize(
    ("answer_", "cause"),
    [
        (Answer(body={"error": {"code": 401, "message": "No auth credentials found"}}), "key"),
        (Answer(body={"error": {"code": 400, "message": "maximum context length is 8192 tokens"}}), "context"),
        (Answer(429, {"error": {"code": "insufficient_quota", "message": "You exceeded your current quota"}}), "quota"),
        (bad(400, "blocked by content_filter"), "content_filter"),
    ],
)
def test_an_error_is_known_wherever_the_server_puts_it(answer_: Answer, cause: str) -> None:
    server = Server(answer_)
    with pytest.raises(LLMError) as caught:
        run(server, lambda llm: llm.generate(ASK))
    assert (caught.value.cause, len(server.bodies)) == (cause, 1)


@pytest.mark.parametrize(
    ("code", "message", "cause"),
    [
        ("context_length_exceeded", "flagged by our guardrail: reduce your prompt", "context"),
        ("content_filter", "the prompt exceeds the maximum context length", "content_filter"),
        ("insufficient_quota", "unknown parameter: stop", "quota"),
    ],
)
def test_a_code_counts_more_than_the_wording(code: str, message: str, cause: str) -> None:
    error = refusal(400, message, "x", code)
    assert isinstance(error, LLMError)
    assert error.cause == cause


@pytest.mark.parametrize("hostile", ["\\" * 10**6, "s" * 10**6, "%73" * 10**5, "&#115;" * 10**5])
def test_a_hostile_error_holds_nothing_up(hostile: str) -> None:
    started = time.perf_counter()
    said(json.dumps({"error": {"message": hostile}}), "sk-0123456789-0123456789-0123456789")
    assert time.perf_counter() - started < 0.5


class WithoutTemperature(Server):
    """A server that refuses a temperature, after a while."""

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        if "temperature" in body and "tests the connection" not in str(body):
            await asyncio.sleep(0.1)
            return web.json_response({"error": {"message": "Unsupported parameter: 'temperature'"}}, status=400)
        return await super()._chat(request)


def test_a_refusal_that_is_learnt_in_mid_run_costs_no_request_in_flight() -> None:
    async def ask_many(llm: Any) -> list[Reply]:
        return await asyncio.gather(*(llm.generate(ASK) for _ in range(20)))

    replies = run(WithoutTemperature(good("x", usage=USED)), ask_many, connections=20)
    assert [reply.text for reply in replies] == ["x"] * 20


def test_reading_stops_where_no_reply_is_as_large() -> None:
    with pytest.raises(LLMError, match="larger than 16 MB"):
        run(Server(good("x" * (17 << 20), usage=USED)), lambda llm: llm.generate(ASK))


@pytest.mark.parametrize("text", ["内罗毕是肯尼亚的首都", "“Nairobi”", "🌍\u2028é", "Nairobi"])
def test_a_kept_reply_comes_back_whatever_it_is_written_in(text: str, tmp_path: Path) -> None:
    log = ReplyLog(tmp_path / "journal.jsonl")
    for i in range(20):
        log.put(f"k{i}", f"episode {i}", Reply(text * (i + 1)), 0.5)
    assert [log.get(f"k{i}") for i in range(20)] == [(Reply(text * (i + 1)), 0.5) for i in range(20)]
    for i in range(10):
        log.forget(f"episode {i}")
    log._compact()
    log.close()
    again = ReplyLog(tmp_path / "journal.jsonl")
    assert again.count() == 10
    assert again.get("k19") == (Reply(text * 20), 0.5)
    again.close()
