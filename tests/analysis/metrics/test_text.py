"""How texts are cut into words, ROUGE and BLEU; agreement with references is in `tests/differential`."""

from __future__ import annotations

from hypothesis import strategies as st

from r_eval.analysis.metrics import get

texts = st.text(st.sampled_from("абвеёжия АБВ.,-12abc"), max_size=40)


def test_a_number_is_one_word_to_word_f1_and_rouge() -> None:
    for one, two in [("3.1%", "1.3%"), ("-5", "5"), ("2023-05-06", "2023-06-05"), ("3.5万亿元", "5.3万亿元")]:
        assert get("word_f1")(one, [two]) < 1.0
        assert get("rouge_l")(one, [two]) < 1.0
