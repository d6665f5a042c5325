"""BLEU against sacrebleu's sentence BLEU."""

from __future__ import annotations

import pytest

from r_eval.analysis.metrics import get
from r_eval.analysis.metrics.bleu import prepared
from r_eval.analysis.metrics.segment import bare
from tests.analysis.metrics.pairs import ascii_pairs, plain, unicode_pairs

sacrebleu = pytest.importorskip("sacrebleu", reason="sacrebleu is not installed")


def theirs(answer: str, gold: str) -> float:
    return float(_METRIC.sentence_score(answer, [gold]).score) / 100


_METRIC = sacrebleu.metrics.BLEU(effective_order=True)
"""All else as sacrebleu's own sentence_bleu has it."""


def test_the_metric_is_what_sentence_bleu_computes() -> None:
    for answer, gold in plain(100):
        assert theirs(answer, gold) == sacrebleu.sentence_bleu(answer, [gold]).score / 100


def test_on_ascii_text_the_scores_are_sacrebleus_defaults() -> None:
    rows = [(a, g) for a, g in plain(4_000, 1) + ascii_pairs(5_000, 2) if a == g or bare(a) != bare(g)]
    assert len(rows) >= 8_000
    assert different(rows) == []


def test_on_any_text_the_scores_are_sacrebleus_over_our_words() -> None:
    pytest.importorskip("jieba", reason="jieba is not installed")
    rows = [(prepared(a), prepared(g)) for a, g in unicode_pairs(4_000, 3)]
    assert different([(a, g) for a, g in rows if a == g or bare(a) != bare(g)]) == []


def different(rows: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Pairs with another score than sacrebleu's, but for two empty texts, which score 1 here and 0 there."""
    ours = get("bleu")
    return [(a, g) for a, g in rows if ours(a, [g]) != pytest.approx(theirs(a, g), abs=1e-12) and (a + g).strip()]
