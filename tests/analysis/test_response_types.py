"""Response types: DESIGN's table cell by cell, what counts as evidence, the paper's and the published rule."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from r_eval.analysis.causes import CAUSES, why
from r_eval.analysis.response_types import LIMITS, TYPES, classify, documents_shown, type_of
from r_eval.errors import UserError
from r_eval.records import Document, Episode, Outcome, SentMessage, Step
from tests.analysis.conftest import call, episode

OUTCOMES = ("finished", "gave_up", "exhausted", "tool_misuse", "tool_failure", "llm_failure", "cancelled")
UNSUPPORTED = ("RE", "RE", "RE", "TE", "ME", "ME", "ME")


@pytest.mark.parametrize("taxonomy", ["strict", "paper"])
@pytest.mark.parametrize(("outcome", "wrong"), list(zip(OUTCOMES, UNSUPPORTED, strict=True)))
def test_the_table(taxonomy: str, outcome: str, wrong: str) -> None:
    ended = Outcome(kind=outcome)  # type: ignore[arg-type]
    seen, unseen = episode(outcome=ended), episode(outcome=ended, steps=[])
    found = [classify(made, score, taxonomy).type for made in (seen, unseen) for score in (1.0, 0.0)]
    assert found == ["EM", "GE", "AM", wrong]


def test_an_answer_matches_from_the_threshold_on() -> None:
    made = episode()
    assert [classify(made, score).type for score in (0.5, 0.49)] == ["EM", "GE"]
    assert classify(made, 0.3, threshold=0.3).type == "EM"
    assert [classify(made, score, "published").type for score in (0.05, 0.049)] == ["EM", "GE"]
    with pytest.raises(UserError, match="strict, paper, published"):
        classify(made, 1.0, "loose")


SUPPORT = [
    *[("the Nile", "It is Nile water.", True), ("André", '[{"name": "Andr\\u00e9"}]', True)],
    *[("SportsTeam", "a sports team", True), ("sports team", "class: SportsTeam", True)],
    *[("Lamu;Mombasa", '["Mombasa", "Lamu"]', True), ("['Lamu', 'Mombasa']", '["Mombasa", "Lamu"]', True)],
    *[("120", "cited 120 times", True), ("male", "She is female.", False), ("art", "A start.", False)],
    *[("1987", "In 19871.", False), ("New York", "York is new.", False), ("Nairobi;Mombasa", "Nairobi", False)],
    *[(gold, f"yes no true 7 42 -3 {gold}", None) for gold in ("yes", "No.", "true", "7", "42", "-3", "a", "", "[]")],
]


@pytest.mark.parametrize(("gold", "observation", "supported"), SUPPORT)
def test_containment_is_of_whole_tokens_where_it_can_judge(gold: str, observation: str, supported: bool | None) -> None:
    found = classify(episode(golds=[gold], steps=[call(observation)]), 1.0)
    assert (found.supported, found.undecided) == (supported is True, supported is None)


@pytest.mark.parametrize(("sent", "expected"), [("Documents: Ада — Nairobi is the capital.", "EM"), ("Ада?", "AM")])
def test_a_document_counts_as_observed_where_a_prompt_held_it(sent: str, expected: str) -> None:
    document = Document(title="Kenya", text="Ада — Nairobi is the capital.")
    made = episode(steps=[], messages=[SentMessage(role="user", content=sent)])
    assert classify(made, 1.0, prompted=documents_shown(made, [document])).type == expected


@pytest.mark.parametrize(
    ("gold", "observation", "type_", "undecided"),
    [
        ("1711 & Ann Orr", "Ann Orr built it in 1711.", "EM", False),
        ("1711 & Ann Orr", "It was built in 1711.", "AM", False),
        ("1711 & (Ann Orr | A. Orr)", "A. Orr built it in 1711.", "EM", False),
        ('"AT&T" | Bell', "AT&T built it.", "EM", False),
        ("Ann Orr | Bell", "Nobody knows.", "AM", False),
        ("Ann Orr & 7", "Ann Orr has 7 mills.", "AM", True),
        ("Ann Orr & 7", "There are 7.", "AM", False),
    ],
)
def test_of_an_expression_the_operands_must_be_observed(
    gold: str, observation: str, type_: str, undecided: bool
) -> None:
    made = episode(golds=[gold], steps=[call(observation)])
    found = classify(made, 1.0, metric="covered_match")
    assert (found.type, found.undecided) == (type_, undecided)
    assert classify(made, 1.0).type == "AM", "with another metric a gold is a text"


@pytest.mark.parametrize(
    ("answer", "score", "observed", "expected"),
    [
        *[("Nairobi", 1.0, "Nairobi is the capital.", "EM"), ("Nairobi", 1.0, "Mombasa is a port.", "AM")],
        *[("Mombasa", 0.0, "Mombasa is a port.", "GE"), ("Mombasa", 0.0, "Nairobi is the capital.", "RE")],
        *[("", 0.0, "Nairobi is the capital.", "RE"), ("内罗", 1.0, "首都是 内罗。", "EM")],
    ],
)
def test_under_paper_the_evidence_is_useful_where_it_holds_the_response(
    answer: str, score: float, observed: str, expected: str
) -> None:
    made = episode(answer=answer, steps=[Step(kind="thought", text=f"Finish[{answer}]"), call(observed)])
    assert classify(made, score, "paper").type == expected


VALUES = st.sampled_from(
    ["Nairobi", "Lake Turkana", "yes", "7", "120", "", "the", "SportsTeam", "C++", "-5", "東京", "3,5"]
)
WRITTEN = st.one_of(VALUES, st.text(), st.lists(VALUES).map(" ".join), st.lists(VALUES).map(";".join))
STEPS = st.builds(
    Step,
    kind=st.sampled_from(["thought", "call", "observation", "answer"]),
    text=WRITTEN,
    api=st.sampled_from(["Search", "Lookup"]),
    arguments=st.none() | st.dictionaries(st.sampled_from(["a", "b"]), WRITTEN, max_size=2),
    observation=st.none() | WRITTEN,
    error=st.none() | st.sampled_from(["not_found", "unknown_api", "bad_arguments", "invented", "of a plug-in"]),
)
NAMES = {name: st.just("x") for name in ("episode_id", "question_id", "task", "domain", "workflow", "llm", "condition")}
EPISODES = st.builds(
    Episode,
    **NAMES,
    level=st.just("KS"),
    question=st.just("?"),
    golds=st.lists(WRITTEN, min_size=1, max_size=3),
    evidence=st.lists(WRITTEN, max_size=2),
    answer=WRITTEN,
    outcome=st.builds(Outcome, kind=st.sampled_from(OUTCOMES), cause=st.sampled_from(["", *sorted(LIMITS)])),
    steps=st.lists(STEPS, max_size=5),
)


@given(EPISODES, st.floats(0, 1), st.floats(0, 1), st.sampled_from(["strict", "paper", "published"]))
def test_any_episode_has_one_type_and_a_cause_if_it_failed(
    made: Episode, score: float, other: float, taxonomy: str
) -> None:
    response = classify(made, score, taxonomy)
    assert response.type in TYPES
    assert response.matched == (response.type in ("EM", "AM"))
    ending = (made.outcome.kind, made.outcome.cause)
    assert response.type == type_of(taxonomy, *ending, response.matched, response.supported)
    assert (why(made, response) in CAUSES) != response.matched
    assert not (response.undecided and response.supported)
    low, high = sorted((score, other))
    assert classify(made, low, taxonomy).matched <= classify(made, high, taxonomy).matched
    more = made.model_copy(update={"steps": [*made.steps, Step(kind="call", observation="Nairobi 120")]})
    assert response.supported <= classify(more, score, taxonomy).supported or taxonomy == "published"
