"""In which language a text is taken to be; Russian words are cut down to stems, and ё is read as е."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from r_eval.analysis.metrics import get
from r_eval.environments.corpus.words import search_words
from r_eval.languages import language_of, one_letter, recognised, stem

pytest.importorskip("snowballstemmer", reason="snowballstemmer is not installed")

ROOTS = (
    "город книг москв учител красив важн чита писа росси улиц год человек ребён еж счасть вели лучш студент мор нов "
    "сын исследова технологи ден говор син молод объявлен съезд"
)
ENDINGS = (
    "а у е ом ы ов ам ами ах ый ая ое ые ого ому ым ой ую ть л ла ли ет ют ешь ившись вший вшая ейш ейший ость остью "
    "ия ию ии ией ями ёт ся ться лся ённый ующий"
)
METRICS = ("exact_match", "rouge_1", "rouge_l", "rouge_l@ru", "substring_match", "token_f1")


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("鹭口大桥 ABC", "zh"),
        ("What does 大桥 mean?", "en"),
        ("橋 2,340", "zh"),
        ("東京はどこですか", "en"),
        ("谁写了《战争与和平》(Толстой)?", "zh"),
        ("В каком году IBM выпустила IBM PC?", "ru"),
        ("Which book did Толстой write first?", "en"),
        ("2024", "en"),
        ("", "en"),
    ],
)
def test_the_language_of_a_text_is_that_of_its_letters(text: str, language: str) -> None:
    assert recognised(text) == language
    assert language_of(text) == ("en" if language == "ru" else language)  # prompts are in two languages


def test_the_stems_are_those_of_nltks_snowball() -> None:
    nltk = pytest.importorskip("nltk.stem.snowball", reason="nltk is not installed")
    theirs = nltk.SnowballStemmer("russian")
    words = [one_letter(root + ending) for root in ROOTS.split() for ending in ["", *ENDINGS.split()]]
    assert [(word, stem(word)) for word in words if stem(word) != theirs.stem(word)] == []


@given(st.text(st.characters(max_codepoint=0x3FF) | st.characters(min_codepoint=0x450), max_size=20))
@example("їжак")
@example("д" * 101)
def test_a_word_of_another_language_is_its_own_stem(word: str) -> None:
    assert stem(word) == one_letter(word)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize(("answer", "gold"), [("СЕРГЕЙ КОРОЛЕВ.", "Сергей Королёв"), ("«Ёлка»", "елка")])
def test_case_and_the_dots_of_yo_do_not_matter(metric: str, answer: str, gold: str) -> None:
    assert get(metric)(answer, [gold]) == 1.0


def test_a_search_finds_another_form_of_a_word_and_words_of_another_script_keep_their_rules() -> None:
    assert search_words("Города Москвы, 1.5") == search_words("ГОРОДОВ Москве 1.5")
    assert search_words("IBM в Нью-Йорке, café") == ["ibm", "в", "нью", "йорк", "café"]
