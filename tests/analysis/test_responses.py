"""Response types: DESIGN's table cell by cell, what counts as evidence, and the published rule."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from r_eval.analysis.causes import CAUSES, why
from r_eval.analysis.metrics.normalise import tokens
from r_eval.analysis.responses import LIMITS, TYPES, Observed, classify, documents_shown, published_rule, type_of
from r_eval.errors import UserError
from r_eval.records import Document, Episode, Outcome, SentMessage, Step

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


@pytest.mark.parametrize("cause", sorted(LIMITS))
def test_published_has_TE_for_a_limit_that_was_met_without_a_right_call(make_episode: Make, cause: str) -> None:
    made = make_episode(outcome=Outcome(kind="tool_misuse", cause=cause), steps=[])
    assert classify(made, 0.0, "published").type == "TE"


@pytest.mark.parametrize(
    ("matched", "found", "halted", "error", "expected"),
    [
        (True, True, False, False, "EM"),
        (True, True, True, True, "EM"),
        (True, False, False, False, "AM"),
        (True, False, True, True, "AM"),
        (False, True, False, False, "GE"),
        (False, True, True, True, "GE"),
        (False, False, True, True, "ME"),
        (False, False, True, False, "TE"),
        (False, False, False, True, "RE"),
        (False, False, False, False, "RE"),
    ],
)
def test_the_published_rule_branch_by_branch(
    matched: bool, found: bool, halted: bool, error: bool, expected: str
) -> None:
    assert published_rule(matched, found, halted, error) == expected


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_published_never_has_ME_since_an_episode_ends_in_one_way(outcome: str) -> None:
    assert all(type_of("published", outcome, cause, False, False) != "ME" for cause in LIMITS)  # type: ignore[arg-type]


def test_published_looks_for_the_first_gold_only(make_episode: Make) -> None:
    assert classify(make_episode(golds=["Mombasa", "Nairobi"]), 0.0, "published").type == "RE"


def test_published_does_not_look_at_how_the_answer_was_read(make_episode: Make) -> None:
    made = make_episode(steps=[Step(kind="answer", text="Nairobi", observation="Nairobi")])
    assert classify(made, 1.0, "published").type == "AM"


# the paper's text


@pytest.mark.parametrize(
    ("answer", "score", "observed", "expected"),
    [
        ("Nairobi", 1.0, "Nairobi is the capital.", "EM"),
        ("Nairobi", 1.0, "Mombasa is a port.", "AM"),
        ("Mombasa", 0.0, "Mombasa is a port.", "GE"),
        ("Mombasa", 0.0, "Nairobi is the capital.", "RE"),
        ("", 0.0, "Nairobi is the capital.", "RE"),
        ("内罗", 1.0, "首都是 内罗。", "EM"),
    ],
)
def test_under_paper_the_evidence_is_useful_where_it_holds_the_response(
    make_episode: Make, make_call: MakeCall, answer: str, score: float, observed: str, expected: str
) -> None:
    made = make_episode(answer=answer, steps=[Step(kind="thought", text=f"Finish[{answer}]"), make_call(observed)])
    assert classify(made, score, "paper").type == expected


@pytest.mark.parametrize(
    ("outcome", "expected"), list(zip(OUTCOMES, ("RE", "RE", "RE", "TE", "ME", "ME"), strict=True))
)
def test_under_paper_an_interrupted_process_is_ME_or_TE(make_episode: Make, outcome: str, expected: str) -> None:
    made = make_episode(answer="Mombasa", outcome=Outcome(kind=outcome), steps=[])  # type: ignore[arg-type]
    assert classify(made, 0.0, "paper").type == expected


# documents in the prompt


@pytest.mark.parametrize(("sent", "expected"), [("Documents: Ада — Nairobi is the capital.", "EM"), ("Ада?", "AM")])
def test_a_document_counts_as_observed_where_a_prompt_held_it(make_episode: Make, sent: str, expected: str) -> None:
    document = Document(title="Kenya", text="Ада — Nairobi is the capital.")
    made = make_episode(steps=[], messages=[SentMessage(role="user", content=sent)])
    assert classify(made, 1.0, shown=documents_shown(made, [document])).type == expected


def test_an_unknown_taxonomy_is_refused(make_episode: Make) -> None:
    with pytest.raises(UserError, match="strict, paper, published"):
        classify(make_episode(), 1.0, "loose")


VALUES = st.sampled_from(
    ["Nairobi", "Lake Turkana", "yes", "no", "7", "120", "", "the", "SportsTeam", "C++", "-5", "東京"]
)
GOLDS = st.one_of(VALUES, st.lists(VALUES, max_size=3).map(";".join), st.lists(VALUES, max_size=3).map(repr), st.text())
WRITTEN = st.one_of(VALUES, st.text(), st.lists(VALUES).map(" ".join), st.lists(VALUES).map(lambda v: f"It is {v}."))
STEPS = st.builds(
    Step,
    kind=st.sampled_from(["thought", "call", "observation", "answer"]),
    text=WRITTEN,
    api=st.sampled_from(["Search", "Lookup"]),
    arguments=st.none() | st.dictionaries(st.sampled_from(["a", "b"]), WRITTEN, max_size=2),
    observation=st.none() | WRITTEN,
    error=st.none() | st.sampled_from(["not_found", "unknown_api", "bad_arguments", "invented", "of a plug-in"]),
)
EPISODES = st.builds(
    Episode,
    episode_id=st.just("e"),
    question_id=st.just("q"),
    task=st.just("t"),
    domain=st.just("wiki"),
    level=st.just("KS"),
    workflow=st.just("react"),
    llm=st.just("some"),
    condition=st.just("clean"),
    question=st.just("?"),
    golds=st.lists(GOLDS, min_size=1, max_size=3),
    evidence=st.lists(WRITTEN, max_size=2),
    answer=WRITTEN,
    outcome=st.builds(
        Outcome, kind=st.sampled_from([*OUTCOMES, "cancelled"]), cause=st.sampled_from(["", *sorted(LIMITS)])
    ),
    steps=st.lists(STEPS, max_size=5),
)
SCORES = st.floats(0, 1)


@given(EPISODES, SCORES, st.sampled_from(["strict", "paper", "published"]))
def test_any_episode_has_one_type_and_a_cause_if_it_failed(made: Episode, score: float, taxonomy: str) -> None:
    response = classify(made, score, taxonomy)
    assert response.type in TYPES
    assert response.matched == (response.type in ("EM", "AM"))
    assert response.type == type_of(
        taxonomy, made.outcome.kind, made.outcome.cause, response.matched, response.supported
    )
    assert (why(made, response) in CAUSES) != response.matched


@given(EPISODES, SCORES)
def test_what_is_undecided_is_not_supported(made: Episode, score: float) -> None:
    response = classify(made, score)
    assert not (response.undecided and (response.supported or made.evidence))


@given(EPISODES, SCORES, st.randoms())
def test_the_order_of_the_golds_does_not_matter(made: Episode, score: float, order: Random) -> None:
    golds = order.sample(made.golds, len(made.golds))
    first, second = classify(made, score), classify(made.model_copy(update={"golds": golds}), score)
    assert (first.type, first.undecided) == (second.type, second.undecided)


@given(EPISODES, SCORES, SCORES)
def test_a_better_score_never_makes_a_match_a_failure(made: Episode, one: float, other: float) -> None:
    low, high = sorted((one, other))
    assert classify(made, low).matched <= classify(made, high).matched


@given(WRITTEN, st.one_of(WRITTEN, GOLDS))
def test_cutting_observations_late_finds_what_cutting_them_at_once_finds(text: str, wanted: str) -> None:
    rows = [f" {' '.join(tokens(text, camel))} " for camel in (False, True)]
    readings = [reading for camel in (False, True) if (reading := tokens(wanted, camel))]
    expected = any(f" {' '.join(reading)} " in row for reading in readings for row in rows)
    assert Observed([text]).holds(wanted) == expected


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("O'Brien wrote it", "obrien"),
        ("the U.S. senate", "us senate"),
        ("1,234 people", "1234 people"),
        ("a PhD.", "Ph.D"),
    ],
)
def test_letters_that_meet_when_a_text_is_cut_are_found(text: str, wanted: str) -> None:
    assert Observed([text]).holds(wanted)
