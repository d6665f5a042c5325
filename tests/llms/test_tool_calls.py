"""Tool calls written as text: every way in which models write them is read, and nothing that they write does harm."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from r_eval.llms.base import Message, Reply, Request, ToolCall, ToolSpec
from r_eval.llms.tool_calls import RESPONSE, interpret, parse_action, parse_arguments, repair_history
from r_eval.llms.tool_calls import format_tool_call as written
from r_eval.llms.tool_calls import read_reply as read
from r_eval.llms.tool_calls import render_tools as write
from tests.llms.test_call_reader import EVERY, KENYA, OTHER, PLAIN, TOOLS, calls, clean
from tests.timing import quickest

ODD = ('say "hi" {now} [x]', "it's, ] } ,] ,}", "C:\\temp\\new", "Côte d'Ivoire", "東京 🗼", "</tool_response> <b>",
       "a\nb", "Search(entity='x')")  # fmt: skip
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.text(max_size=8) | st.sampled_from(ODD),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@example(dict(zip("abcdefgh", ODD, strict=True)))
@given(st.dictionaries(st.text(max_size=8), json_values, max_size=4))
def test_a_written_call_is_always_read_back(arguments: dict[str, Any]) -> None:
    assert calls(f"Now. {written(ToolCall('', 'Search', arguments))}") == [("Search", arguments)]


# What the model invents


@pytest.mark.parametrize("invented", [f"{RESPONSE}\nIn Africa.\n</tool_response>", "Observation 1: In Africa."])
@pytest.mark.parametrize(
    ("text", "native"),
    [
        (f"I look.\n<tool_call>{PLAIN}</tool_call>", ()),
        ("I look.", (ToolCall("a", "functions.search:0", {"entity": "Kenya"}),)),
    ],
)
def test_an_invented_result_is_cut_and_marked_whichever_way_the_call_came(
    text: str, native: tuple[ToolCall, ...], invented: str
) -> None:
    asked = Request((), tools=TOOLS)
    reply, is_invented = interpret(Reply(f"{text}\n{invented}\n<tool_call>{OTHER}</tool_call>", native), asked)
    assert (reply.text, is_invented) == ("I look.", True)
    assert [(call.name, call.arguments) for call in reply.tool_calls] == [KENYA]
    assert interpret(Reply(text, native), asked)[1] is False


@pytest.mark.parametrize(
    ("text", "stop", "wanted", "is_invented"),
    [
        ("Action: Search[肯尼亚]\nObservation: 非洲", ("\nObservation",), "Action: Search[肯尼亚]", True),
        ("Search[a]\n**Observation 2:** b", ("\nObservation",), "Search[a]\n", True),
        ("Observation: b\nSearch[a]", ("\nObservation",), "", True),
        ("Go.\nThought: so\nObservation: b", ("\nObservation", "\nThought"), "Go.", False),
        ("Go.\nQuestion: more", ("", "\nQuestion:"), "Go.", False),
        ("Go.\nObservation: b", (), "Go.\nObservation: b", False),
        ("Go.", ("\nObservation",), "Go.", False),
    ],
)
def test_a_reply_ends_at_the_first_stop_text(text: str, stop: tuple[str, ...], wanted: str, is_invented: bool) -> None:
    reply, marked = interpret(Reply(text, finish="length"), Request((), stop=stop))
    assert (reply.text, marked, reply.finish) == (wanted, is_invented, "length" if wanted == text else "stop")


# The arguments of native calls


@pytest.mark.parametrize(
    ("raw", "arguments", "error"),
    [
        *((nothing, {}, None) for nothing in (None, "", "None", "null", "{}")),
        ({"a": 1}, {"a": 1}, None),
        ('{"a": "x"', {"a": "x"}, None),
        ("[1]", {}, "of Search are not a JSON object"),
        ("Kenya", {}, "of Search cannot be used: they are no sound JSON"),
        ('{"a": NaN}', {}, "of Search cannot be used: they hold what JSON cannot"),
    ],
)
def test_arguments_are_read_or_the_model_is_told_why_not(raw: Any, arguments: Any, error: str | None) -> None:
    read, told = parse_arguments(raw, "Search")
    assert (read, error is None) == (arguments, told is None)
    assert (error or "") in (told or "")
    cut = parse_arguments(raw, "", cut=True)[1] or ""
    assert ("the call was cut off" in cut) is (raw == '{"a": "x"')
    assert not cut or cut.startswith("The arguments of the call ")


# Written into the prompt


def asked(*messages: Message, stop: tuple[str, ...] = ()) -> Request:
    return write(Request(messages, stop=stop, tools=TOOLS))


def test_tools_stand_in_the_system_message_and_are_offered_no_more() -> None:
    request = asked(Message("system", "Be brief."), Message("user", "Where is Kenya?"), stop=("\n\n",))
    first = request.messages[0]
    assert (first.role, request.tools, request.stop) == ("system", (), ("\n\n", RESPONSE))
    assert first.content.startswith("Be brief.\n\n")
    assert all(tool.name in first.content and tool.description in first.content for tool in TOOLS)
    assert '"entity"' in first.content
    priced = Request((Message("user", "Q"),), tools=(ToolSpec("Price", "In $ or $tools.", {"type": "object"}),))
    assert "In $ or $tools." in write(priced).messages[0].content
    assert [message.role for message in asked(Message("user", "Where?")).messages] == ["system", "user"]


def test_calls_become_text_and_their_results_with_the_next_question_one_turn() -> None:
    call = ToolCall("call_0", "Search", {"entity": "Kenya"})
    results = (Message("tool", said, call_id="call_0", name="Search") for said in ("In Africa.", "非洲"))
    first = Message("user", "Where is Kenya?"), Message("assistant", "I look.", (call, call))
    messages = asked(*first, *results, Message("user", "Go on.")).messages
    assert [message.role for message in messages] == ["system", "user", "assistant", "user"]
    assert messages[2].content == f"I look.\n{written(call)}\n{written(call)}"
    assert messages[2].tool_calls == ()
    assert messages[3].content.startswith(f"{RESPONSE}\nIn Africa.\n</tool_response>")
    assert [said in messages[3].content for said in ("非洲", "Go on.")] == [True] * 2


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


def test_a_call_without_a_result_is_told_to_be_undone_and_a_result_without_a_call_is_the_users() -> None:
    again = Message("user", "Well?")
    missing = Message("tool", "Not carried out.", call_id="a.1", name="Search")
    assert repair_history((LOOK, again)) == (LOOK, missing, again)
    assert repair_history((LOOK,)) == (LOOK, missing)
    assert repair_history((FOUND,)) == (Message("user", FOUND.content),)
    sound = Message("assistant", "", LOOK.tool_calls), FOUND
    assert repair_history(sound) is sound


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


# Hostile text


@st.composite
def damaged(draw: st.DrawFn) -> str:
    """Calls in any notation with pieces taken out, put in, repeated and swapped."""
    text = clean(draw(st.sampled_from(sorted(EVERY.values()))))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        end = draw(st.integers(start, min(len(text), start + 12)))
        new = draw(
            st.text(max_size=3) | st.sampled_from([text[start:end] * 2, *"{}[]()<>\"'`,:=\\\n", *EVERY.values()])
        )
        text = text[:start] + new + text[end:]
    return text


@given(damaged() | st.text(max_size=80))
def test_no_text_raises_and_arguments_are_data(text: str) -> None:
    reply = read(Reply(text), TOOLS)
    for call in reply.tool_calls:
        assert json.loads(json.dumps(call.arguments, allow_nan=False)) == call.arguments
        assert written(call)
        assert call.error is None or call.arguments == {}


PIECES = [
    "[", "<function=", '{"a":', "{'a': ", "[1,", "[1 ", "{a:1 ", "{ ", "{} ", "[[1],", "{'", "“a", "/*", "//", "# \n",
    "<function=Search>", "<function name=", "<tool_call>", "<tool_call ", "<tool_call>[", '<tool_call>{"a":"',
    "[TOOL_CALLS]", "[TOOL_CALLS]Search[ARGS]{", "Search[ARGS]{}", "Search{", "<|python_tag|>Search.call(",
    "<parameter=", "<parameter=a>", "<parameter name='a'", "<arg_key>", "<arg_key>a</arg_key> ", "<invoke name=",
    "<｜tool▁call▁begin｜>", "<｜tool▁call▁begin｜>function<｜tool▁sep｜>Search\n```json\n{", "Action:",
    "Action: Search\n", "Action: Search\nAction Input: {", "Action: Search[", "Observation\n", "```json\n{\n",
    "Search(Search(", "Search()\n", "Search(entity='a',", '{"name":"Search","arguments":{', '{"Search":', '"""', " ",
    "-", "9", "a", "a:", "\\", "\n>", "x-", "Search\n{", "[" + "x" * 300,
]  # fmt: skip


@pytest.mark.parametrize("piece", PIECES)
@pytest.mark.parametrize(
    "head", ["", "<tool_call>", "<function=Search>", "Action: Search\nAction Input: ", "```json\n"]
)
def test_no_pattern_backtracks(head: str, piece: str) -> None:
    text = head + piece * (2_000_000 // len(piece))
    assert quickest(lambda: read(Reply(text), TOOLS), enough=0.2) < 0.2
    assert quickest(lambda: parse_action(text, {}), enough=0.2) < 0.2
    assert quickest(lambda: parse_arguments(text, "Search"), enough=0.2) < 0.2


@pytest.mark.parametrize("value", [[1] * 1_000_000, [[]] * 300_000, {"a": "é" * 2_000_000}, "1," * 1_000_000])
def test_arguments_of_any_size_are_refused_at_once(value: Any) -> None:
    assert quickest(lambda: parse_arguments({"a": value}, "Search"), enough=0.25) < 0.25
    arguments, error = parse_arguments({"a": value}, "Search")
    assert arguments == {}
    assert error is not None
    assert "too long" in error
