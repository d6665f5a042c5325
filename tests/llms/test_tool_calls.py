"""Tool calls, native and in text, are read alike; a conversation with odd calls is repaired before it goes back."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from r_eval.llms.base import Message, Reply, Request, ToolCall, ToolSpec
from r_eval.llms.tool_calls import (
    HOW,
    canonical_name,
    format_tool_call,
    parse_arguments,
    parse_tool_calls,
    read_reply,
    render_tools,
    repair_history,
)
from tests.timing import quickest

TEXT = {"type": "string"}
SEARCH = ToolSpec("Search", "Find a page.", {"type": "object", "properties": {"entity": TEXT, "limit": TEXT}})
PERSON = ToolSpec("searchPerson", "Find people.", {"type": "object", "properties": {"name": TEXT}})
FINISH = ToolSpec("Finish", "End with the answer.", {"type": "object", "properties": {"answer": TEXT}})
TOOLS = (SEARCH, PERSON, FINISH)
KENYA = {"entity": "Kenya"}


# Arguments of native calls


@pytest.mark.parametrize(
    ("raw", "arguments"),
    [
        (None, {}),
        ("", {}),
        (" \n", {}),
        ("{}", {}),
        ("null", {}),
        ('""', {}),
        ('"{}"', {}),
        ({}, {}),
        (KENYA, KENYA),
        ({1: (2, 3)}, {"1": [2, 3]}),
        ('{"entity": "Kenya"}', KENYA),
        ('{"entity": "内罗毕", "n": [1, null, true]}', {"entity": "内罗毕", "n": [1, None, True]}),
        ('"{\\"entity\\": \\"Kenya\\"}"', KENYA),
        (json.dumps(json.dumps(json.dumps(KENYA))), KENYA),
        ('{}{"entity": "Kenya"}', KENYA),
        ('{}\n{"entity": "Kenya"}', KENYA),
        ('{"entity": "Kenya"}{"entity": "Kenya"}', KENYA),
        ('{"entity": "Kenya"}{}', KENYA),
        ('{}""', {}),
        ('{"entity": "Kenya"}</tool_call>', KENYA),
        ('```json\n{"entity": "Kenya"}\n```', KENYA),
        ('{"entity": "two\nlines"}', {"entity": "two\nlines"}),
        ("{'entity': 'Kenya',}", KENYA),
        ('{entity: "Kenya"}', KENYA),
        ("{entity: Kenya}", KENYA),
        ('{"entity": "Kenya"', KENYA),
        ('Here: {"entity": "Kenya"}', KENYA),
        ('{"entity": "the "Big" one"}', {"entity": 'the "Big" one'}),
        ('{"entity": "\\ud83d\\ude00 \\ud83d"}', {"entity": "😀 \ufffd"}),
        ({"entity": "half \ud83d"}, {"entity": "half \ufffd"}),
    ],
)
def test_arguments_are_read_in_every_form_in_which_servers_send_them(raw: Any, arguments: dict[str, Any]) -> None:
    assert parse_arguments(raw, "Search") == (arguments, None)


@pytest.mark.parametrize(
    ("raw", "word"),
    [
        ("[1, 2]", "not a JSON object"),
        ('"Kenya"', "not a JSON object"),
        ("7", "not a JSON object"),
        (7, "not a JSON object"),
        ([KENYA], "not a JSON object"),
        ("Kenya", "not a JSON object"),
        ('{"entity": }', "not a JSON object"),
        ('{"limit": NaN}', "not a JSON object"),
        ('{"limit": -Infinity}', "not a JSON object"),
        ('{"limit": ' + "9" * 5000 + "}", "not a JSON object"),
        ('{"limit": 1e999}', "JSON has not"),
        ({"limit": float("nan")}, "JSON has not"),
        ({"limit": {1, 2}}, "JSON has not"),
        ('{"a":' * 101 + "1" + "}" * 101, "nested deeper"),
        ('{"a":' * 5000, "not a JSON object"),
        ('{"entity": "' + "x" * 200_000 + '"}', "too long"),
        ({"entity": "x" * 200_000}, "too long"),
        ('{"entity": "' + "x" * 20_000, "not a JSON object"),
    ],
)
def test_what_is_no_object_is_an_error_in_words_for_the_model(raw: Any, word: str) -> None:
    arguments, error = parse_arguments(raw, "Search")
    assert arguments == {}
    assert error is not None
    assert error.startswith("The arguments of Search ")
    assert word in error
    assert error.endswith(HOW)


def test_an_object_that_holds_itself_is_an_error() -> None:
    loop: dict[str, Any] = {}
    loop["a"] = loop
    assert "nested deeper" in str(parse_arguments(loop, "Search")[1])


@pytest.mark.parametrize("raw", ['{"entity": "Ken', '{"entity": "Kenya"', '{"entity": "Kenya", "lim', "{'entity': 'K"])
def test_arguments_that_the_limit_of_tokens_cut_are_an_error(raw: str) -> None:
    arguments, error = parse_arguments(raw, "Search", cut=True)
    assert arguments == {}
    assert "Search" in str(error)


def test_whole_arguments_of_a_cut_reply_count() -> None:
    assert parse_arguments('{"entity": "Kenya"}', "Search", cut=True) == (KENYA, None)


@pytest.mark.parametrize(
    "raw",
    [
        '{"name":"' + "a\\" * 10_000, "[" * 20_000, "{" * 20_000, '"' * 20_000, '{"' * 10_000, '{"a":' * 4_000,
        "{} " * 6_000, "[1," * 60_000, '{"a": "the "b" of ' * 1_100, "{a:1 " * 4_000, "{" * 390, '{"' * 200,
        '{"a":"' + "é" * 190_000 + '"}', " " * 200_000, '{"a": b ' * 50, "'" * 20_000, "```\n" * 5_000,
    ],
)  # fmt: skip
def test_no_arguments_take_longer_than_50_ms(raw: str) -> None:
    parse_arguments("{entity: Kenya}", "Search")  # json-repair is imported
    assert quickest(lambda: parse_arguments(raw, "Search"), enough=0.05) < 0.05


@settings(max_examples=300)
@given(
    st.lists(st.sampled_from([*"{}[]()'\":,\\/#`-19aé \n\0", "\ud800", "null", "NaN", '{"a": ', "```"])).map("".join)
    | st.text()
    | st.recursive(st.none() | st.floats() | st.text(max_size=3), lambda i: st.lists(i) | st.dictionaries(st.text(), i))
)
def test_parse_arguments_never_raises_and_gives_data(raw: Any) -> None:
    for cut in (False, True):
        arguments, error = parse_arguments(raw, "Search", cut=cut)
        assert json.loads(json.dumps(arguments, allow_nan=False)) == arguments
        assert json.dumps(arguments, ensure_ascii=False).encode()
        assert error is None or arguments == {}


# Names


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("Search", "Search"),
        ("search", "Search"),
        ("functions.Search", "Search"),
        ("functions.Search:0", "Search"),
        ("functions.search:12", "Search"),
        ("default_api.Search", "Search"),
        ("default_api:Search", "Search"),
        ("tools.Search", "Search"),
        ("api.Search", "Search"),
        ("multi_tool_use.Search", "Search"),
        ("Search()", "Search"),
        ("Search<|channel|>commentary", "Search"),
        (" `Search` ", "Search"),
        ("wiki.Search", "Search"),
        ("search_person", "searchPerson"),
        ("search-person", "searchPerson"),
        ("Search Person", "searchPerson"),
        ("SEARCHPERSON", "searchPerson"),
        ("Serch", "Serch"),
        ("functions.Serch", "Serch"),
        ("multi_tool_use.parallel", "parallel"),
        ("", ""),
        ("搜索", "搜索"),
    ],
)
def test_a_name_means_the_offered_tool_however_it_is_spelt(name: str, known: str) -> None:
    assert canonical_name(name, TOOLS) == known
    assert canonical_name(name, {tool.name: tool for tool in TOOLS}) == known


@pytest.mark.parametrize(
    ("name", "known"),
    [("get_page", "get_page"), ("GETPAGE", "getPage"), ("Get-Page", "get-page"), ("Get Page", "Get Page")],
)
def test_a_name_that_may_mean_two_tools_stays_unless_only_its_case_differs(name: str, known: str) -> None:
    assert canonical_name(name, [ToolSpec("getPage", "", {}), ToolSpec("get-page", "", {})]) == known


def test_a_tool_whose_own_name_has_a_prefix_is_itself() -> None:
    tools = [ToolSpec("api.Search", "", {}), SEARCH]
    assert canonical_name("api.Search", tools) == "api.Search"


def test_native_calls_get_the_names_that_calls_in_text_get() -> None:
    native = Reply("", (ToolCall("a", "functions.search:0", KENYA),), "tool_calls")
    assert read_reply(native, TOOLS).tool_calls == (ToolCall("a", "Search", KENYA),)


def test_a_reply_with_the_tools_own_names_stays_as_it_is() -> None:
    reply = Reply("{}", (ToolCall("a", "Search", KENYA),))
    assert read_reply(reply, TOOLS) is reply


# Calls in text


@pytest.mark.parametrize(
    "text",
    [
        '<tool_call>{"name": "Search", "arguments": {"entity": "Kenya"}}</tool_call>',
        '<tool_call>{"name": "functions.search", "arguments": {"entity": "Kenya"}}</tool_call>',
        '<|channel|>commentary to=functions.Search <|constrain|>json<|message|>{"entity": "Kenya"}<|call|>',
        '<|start|>assistant<|channel|>commentary to=functions.Search <|constrain|>json<|message|>{"entity": "Kenya"}',
        '<|start|>assistant to=functions.Search<|channel|>commentary json<|message|>{"entity": "Kenya"}<|call|>',
        '<|channel|>commentary to=Search code<|message|>{"entity": "Kenya"}<|call|>',
        'commentary to=functions.Search json{"entity": "Kenya"}',
        'assistantcommentary to=functions.search json{"entity": "Kenya"}',
        'to=functions.Search {"entity": "Kenya"}',
        '{"name": "search", "arguments": "{\\"entity\\": \\"Kenya\\"}"}',
    ],
)
def test_a_call_in_text_is_read(text: str) -> None:
    reply = read_reply(Reply(text), TOOLS)
    assert reply.tool_calls == (ToolCall("call00000", "Search", KENYA),)
    assert (reply.text, reply.finish) == ("", "tool_calls")


def test_several_harmony_calls_are_read_in_their_order_and_marks_in_their_texts_are_none() -> None:
    calls = "".join(
        f"<|start|>assistant<|channel|>commentary to=functions.{name}<|message|>{json.dumps(arguments)}<|call|>"
        for name, arguments in [("Search", {"entity": "<|call|> to=functions.Finish {"}), ("Finish", {"answer": "ナ"})]
    )
    found, rest = parse_tool_calls(f"Let me see. {calls}", TOOLS)
    assert [(c.id, c.name, c.arguments) for c in found] == [
        ("call00000", "Search", {"entity": "<|call|> to=functions.Finish {"}),
        ("call00001", "Finish", {"answer": "ナ"}),
    ]
    assert rest == "Let me see."


@pytest.mark.parametrize("text", ["", "Nairobi", "Reply to=Search {now}", "mail to=functions.x for help", '{"a": 1}'])
def test_text_without_a_call_stays(text: str) -> None:
    reply = Reply(text)
    assert read_reply(reply, TOOLS) is reply


WHOLE = [
    '{"name": "Search", "arguments": {"entity": "Kenya"}}',
    '<tool_call>{"name": "Search", "arguments": {"entity": "Kenya"}}',
    '```json\n{"name": "Search", "arguments": {"entity": "Kenya"}}',
    'Search(entity="Kenya")',
    '[TOOL_CALLS]Search[ARGS]{"entity": "Kenya"}',
    'commentary to=functions.Search json{"entity": "Kenya"}',
    "<function=Search><parameter=entity>Kenya</parameter></function>",
]


@pytest.mark.parametrize("text", WHOLE)
def test_a_whole_call_of_a_cut_reply_counts(text: str) -> None:
    (call,) = read_reply(Reply(text, finish="length"), TOOLS).tool_calls
    assert (call.name, call.arguments, call.error) == ("Search", KENYA, None)


@pytest.mark.parametrize("text", WHOLE)
@pytest.mark.parametrize("kept", ["Ken", "Kenya"])
def test_a_call_that_the_limit_of_tokens_cut_is_an_error(text: str, kept: str) -> None:
    text = text[: text.index("Kenya") + len(kept)]
    (call,) = read_reply(Reply(text, finish="length"), TOOLS).tool_calls
    assert (call.name, call.arguments) == ("Search", {})
    assert "cut off" in str(call.error)
    assert read_reply(Reply(text), TOOLS).tool_calls[0].error is None


def test_only_the_last_call_of_a_cut_reply_is_an_error() -> None:
    text = f'<tool_call>{WHOLE[0]}</tool_call><tool_call>{{"name": "Search", "arguments": {{"entity": "Ug'
    first, last = read_reply(Reply(text, finish="length"), TOOLS).tool_calls
    assert (first.error, last.error is None) == (None, False)


def test_only_the_first_20000_characters_are_looked_at() -> None:
    reply = Reply("x" * 20_000 + WHOLE[0])
    assert read_reply(reply, TOOLS) is reply


def test_a_tool_response_that_a_model_invents_is_never_taken_for_one() -> None:
    request = render_tools(Request((Message("user", "Where?"),), tools=TOOLS))
    assert request.stop == ("<tool_response>",)
    assert request.tools == ()
    assert all(tool.name in request.messages[0].content for tool in TOOLS)


def test_a_call_is_written_as_it_is_read() -> None:
    call = ToolCall("call00000", "Search", {"entity": "Côte d'Ivoire </tool_call> 🗼"})
    assert parse_tool_calls(format_tool_call(call), TOOLS) == ([call], "")


HARMONY_PIECES = [
    "<|channel|>",
    "<|message|>",
    "<|call|>",
    "<|start|>",
    "<|constrain|>",
    "commentary",
    "to=",
    "functions.",
]
OTHER_PIECES = ["Search", " json", "<tool_call>", "Action: ", "```", "\ud800", *"{}()[]:\"'\\ \né"]


@settings(max_examples=300)
@given(
    st.lists(st.sampled_from([*HARMONY_PIECES, *OTHER_PIECES]) | st.text(max_size=3), max_size=40).map("".join),
    st.sampled_from(["stop", "length"]),
)
def test_read_reply_never_raises_and_gives_data(text: str, finish: Any) -> None:
    for call in read_reply(Reply(text, finish=finish), TOOLS).tool_calls:
        assert json.loads(json.dumps(call.arguments, allow_nan=False)) == call.arguments


@pytest.mark.parametrize(
    "piece", ["to=", "to=functions.a ", "<|start|>", "<|channel|>commentary to=a<|message|>", " ", "\n"]
)
def test_twenty_thousand_characters_of_harmony_are_read_in_50_ms(piece: str) -> None:
    text = piece * (20_000 // len(piece))
    assert quickest(lambda: parse_tool_calls(text, TOOLS), enough=0.05) < 0.2


# A conversation that goes back


def turn(*calls: ToolCall, text: str = "") -> Message:
    return Message("assistant", text, calls)


def call(call_id: str, name: str = "Search") -> ToolCall:
    return ToolCall(call_id, name, KENYA)


def result(call_id: str, text: str = "In Africa.", name: str = "Search") -> Message:
    return Message("tool", text, call_id=call_id, name=name)


USER = Message("user", "Where is Kenya?")


@pytest.mark.parametrize(
    "messages",
    [
        (),
        (USER,),
        (Message("system", ""), USER),
        (USER, turn(call("call_1"), call("call_2")), result("call_1"), result("call_2"), turn(text="Africa")),
        (USER, turn(call("functions.Search:0")), result("functions.Search:0"), turn(call("b")), result("b")),
        (Message("user", "内罗毕 🗼"), turn(text="東京")),
    ],
)
def test_a_conversation_with_nothing_wrong_is_the_very_same(messages: tuple[Message, ...]) -> None:
    assert repair_history(messages) is messages


@pytest.mark.parametrize(
    ("name", "valid"),
    [
        ("functions.Search", "Search"),
        ("multi_tool_use.parallel", "parallel"),
        ("search the web", "search_the_web"),
        ("wiki.Search", "wiki_Search"),
        ("", "unknown"),
        ("...", "unknown"),
        ("x" * 300, "x" * 64),
        ("搜索", "u641c_u7d22"),
        ("Search\n", "Search"),
        ("naïve", "nauef_ve"),
    ],
)
def test_a_name_that_apis_forbid_becomes_one_that_they_take(name: str, valid: str) -> None:
    _, assistant, tool = repair_history((USER, turn(call("a", name)), result("a", name=name)))
    assert (assistant.tool_calls[0].name, tool.name) == (valid, valid)
    assert re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", valid)


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        ([[""]], [["call00000"]]),
        ([["", ""]], [["call00000", "call00001"]]),
        ([["call_1", "call_1"]], [["call_1", "call00001"]]),
        ([["call_0"], ["call_0"], ["call_0"]], [["call_0"], ["call00001"], ["call00002"]]),
        ([["call00000"], ["call00000"]], [["call00000"], ["call00001"]]),
        ([["call00001", ""]], [["call00001", "call00002"]]),
        ([["x" * 65]], [["call00000"]]),
        ([["a b"], ["编号"], ["\ud800"]], [["call00000"], ["call00001"], ["call00002"]]),
        ([["a", "b"], ["c"]], [["a", "b"], ["c"]]),
    ],
)
def test_ids_are_unique_and_results_follow_their_calls(given: list[list[str]], sent: list[list[str]]) -> None:
    messages = [USER]
    for ids in given:
        messages += [turn(*map(call, ids)), *(result(i, f"of {n}") for n, i in enumerate(ids))]
    repaired = repair_history(tuple(messages))
    assert [[c.id for c in m.tool_calls] for m in repaired if m.role == "assistant"] == sent
    results = [m for m in repaired if m.role == "tool"]
    assert [m.call_id for m in results] == [i for ids in sent for i in ids]
    assert [m.content for m in results] == [f"of {n}" for ids in sent for n in range(len(ids))]
    assert repair_history(repaired) is repaired


def test_a_repaired_id_stays_the_same_as_the_conversation_grows() -> None:
    messages = (USER, turn(call("")), result(""))
    longer = (*messages, turn(call("call00000")), result("call00000"))
    assert repair_history(longer)[: len(messages)] == repair_history(messages)


def test_results_in_another_order_find_their_calls_by_id() -> None:
    messages = (turn(call("a", "x y"), call("b", "z")), result("b", "of b"), result("a", "of a"))
    assert [(m.call_id, m.name, m.content) for m in repair_history(messages)[1:]] == [
        ("b", "z", "of b"),
        ("a", "x_y", "of a"),
    ]


@pytest.mark.parametrize(
    ("messages", "wanted"),
    [
        ((USER, Message("assistant", " \n")), [("user", USER.content), ("assistant", "(no answer)")]),
        ((Message("user", ""),), [("user", "(empty)")]),
        ((turn(call("a")), result("a", "")), [("assistant", ""), ("tool", "(empty)")]),
        ((turn(call("a")),), [("assistant", ""), ("tool", "Not carried out.")]),
        ((turn(call("a"), call("b")), result("b"), USER),
         [("assistant", ""), ("tool", "In Africa."), ("tool", "Not carried out."), ("user", USER.content)]),
        ((USER, result("a")), [("user", USER.content), ("user", "In Africa.")]),
        ((turn(call("a")), result("a"), result("a", "again")),
         [("assistant", ""), ("tool", "In Africa."), ("user", "again")]),
        ((Message("user", "half \ud83d"), Message("assistant", "\ud83d\ude00")),
         [("user", "half \ufffd"), ("assistant", "😀")]),
    ],
)  # fmt: skip
def test_no_turn_is_empty_and_every_call_has_one_result(
    messages: tuple[Message, ...], wanted: list[tuple[str, str]]
) -> None:
    repaired = repair_history(messages)
    assert [(m.role, m.content) for m in repaired] == wanted
    assert repair_history(repaired) is repaired


def test_half_a_surrogate_in_an_argument_is_replaced() -> None:
    odd = ToolCall("a", "Search", {"k\ud800": ["x\ud800", {"y": 1}]})
    (repaired,) = repair_history((turn(odd), result("a")))[0].tool_calls
    assert repaired.arguments == {"k\ufffd": ["x\ufffd", {"y": 1}]}


IDS = st.sampled_from(["", "a", "b", "call_0", "call00000", "call00001", "x" * 65, "ö", "\ud800"])
NAMES = st.sampled_from(["Search", "", "functions.Search", "a b", "搜索", "\ud800", "x" * 300])
MESSAGES = st.lists(
    st.builds(Message, st.sampled_from(["user", "assistant", "system"]), st.text(max_size=2))
    | st.builds(lambda calls: turn(*calls), st.lists(st.builds(call, IDS, NAMES), max_size=3))
    | st.builds(result, IDS, st.text(max_size=2), NAMES),
    max_size=10,
).map(tuple)


@settings(max_examples=300)
@given(MESSAGES)
def test_every_conversation_becomes_one_that_strict_servers_take(messages: tuple[Message, ...]) -> None:
    repaired = repair_history(messages)
    seen: set[str] = set()
    waiting: list[str] = []
    for message in repaired:
        assert message.content.strip() or message.tool_calls or message.role == "system"
        message.content.encode()
        if message.role == "tool":
            waiting.remove(message.call_id)
            continue
        assert waiting == []
        for made in message.tool_calls:
            assert re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", made.name)
            assert re.fullmatch(r"[a-zA-Z0-9_.:-]{1,64}", made.id)
            assert made.id not in seen
            seen.add(made.id)
            waiting.append(made.id)
    assert waiting == []
    assert repair_history(repaired) is repaired
