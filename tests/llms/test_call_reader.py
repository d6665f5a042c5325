"""Every notation of tool calls, whole and damaged; prose that is no call."""

from __future__ import annotations

import itertools
import json
import re
from typing import Any

import pytest

from r_eval.llms.base import Reply, ToolSpec
from r_eval.llms.tool_calls import parse_action
from r_eval.llms.tool_calls import read_reply as read

TEXT = {"type": "string"}
SEARCH = ToolSpec("Search", "Find a page.", {"type": "object", "properties": {"entity": TEXT, "limit": TEXT}})
LOOKUP = ToolSpec("Lookup", "Find a word.", {"type": "object", "properties": {"keyword": TEXT}})
FINISH = ToolSpec("Finish", "End with the answer.", {"type": "object", "properties": {"answer": TEXT}})
PROPERTIES = {
    "topic": TEXT,
    "limit": {"type": "integer"},
    "ratio": {"type": "number"},
    "recent": {"anyOf": [{"type": "boolean"}, {"type": "null"}]},
    "years": {"type": "array", "items": {"type": "integer"}},
    "where": {"type": "object"},
    "note": {"anyOf": [{"type": "null"}, TEXT]},
}
TYPED = ToolSpec("rank", "Rank papers.", {"type": "object", "properties": PROPERTIES, "required": ["topic"]})
NOW = ToolSpec("Now", "Tell the time.", {"type": "object", "properties": {}})
PAGE = ToolSpec("Page", "Read.", {"type": "object", "properties": {"no": True, "title": TEXT}, "required": ["title"]})
TOOLS = (SEARCH, LOOKUP, FINISH, TYPED, NOW, PAGE)


def calls(text: str) -> list[tuple[str, dict[str, Any]]]:
    found = read(Reply(text), TOOLS).tool_calls
    assert all(call.error is None for call in found), found
    return [(call.name, call.arguments) for call in found]


