"""How texts are cut into words, ROUGE and BLEU; agreement with references is in `tests/differential`."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st

from r_eval.analysis.metrics import get
from r_eval.analysis.metrics.segment import segments

texts = st.text(st.sampled_from("абвеёжия АБВ.,-12abc"), max_size=40)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The cat's hat.", ["the", "cat", "s", "hat"]),
        ("北京大学在北京。", ["北京大学", "在", "北京"]),
        ("รุง", ["รุ", "ง"]),
        ("です", ["で", "す"]),
        ("-5 or 3.1%", ["-5", "or", "3.1"]),
        ("12,000 and 3,5", ["12000", "and", "3.5"]),
        ("on 2023-05-06", ["on", "2023-05-06"]),
        ("增长3.1%，共12,000元", ["增长", "3.1", "共", "12000", "元"]),
        ("C3-4b x-5", ["c3", "4b", "x", "5"]),
    ],
)
def test_words(text: str, words: list[str]) -> None:
    pytest.importorskip("jieba", reason="jieba is not installed")
    assert segments(text) == words


def test_a_number_is_one_word_to_word_f1_and_rouge() -> None:
    for one, two in [("3.1%", "1.3%"), ("-5", "5"), ("2023-05-06", "2023-06-05"), ("3.5万亿元", "5.3万亿元")]:
        assert get("word_f1")(one, [two]) < 1.0
        assert get("rouge_l")(one, [two]) < 1.0
