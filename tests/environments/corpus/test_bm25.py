"""BM25 finds the chunks that share words with a query."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path

import pytest

from r_eval.environments.corpus.retrievers import BM25, K1, B, index_of_words
from r_eval.environments.corpus.words import search_words

TEXTS = [
    "The cat sat on the mat.",
    "A dog barked at the cat.",
    "股市今天上涨。",
    "今天北京下雨，气温3.5度。",
    "...",
    "A dog barked at the cat.",
]


def opened(texts: list[str], folder: Path) -> BM25:
    index_of_words(map(search_words, texts)).save(folder, show_progress=False)
    return BM25.load(folder, len(texts))


def lucene(texts: list[str], query: str) -> list[float]:
    """BM25 by its formula (Kamphuis et al., 2020, table 1, Lucene accurate, without the constant k1 + 1)."""
    counts = [Counter(search_words(text)) for text in texts]
    mean = sum(sum(c.values()) for c in counts) / len(counts)
    scores = []
    for count in counts:
        score = 0.0
        for word in search_words(query):
            df = sum(word in c for c in counts)
            idf = math.log(1 + (len(texts) - df + 0.5) / (df + 0.5))
            score += idf * count[word] / (count[word] + K1 * (1 - B + B * sum(count.values()) / mean))
        scores.append(score)
    return scores


@pytest.mark.parametrize("query", ["the cat", "dog dog cat", "今天北京", "3.5"])
def test_scores_are_those_of_the_formula(tmp_path: Path, query: str) -> None:
    expected = lucene(TEXTS, query)
    hits = opened(TEXTS, tmp_path).search(query, 10)
    assert {hit.chunk: pytest.approx(hit.score, rel=1e-5) for hit in hits} == {
        n: s for n, s in enumerate(expected) if s
    }


@pytest.mark.parametrize(
    ("query", "k", "found"),
    [("dog", 2, [1, 5]), ("dog", 1, [1]), *((query, 5, []) for query in ("unicorn", "", "。。。", "独角兽"))],
)
def test_equal_scores_are_in_the_order_of_the_corpus_and_unknown_words_find_nothing(
    tmp_path: Path, query: str, k: int, found: list[int]
) -> None:
    assert [hit.chunk for hit in opened(TEXTS, tmp_path).search(query, k)] == found
