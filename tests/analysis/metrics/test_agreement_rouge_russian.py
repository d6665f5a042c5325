"""ROUGE-1, 2 and L, plain and over Russian stems, against Google's rouge-score with NLTK's Snowball stemmer."""

from __future__ import annotations

import functools
import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from r_eval.analysis.metrics import get, of_a_run
from r_eval.errors import UserError
from tests.analysis.metrics.pairs import plain

scorer = pytest.importorskip("rouge_score.rouge_scorer", reason="rouge-score is not installed")
snowball = pytest.importorskip("nltk.stem.snowball", reason="nltk is not installed")
pytest.importorskip("snowballstemmer", reason="snowballstemmer is not installed")

NAMES = {"rouge_1": "rouge1", "rouge_2": "rouge2", "rouge_l": "rougeL"}
TEXT = (
    "в на и не с по из от до для его её они было была были год года году годов лет 1912 2024 город города "
    "городе городов Москва Москвы Москве московский московского река реки рек речной учёный учёного учёные "
    "писатель писателя писателями написал написала написанный родился родилась премия премии премию театр "
    "театра театров строительство построен построена построенный IBM Google — « » , . ( )"
)
WORDS = TEXT.split()
texts = st.text(st.sampled_from("абвеёжия АБВ.,-12abc"), max_size=40)


class Stems:
    """The published words: runs of \\w in lower case, stemmed."""

    def __init__(self) -> None:
        self._stem = functools.cache(snowball.SnowballStemmer("russian").stem)

    def tokenize(self, text: str) -> list[str]:
        return [self._stem(word.replace("ё", "е")) for word in re.findall(r"\w+", text.lower())]


def russian_pairs(number: int, seed: int) -> list[tuple[str, str]]:
    """Texts of Russian words and the same texts with some changed, left out or moved."""
    rng = random.Random(seed)
    pairs = []
    for _ in range(number):
        gold = rng.choices(WORDS, k=rng.randint(1, 30))
        answer = [rng.choice(WORDS) if rng.random() < 0.3 else word for word in gold if rng.random() < 0.8]
        if rng.random() < 0.2:
            rng.shuffle(answer)
        pairs.append((" ".join(answer), " ".join(gold)))
    return pairs


@pytest.mark.parametrize("metric", sorted(NAMES))
def test_over_stems_the_scores_are_rouge_scores(metric: str) -> None:
    stems = Stems()
    theirs = scorer.RougeScorer([NAMES[metric]], tokenizer=stems)
    ours = get(f"{metric}@ru")
    different = [
        (a, g)
        for a, g in russian_pairs(1_500, 1)
        if ours(a, [g]) != theirs.score(g, a)[NAMES[metric]].fmeasure and stems.tokenize(a) + stems.tokenize(g)
    ]
    assert different == []


@pytest.mark.parametrize("metric", ["rouge_1", "rouge_2"])
def test_on_english_text_the_scores_are_rouge_scores(metric: str) -> None:
    theirs = scorer.RougeScorer([NAMES[metric]], use_stemmer=False)
    ours = get(metric)
    different = [
        (a, g)
        for a, g in plain(1_000, 2)
        if ours(a, [g]) != theirs.score(g, a)[NAMES[metric]].fmeasure and (a + g).strip()
    ]
    assert different == []


def test_stems_find_what_words_do_not() -> None:
    one, other = "построен в Москве", "построена в Москвe".replace("e", "ы")
    assert get("rouge_l@ru")(one, [other]) == 1.0
    assert get("rouge_l")(one, [other]) == pytest.approx(1 / 3)


@pytest.mark.parametrize("metric", sorted(NAMES))
@given(one=texts, other=texts)
def test_scores_are_from_0_to_1_and_the_same_both_ways(metric: str, one: str, other: str) -> None:
    for name in (metric, f"{metric}@ru"):
        score = get(name)(one, [other])
        assert 0.0 <= score <= 1.0
        assert score == pytest.approx(get(name)(other, [one]))


@given(one=texts, other=texts)
def test_a_subsequence_is_no_longer_than_the_words_in_common(one: str, other: str) -> None:
    assert get("rouge_l@ru")(one, [other]) <= get("rouge_1@ru")(one, [other]) + 1e-12


def test_an_unknown_language_is_refused() -> None:
    with pytest.raises(UserError, match="rouge_l@ru"):
        get("rouge_l@xx")


def test_a_run_may_name_a_language() -> None:
    assert of_a_run("rouge_l@ru")("дом", ["дома"]) == 1.0
