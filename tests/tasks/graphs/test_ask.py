"""What can be asked of a subgraph, and whether the graph has one answer to it; the paper's toys among them."""

from __future__ import annotations

import pytest

from r_eval.tasks.graphs.ask import QuestionPlan, plans
from r_eval.tasks.graphs.graph import Graph, Triple, sample


def plan_of(graph: list[Triple], type: str, named: tuple[str, ...] | None = None) -> QuestionPlan:
    """The way to ask of the one subgraph of a type, from certain entities."""
    (found,) = sample(Graph(graph), type, 0)
    return next(plan for plan in plans(found) if named is None or plan.entities == named)


FAW = [("FAW", "founder", "First Ministry"), ("FAW", "headquarters", "Changchun")]


@pytest.mark.parametrize(
    ("graph", "type", "reason"),
    [
        ([("Oslo", "n", "7"), ("Bergen", "n", "7.0")], "comparison", "equal numbers"),
        ([("Emma", "year", "1815"), ("Waterloo", "fought in", "1815")], "multi-hop", "bridge is a number"),
        ([("Oslo", "motto", "Unity; always")], "simple", "semicolon in answer"),
    ],
)
def test_what_is_not_asked_has_its_reason(graph: list[Triple], type: str, reason: str) -> None:
    (found,) = sample(Graph(graph), type, 0)
    assert reason in {plan.rejection_reason(Graph(graph)) for plan in plans(found)}


def test_a_named_entity_that_leads_to_two_bridges_is_ambiguous() -> None:
    graph = [*FAW, ("Kia", "founder", "Kim"), ("Kia", "headquarters", "Changchun")]
    (found,) = (s for s in sample(Graph(graph), "multi-hop", 0) if s.shared == "FAW" and s.shape == "S")
    reasons = {plan.entities: plan.rejection_reason(Graph(graph)) for plan in plans(found)}
    assert reasons == {("Changchun",): "ambiguous", ("First Ministry",): None}


def test_a_hub_is_not_asked_for_all_that_it_is_linked_to() -> None:
    graph = [("Oslo", "inhabitant", f"Kari {number}") for number in range(51)]
    assert plan_of(graph, "set").rejection_reason(Graph(graph)) == "more than 50 answers"
    assert plan_of(graph[1:], "set").rejection_reason(Graph(graph[1:])) is None
