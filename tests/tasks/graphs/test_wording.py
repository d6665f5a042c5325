"""Questions in the words of their relations."""

from __future__ import annotations

import pytest

from r_eval.tasks.graphs.ask import plans
from r_eval.tasks.graphs.graph import Graph, Triple, sample
from r_eval.tasks.graphs.graph_file import Frames, RelationWords
from r_eval.tasks.graphs.wording import word

WORDS = {
    "capital": RelationWords.model_validate(
        {
            "forward": "What is the capital of {subject}?",
            "backward": "Of what is {object} the capital?",
            "subject": {"kind": "country", "clause": "whose capital is {object}"},
            "object": {"kind": "city", "clause": "that is the capital of {subject}"},
        }
    ),
    "currency": RelationWords.model_validate(
        {
            "forward": "What is the currency of {subject}?",
            "backward": "Where does one pay in {object}?",
            "backward_all": "In which countries does one pay in {object}?",
            "subject": {"kind": "country", "clause": "whose currency is the {object}"},
        }
    ),
    "born": RelationWords.model_validate(
        {
            "backward": "Who was born in {object}?",
            "object": {"kind": "city", "clause": "in which {subject} was born"},
        }
    ),
    "people": RelationWords.model_validate({"larger": "Who has more people, {first} or {second}?"}),
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
