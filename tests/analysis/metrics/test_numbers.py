"""Answers that are numbers."""

from __future__ import annotations

import pytest

from r_eval.analysis.metrics import get
from r_eval.analysis.metrics.numbers import numbers

SAME = [
    ("1,234", "1234"),
    ("1 234 567", "1,234,567"),
    ("1.234.567,5", "1234567.5"),
    ("about 1,234 km", "1234 km"),
    ("1.2 km", "1200 m"),
    ("about 1,234 km", "1234"),
    ("8,848.86 m", "8848.86 metres"),
    ("29,031.7 feet", "8848.86 m"),
    ("$3.4bn", "3.4 billion dollars"),
    ("3,412,000", "3.4 million"),
    ("3.1416", "3.14"),
    ("50%", "0.5"),
    ("50", "50 percent"),
    ("12万", "120000"),
    ("120万元", "1200000"),
    ("42人", "42"),
    ("٣٤", "34"),
    ("１２", "12"),
    ("1e6", "1000000"),
    ("−5 °C", "-5"),
    ("300 m, built in 1889", "300 m"),
    ("1.5, 2", "1.5;2"),
    ("It was in 1912.", "1912"),
    ("the 1990s", "1990"),
]
OTHER = [
    ("1913", "1912"),
    ("5 kg", "5 km"),
    ("-5", "5"),
    ("2.5", "2"),
    ("1.5", "15"),
    ("A1", "1"),
    ("1912 or 1913", "1912"),
    ("none", "0"),
    ("", "0"),
    ("1,23", "123"),
]


@pytest.mark.parametrize(("answer", "gold"), SAME)
def test_the_same_number_written_otherwise_matches(answer: str, gold: str) -> None:
    assert get("numeric_match")(answer, [gold]) == 1.0


@pytest.mark.parametrize(("answer", "gold"), OTHER)
def test_another_number_does_not_match(answer: str, gold: str) -> None:
    assert get("numeric_match")(answer, [gold]) == 0.0


def test_a_gold_without_a_number_is_matched_exactly() -> None:
    assert (get("numeric_match")("Paris.", ["paris"]), get("numeric_match")("Paris 3", ["Paris"])) == (1.0, 0.0)


def test_a_tolerance_is_a_share_of_the_gold() -> None:
    within = get("numeric_match@0.05")
    assert (within("105", ["100"]), within("106", ["100"]), within("-105", ["100"])) == (1.0, 0.0, 0.0)


def test_a_number_too_large_for_a_float_is_none() -> None:
    assert numbers("1e999") == []
