"""What can be asked of a subgraph, and whether the graph has one answer to it; the paper's toys among them."""

from __future__ import annotations

import pytest

from r_eval.tasks.graphs.asking import Asking, Hop, Path, askings, flaw
from r_eval.tasks.graphs.sampling import sample
from r_eval.tasks.graphs.store import Graph, Triple


def asked(graph: list[Triple], type: str, named: tuple[str, ...] | None = None) -> Asking:
    """The way to ask of the one subgraph of a type, from certain entities."""
    (found,) = sample(Graph(graph), type, 0)
    return next(asking for asking in askings(found) if named is None or asking.named == named)


def test_the_voice_of_a_role_is_asked_from_the_role() -> None:
    assert asked([("Morty Smith", "voice", "Harry Belden")], "simple", ("Morty Smith",)).answers == ("Harry Belden",)


def test_the_role_of_a_voice_is_asked_from_the_voice() -> None:
    assert asked([("Morty Smith", "voice", "Harry Belden")], "simple", ("Harry Belden",)).answers == ("Morty Smith",)


def test_the_works_of_a_composer_are_all_the_answer() -> None:
    works = [("Ryan Otter", "music", "Second Wind"), ("Ryan Otter", "music", "The Long Drive")]
    found = asked(works, "set")
    assert (found.named, found.answers) == (("Ryan Otter",), ("Second Wind", "The Long Drive"))


FAW = [("FAW", "founder", "First Ministry"), ("FAW", "headquarters", "Changchun")]


@pytest.mark.parametrize(("named", "answer"), [("Changchun", "First Ministry"), ("First Ministry", "Changchun")])
def test_a_company_is_the_bridge_between_its_two_facts(named: str, answer: str) -> None:
    found = asked(FAW, "multi-hop", (named,))
    assert (found.answers, found.bridge) == ((answer,), "FAW")


def test_a_musician_is_asked_from_both_facts() -> None:
    facts = [("Roman Miroshnichenko", "award", "IMA"), ("Roman Miroshnichenko", "instrument", "guitar")]
    found = asked(facts, "conditional")
    assert (set(found.named), found.answers) == ({"guitar", "IMA"}, ("Roman Miroshnichenko",))


def test_the_larger_and_the_smaller_number_have_their_own_answers() -> None:
    (found,) = sample(Graph([("Oslo", "population", "709,037"), ("Bergen", "population", "291,940")]), "comparison", 0)
    assert {(asking.larger, asking.answers) for asking in askings(found)} == {(True, ("Oslo",)), (False, ("Bergen",))}


def test_the_evidence_of_two_hops_is_the_bridge_and_the_answer() -> None:
    assert asked(FAW, "multi-hop", ("Changchun",)).evidence == ("FAW", "First Ministry")


def test_the_evidence_of_a_comparison_is_both_numbers() -> None:
    assert set(asked([("Oslo", "n", "7"), ("Bergen", "n", "5")], "comparison").evidence) == {"7", "5"}


def test_a_named_entity_that_leads_to_two_bridges_is_ambiguous() -> None:
    graph = [*FAW, ("Kia", "founder", "Kim"), ("Kia", "headquarters", "Changchun")]
    (found,) = (s for s in sample(Graph(graph), "multi-hop", 0) if s.shared == "FAW" and s.shape == "S")
    reasons = {asking.named: flaw(asking, Graph(graph)) for asking in askings(found)}
    assert reasons == {("Changchun",): "ambiguous", ("First Ministry",): None}


def test_equal_numbers_are_not_compared() -> None:
    graph = [("Oslo", "n", "7"), ("Bergen", "n", "7.0")]
    assert flaw(asked(graph, "comparison"), Graph(graph)) == "equal numbers"


def test_an_entity_with_two_numbers_is_not_compared() -> None:
    graph = Graph([("Oslo", "n", "7"), ("Oslo", "n", "8"), ("Bergen", "n", "5")])
    assert {flaw(asking, graph) for s in sample(graph, "comparison", 0) for asking in askings(s)} == {"ambiguous"}


def test_a_number_is_no_bridge() -> None:
    graph = [("Emma", "year", "1815"), ("Waterloo", "fought in", "1815")]
    assert flaw(asked(graph, "multi-hop"), Graph(graph)) == "bridge is a number"


def test_a_hub_is_not_asked_for_all_that_it_is_linked_to() -> None:
    graph = [("Oslo", "inhabitant", f"Kari {number}") for number in range(51)]
    assert flaw(asked(graph, "set"), Graph(graph)) == "more than 50 answers"
    assert flaw(asked(graph[1:], "set"), Graph(graph[1:])) is None


def test_a_way_through_a_hub_ends_where_its_answer_is_known_to_be_ambiguous() -> None:
    graph = Graph([(f"Kari {n}", r, o) for n in range(999) for r, o in (("is", "human"), ("desk", f"desk {n}"))])
    way = Path("human", (Hop("is", False), Hop("desk", True)))
    assert (len(way.ends(graph, 1)), len(way.ends(graph, 2000))) == (2, 999)


def test_an_answer_that_holds_a_semicolon_is_left_out() -> None:
    graph = [("Oslo", "motto", "Unity; always")]
    assert flaw(asked(graph, "simple", ("Oslo",)), Graph(graph)) == "semicolon in answer"
