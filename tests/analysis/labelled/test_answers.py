"""Answers judged by people: how often each metric calls a right one wrong (below 0.5), or a wrong one right."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml

from r_eval.analysis.metrics import get

GROUPS: list[dict[str, Any]] = yaml.safe_load((Path(__file__).parent / "answers.yaml").read_text(encoding="utf-8"))
PAIRS = [
    (group, answer, is_right)
    for group in GROUPS
    for is_right in (True, False)
    for answer in group["right" if is_right else "wrong"]
]
MOST = {"token_f1": 0.01, "covered_match": 0.01, "substring_match": 0.03}
"""The share of wrong verdicts; the first two are metrics of embedded tasks that judge an answer right or wrong."""


def golds_of(group: dict[str, Any], metric: str) -> list[str]:
    """The golds; for `covered_match` as expressions."""
    if metric != "covered_match":
        return list(group["golds"])
    return [" & ".join(f'"{value.strip()}"' for value in gold.split(";")) for gold in group["golds"]]


@pytest.mark.parametrize("metric", sorted(MOST))
def test_a_metric_agrees_with_people(metric: str) -> None:
    score = get(metric)
    wrong = [
        (group["golds"], answer, is_right)
        for group, answer, is_right in PAIRS
        if (score(answer, golds_of(group, metric)) >= 0.5) != is_right
    ]
    assert len(wrong) <= MOST[metric] * len(PAIRS), wrong


def test_exact_match_never_calls_a_wrong_answer_right() -> None:
    score = get("exact_match")
    assert [pair for pair in PAIRS if score(pair[1], pair[0]["golds"]) and not pair[2]] == []


def test_the_set_is_large_and_two_sided() -> None:
    sides = Counter(is_right for *_, is_right in PAIRS)
    assert len(PAIRS) >= 400
    assert 0.8 < sides[True] / sides[False] < 1.25
    kinds = {group["kind"] for group in GROUPS}
    assert {"closed", "negation", "hedging", "verdicts", "restating", "decimals", "signs", "percent", "units"} <= kinds
    assert {"numbers", "separators", "dates", "digits", "chinese", "russian", "lists"} <= kinds