JSON_NOTATIONS = {
    "hermes": '<tool_call>{"name": "Search", "arguments": {"entity": "@"}}</tool_call>',
    "hermes_upper_case": '<TOOL_CALL>\n{"name": "Search", "arguments": {"entity": "@"}}\n</TOOL_CALL>',
    "hermes_attributes": '<tool_call id="1" type="x">{"name": "Search", "arguments": {"entity": "@"}}</tool_call>',
    "hermes_named_tag": '<tool_call name="Search">{"entity": "@"}</tool_call>',
    "hermes_name_first": '<tool_call>Search\n{"entity": "@"}</tool_call>',
    "hermes_fence_inside": '<tool_call>\n```json\n{"name": "Search", "arguments": {"entity": "@"}}\n```\n</tool_call>',
    "function_call_tag": '<functioncall> {"name": "Search", "arguments": {"entity": "@"}} </functioncall>',
    "granite": '<|tool_call|>[{"name": "Search", "arguments": {"entity": "@"}}]',
    "mistral_list": '[TOOL_CALLS] [{"name": "Search", "arguments": {"entity": "@"}}]',
    "mistral_args": '[TOOL_CALLS]Search[ARGS]{"entity": "@"}',
    "mistral_call_id": '[TOOL_CALLS]Search[CALL_ID]a1b2c3d4e[ARGS]{"entity": "@"}',
    "llama_function": '<function=Search>{"entity": "@"}</function>',
    "llama_python_tag": '<|python_tag|>{"name": "Search", "parameters": {"entity": "@"}}<|eom_id|>',
    "deepseek": "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>Search\n```json\n"
    '{"entity": "@"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
    "deepseek_newer": '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>Search<｜tool▁sep｜>{"entity": "@"}'
    "<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    "kimi": "<|tool_calls_section_begin|><|tool_call_begin|>functions.Search:0<|tool_call_argument_begin|>"
    '{"entity": "@"}<|tool_call_end|><|tool_calls_section_end|>',
    "react": 'Action: Search\nAction Input: {"entity": "@"}',
    "react_list": '- Action: Search\n- Arguments: {"entity": "@"}',
    "react_one_line": 'Action: Search, Action Input: {"entity": "@"}',
    "react_headings": '### Action:\nSearch\n### Action Input:\n{"entity": "@"}',
    "react_chinese": '行动：Search\n行动输入：{"entity": "@"}',
    "harmony_role": ' to=functions.Search<|channel|>analysis json<|message|>{"entity": "@"}<|call|>',
    "react_json_at_once": 'Action: Search {"entity": "@"}',
    "glm_4": 'Search\n{"entity": "@"}',
    "react_numbered": '**Action 1:** `Search`\n**Action Input 1:** {"entity": "@"}',
    "fence": '```json\n{"name": "Search", "arguments": {"entity": "@"}}\n```',
    "fence_action": 'Action:\n```\n{"action": "Search", "action_input": {"entity": "@"}}\n```',
    "bare": '{"name": "Search", "arguments": {"entity": "@"}}',
    "bare_flat": '{"tool": "Search", "entity": "@"}',
    "bare_openai": '{"tool_calls": [{"id": "1", "type": "function", "function": {"name": "Search", "arguments": '
    '{"entity": "@"}}}]}',
    "bare_beside_thought": '{"thought": "I look.", "action": {"name": "Search", "arguments": {"entity": "@"}}}',
    "name_is_the_only_key": '{"Search": {"entity": "@"}}',
}
PYTHON_NOTATIONS = {
    "python": 'Search(entity="@")',
    "python_list": '[Search(entity="@")]',
    "python_in_tag": '<tool_call>Search(entity="@")</tool_call>',
    "python_tag": '<|python_tag|>Search.call(entity="@")<|eom_id|>',
    "tool_code": '```tool_code\nprint(default_api.Search(entity="@"))\n```',
}
TEXT_NOTATIONS = {
    "qwen_coder": "<tool_call>\n<function=Search>\n<parameter=entity>\n@\n</parameter>\n</function>\n</tool_call>",
    "qwen_coder_bare": "<function=Search>\n<parameter=entity>\n@\n</parameter>\n</function>",
    "invoke": '<function_calls>\n<invoke name="Search">\n<parameter name="entity">@</parameter>\n</invoke>\n'
    "</function_calls>",
    "invoke_prefixed": '<x:tool_call><invoke name="Search"><parameter name="entity" string="true">@</parameter>'
    "</invoke></x:tool_call>",
    "gemma": '<|tool_call>call:Search{entity:<|"|>@<|"|>}<tool_call|>',
    "function_gemma": "<start_function_call>call:Search{entity:<escape>@<escape>}<end_function_call>",
    "longcat": "<longcat_tool_call>Search\n<longcat_arg_key>entity</longcat_arg_key>\n<longcat_arg_value>@"
    "</longcat_arg_value>\n</longcat_tool_call>",
    "glm": "<tool_call>Search\n<arg_key>entity</arg_key>\n<arg_value>@</arg_value>\n</tool_call>",
}
QUOTED = JSON_NOTATIONS | PYTHON_NOTATIONS
EVERY = QUOTED | TEXT_NOTATIONS


LEAD, END = "I will look it up, as [1] says.", "That should do."


def clean(text: str) -> str:
    return text.replace("@", "Kenya")


DAMAGE = {
    "none": clean,
    "cut": lambda text: clean(text[: text.index("@") + 1]),
    "text before": lambda text: f"{LEAD}\n{clean(text)}",
    "text around": lambda text: f"{LEAD}\n{clean(text)}\n{END}",
}
DAMAGE_OF_QUOTED = {
    "cut after a quote": lambda text: clean(text[: text.index("@") + 2]),
    "trailing comma": lambda text: clean(text).replace('Kenya"', 'Kenya",'),
    "single quotes": lambda text: clean(text).replace('"', "'"),
    "typographic quotes": lambda text: clean(text).replace('"Kenya"', "“Kenya”"),
    "text after": lambda text: f"{clean(text)}\n{END}",
}


