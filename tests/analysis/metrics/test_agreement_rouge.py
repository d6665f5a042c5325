"""ROUGE-L against Google's rouge-score."""

from __future__ import annotations

import itertools

import pytest

from r_eval.analysis.metrics import get
from r_eval.analysis.metrics.segment import segments
from tests.analysis.metrics.pairs import ascii_pairs, plain, unicode_pairs

scorer = pytest.importorskip("rouge_score.rouge_scorer", reason="rouge-score is not installed")


class Segmented:
    """Our words, for their scorer."""

    def tokenize(self, text: str) -> list[str]:
        return segments(text)


def test_on_ascii_text_the_scores_are_rouge_scores() -> None:
    theirs = scorer.RougeScorer(["rougeL"], use_stemmer=False)
    ours = get("rouge_l")
    different = [
        (a, g)
        for a, g in plain(5_000, 1) + ascii_pairs(5_000, 2)
        if ours(a, [g]) != theirs.score(g, a)["rougeL"].fmeasure and segments(a) + segments(g)
    ]
    assert different == []


def test_on_any_text_the_scores_are_rouge_scores_over_our_words() -> None:
    pytest.importorskip("jieba", reason="jieba is not installed")
    theirs = scorer.RougeScorer(["rougeL"], tokenizer=Segmented())
    ours = get("rouge_l")
    different = [
        (a, g)
        for a, g in unicode_pairs(5_000, 3)
        if ours(a, [g]) != theirs.score(g, a)["rougeL"].fmeasure and segments(a) + segments(g)
    ]
    assert different == []


def test_two_texts_without_words_are_1_where_they_are_the_same() -> None:
    assert (get("rouge_l")("", [""]), get("rouge_l")("+", ["-"]), get("rouge_l")("", ["-"])) == (1.0, 0.0, 0.0)


def test_the_best_gold_counts_as_in_score_multi() -> None:
    theirs = scorer.RougeScorer(["rougeL"], use_stemmer=False)
    rows = plain(2_000, 4)
    for (answer, gold), (_, other) in itertools.pairwise(rows):
        assert get("rouge_l")(answer, [gold, other]) == theirs.score_multi([gold, other], answer)["rougeL"].fmeasure
