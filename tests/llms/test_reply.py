"""What a server's answer holds: validated where it enters, whatever its types are, and bounded."""

from __future__ import annotations

import dataclasses
import json
import time
from typing import Any

import pytest

from r_eval.llms import tokens
from r_eval.llms.base import LLMError, Message, Reply, Request, ToolCall
from r_eval.llms.reasoning import split_text
from r_eval.llms.reply import decode_body, encode_body, parse_reply
from tests.chat_server import USED


def answer(usage: Any = USED, **message: Any) -> dict[str, Any]:
    return {"choices": [{"message": message, "finish_reason": "stop"}], "usage": usage}


def called(*entries: Any, finish: str = "tool_calls") -> Reply:
    message = {"content": None, "tool_calls": list(entries)}
    return parse_reply({"choices": [{"message": message, "finish_reason": finish}], "usage": USED})


def call(arguments: Any, name: Any = "Search", call_id: Any = "a") -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def cause_of(data: Any) -> str:
    with pytest.raises(LLMError) as caught:
        parse_reply(data)
    return caught.value.cause


# Content and reasoning


@pytest.mark.parametrize("content", [{"x": 1}, 5, [[]], [{"type": "text", "text": 5}], [None]])
@pytest.mark.parametrize("field", ["content", "reasoning_content"])
def test_a_wrong_type_is_a_bad_reply(field: str, content: Any) -> None:
    assert cause_of(answer(**{"content": "x", field: content})) == "reply"


def nested(levels: int) -> Any:
    value: Any = "深"
    for _ in range(levels):
        value = {"a": value}
    return value


@pytest.mark.parametrize(
    "data",
    [None, 7, "no", [], [answer(content="x")], {"choices": []}, {"choices": {"a": 1}}, {"choices": [None]},
     {"choices": [{"message": []}]},
     answer(content=nested(5000)),
     *(answer(content="x", tool_calls=calls) for calls in (7, ["a"], [{"function": "S"}]))],
    ids=range(13),
)  # fmt: skip
def test_an_answer_without_a_reply_is_a_bad_reply(data: Any) -> None:
    assert cause_of(data) == "reply"


# Usage


UNCOUNTED = ({"a": 1}, "ten", "9" * 30)
NO_USAGE = (None, *({**USED, "completion_tokens": n} for n in UNCOUNTED), {"prompt_tokens": float("nan")}, "12", True)
CACHED = (([1], 0), ({"cached_tokens": True}, 0), ({"cached_tokens": 4}, 4))


def thinking(count: int) -> dict[str, Any]:
    return {"completion_tokens_details": {"reasoning_tokens": count}}


@pytest.mark.parametrize(
    ("usage", "counted"),
    [
        *((usage, None) for usage in NO_USAGE),
        *(({**USED, "prompt_tokens_details": details}, (20, 2, cached)) for details, cached in CACHED),
        *(({**USED, "prompt_tokens": n}, (10**9, 2, 0)) for n in (10**400, 10**15)),
        *(({**USED, "prompt_tokens": n}, (7, 2, 0)) for n in (7.0, "7")),
        ({**USED, "cached_tokens": 4}, (20, 2, 4)),
        ({**USED, "total_tokens": 92, **thinking(70)}, (20, 72, 0)),
        ({**USED, "total_tokens": 92}, (20, 72, 0)),
        ({**USED, "total_tokens": 22, **thinking(1)}, (20, 2, 0)),
        ({**USED, "total_tokens": 92, "cache_creation_input_tokens": 70}, (20, 2, 0)),
    ],
)
def test_a_usage_counts_under_any_of_its_names_and_is_estimated_where_it_counts_nothing(
    usage: Any, counted: tuple[int, int, int] | None
) -> None:
    reply = parse_reply(answer(usage, content="x"))
    assert reply.estimated is (counted is None)
    assert counted is None or (reply.tokens.prompt, reply.tokens.completion, reply.tokens.cached) == counted


# Tool calls


def test_arguments_that_are_cut_off_or_beyond_all_measure_are_an_error_of_the_call() -> None:
    entries = call('{"entity": "Kenya"}'), call('{"entity": "' + "a\\\\" * 10**6), call('{"entity": "Ken')
    whole, huge, cut = called(*entries, finish="length").tool_calls
    assert whole.error is None
    assert "too long" in (huge.error or "")
    assert "cut off" in (cut.error or "")


def test_unknown_keys_of_a_call_and_of_its_function_are_kept_for_their_server() -> None:
    entry = {**call("{}"), "extra_content": {"google": {"thought_signature": "s"}}, "index": 0, "other": None}
    entry["function"]["signature"] = "f"
    (made,) = called(entry).tool_calls
    assert made.extra == {"extra_content": {"google": {"thought_signature": "s"}}, "function": {"signature": "f"}}


@pytest.mark.parametrize("huge", ["字" * 200_000, [{}] * 200_000, nested(5_000)], ids=["long", "many", "deep"])
def test_unknown_keys_beyond_the_bound_are_dropped(huge: Any) -> None:
    reply = parse_reply(answer(content="x", details=huge, tool_calls=[{**call("{}"), "signature": "s"}]))
    assert (reply.text, reply.extra, reply.tool_calls[0].extra) == ("x", None, None)


