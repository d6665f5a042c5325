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
PIAF = ("Piaf", "born", "Paris")


def texts(graph: list[Triple], type: str) -> dict[str, str | None]:
    """Every question of the one subgraph, by its answers."""
    (found,) = sample(Graph(graph), type, 0)
    return {"; ".join(plan.answers): word(plan, WORDS, Frames()) for plan in plans(found)}


def test_a_simple_question_asks_for_either_end() -> None:
    assert texts([FRANCE], "simple") == {
        "Paris": "What is the capital of France?",
        "France": "Of what is Paris the capital?",
    }


def test_a_set_has_words_of_its_own() -> None:
    asked = texts([EURO, ("Spain", "currency", "euro")], "set")
    assert asked == {"France; Spain": "In which countries does one pay in euro?"}


def test_two_facts_of_a_subject_are_one_question() -> None:
    assert texts([FRANCE, EURO], "multi-hop") == {
        "euro": "What is the currency of the country whose capital is Paris?",
        "Paris": "What is the capital of the country whose currency is the euro?",
    }


def test_a_chain_is_one_question_either_way() -> None:
    assert texts([("Piaf", "born", "France"), EURO], "multi-hop") == {
        "euro": "What is the currency of the city in which Piaf was born?",
        "Piaf": "Who was born in the country whose currency is the euro?",
    }


def test_a_conditional_question_holds_both_clauses() -> None:
    asked = texts([FRANCE, EURO], "conditional")
    assert asked == {"France": "Which country is the one whose capital is Paris and whose currency is the euro?"}


def test_a_comparison_without_words_for_the_smaller_has_no_such_question() -> None:
    asked = texts([("Oslo", "people", "7"), ("Bergen", "people", "5")], "comparison")
    assert asked == {"Oslo": "Who has more people, Bergen or Oslo?", "Bergen": None}


@pytest.mark.parametrize("type", ["simple", "multi-hop"])
def test_a_relation_without_words_has_no_question(type: str) -> None:
    graph = [("Piaf", "sang", "song")] if type == "simple" else [("Piaf", "sang", "song"), PIAF]
    assert None in texts(graph, type).values()