@pytest.mark.parametrize(
    ("damage", "notation"),
    [*itertools.product(DAMAGE, EVERY), *itertools.product(DAMAGE_OF_QUOTED, QUOTED)],
)
def test_a_call_is_read_in_every_notation_and_with_faults_in_its_json(damage: str, notation: str) -> None:
    text = (DAMAGE | DAMAGE_OF_QUOTED)[damage](EVERY[notation])
    assert calls(text) == [("Search", {"entity": "Kenya"})]


@pytest.mark.parametrize("notation", EVERY)
def test_two_calls_are_read_in_their_order_in_every_notation(notation: str) -> None:
    text = f"{clean(EVERY[notation])}\n{EVERY[notation].replace('@', 'Uganda')}"
    assert calls(text) == [("Search", {"entity": "Kenya"}), ("Search", {"entity": "Uganda"})]
    assert [call.id for call in read(Reply(text), TOOLS).tool_calls] == ["call00000", "call00001"]


@pytest.mark.parametrize("notation", sorted(EVERY.keys() - {"hermes_fence_inside", "fence_action"}))
def test_the_text_before_a_call_stays_and_nothing_of_the_call(notation: str) -> None:
    reply = read(Reply(f"{LEAD}\n{clean(EVERY[notation])}", finish="stop"), TOOLS)
    assert (reply.text.startswith(LEAD), reply.finish) == (True, "tool_calls")
    assert not re.search("Search|Kenya", reply.text)


def test_a_tagged_call_may_hold_its_own_marks_in_a_text() -> None:
    marks = "</tool_call> [TOOL_CALLS] <function=Search> <invoke name='x'>"
    text = f"<tool_call>{json.dumps({'name': 'Search', 'arguments': {'entity': marks}})}</tool_call>"
    assert calls(f"{text}\n{text}") == [("Search", {"entity": marks})] * 2


def test_tagged_parameters_are_texts_and_lists_and_objects_data() -> None:
    given = {
        "topic": "[7]",
        "limit": "5",
        "recent": "True",
        "ratio": "[7] x",
        "unknown": "a\n  [1]",
        "years": "[20, 21,]",
        "where": "{'a': 1}",
    }
    body = "".join(f"<parameter={key}>\n{value}\n</parameter>\n" for key, value in given.items())
    for text in (body, body.replace("</parameter>\n", ""), body.replace("\n</", " </")):
        read = calls(f"<tool_call><function=rank>\n{text}</function></tool_call>")
        assert read == [("rank", {**given, "years": [20, 21], "where": {"a": 1}})]


def search(entity: Any, **more: Any) -> tuple[str, dict[str, Any]]:
    return "Search", {"entity": entity, **more}


def rank(topic: str, **more: Any) -> tuple[str, dict[str, Any]]:
    return "rank", {"topic": topic, **more}


def lookup(keyword: str) -> tuple[str, dict[str, Any]]:
    return "Lookup", {"keyword": keyword}


