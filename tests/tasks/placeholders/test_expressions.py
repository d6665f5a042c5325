"""The grammar of golds that are expressions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from r_eval.tasks.placeholders.expressions import DEEPEST, BadExpression, Expression, escaped, is_true, parse

CHARS = st.one_of(st.sampled_from('&|()"\\ ab'), st.characters(exclude_categories=["C", "Z"]))


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("a", "a"),
        ("a|b&c", ("|", "a", ("&", "b", "c"))),
        ("(a && b) & c", ("&", ("&", "a", "b"), "c")),
        ('"AT&T"', "AT&T"),
        ('"Paris (France)" || b', ("|", "Paris (France)", "b")),
        (r'"a \"b\" \\"', 'a "b" \\'),
        (r"\"Heroes\" by Bowie", '"Heroes" by Bowie'),
        ("北京&（上海）", ("&", "北京", "（上海）")),
        ("(" * DEEPEST + "a" + ")" * DEEPEST, "a"),
    ],
)
def test_an_expression_is_read_as_its_tree(text: str, tree: Expression) -> None:
    assert parse(text) == tree


@pytest.mark.parametrize(
    ("text", "column", "why"),
    [
        ("", 1, "missing before the end"),
        ("a|", 3, "missing before the end"),
        ("a & | b", 5, r"missing before '\|'"),
        ("(a", 1, "not closed"),
        ("Paris (France)", 7, r"'&' or '\|' is missing before '\('"),
        ('b & "a', 4, "quote that is not closed"),
        ("a\\", 2, "backslash with nothing behind it"),
        ("(" * 100_000, DEEPEST + 1, "within each other"),
    ],
    ids=lambda value: str(value)[:12],
)
def test_a_mistake_is_told_with_its_column(text: str, column: int, why: str) -> None:
    with pytest.raises(BadExpression, match=f"column {column}: .*{why}"):
        parse(text)


@given(st.text(CHARS, min_size=1, max_size=8).map(str.strip).filter(bool))
def test_an_escaped_text_is_read_as_itself(text: str) -> None:
    assert parse(escaped(text)) == " ".join(text.split())


@pytest.mark.parametrize(
    ("text", "held", "expected"),
    [("a & b", "a", False), ("a & (b | c)", "ac", True), ("a & (b | c)", "a", False), ("a & b | c", "c", True)],
)
def test_an_expression_is_true_of_what_holds(text: str, held: str, expected: bool) -> None:
    assert is_true(parse(text), held.__contains__) is expected
