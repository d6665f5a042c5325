"""Response types: DESIGN's table cell by cell, what counts as evidence, and the published rule."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from r_eval.analysis.responses import classify
from r_eval.errors import UserError
from r_eval.records import Episode, Outcome, Step

Make = Callable[..., Episode]
MakeCall = Callable[..., Step]
OUTCOMES = ("finished", "gave_up", "exhausted", "tool_misuse", "tool_failure", "llm_failure")


@pytest.mark.parametrize("outcome", OUTCOMES)
@pytest.mark.parametrize(("score", "expected"), [(1.0, "EM"), (0.0, "GE")])
def test_supported_answers_are_EM_or_GE_however_they_ended(
    make_episode: Make, outcome: str, score: float, expected: str
) -> None:
    assert classify(make_episode(outcome=Outcome(kind=outcome)), score).type == expected  # type: ignore[arg-type]


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_an_unsupported_match_is_AM_however_it_ended(make_episode: Make, outcome: str) -> None:
    assert classify(make_episode(outcome=Outcome(kind=outcome), steps=[]), 1.0).type == "AM"  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("outcome", "expected"), list(zip(OUTCOMES, ("RE", "RE", "RE", "TE", "ME", "ME"), strict=True))
)
def test_an_unsupported_mismatch_goes_by_how_it_ended(make_episode: Make, outcome: str, expected: str) -> None:
    assert classify(make_episode(outcome=Outcome(kind=outcome), steps=[]), 0.0).type == expected  # type: ignore[arg-type]


@pytest.mark.parametrize(("score", "expected"), [(0.5, "EM"), (0.49, "GE")])
def test_an_answer_matches_from_half_a_score_on(make_episode: Make, score: float, expected: str) -> None:
    assert classify(make_episode(), score).type == expected


def test_the_threshold_can_be_set(make_episode: Make) -> None:
    assert classify(make_episode(), 0.3, threshold=0.3).type == "EM"


@pytest.mark.parametrize(
    ("gold", "observation"),
    [("male", "She is female."), ("art", "A start."), ("1987", "In 19871."), ("New York", "York is new.")],
)
def test_containment_is_of_whole_tokens_in_a_row(
    make_episode: Make, make_call: MakeCall, gold: str, observation: str
) -> None:
    assert not classify(make_episode(golds=[gold], steps=[make_call(observation)]), 1.0).supported


@pytest.mark.parametrize(
    ("gold", "observation"),
    [
        ("the Nile", "It is Nile water."),
        ("André", '[{"name": "Andr\\u00e9"}]'),
        ("SportsTeam", "a sports team"),
        ("sports team", "class: SportsTeam"),
        ("Lamu;Mombasa", '["Mombasa", "Lamu"]'),
        ("['Lamu', 'Mombasa']", '["Mombasa", "Lamu"]'),
    ],
)
def test_containment_follows_the_normalisation(
    make_episode: Make, make_call: MakeCall, gold: str, observation: str
) -> None:
    assert classify(make_episode(golds=[gold], steps=[make_call(observation)]), 1.0).supported


def test_any_gold_is_enough(make_episode: Make) -> None:
    assert classify(make_episode(golds=["Mombasa", "Nairobi"]), 1.0).supported


def test_of_a_gold_with_several_values_every_one_is_needed(make_episode: Make) -> None:
    assert not classify(make_episode(golds=["Nairobi;Mombasa"]), 1.0).supported


def test_the_values_may_come_from_several_observations(make_episode: Make, make_call: MakeCall) -> None:
    steps = [make_call("Nairobi"), make_call("Mombasa")]
    assert classify(make_episode(golds=["Nairobi;Mombasa"], steps=steps), 1.0).supported


def test_named_evidence_must_all_be_observed(make_episode: Make) -> None:
    response = classify(make_episode(evidence=["Nairobi", "1963"]), 1.0)
    assert (response.type, response.missing) == ("AM", ("1963",))


def test_named_evidence_decides_instead_of_the_gold(make_episode: Make, make_call: MakeCall) -> None:
    made = make_episode(
        golds=["yes"], evidence=["born 1901", "born 1903"], steps=[make_call("born 1901"), make_call("born 1903")]
    )
    response = classify(made, 1.0)
    assert (response.type, response.undecided) == ("EM", False)


@pytest.mark.parametrize("gold", ["yes", "No.", "true", "7", "42", "-3", "a", "", "[]"])
def test_a_gold_that_is_anywhere_by_chance_is_undecided(make_episode: Make, make_call: MakeCall, gold: str) -> None:
    made = make_episode(golds=[gold], steps=[make_call(f"yes no true 7 42 -3 {gold}")])
    response = classify(made, 1.0)
    assert (response.type, response.undecided) == ("AM", True)


def test_a_number_of_three_digits_is_looked_for(make_episode: Make, make_call: MakeCall) -> None:
    assert classify(make_episode(golds=["120"], steps=[make_call("cited 120 times")]), 1.0).type == "EM"


@pytest.mark.parametrize("error", ["unknown_api", "bad_arguments", "environment", "repeated", "limit"])
def test_a_call_that_did_not_go_through_is_no_evidence(make_episode: Make, make_call: MakeCall, error: str) -> None:
    assert not classify(make_episode(steps=[make_call("Try Nairobi", error)]), 1.0).supported


def test_an_echo_of_the_models_own_argument_is_no_evidence(make_episode: Make, make_call: MakeCall) -> None:
    steps = [make_call("No page is called nairobi.", "not_found", entity="Nairobi")]
    assert not classify(make_episode(steps=steps), 1.0).supported


def test_what_a_search_offers_instead_is_evidence(make_episode: Make, make_call: MakeCall) -> None:
    steps = [make_call("No page is called Nairobbi. Similar: Nairobi.", "not_found", entity="Nairobbi")]
    assert classify(make_episode(steps=steps), 1.0).supported


@pytest.mark.parametrize("kind", ["thought", "observation", "answer"])
def test_what_the_model_or_the_workflow_wrote_is_no_evidence(make_episode: Make, kind: str) -> None:
    made = make_episode(steps=[Step(kind=kind, text="Nairobi", observation="Nairobi")])  # type: ignore[arg-type]
    assert not classify(made, 1.0).supported


def test_published_counts_the_models_own_words(make_episode: Make) -> None:
    made = make_episode(steps=[Step(kind="thought", text="Finish[Nairobi]")])
    assert classify(made, 1.0, "published").type == "EM"


def test_published_looks_for_characters(make_episode: Make, make_call: MakeCall) -> None:
    assert classify(make_episode(golds=["male"], steps=[make_call("female")]), 0.0, "published").type == "GE"


def test_published_finds_an_empty_gold_everywhere(make_episode: Make) -> None:
    assert classify(make_episode(golds=["the"], steps=[]), 0.0, "published").type == "GE"


def test_published_matches_from_0_05_on(make_episode: Make) -> None:
    assert [classify(make_episode(), score, "published").type for score in (0.05, 0.049)] == ["EM", "GE"]


@pytest.mark.parametrize(
    ("outcome", "expected"), list(zip(OUTCOMES, ("RE", "RE", "TE", "RE", "RE", "RE"), strict=True))
)
def test_published_has_TE_for_halted_and_RE_for_all_else(make_episode: Make, outcome: str, expected: str) -> None:
    made = make_episode(outcome=Outcome(kind=outcome), steps=[])  # type: ignore[arg-type]
    assert classify(made, 0.0, "published").type == expected


def test_an_unknown_taxonomy_is_refused(make_episode: Make) -> None:
    with pytest.raises(UserError, match="strict and published"):
        classify(make_episode(), 1.0, "loose")