KENYA, UGANDA = search("Kenya"), search("Uganda")
PLAIN = '{"name": "Search", "arguments": {"entity": "Kenya"}}'
OTHER = '{"name": "Search", "arguments": {"entity": "Uganda"}}'
WRITTEN: tuple[tuple[str, list[tuple[str, dict[str, Any]]]], ...] = (
    # in brackets, with the type of the value unless the tool wants a text
    ('rank(topic="RAG", recent=true)', [rank("RAG", recent=True)]),
    ('rank("RAG", where={"a": [true, null]})', [rank("RAG", where={"a": [True, None]})]),
    ("rank(“检索”, 5)", [rank("检索", limit=5)]),
    ("Search(“Côte d’Ivoire”, '3')", [search("Côte d’Ivoire", limit="3")]),
    ('Search(\n    entity="the "Big" one",\n)', [search('the "Big" one')]),
    ("print(Search(entity='Côte d'Ivoire'))", [search("Côte d'Ivoire")]),
    ('Search(entity="a\nb",)', [search("a\nb")]),
    ("Search(entity=true)", [search("true")]),
    ('Search({"entity": "Kenya"})', [KENYA]),
    ("Search(entty=Kenya)", [("Search", {"entty": "Kenya"})]),
    ("Search(Kenya: a history)", [search("Kenya: a history")]),
    ("Search[1990, 5]", [search("1990", limit="5")]),
    ("Lookup[1990, 1991]", [lookup("1990, 1991")]),
    ("Lookup[keyword: river]", [lookup("river")]),
    ("Page[Kenya]", [("Page", {"title": "Kenya"})]),
    ("Page(no=3)", [("Page", {"no": 3})]),
    ('rank(where={"a": 1})', [("rank", {"where": {"a": 1}})]),
    ('rank("RAG", note=5)', [rank("RAG", note="5")]),
    ("Finish(answer=3.50)", [("Finish", {"answer": "3.50"})]),
    ("Finish(answer=None)", [("Finish", {"answer": "None"})]),
    ("Search(entity=3.50)", [search("3.50")]),
    ("Finish(answer=true)", [("Finish", {"answer": True})]),
    ('I must call Search(entity="Kenya") now.', [KENYA]),
    ("Search(entity=\"Lookup(keyword='a')\")", [search("Lookup(keyword='a')")]),
    ('Search ("Kenya")', [KENYA]),
    ("- Lookup [river]", [lookup("river")]),
    ("> Lookup(river)", [lookup("river")]),
    ("Search[Foo (film)]", [search("Foo (film)")]),
    ("Now()", [("Now", {})]),
    ('[Search(entity="Kenya"), Search(entity="Uganda")]', [KENYA, UGANDA]),
    ('[Search(entity="Kenya"), Lookup(keyword="capital")]', [KENYA, lookup("capital")]),
    # actions
    ("Action: Lookup\nAction Input: capital city\nThought: I see.", [lookup("capital city")]),
    ("Action: Lookup\nAction Input: a\nAction: Lookup\nAction Input: b", [lookup("a"), lookup("b")]),
    ("**Action 1:** Lookup\nAction Input: a\n\n**Action 2:** Lookup\nAction Input: b", [lookup("a"), lookup("b")]),
    ("Action: Now", [("Now", {})]),
    ("Action: Search\nAction Input: Kenya city", [search("Kenya city")]),
    ('Action: Search\nAction Input: entity="<b>"', [search("<b>")]),
    ("Action: Lookup\nAction Input: <b>", [lookup("<b>")]),
    ("Action: Lookup\nAction Input: 1) or (2", [lookup("1) or (2")]),
    ("Action: Lookup\nAction Input: `capital`\nObservation: Nairobi", [lookup("capital")]),
    ('Action: Search\nAction Input: entity="Kenya", limit="3"', [search("Kenya", limit="3")]),
    ("Thought: I see.\nAction: Finish\nAction Input: Nairobi", [("Finish", {"answer": "Nairobi"})]),
    ("Action: Lookup[capital]", [lookup("capital")]),
    ("I look.\n**Action 2:** **Search:** Kenya", [KENYA]),
    ('Action: `Search`: "Kenya"\nAction: Lookup: name: a', [KENYA, lookup("name: a")]),
    ("Action：Search：肯尼亚", [search("肯尼亚")]),
    ("Action: Search:\nAction Input: Kenya", [KENYA]),
    ("I look.\nLookup[capital city]\nLookup[river]", [lookup("capital city"), lookup("river")]),
    ('action: lookup\naction input: {"keyword": "capital"}', [lookup("capital")]),
    ('Action: Serch\nAction Input: {"entity": "Kenya"}', [("Serch", {"entity": "Kenya"})]),
    ('Action: {"action": "Lookup", "action_input": "capital"}', [lookup("capital")]),
    # JSON
    (f"As [1] and {{it}} say, f{{x: {PLAIN}", [KENYA]),
    ('{"function": "Search", "input": {"entity": "Kenya"}}', [KENYA]),
    ('{"action": "call", "tool": "Search", "input": {"entity": "Kenya"}}', [KENYA]),
    ('{"name": "Search", "arguments": "{\\"entity\\": \\"Kenya\\"}"}', [KENYA]),
    ('{"name": "Lookup", "arguments": 5}', [("Lookup", {"keyword": 5})]),
    ('{"name": "Finish", "arguments": ["a", "b"]}', [("Finish", {"answer": ["a", "b"]})]),
    ('{"name": "Now", "arguments": null}', [("Now", {})]),
    ('<tool_call>{"name": "Search", "arguments": {"entity": "Kenya"}', [KENYA]),
    (f"{OTHER}\n<tool_call>{PLAIN}</tool_call>", [KENYA]),
    (f"<tool_call>[{PLAIN}, {OTHER}]</tool_call>", [KENYA, UGANDA]),
    (f"<tool_call>{PLAIN}\n{OTHER}</tool_call>", [KENYA, UGANDA]),
    (f"One: {PLAIN}, two: {OTHER}.", [KENYA, UGANDA]),
    ('{"name": "Serch", "arguments": {"entity": "Kenya"}}', [("Serch", {"entity": "Kenya"})]),
    ('{"name": "Search", "arguments": {"entity": "a,]b",}}', [search("a,]b")]),
    ('{"Search": {"entity": "Kenya"}, "Lookup": {"keyword": "capital"}}', [KENYA, lookup("capital")]),
    # marks
    ("<tool_call>Search\n</tool_call>", [("Search", {})]),
    ('[TOOL_CALLS]Search[ARGS]{"entity": "Kenya"}[TOOL_CALLS]Lookup[ARGS]{"keyword": "a"}', [KENYA, lookup("a")]),
)


