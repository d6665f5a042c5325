"""Reading what models write: actions, answers and programs, in every form in which they come."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from r_eval.environments.base import Environment, query_api
from r_eval.environments.signatures import specs_of
from r_eval.llms.base import Reply
from r_eval.llms.base import ToolCall as Action
from r_eval.llms.tool_calls import parse_action as action_in
from r_eval.workflows.answers import (
    action_answer,
    bare_answer,
    final_answer,
    free_answer,
    long_answer,
)
from r_eval.workflows.pal import program_in
from tests.timing import quickest


class Library(Environment):
    """Pages and people."""

    @query_api
    def Search(self, entity: str) -> str:
        """Find a page."""
        return entity

    @query_api
    def searchPerson(self, name: str = "", organization: str = "", limit: int = 3) -> list[str]:
        """Find people."""
        return [name, organization][:limit]


LIBRARY: Any = Library
SPECS = specs_of(LIBRARY)


def read(text: str) -> tuple[str, tuple[Any, ...], dict[str, Any]] | None:
    action = action_in(text, SPECS)
    return (action.name, (), dict(action.arguments)) if action else None


# Actions


@pytest.mark.parametrize(
    "text",
    [
        "Search[Kenya]",
        "Search(Kenya)",
        'Search["Kenya"]',
        "Search['Kenya']",
        'Search("Kenya")',
        "search[Kenya]",
        "Action: Search[Kenya]",
        "Action 1: Search[Kenya]",
        "Thought 1: I need the page of Kenya.\nAction 1: Search[Kenya]",
        "**Action 1:** Search[Kenya]",
        "Action 1: `Search[Kenya]`",
        "Action:\n```\nSearch[Kenya]\n```",
        "Search[Kenya].",
        "Search[Kenya] and then I will see what it says.",
        "Action 1: Search[Kenya]\nI wait for the result (it may take long).",
        "Search[Kenya",
        "Search[\nKenya\n]",
        'Search(entity="Kenya")',
        "Search(entity=Kenya)",
        "Search[entity=Kenya]",
        'Search({"entity": "Kenya"})',
        'Action: {"name": "Search", "arguments": {"entity": "Kenya"}}',
        '<tool_call>{"name": "search", "arguments": {"entity": "Kenya"}}</tool_call>',
        '{"action": "Search", "action_input": "Kenya"}',
        'Action:\n```json\n{"action": "Search", "action_input": "Kenya"}\n```',
        "Action: Search\nAction Input: Kenya",
        "Action 1: Search\nInput: Kenya\nObservation: none",
        'Search(entity="Kenya',
        "Search[Kenya] Search[Uganda]",
        "Action 1: Search[Kenya]\nAction 2: Search[Uganda]",
        "Action 1: Search[Kenya]\nObservation 1: ...\nAction 2: Finish[Nairobi]",
        "Thought: the transaction: f(x) matters.\nAction: Search[Kenya]",
        "I know (or guess) it.\nSearch[Kenya]",
    ],
)
def test_the_first_action_is_read_however_it_is_written(text: str) -> None:
    assert read(text) == ("Search", (), {"entity": "Kenya"})


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ('searchPerson(name="Jane Roe", organization="Acme")', {"name": "Jane Roe", "organization": "Acme"}),
        ("searchPerson(name=Jane Roe, organization=Acme)", {"name": "Jane Roe", "organization": "Acme"}),
        ("searchPerson[name=Jane Roe, organization=Acme]", {"name": "Jane Roe", "organization": "Acme"}),
        ("SearchPerson( name = Jane Roe , organization = Acme )", {"name": "Jane Roe", "organization": "Acme"}),
        ("searchPerson(name=Roe, Jane, organization=Acme, Inc.)", {"name": "Roe, Jane", "organization": "Acme, Inc."}),
        ('searchPerson("Jane Roe", "Acme", 5)', {"name": "Jane Roe", "organization": "Acme", "limit": 5}),
        ("searchPerson(“李娜”, “北大”, 5)", {"name": "李娜", "organization": "北大", "limit": 5}),
        ("searchPerson(name=2001, limit=true)", {"name": "2001", "limit": True}),
    ],
)
def test_several_arguments_are_read_with_and_without_names_and_quotes(text: str, wanted: dict[str, Any]) -> None:
    assert read(text) == ("searchPerson", (), wanted)


@pytest.mark.parametrize(
    "entity",
    [
        "Foo (film) [1]",
        "Foo (film)",
        "[1]",
        "it's",
        "Côte d'Ivoire",
        'the "Big" one',
        "Kenya, Africa",
        "a=b",
        "1984",
        "3.50",
        "007",
        "True",
        "1,000",
        "x: y",
        "東京",
        "f(x) = y",
    ],
)
def test_what_stands_in_square_brackets_is_taken_as_it_is(entity: str) -> None:
    assert read(f"Action 1: Search[{entity}]") == ("Search", (), {"entity": entity})


@pytest.mark.parametrize("entity", ["Foo (film) [1]", "it's", "Kenya, Africa"])
def test_brackets_and_quotes_in_round_brackets_are_kept(entity: str) -> None:
    assert read(f"Search({entity})") == ("Search", (), {"entity": entity})


@pytest.mark.parametrize("entity", ["Foo (film) [1]", "it's", 'the "Big" one', "a] b", "a) b", "\\n", "a, b=c"])
def test_what_stands_in_quotes_is_taken_as_it_is(entity: str) -> None:
    quoted = entity.replace("\\", "\\\\").replace('"', '\\"')
    assert read(f'Search(entity="{quoted}")') == ("Search", (), {"entity": entity})


@pytest.mark.parametrize("text", ["Action: Look[Kenya]", "Action 2: Look(Kenya)", "Action: `Look[Kenya]`"])
def test_an_unknown_name_after_the_mark_is_returned_so_that_the_model_can_be_told(text: str) -> None:
    assert read(text) == ("Look", (), {"input": "Kenya"})


@pytest.mark.parametrize(
    "text",
    [
        *("", "Nairobi", "Look[Kenya]", "I think (so).", "Action: "),
        *("Action 1:", "Search", "ReSearch[Kenya]", "[1, 2]"),
        *('<tool_call>{"name": "Search", "arg</tool_call>', "<tool_call>search it</tool_call>"),
    ],
)
def test_text_without_an_action_has_none(text: str) -> None:
    assert read(text) is None


@pytest.mark.parametrize("text", ["Search[]", "Search()", "Search[  ]"])
def test_empty_brackets_hold_no_argument(text: str) -> None:
    assert read(text) == ("Search", (), {})


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("Finish[Nairobi]", "Nairobi"),
        ("finish(Nairobi)", "Nairobi"),
        ('Action 3: Finish[answer="Nairobi"]', "Nairobi"),
        ('Finish(answer="Nairobi")', "Nairobi"),
        ("Finish[The Tana (river), the longest]", "The Tana (river), the longest"),
        ("Finish[1984]", "1984"),
        ("Finish(1984)", "1984"),
        ("Finish[1,000]", "1,000"),
        ("Finish[a; b]", "a; b"),
        ("Finish[a\nb]", "a\nb"),
        ('Finish("a", "b")', "a; b"),
        ('Finish(["a", "b"])', "a; b"),
        ("Finish(True)", "yes"),
        ("Finish[yes]", "yes"),
        ("Finish[]", ""),
        ('{"name": "Finish", "arguments": {"answer": "Nairobi"}}', "Nairobi"),
    ],
)
def test_the_argument_of_finish_is_the_answer_as_text(text: str, answer: str) -> None:
    action = action_in(text, SPECS)
    assert action is not None
    assert (action.name, action_answer(action)) == ("Finish", answer)


def test_nothing_of_an_action_is_ever_evaluated() -> None:
    code = "__import__('os').getcwd()"
    assert read(f"Search({code})") == ("Search", (), {"entity": code})


PIECES = [
    *"{}[]()\"'\\,:=`# \n\t\0",
    "Action",
    "Action 1: ",
    "Search",
    "Search[",
    "searchPerson(",
    "name=",
    "Finish[",
    "```",
    '{"name": "Search", "arguments": ',
    "Observation",
    "\ud800",
    "lambda:",
    "é",
]
HOSTILE = st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=3)), max_size=50).map("".join)


@settings(max_examples=400)
@given(HOSTILE)
@example("Search(" * 2000)
@example("Search[" + "(" * 5000)
@example("{'a':" * 2000)
def test_reading_never_raises(text: str) -> None:
    action = action_in(text, SPECS)
    assert action is None or isinstance(action, Action)
    assert action is None or isinstance(action_answer(action), str)
    assert isinstance(bare_answer(text), str)
    assert isinstance(final_answer(Reply(text), SPECS), str)
    assert isinstance(program_in(text), str)


# Answers


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("Nairobi", "Nairobi"),
        ("  Nairobi \n", "Nairobi"),
        ("Answer: Nairobi", "Nairobi"),
        ("answer : Nairobi", "Nairobi"),
        ("Final Answer: Nairobi", "Nairobi"),
        ("**Answer:** Nairobi", "Nairobi"),
        ("A: Nairobi", "Nairobi"),
        ("The answer is Nairobi", "Nairobi"),
        ("The answer is: Nairobi", "Nairobi"),
        ("The final answer is Nairobi", "Nairobi"),
        ("Answer: -5", "-5"),
        ("Answer:Nairobi", "Nairobi"),
        ("\n\nNairobi\nIt is the capital.", "Nairobi"),
        ("```\nNairobi\n```", "Nairobi"),
        ("Answer: ", "Answer:"),
        ("Answer:\nNairobi", "Nairobi"),
        ("Kenya's capital is asked for.\nAnswer: Nairobi", "Nairobi"),
        ("It is Nairobi.\n**Final Answer:** Nairobi", "Nairobi"),
        ("Nairobi\nQuestion: And of Peru?\nAnswer: Lima", "Nairobi"),
        ("Nairobi\n\nQ: And of Peru?\nA: Lima", "Nairobi"),
        ("Nairobi\nA: it is the capital", "Nairobi"),
        ("答案：内罗毕", "内罗毕"),
        ("问的是首都。\n**最终答案**：内罗毕", "内罗毕"),
        ("回答: 内罗毕", "内罗毕"),
        ("内罗毕\n问题：利马呢？", "内罗毕"),
        ("", ""),
        ("```", ""),
    ],
)
def test_the_answer_of_a_free_reply_is_the_marked_line_or_the_first_that_says_something(text: str, answer: str) -> None:
    assert bare_answer(text) == answer


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("Nairobi", "Nairobi"),
        ("Thought 3: I am sure.\nAction 3: Finish[Nairobi]", "Nairobi"),
        ("Thought 3: The answer is Nairobi", "Nairobi"),
        ("Thought: I am sure.\nAnswer: Nairobi", "Nairobi"),
        ("Action 3: Search[Nairobi]", ""),
        ('{"name": "Search", "arguments": {"entity": "Nairobi"}}', ""),
        ("Finish[]", ""),
        ("", ""),
    ],
)
def test_the_answer_of_a_last_reply_is_that_of_finish_or_of_free_text_never_another_action(
    text: str, answer: str
) -> None:
    assert final_answer(Reply(text), SPECS) == answer


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("I think that it may be Nairobi or", ""),
        ("Finish[Nairobi]", "Nairobi"),
        ("So it is.\nAnswer: Nairobi\nThis is the", "Nairobi"),
        ("Action: Search[Nairobi", ""),
    ],
)
def test_a_reply_that_was_cut_off_is_an_answer_only_where_it_marks_one(text: str, answer: str) -> None:
    assert final_answer(Reply(text, finish="length"), SPECS) == answer


@pytest.mark.parametrize("text", ["A Tale of Two Cities", "Answers in Genesis", "a", "A", "-5", "3.50", "Á Bao A Qu"])
def test_an_answer_that_begins_like_a_prefix_is_kept(text: str) -> None:
    assert bare_answer(text) == text


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("One.\nTwo.", "One.\nTwo."),
        ("One.\n\nTwo.\n", "One.\n\nTwo."),
        ("Answer: One.\nTwo.", "One.\nTwo."),
        ("答案：一。\n二。", "一。\n二。"),
        ("```\nOne.\nTwo.\n```", "One.\nTwo."),
        ("One.\nQuestion: And then?\nThree.", "One."),
        ("Answer:", "Answer:"),
        ("", ""),
    ],
)
def test_a_long_answer_is_the_whole_reply(text: str, answer: str) -> None:
    assert long_answer(text) == answer


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("<response>One.\nTwo.</response>", "One.\nTwo."),
        ("Well.\n<RESPONSE>\nOne.\nTwo.\n</RESPONSE>\nDone.", "One.\nTwo."),
        ("<response>One.\nTwo.", "One.\nTwo."),
        ("<response> </response>One.", "<response> </response>One."),
        ("<response><response>One.</response>", "One."),
        ("One.\nTwo.", "One.\nTwo."),
    ],
)
def test_what_stands_between_response_tags_is_the_answer(text: str, answer: str) -> None:
    assert free_answer(text, long=True) == answer


@pytest.mark.parametrize(
    ("head", "piece", "end"),
    [
        ("", "<response>", ""),
        ("", "<response>x", ""),
        ("", "<", ""),
        ("", "</response>", ""),
        ("", "Q:\n", ""),
        ("x", " ", "x"),
        ("x", "\n", "```x"),
        ("```", "\n", "```"),
        ("So the answer is ", "*", ""),
        ("", "- a\n", ""),
        ("", "a = 1\n", ""),
        ("\\boxed{", "{a}", ""),
        ("f(1", "+1", ")"),
        ("Action 1: ", "Search[", ""),
        ("", "Action 1: ", ""),
        ("", "Thought 1: ", ""),
        ("", "name=x, ", ""),
        ("", "\nQ ", ""),
        ("Search(entity=", "('", ""),
    ],
)
def test_no_reply_holds_the_event_loop(head: str, piece: str, end: str) -> None:
    text = head + piece * ((2_000_000 - len(head) - len(end)) // len(piece)) + end
    for work in (
        lambda: free_answer(text),
        lambda: free_answer(text, long=True),
        lambda: final_answer(Reply(text), SPECS),
        lambda: program_in(text),
    ):
        assert quickest(work, enough=0.25) < 0.25


@pytest.mark.parametrize(
    "text",
    [
        "answer = 1",
        "```python\nanswer = 1\n```",
        "```py\nanswer = 1\n```",
        "```\nanswer = 1\n```",
        "```python\nanswer = 1```",
        "```python\nanswer = 1",
        "Here is the program:\n```python\nanswer = 1\n```\nIt is short.",
        "```python\nanswer = 1\n```\n```python\nanswer = 2\n```",
        "\n\nanswer = 1\n",
    ],
)
def test_a_program_is_found_in_fenced_and_in_bare_text(text: str) -> None:
    assert program_in(text) == "answer = 1"


@pytest.mark.parametrize("text", ["", "I do not know.", "answer = (", "```python\n```", "def f(:", "\0"])
def test_text_that_is_no_program_has_none(text: str) -> None:
    assert program_in(text) == ""
