"""The grammar of golds that are expressions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from r_eval.tasks.placeholders.expressions import (
    DEEPEST,
    BadExpression,
    Expression,
    Group,
    Literal,
    failing,
    parse,
    to_text,
)

A, B, C, D = (Literal(letter) for letter in "abcd")
CHARS = st.one_of(st.sampled_from('&|()"\\ ab\t'), st.characters())
TREES: st.SearchStrategy[Expression] = st.recursive(
    st.text(CHARS, min_size=1, max_size=8).filter(str.strip).map(Literal),
    lambda inner: st.lists(inner, min_size=2, max_size=3).flatmap(
        lambda parts: st.sampled_from([Group("&", tuple(parts)), Group("|", tuple(parts))])
    ),
    max_leaves=12,
)


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("a", A),
        ("a|b&c", Group("|", (A, Group("&", (B, C))))),
        ("a & (b|c)", Group("&", (A, Group("|", (B, C))))),
        ("(a & b) & c", Group("&", (Group("&", (A, B)), C))),
        ('"AT&T"', Literal("AT&T")),
        ('"Paris (France)" | b', Group("|", (Literal("Paris (France)"), B))),
        (r'"a \"b\" \\"', Literal('a "b" \\')),
        (r"\"Heroes\" by Bowie", Literal('"Heroes" by Bowie')),
        ("北京&（上海）", Group("&", (Literal("北京"), Literal("（上海）")))),
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
        ("a)", 2, r"missing before '\)'"),
        ("Paris (France)", 7, r"'&' or '\|' is missing before '\('"),
        ('b & "a', 4, "quote that is not closed"),
        ("a\\", 2, "backslash with nothing behind it"),
    ],
)
def test_a_mistake_is_told_with_its_column(text: str, column: int, why: str) -> None:
    with pytest.raises(BadExpression, match=f"column {column}: .*{why}"):
        parse(text)


def test_no_more_parentheses_are_read_than_any_gold_has() -> None:
    assert parse("(" * DEEPEST + "a" + ")" * DEEPEST) == A
    with pytest.raises(BadExpression, match="within each other"):
        parse("(" * 100_000)


@given(TREES)
def test_a_tree_that_is_written_is_read_as_itself(tree: Expression) -> None:
    assert parse(to_text(tree)) == tree


@pytest.mark.parametrize(
    ("text", "held", "missing"),
    [
        ("a & b", "a", ["b"]),
        ("a & (b | c)", "c", ["a"]),
        ("a & (b | c)", "a", ["b", "c"]),
        ("a & b | c", "c", []),
    ],
)
def test_what_is_missing_is_what_makes_it_false(text: str, held: str, missing: list[str]) -> None:
    assert failing(parse(text), held.__contains__) == missing
