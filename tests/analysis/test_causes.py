"""Causes: every word that the source can record has one, and steps are counted as what they were."""

from __future__ import annotations

from typing import get_args

import pytest

from r_eval.analysis.causes import CAUSES, EXCEPTIONS, GENERAL, STEP_ERRORS, actions, declines, named, why
from r_eval.analysis.response_types import LIMITS, classify
from r_eval.llms.base import LLMError
from r_eval.records import CallError, Outcome, OutcomeKind, Step
from tests.analysis.conftest import call, episode


def test_every_error_of_a_call_or_a_reply_has_a_cause() -> None:
    errors = {*get_args(CallError), "length", "content_filter", "refusal", "empty", "invented", "unparsed"}
    assert errors == set(STEP_ERRORS)
    assert {*STEP_ERRORS.values(), *EXCEPTIONS.values(), *GENERAL.values(), *LIMITS} <= set(CAUSES)
    assert all(sentence.endswith(".") for sentence in CAUSES.values())
    assert set(GENERAL) == set(get_args(OutcomeKind))


RECORDED = [(kind, word) for word, kind in sorted(LLMError.OUTCOMES.items())] + [
    ("exhausted", word) for word in sorted(LIMITS)
]
RECORDED += [("gave_up", "no_program"), ("gave_up", "empty_reply"), ("tool_misuse", "unknown_api")]
RECORDED += [("tool_misuse", word) for word in ("syntax", "exception", "time", "memory", "no_answer", "no_program")]


@pytest.mark.parametrize(("kind", "word"), RECORDED)
def test_a_recorded_word_has_a_cause_of_its_own(kind: OutcomeKind, word: str) -> None:
    assert named(Outcome(kind=kind, cause=word)) in CAUSES.keys() - {GENERAL[kind]}


@pytest.mark.parametrize(
    ("kind", "cause", "answer"),
    [
        *[("tool_misuse", "syntax", ""), ("tool_misuse", "no_program", ""), ("exhausted", "steps", "")],
        *[
            ("gave_up", "empty_reply", ""),
            *(("finished", "", answer) for answer in ("I cannot answer, 内", "", "Paris")),
        ],
    ],
)
def test_a_last_reply_that_was_cut_is_the_cause_whatever_came_of_it(kind: str, cause: str, answer: str) -> None:
    steps = [Step(kind="thought", text="Search(", error="length"), Step(kind="observation", text="Not Python.")]
    made = episode(answer=answer, outcome=Outcome(kind=kind, cause=cause), steps=steps)  # type: ignore[arg-type]
    assert why(made, classify(made, 0.0)) == "cut_off"


@pytest.mark.parametrize("observation", ["", "0 results.", "[]", "{}", "null", " \n"])
def test_an_empty_result_found_nothing(observation: str) -> None:
    made = actions([call(observation)])
    assert (made.right, made.found, made.main_fault()) == (1, 0, "empty_search")


DECLINES = "I'm sorry, I can't help with that.|Unknown.|N/A|The answer cannot be determined.|I do not know.|无法确定"
DECLINES += "|I could not find the page.|No information was found."


ONLY_ALIKE = ["", "Paris", "the unknown soldier", "No", "Unknown Pleasures", "Not Fade Away"]


@pytest.mark.parametrize(
    ("answer", "expected"), [*((one, True) for one in DECLINES.split("|")), *((one, False) for one in ONLY_ALIKE)]
)
def test_an_answer_can_decline(answer: str, expected: bool) -> None:
    assert declines(answer) == expected
