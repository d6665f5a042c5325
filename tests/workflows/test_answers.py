"""Extracts actions, answers and programs from what models write."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from r_eval.environments.base import Environment, query_api
from r_eval.environments.signatures import specs_of
from r_eval.llms.base import Reply
from r_eval.llms.tool_calls import parse_action
from r_eval.workflows.answers import action_answer, final_answer, free_answer
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


def action(name: str, /, **arguments: Any) -> tuple[str, dict[str, Any]]:
    return name, arguments


KENYA = action("Search", entity="Kenya")
JANE = action("searchPerson", name="Jane Roe", organization="Acme")

# Actions; tests/llms has the notations of tool calls


@pytest.mark.parametrize(
    ("text", "parsed"),
    [
        *((text, KENYA) for text in ("Search[Kenya]", "search['Kenya']", "Search[entity=Kenya]", "Search[Kenya")),
        ("Thought 1: I need it.\nAction 1: Search[Kenya]\nObservation 1: ...\nAction 2: Finish[Nairobi]", KENYA),
        ("Action: Search\nAction Input: Kenya", KENYA),
        ("searchPerson(name=Jane Roe, organization=Acme)", JANE),
        ("SearchPerson[ name = Jane Roe , organization = Acme ]", JANE),
        ("searchPerson(name=Roe, Jane, limit=2)", action("searchPerson", name="Roe, Jane", limit="2")),
        ("searchPerson(name=2001, limit=true)", action("searchPerson", name="2001", limit=True)),
        ("Action: Look[Kenya]", action("Look", input="Kenya")),
        ("Search[  ]", action("Search")),
        ('Search(entity=the film "Up")', action("Search", entity='the film "Up"')),
        *((text, KENYA) for text in ("Search (Kenya)", "So I do Search[Kenya]", "Well. Search[Kenya] is next")),
        *(
            (text, None)
            for text in (
                "Action: Search[",
                "Action: Search[entity=",
                "I may do Search[Kenya] or not.",
                "I think the Action: Look[Kenya] helps.",
            )
        ),
        ('{"action": "Look", "action_input": {"x": "Kenya"}}', action("Look", x="Kenya")),
        *((text, None) for text in ("", "Nairobi", "Look[Kenya]", "I think (so).", "Action 1:", "ReSearch[Kenya]")),
        ('<tool_call>{"name": "Search", "arg</tool_call>', None),
        ("Observation: made up\nSearch[Kenya]", None),
    ],
)
def test_the_first_action_is_parsed_and_only_a_marked_one_may_have_an_unknown_name(text: str, parsed: Any) -> None:
    found = parse_action(text, SPECS)
    assert (found and (found.name, dict(found.arguments))) == parsed


@pytest.mark.parametrize("entity", ["Foo (film) [1]", "Côte d'Ivoire", 'the "Big" one', "a=b", "007", "東京"])
def test_text_in_square_brackets_or_quotes_is_literal(entity: str) -> None:
    quoted = entity.replace('"', '\\"')
    for text in (f"Action 1: Search[{entity}]", f'Search(entity="{quoted}")'):
        parsed = parse_action(text, SPECS)
        assert (parsed and parsed.arguments) == {"entity": entity}


# Answers


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ('Action 3: Finish[answer="Nairobi"]', "Nairobi"),
        ("Finish[The Tana (river), the longest]", "The Tana (river), the longest"),
        ("Finish[1,000]", "1,000"),
        ('Finish(["a", "b"])', "a; b"),
        ("Finish[]", ""),
        ('{"name": "Finish", "arguments": {"answer": "Nairobi"}}', "Nairobi"),
    ],
)
def test_the_argument_of_finish_is_the_answer_as_text(text: str, answer: str) -> None:
    finish = parse_action(text, SPECS)
    assert finish is not None
    assert (finish.name, action_answer(finish)) == ("Finish", answer)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("  Nairobi \n", "Nairobi"),
        ("**Answer:** Nairobi", "Nairobi"),
        ("The final answer is Nairobi", "Nairobi"),
        ("### Answer\n\n**Nairobi**", "Nairobi"),
        ("Sure! The correct answer is Nairobi.", "Nairobi"),
        ("The answer is not Kisumu. So the answer is Nairobi.", "Nairobi"),
        ("Final Answer: The answer is Nairobi.", "Nairobi"),
        ("Based on [1] and [2], the answer is Nairobi.", "Nairobi"),
        ("Kisumu is smaller, so the answer is: **Nairobi**.", "Nairobi"),
        ("综上所述，答案是内罗毕。", "内罗毕"),
        ("The answer to your question is Nairobi.", "Nairobi"),
        ("The answer should be Nairobi.", "Nairobi"),
        ("Sure, here's the answer: Nairobi", "Nairobi"),
        ("My answer: Nairobi", "Nairobi"),
        ("The answers are egg and butter.", "egg and butter"),
        ("The answer is\n\nNairobi", "Nairobi"),
        *((f"{word}：内罗毕", "内罗毕") for word in ("答", "答え", "最終回答", "답", "정답")),
        *((f"{word}: Nairobi", "Nairobi") for word in ("Ответ", "Réponse finale ", "Resposta final", "Short answer")),
        ("<final_answer>Nairobi</final_answer>", "Nairobi"),
        ("It has these:\n1. egg\n2. butter\nEnjoy! 😀", "egg; butter"),
        ("The capital is:\nNairobi", "Nairobi"),
        ("2. Mai 1990", "2. Mai 1990"),
        ('Here:\n```json\n{"answer": "Nairobi"}\n```', "Nairobi"),
        ("Kenya has a capital. So the answer is: Nairobi.", "Nairobi"),
        ("Answer: -5", "-5"),
        ("\n\nNairobi\nIt is the capital.", "Nairobi"),
        ("Answer: ", "Answer:"),
        ("It is Nairobi.\n**Final Answer:** Nairobi", "Nairobi"),
        ("Nairobi\n\nQ: And of Peru?\nA: Lima", "Nairobi"),
        ("问的是首都。\n**最终答案**：内罗毕", "内罗毕"),
        ("所以答案是内罗毕。", "内罗毕"),
        ("内罗毕\n问题：利马呢？", "内罗毕"),
        ("- egg\n- butter", "egg; butter"),
        ('{"answer": ["egg", "butter"]}', "egg; butter"),
        ("so \\boxed{\\text{Nairobi}}", "Nairobi"),
        ("Well. <answer>Nairobi</answer> Done.", "Nairobi"),
        ("", ""),
        *((text, text) for text in ("A Tale of Two Cities", "Answers in Genesis", "A", "3.50", "Á Bao A Qu")),
    ],
)
def test_a_free_reply_is_its_marked_line_or_its_first(text: str, answer: str) -> None:
    assert free_answer(text) == answer


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("One.\n\nTwo.\n", "One.\n\nTwo."),
        ("答案：一。\n二。", "一。\n二。"),
        ("```\nOne.\nTwo.\n```", "One.\nTwo."),
        ("One.\nQuestion: And then?\nThree.", "One."),
        ("Answer:", "Answer:"),
        ("Well.\n<RESPONSE>\nOne.\nTwo.\n</RESPONSE>\nDone.", "One.\nTwo."),
        ("<response> </response>One.", "<response> </response>One."),
    ],
)
def test_a_long_answer_is_the_whole_reply_or_its_tagged_part(text: str, answer: str) -> None:
    assert free_answer(text, long=True) == answer


@pytest.mark.parametrize(
    ("text", "is_cut", "answer"),
    [
        ("Thought 3: I am sure.\nAction 3: Finish[Nairobi]", False, "Nairobi"),
        ("Thought 3: The answer is Nairobi", False, "Nairobi"),
        ("Action 3: Search[Nairobi]", False, ""),
        ("Finish[]", False, ""),
        ("I think that it may be Nairobi or", True, ""),
        ("Finish[Nairobi]", True, "Nairobi"),
        ("So it is.\nAnswer: Nairobi\nThis is the", True, "Nairobi"),
        ("Action: Search[Nairobi", True, ""),
    ],
)
def test_a_last_reply_that_is_cut_or_calls_an_api_is_no_answer(text: str, is_cut: bool, answer: str) -> None:
    assert final_answer(Reply(text, finish="length" if is_cut else "stop"), SPECS) == answer


# Hostile replies

PIECES = [
    *"{}[]()\"'\\,:=`# \n\t\0é\ud800",
    *("Action 1: ", "Search[", "searchPerson(", "name=", "Finish[", "```", "Observation", "lambda:"),
    '{"name": "Search", "arguments": ',
]
HOSTILE = st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=3)), max_size=50).map("".join)


@settings(max_examples=100)
@given(HOSTILE)
@example("Search(" * 2000)
@example("{'a':" * 2000)
def test_no_reply_raises(text: str) -> None:
    action = parse_action(text, SPECS)
    assert action is None or isinstance(action_answer(action), str)
    for answer in (free_answer(text), free_answer(text, long=True), final_answer(Reply(text), SPECS), program_in(text)):
        assert isinstance(answer, str)


@pytest.mark.parametrize(
    ("head", "piece", "end"),
    [
        *(
            ("", piece, "")
            for piece in ("<response>", "<response>x", "</response>", "Q:\n", "- a\n", "a = 1\n", "\nQ ")
        ),
        *(("", piece, "") for piece in ("Action 1: ", "Thought 1: ", "name=x, ")),
        ("x", " ", "x"),
        ("x", "\n", "```x"),
        ("```", "x", ""),
        ("```", " ", "x"),
        *(("", piece, "") for piece in ("`", "`x", "<x>", "</x>", "<|x|>", "x`\n")),
        ("```python\n", "\n ", "x"),
        ("", "```x", ""),
        ("A, ", ", ", "so the answer is x"),
        ("答：", "，", "答案"),
        ("So the answer is ", "*", ""),
        ("", ". The answer is ", ""),
        ("", ". b, c, ", "answer"),
        ("", '{"answer": ', "}"),
        ("\\boxed{", "{a}", ""),
        ("f(1", "+1", ")"),
        ("Action 1: ", "Search[", ""),
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
