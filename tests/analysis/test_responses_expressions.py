"""Golds of covered_match are expressions: what must have been observed are their operands."""

from __future__ import annotations

import pytest

from r_eval.analysis.responses import classify
from r_eval.records import SCHEMA, Episode, Outcome, Step


def episode(gold: str, observation: str) -> Episode:
    named = dict.fromkeys(("episode_id", "question_id", "task", "domain", "workflow", "llm", "condition"), "x")
    steps = [Step(kind="call", observation=observation)]
    told = {"level": "KS", "question": "?", "golds": [gold], "answer": "", "outcome": Outcome(kind="finished")}
    return Episode.model_validate({"schema": SCHEMA, **named, **told, "steps": steps})


@pytest.mark.parametrize(
    ("gold", "observation", "type_"),
    [
        ("1711 & Ann Orr", "Ann Orr built it in 1711.", "EM"),
        ("1711 & Ann Orr", "It was built in 1711.", "AM"),
        ("1711 & (Ann Orr | A. Orr)", "A. Orr built it in 1711.", "EM"),
        ('"AT&T" | Bell', "AT&T built it.", "EM"),
        ("Ann Orr | Bell", "Nobody knows.", "AM"),
    ],
)
def test_a_right_answer_rests_on_the_operands(gold: str, observation: str, type_: str) -> None:
    assert classify(episode(gold, observation), 1.0, metric="covered_match").type == type_


def test_an_operand_that_stands_anywhere_by_chance_leaves_it_undecided() -> None:
    assert classify(episode("Ann Orr & 7", "Ann Orr has 7 mills."), 1.0, metric="covered_match").undecided


def test_an_operand_that_lacks_decides_it_all_the_same() -> None:
    assert not classify(episode("Ann Orr & 7", "There are 7."), 1.0, metric="covered_match").undecided


def test_with_another_metric_a_gold_is_a_text() -> None:
    assert classify(episode("1711 & Ann Orr", "Ann Orr built it in 1711."), 1.0).type == "AM"
