"""What can be asked of a subgraph, whether the graph has one answer to it, and the words of its relations."""

from __future__ import annotations

import pytest

from r_eval.tasks.graphs.ask import plans
from r_eval.tasks.graphs.graph import Graph, Triple, sample
from r_eval.tasks.graphs.graph_file import Frames, ObjectWords, RelationWords, SubjectWords
from r_eval.tasks.graphs.wording import word

WORDS = {
    "capital": RelationWords(
        forward="What is the capital of {subject}?",
        backward="Of what is {object} the capital?",
        subject=SubjectWords(kind="country", clause="whose capital is {object}"),
        object=ObjectWords(kind="city", clause="that is the capital of {subject}"),
    ),
    "currency": RelationWords(
        forward="What is the currency of {subject}?",
        backward="Where does one pay in {object}?",
        backward_all="In which countries does one pay in {object}?",
        subject=SubjectWords(kind="country", clause="whose currency is the {object}"),
    ),
    "born": RelationWords(
        backward="Who was born in {object}?", object=ObjectWords(kind="city", clause="in which {subject} was born")
    ),
    "people": RelationWords(larger="Who has more people, {first} or {second}?"),
}
FRANCE = ("France", "capital", "Paris")
EURO = ("France", "currency", "euro")
SPAIN = ("Spain", "currency", "euro")


@pytest.mark.parametrize(
    ("graph", "type", "expected"),
    [
        ([FRANCE], "simple", {"Paris": "What is the capital of France?", "France": "Of what is Paris the capital?"}),
        ([EURO, SPAIN], "set", {"France; Spain": "In which countries does one pay in euro?"}),
        (
            [FRANCE, EURO],
            "multi-hop",
            {
                "euro": "What is the currency of the country whose capital is Paris?",
                "Paris": "What is the capital of the country whose currency is the euro?",
            },
        ),
        (
            [("Piaf", "born", "France"), EURO],
            "multi-hop",
            {
                "euro": "What is the currency of the city in which Piaf was born?",
                "Piaf": "Who was born in the country whose currency is the euro?",
            },
        ),
        (
            [FRANCE, EURO],
            "conditional",
            {"France": "Which country is the one whose capital is Paris and whose currency is the euro?"},
        ),
        (
            [("Oslo", "people", "7"), ("Bergen", "people", "5")],
            "comparison",
            {"Oslo": "Who has more people, Bergen or Oslo?", "Bergen": None},
        ),
        ([("Piaf", "sang", "song")], "simple", {"song": None, "Piaf": None}),
    ],
)
def test_questions_are_worded_by_their_relations(
    graph: list[Triple], type: str, expected: dict[str, str | None]
) -> None:
    (subgraph,) = sample(Graph(graph), type, 0)
    assert {"; ".join(plan.answers): word(plan, WORDS, Frames()) for plan in plans(subgraph)} == expected


FAW = [("FAW", "founder", "First Ministry"), ("FAW", "headquarters", "Changchun")]


@pytest.mark.parametrize(
    ("graph", "type", "reason"),
    [
        ([("Oslo", "n", "7"), ("Bergen", "n", "7.0")], "comparison", "equal numbers"),
        ([("Emma", "year", "1815"), ("Waterloo", "fought in", "1815")], "multi-hop", "bridge is a number"),
        ([("Oslo", "motto", "Unity; always")], "simple", "semicolon in answer"),
        ([("Oslo", "inhabitant", f"Kari {number}") for number in range(51)], "set", "more than 50 answers"),
        ([("Oslo", "inhabitant", f"Kari {number}") for number in range(50)], "set", None),
    ],
)
def test_what_is_not_asked_has_its_reason(graph: list[Triple], type: str, reason: str | None) -> None:
    (found,) = sample(Graph(graph), type, 0)
    assert reason in {plan.rejection_reason(Graph(graph)) for plan in plans(found)}


def test_a_named_entity_that_leads_to_two_bridges_is_ambiguous() -> None:
    graph = [*FAW, ("Kia", "founder", "Kim"), ("Kia", "headquarters", "Changchun")]
    (found,) = (s for s in sample(Graph(graph), "multi-hop", 0) if s.shared == "FAW" and s.shape == "S")
    reasons = {plan.entities: plan.rejection_reason(Graph(graph)) for plan in plans(found)}
    assert reasons == {("Changchun",): "ambiguous", ("First Ministry",): None}