@pytest.mark.parametrize(("text", "wanted"), WRITTEN)
def test_a_call_is_read_however_it_is_written(text: str, wanted: list[tuple[str, dict[str, Any]]]) -> None:
    assert calls(text) == wanted
    if text.startswith("Search") and "Kenya" in text:
        assert read(Reply(f"I look.\n{text}"), TOOLS).text == "I look."


def test_actions_after_an_invented_observation_do_not_count() -> None:
    text = "Thought: I look.\nAction: Lookup\nAction Input: a\nObservation: made up\nAction: Finish\nAction Input: b"
    assert calls(text) == [("Lookup", {"keyword": "a"})]
    assert read(Reply(text), TOOLS).text == "Thought: I look."


# Errors


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ('<function=Search>{"entity": </function>', "Search"),
        ("Action: Search", "Search"),
        ('Action: Search\nAction Input: "entity": "Kenya"', "Search"),
        ("<function=Search>\n<paramet", "Search"),
        ('{"name": "Search", "arguments": "entity": "Kenya"}', "Search"),
        ('{"name": "Search", "arguments": [1, 2]}', "Search"),
        ("<|python_tag|>import os", ""),
        ("<tool_call>\n", ""),
        ("<tool_call>Search for Kenya</tool_call>", "Search"),
        ('<tool_call>{"entity": "Kenya"}</tool_call>', ""),
        ("I look: <tool_call>{", ""),
        ("[TOOL_CALLS] Kenya", ""),
        ("[TOOL_CALLS]Search[ARG", "Search"),
        ('[TOOL_CALLS]Search[AR1GS]{"entity": "Kenya"}', "Search"),
        ("[TOOL_CALLS]Search[CALL_ID]a1b2[ARG", "Search"),
        ("<tool_call>" + "[" * 5000, ""),
        ("<｜tool▁call▁begin｜>function<｜tool▁sep｜>", ""),
    ],
)
def test_a_marked_call_that_cannot_be_read_says_how_to_write_one(text: str, name: str) -> None:
    (call,) = read(Reply(text), TOOLS).tool_calls
    assert (call.name, call.arguments) == (name, {})
    assert call.error is not None
    assert '<tool_call>{"name"' in call.error
    assert (f"arguments of {name} must" in call.error) is bool(name)


