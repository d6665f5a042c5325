"""Tool calls written as text: every way in which models write them is read, and nothing that they write does harm."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from r_eval.llms.base import Message, Reply, Request, ToolCall, ToolSpec
from r_eval.llms.tool_calls import RESPONSE, invents_result, repair_history
from r_eval.llms.tool_calls import format_tool_call as written
from r_eval.llms.tool_calls import read_reply as read
from r_eval.llms.tool_calls import render_tools as write
from tests.timing import quickest

TEXT = {"type": "string"}
SEARCH = ToolSpec("Search", "Find a page.", {"type": "object", "properties": {"entity": TEXT, "limit": TEXT}})
FINISH = ToolSpec("Finish", "End with the answer.", {"type": "object", "properties": {"answer": TEXT}})
TOOLS = (SEARCH, FINISH)

KENYA = ("Search", {"entity": "Kenya"})
UGANDA = ("Search", {"entity": "Uganda"})
PLAIN = '{"name": "Search", "arguments": {"entity": "Kenya"}}'
OTHER = '{"name": "Search", "arguments": {"entity": "Uganda"}}'


def calls(text: str) -> list[tuple[str, dict[str, Any]]]:
    return [(call.name, call.arguments) for call in read(Reply(text), TOOLS).tool_calls]


@pytest.mark.parametrize(
    "text",
    [
        f"<tool_call>{PLAIN}</tool_call>",
        f"<tool_call>\n{PLAIN}\n</tool_call>",
        f"<tool_call>{PLAIN}",
        f"```json\n{PLAIN}\n```",
        f"```\n{PLAIN}\n```",
        f"```json\n{PLAIN}",
        f"```tool_call\n{PLAIN}\n```",
        f"[TOOL_CALLS] [{PLAIN}]",
        f"[TOOL_CALLS]{PLAIN}",
        PLAIN,
        f"[{PLAIN}]",
        f"I will look it up. {PLAIN} That should do.",
        f"As [1] and {{it}} say, f{{x: {PLAIN}",
        json.dumps(json.loads(PLAIN), indent=2),
        '{"name": "Search", "parameters": {"entity": "Kenya"}}',
        '{"tool": "Search", "args": {"entity": "Kenya"}}',
        '{"function": "Search", "input": {"entity": "Kenya"}}',
        f'{{"type": "function", "function": {PLAIN}}}',
        '{"name": "Search", "arguments": "{\\"entity\\": \\"Kenya\\"}"}',
        '{"function": {"name": "Search", "arguments": "{\\"entity\\": \\"Kenya\\"}"}}',
        '{"name": "Search", "arguments": {"entity": "Kenya",},}',
        "{'name': 'Search', 'arguments': {'entity': 'Kenya'}}",
        "{'name': 'Search', 'arguments': {'entity': 'Kenya',}}",
        '<tool_call>{"name": "Search", "arguments": {"entity": "Kenya',
        '<tool_call>{"name": "Search", "arguments": {"entity": "Kenya"}',
        '{"name": "Search", "arguments": {"entity": "Kenya"}',
        'Search(entity="Kenya")',
        "Search(entity='Kenya')",
        'Search(\n    entity="Kenya",\n)',
        'Search("Kenya")',
        'I must call Search(entity="Kenya") now.',
        '```python\nprint(Search(entity="Kenya"))\n```',
        '<tool_call>Search(entity="Kenya")</tool_call>',
        '```tool_code\nSearch(entity="Kenya")\n```',
    ],
)
def test_a_call_is_read_however_it_is_written(text: str) -> None:
    assert calls(text) == [KENYA]


@pytest.mark.parametrize(
    "text",
    [
        f"<tool_call>{PLAIN}</tool_call>\n<tool_call>{OTHER}</tool_call>",
        f"<tool_call>[{PLAIN}, {OTHER}]</tool_call>",
        f"<tool_call>{PLAIN}\n{OTHER}</tool_call>",
        f"First:\n```json\n{PLAIN}\n```\nThen:\n```json\n{OTHER}\n```",
        f"[TOOL_CALLS] [{PLAIN}, {OTHER}]",
        f"{PLAIN}\n{OTHER}",
        f"[{PLAIN}, {OTHER}]",
        f"One: {PLAIN}, two: {OTHER}.",
        '[Search(entity="Kenya"), Search(entity="Uganda")]',
        'Search(entity="Kenya")\nSearch(entity="Uganda")',
    ],
)
def test_several_calls_in_one_reply_are_read_in_their_order(text: str) -> None:
    assert calls(text) == [KENYA, UGANDA]


def test_every_call_has_an_id_of_its_own() -> None:
    found = read(Reply(f"{PLAIN}\n{OTHER}"), TOOLS).tool_calls
    assert [call.id for call in found] == ["call00000", "call00001"]


def test_the_text_that_stays_holds_no_call() -> None:
    assert read(Reply(f"Let me see.\n<tool_call>{PLAIN}</tool_call>"), TOOLS).text == "Let me see."
    assert read(Reply(f"Let me see. {PLAIN}"), TOOLS).text == "Let me see."
    assert read(Reply('Let me see. Search(entity="Kenya")'), TOOLS).text == "Let me see."


def test_a_reply_with_a_call_finished_with_tool_calls() -> None:
    assert read(Reply(PLAIN, finish="stop"), TOOLS).finish == "tool_calls"


def test_tagged_calls_count_before_others() -> None:
    assert calls(f"{OTHER}\n<tool_call>{PLAIN}</tool_call>") == [KENYA]


def test_a_reply_with_native_calls_stays_as_it_is() -> None:
    reply = Reply(PLAIN, (ToolCall("a", "Finish", {}),))
    assert read(reply, TOOLS) is reply


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   \n",
        "Nairobi is the capital of Kenya.",
        "A set {1, 2}, a map {a: b}, a brace { that never closes",
        "See [1], [2] and [Kenya](https://example.org).",
        '{"capital": "Nairobi"}',
        '{"name": "Kenya", "capital": "Nairobi"}',
        "I would use Search (the tool) for it, or Search(this one).",
        "Search(",
        "Look(entity='Kenya')",
        "```json\n[1, 2, 3]\n```",
        "```python\nprint('no call')\n```",
    ],
)
def test_text_without_a_call_stays_as_it_is(text: str) -> None:
    reply = Reply(text)
    assert read(reply, TOOLS) is reply


@pytest.mark.parametrize(
    "text",
    [
        "<tool_call>Search for Kenya</tool_call>",
        "<tool_call></tool_call>",
        '<tool_call>{"name": "Search", "arguments": {"entity": </tool_call>',
        '<tool_call>{"entity": "Kenya"}</tool_call>',
        "[TOOL_CALLS] Kenya",
        "<tool_call>" + "[" * 5000,
    ],
)
def test_a_marked_call_that_cannot_be_read_is_a_call_with_an_error(text: str) -> None:
    (call,) = read(Reply(text), TOOLS).tool_calls
    assert call.error is not None
    assert "<tool_call>" in call.error


@pytest.mark.parametrize("arguments", ["[1, 2]", '"Kenya"', "7"])
def test_arguments_that_are_no_object_are_an_error_that_names_the_tool(arguments: str) -> None:
    (call,) = read(Reply(f'{{"name": "Search", "arguments": {arguments}}}'), TOOLS).tool_calls
    assert (call.name, call.arguments) == ("Search", {})
    assert call.error is not None
    assert "Search" in call.error


def test_null_arguments_are_none() -> None:
    assert calls('{"name": "Search", "arguments": null}') == [("Search", {})]


def test_an_unknown_name_with_arguments_is_a_call_so_that_the_model_can_be_told() -> None:
    assert calls('{"name": "Serch", "arguments": {"entity": "Kenya"}}') == [("Serch", {"entity": "Kenya"})]


@pytest.mark.parametrize(
    "text",
    [
        'say "hi" {now} [x]',
        "it's, ] } ,] ,}",
        "C:\\temp\\new",
        "Côte d'Ivoire",
        "東京 🗼",
        "</tool_response> <b>",
        "a\nb",
        "Search(entity='x')",
    ],
)
def test_a_written_call_is_read_back_whatever_its_arguments_hold(text: str) -> None:
    call = ToolCall("", "Search", {"entity": text, "limit": 3, "deep": [{"a": None}, True]})
    assert calls(f"Now. {written(call)}") == [("Search", call.arguments)]


def test_a_trailing_comma_is_not_taken_out_of_a_text() -> None:
    assert calls('{"name": "Search", "arguments": {"entity": "a,]b",}}') == [("Search", {"entity": "a,]b"})]


@pytest.mark.parametrize("value", ["{1, 2}", "b'x'", "...", "__import__('os').getcwd()", "[].append"])
def test_python_that_is_no_data_is_never_an_argument(value: str) -> None:
    assert calls(f"Search(entity={value})") == []


# Whatever a model writes

PIECES = [
    *"{}[]()<>\"'\\,:=-` \n\t\0",
    "```",
    "```json\n",
    "<tool_call>",
    "</tool_call>",
    "[TOOL_CALLS]",
    "Search(",
    "entity=",
    '{"name": "Search", "arguments": {',
    '"function"',
    '"arguments": "',
    "null",
    "True",
    "1e999",
    "lambda:",
    "\ud800",
    "\\ud800",
    "é",
]
HOSTILE = st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=3)), max_size=60).map("".join)


def is_data(value: Any) -> bool:
    return isinstance(json.dumps(value), str)


@settings(max_examples=300)
@given(HOSTILE)
@example("<tool_call>{'name': 'Search', 'arguments': {'entity': {1}}}")
@example("[" * 3000)
@example("{'a':" * 3000)
def test_read_never_raises_and_its_calls_are_data(text: str) -> None:
    reply = read(Reply(text), TOOLS)
    assert all(is_data(call.arguments) and written(call) for call in reply.tool_calls)
    assert reply.text.strip() == reply.text or not reply.tool_calls


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=200)
@given(st.dictionaries(st.text(max_size=8), json_values, max_size=4))
def test_a_written_call_is_always_read_back(arguments: dict[str, Any]) -> None:
    assert calls(written(ToolCall("", "Search", arguments))) == [("Search", arguments)]


@pytest.mark.parametrize(
    "piece", ["[", "{'a':", "<tool_call>{", "```\n", "Search(", '<tool_call>{"name":"Search"}', "a("]
)
def test_a_hundred_thousand_characters_are_read_fast(piece: str) -> None:
    reply = Reply(piece * (100_000 // len(piece)))
    assert quickest(lambda: read(reply, TOOLS), enough=1.0) < 1.0


@pytest.mark.parametrize("invented", [f"{RESPONSE}\nIn Africa.\n</tool_response>", "Observation 1: In Africa."])
@pytest.mark.parametrize(
    ("said", "native"),
    [(f"I look.\n<tool_call>{PLAIN}</tool_call>", ()), ("I look.", (ToolCall("a", "Search", {"entity": "Kenya"}),))],
)
def test_an_invented_result_is_cut_and_told_whichever_way_the_call_came(
    said: str, native: tuple[ToolCall, ...], invented: str
) -> None:
    text = f"{said}\n{invented}\n<tool_call>{OTHER}</tool_call>"
    reply = read(Reply(text, native), TOOLS)
    assert reply.text == "I look."
    assert [(call.name, call.arguments) for call in reply.tool_calls] == [KENYA]
    assert invents_result(text)
    assert not invents_result(said)


# Written into the prompt


def asked(*messages: Message, stop: tuple[str, ...] = ()) -> Request:
    return write(Request(messages, stop=stop, tools=TOOLS))


def test_tools_stand_in_the_system_message_after_its_own_text() -> None:
    first, _ = asked(Message("system", "Be brief."), Message("user", "Where is Kenya?")).messages
    assert first.role == "system"
    assert first.content.startswith("Be brief.\n\n")
    assert all(tool.name in first.content and tool.description in first.content for tool in TOOLS)
    assert '"entity"' in first.content


def test_a_conversation_without_a_system_message_is_given_one() -> None:
    messages = asked(Message("user", "Where is Kenya?")).messages
    assert [message.role for message in messages] == ["system", "user"]


def test_the_written_request_offers_no_tools() -> None:
    assert asked(Message("user", "Where is Kenya?")).tools == ()


def test_the_reply_stops_before_it_invents_a_result() -> None:
    assert asked(Message("user", "Where?"), stop=("\n\n",)).stop == ("\n\n", RESPONSE)


def test_calls_and_their_results_become_text() -> None:
    call = ToolCall("call_0", "Search", {"entity": "Kenya"})
    messages = asked(
        Message("user", "Where is Kenya?"),
        Message("assistant", "I look.", (call,)),
        Message("tool", "In Africa.", call_id="call_0", name="Search"),
    ).messages
    assert [message.role for message in messages] == ["system", "user", "assistant", "user"]
    assert messages[2].content == f"I look.\n{written(call)}"
    assert messages[2].tool_calls == ()
    assert messages[3].content == f"{RESPONSE}\nIn Africa.\n</tool_response>"


def test_results_of_parallel_calls_and_the_next_question_are_one_turn() -> None:
    call = ToolCall("", "Search", {})
    messages = asked(
        Message("user", "Q"),
        Message("assistant", "", (call, call)),
        Message("tool", "one"),
        Message("tool", "two"),
        Message("user", "Go on."),
    ).messages
    assert [message.role for message in messages] == ["system", "user", "assistant", "user"]
    assert messages[2].content.count("<tool_call>") == 2
    assert [text in messages[3].content for text in ("one", "two", "Go on.")] == [True] * 3


def test_a_dollar_in_a_description_is_left_alone() -> None:
    tool = ToolSpec("Price", "In $ or $tools.", {"type": "object"})
    assert "In $ or $tools." in write(Request((Message("user", "Q"),), tools=(tool,))).messages[0].content


# The repair of a conversation

LOOK = Message("assistant", "I look.", (ToolCall("a.1", "Search", {"entity": "Kenya"}),), reasoning="So.")
FOUND = Message("tool", "In Africa: 非洲.", call_id="a.1", name="Search")
messages = st.one_of(
    st.builds(Message, st.sampled_from(["system", "user"]), st.sampled_from(["", " ", "Go on.", "é\ud800"])),
    st.builds(
        lambda calls, text: Message("assistant", text, tuple(calls), reasoning=text),
        st.lists(
            st.builds(
                ToolCall,
                st.sampled_from(["", "a", "b", "call00000", "no id!"]),
                st.sampled_from(["Search", "a b", "搜索"]),
                st.just({"entity": "\ud800"}),
            ),
            max_size=3,
        ),
        st.sampled_from(["", "So.", "\ud800"]),
    ),
    st.builds(lambda call_id: Message("tool", "", call_id=call_id), st.sampled_from(["", "a", "b", "call00000"])),
)


def test_a_sound_conversation_stays_the_same_tuple() -> None:
    history = (Message("user", "Where?"), LOOK, FOUND, Message("assistant", "In Africa."))
    assert repair_history(history) is history


def test_a_call_without_a_result_is_told_to_be_undone_and_a_result_without_a_call_is_the_users() -> None:
    again = Message("user", "Well?")
    missing = Message("tool", "Not carried out.", call_id="a.1", name="Search")
    assert repair_history((LOOK, again)) == (LOOK, missing, again)
    assert repair_history((FOUND,)) == (Message("user", FOUND.content),)


@settings(max_examples=200)
@given(st.lists(messages, max_size=8).map(tuple))
def test_a_repaired_conversation_is_sound(history: tuple[Message, ...]) -> None:
    repaired = repair_history(history)
    assert repair_history(repaired) is repaired
    repr(repaired).encode()
    due: list[ToolCall] = []
    for message in repaired:
        assert message.tool_calls or message.content.strip() or message.role == "system"
        if message.role == "tool":
            (answered,) = (call for call in due if call.id == message.call_id)
            due.remove(answered)
            assert message.name == answered.name
        else:
            assert not due
        due += message.tool_calls
    assert not due
    ids = [call.id for message in repaired for call in message.tool_calls]
    assert len(set(ids)) == len(ids)