# Estimated tokens

LONG = [ToolCall("a", word * 1_000, {}, "It cannot be read.") for word in ("x", "搜", "👩‍👩‍👧", " ")]


@pytest.mark.parametrize("made", LONG, ids=["a word", "Chinese", "emoji", "spaces"])
def test_an_estimate_holds_nothing_up(made: ToolCall) -> None:
    reply = Reply(made.name * 500, tuple(dataclasses.replace(made, id=str(i)) for i in range(64)))
    request = Request((Message("user", "你好"), reply.message(), *[Message("tool", made.name)] * 64))
    tokens.estimate(request, reply)  # the vocabulary is loaded once
    seconds = []
    for _ in range(5):
        started = time.process_time()
        used = tokens.estimate(request, reply)
        seconds.append(time.process_time() - started)
    assert min(seconds) < 0.05
    assert used.prompt > used.completion > 64


# Bytes


@pytest.mark.parametrize(
    ("body", "text"),
    [(b'{"a": "\\ud83c"}', "\ufffd"), (b'{"a": "\\ud83c\\udf0d"}', "🌍"),
     ('{"a": "内"}'.encode()[:-3] + b'"}', "\ufffd"),
     (b'\xef\xbb\xbf{"a": "x"}', "x"), (b'{"a": "x\n\ty"}', "x\n\ty"),
     ('{"a": "\u2028\u2029\x85"}'.encode(), "\u2028\u2029\x85")],
    ids=["half a surrogate pair", "a whole pair", "half a character", "byte-order mark", "bare breaks", "separators"],
)  # fmt: skip
def test_what_is_read_can_be_written(body: bytes, text: str) -> None:
    assert decode_body(body) == {"a": text}
    assert json.loads(encode_body(decode_body(body))) == {"a": text}


# Reasoning in the text

MADE = "<|channel|>commentary to=functions.Search<|message|>{}<|call|>"
BY_ROLE = " to=functions.Search<|channel|>analysis json<|message|>{}<|call|>"
THOUGHT = "<|channel|>analysis<|message|>Kenya.<|end|><|start|>assistant"


@pytest.mark.parametrize(
    ("text", "thought", "answer"),
    [
        (" Nairobi\n", "", " Nairobi\n"),
        ("Nairobi<think>Kenya.</think>", "Kenya.", "Nairobi"),
        ("<think>one</think>A</think>B", "one", "AB"),
        ("<think>\nKenya.\n</think>\n\nNairobi", "Kenya.", "Nairobi"),
        ("<think></think>Nairobi", "", "Nairobi"),
        ("Kenya.</think>Nairobi", "Kenya.", "Nairobi"),
        ("<think>Kenya, which has", "Kenya, which has", ""),
        ("<think>one</think>A <think>two</think>B", "one\ntwo", "A B"),
        ("first</think>A<think>second", "first\nsecond", "A"),
        ("<thinking>肯尼亚</thinking>内罗毕", "肯尼亚", "内罗毕"),
        ("[THINK]Kenya.[/THINK]Nairobi", "Kenya.", "Nairobi"),
        ("◁think▷Kenya.◁/think▷Nairobi", "Kenya.", "Nairobi"),
        ("<THINK>Kenya.</THINK>🌍", "Kenya.", "🌍"),
        ("<longcat_think>肯尼亚</longcat_think>内罗毕", "肯尼亚", "内罗毕"),
        ("<|channel>thought\n肯尼亚<channel|>内罗毕", "肯尼亚", "内罗毕"),
        ("肯尼亚<channel|>内罗毕", "肯尼亚", "内罗毕"),
        ("<|inner_prefix|>肯尼亚<|inner_suffix|>内罗毕", "肯尼亚", "内罗毕"),
        ("<|START_THINKING|>K.<|END_THINKING|><|START_RESPONSE|>N<|END_RESPONSE|>", "K.", "N"),
        ("<|begin_of_thought|>K.<|end_of_thought|><|begin_of_solution|>N<|end_of_solution|>", "K.", "N"),
        ("analysisKenya.assistantcommentaryHm.assistantfinalNairobi", "Kenya.\nHm.", "Nairobi"),
        *((text, "", text) for text in ("analysis of Kenya", "an assistantfinal mark", "<|channel|>", MADE, BY_ROLE)),
        (f"{THOUGHT}<|channel|>final<|message|>Nairobi<|return|>", "Kenya.", "Nairobi"),
        ("内罗毕\n<|channel|>final<|message|>Nairobi", "", "内罗毕\nNairobi"),
        (f"{THOUGHT}{BY_ROLE}", "Kenya.", f"<|start|>assistant{BY_ROLE}"),
        ("<|channel|>analysis<|message|>Kenya, which", "Kenya, which", ""),
        ("a < b, and x[0] is <b>bold</b>", "", "a < b, and x[0] is <b>bold</b>"),
    ],
)
def test_thinking_and_answer_are_separated(text: str, thought: str, answer: str) -> None:
    assert split_text(text) == (thought, answer)