@pytest.mark.parametrize("notation", EVERY)
def test_a_call_whose_end_was_cut_off_with_the_reply_is_not_trusted(notation: str) -> None:
    (call,) = read(Reply(DAMAGE["cut"](EVERY[notation]), finish="length"), TOOLS).tool_calls
    assert (call.name, call.arguments) == ("Search", {})
    assert call.error == "The call of Search was cut off. Send it again, shorter."


@pytest.mark.parametrize("value", ["{1, 2}", "b'x'", "...", "__import__('os').getcwd()", "[].append"])
def test_python_that_is_no_data_is_never_an_argument(value: str) -> None:
    assert calls(f"Search(entity={value})") == []


def test_one_bad_call_does_not_hide_the_good_ones() -> None:
    good = '<tool_call>{"name": "Lookup", "arguments": {"keyword": "a"}}</tool_call>'
    found = read(Reply(f"{good}<tool_call>oops</tool_call>{good}"), TOOLS).tool_calls
    assert [(call.name, call.error is None) for call in found] == [("Lookup", True), ("", False), ("Lookup", True)]


# Prose


@pytest.mark.parametrize(
    "text",
    [
        "I have found the answer.\nThought: nothing is left to do.\nAction: none",
        "Call to action: Search for better sources!",
        "I used the Search tool, and then Lookup, before I was sure.",
        "You could use Search() or Lookup() here, but neither is needed.",
        "Write the call between <tool_call> tags.",
        "A call begins with `<tool_call>` and ends with `</tool_call>`.",
        "Search[1] and Lookup [2] are names of two papers.",
        "Search (the tool) finds nothing; Search(entity) is its signature.",
        'I used Search ("Kenya") before.',
        "# Search (first step)\n\nSearch(entity)\nLookup(keyword...)",
        "Action: Look[Kenya]",
        "Action: Look\nAction Input: Kenya",
        "The first Action: Search",
        "The first Action: Search: Kenya",
        "Action: Look: Kenya",
        '{"answer": "Nairobi", "confidence": 0.9}',
        '```json\n{"answer": ["Nairobi"], "sources": [{"title": "Kenya", "page": 3}]}\n```',
        '{"name": "GPT_3", "parameters": {"count": "175B"}, "released": 2020}',
        '{"name": "A study", "parameters": {"count": 5}}',
        '{"name": "Look", "arguments": {}}',
        '{"name": "Look", "input": "Kenya"}',
        '{"name": "Search", "description": "Find a page.", "parameters": {"type": "object", "properties": {}}}',
        '{"name": "Search", "description": "Find a page."}',
        '[{"name": "Nairobi", "population": 4397073}, {"name": "Mombasa", "population": 1208333}]',
        '{"action": "wait", "input": {"reason": "done"}}',
        '{"tool": "none", "input": {"reason": "done"}}',
        'Action: none\n{"reason": "done"}',
        'Output\n{"entity": "Kenya"}',
        "```python\ndef Search(entity='Kenya'):\n    return index[entity]\n```",
        "```python\nresult = re.search('Kenya', text)\nprint(result.Search('x'))\n```",
        "```python\nfor page in Search(entity=title):\n    print(page)\n```",
        "   \n",
        "Search(",
        "Search[",
        'Write Search(entity="Kenya" and so on.',
        "Look(entity='Kenya')",
        "The set {'a', 'b'} isn't a call, nor is {1: 2}.",
    ],
)
def test_prose_stays_text(text: str) -> None:
    reply = Reply(text)
    assert read(reply, TOOLS) is reply


@pytest.mark.parametrize(
    "answer",
    ["false", "no", "none", "1,234", "007", "1e3", "3.10", "[1] Kenya", "None", "True, since 1963", "name: 乐山"],
)
def test_an_answer_in_brackets_is_what_is_written_there(answer: str) -> None:
    call = parse_action(f"Thought 3: I know.\nAction 3: Finish[{answer}]", {})
    assert call is not None
    assert call.arguments == {"answer": answer}
