"""The samplers against a reading of the rules that tries every pair, on random small graphs; and the paper's toys."""

from __future__ import annotations

import functools
import itertools
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from r_eval.tasks.graphs.graph import Graph, Triple, number, sample


def ids(triples: Iterable[Triple]) -> frozenset[tuple[str, str]]:
    entities = {("entity", name) for s, _, o in triples for name in (s, o)}
    return frozenset(entities | {("relation", r) for _, r, _ in triples})


# The rules once more, as a table of queries over all triples.


def simple(graph: set[Triple]) -> set[frozenset[Triple]]:
    objects, subjects = Counter((s, r) for s, r, _ in graph), Counter((r, o) for _, r, o in graph)
    return {frozenset([t]) for t in graph if objects[t[0], t[1]] == 1 and subjects[t[1], t[2]] == 1}


def sets(graph: set[Triple]) -> set[frozenset[Triple]]:
    by_subject = {frozenset(t for t in graph if t[:2] == one[:2]) for one in graph}
    by_object = {frozenset(t for t in graph if t[1:] == one[1:]) for one in graph}
    return {group for group in by_subject | by_object if len(group) > 1}


def rows(graph: set[Triple]) -> Iterable[tuple[str, Triple, Triple, str, str, str]]:
    """Shape, both triples, shared entity and both ends of every pair."""
    for one, two in itertools.product(graph, graph):
        (s, r, o), (s1, r1, o1) = one, two
        if r != r1:
            if s == s1 and o != o1:
                yield "S", one, two, s, o, o1
            if o == o1 and s != s1:
                yield "O", one, two, o, s, s1
            if s == o1 and o != s1:
                yield "B", one, two, s, o, s1


def unique_pairs(graph: set[Triple], by_ends: bool) -> set[tuple[str, frozenset[Triple]]]:
    """The pairs of which no other has the relations and the ends, or the shared entity."""
    keys = {
        (shape, one, two): (shape, one[1], two[1], *((end, end1) if by_ends else (x,)))
        for shape, one, two, x, end, end1 in rows(graph)
    }
    counts = Counter(keys.values())
    return {(shape, frozenset([one, two])) for (shape, one, two), key in keys.items() if counts[key] == 1}


def comparison(graph: set[Triple]) -> set[frozenset[Triple]]:
    numeric = [t for t in graph if number(t[2]) is not None]
    pairs = itertools.combinations(numeric, 2)
    return {frozenset((one, two)) for one, two in pairs if one[0] != two[0] and one[1] == two[1]}


triples = st.tuples(
    st.sampled_from(["a", "b", "c", "d", "5"]),
    st.sampled_from(["r", "q", "p"]),
    st.sampled_from(["a", "b", "c", "5", "7"]),
).filter(lambda t: t[0] != t[2])
graphs = st.sets(triples, max_size=14)
many = settings(max_examples=120)


RULES: dict[str, Callable[[set[Triple]], set[Any]]] = {
    "simple": simple,
    "set": sets,
    "comparison": comparison,
    "conditional": functools.partial(unique_pairs, by_ends=True),
    "multi-hop": functools.partial(unique_pairs, by_ends=False),
}


@pytest.mark.parametrize("type", RULES)
@many
@given(graphs, st.integers(0, 3))
def test_subgraphs_are_those_of_the_rules(type: str, graph: set[Triple], seed: int) -> None:
    found, allowed = list(sample(Graph(graph), type, seed)), RULES[type](graph)
    if type in ("conditional", "multi-hop"):
        assert all((s.shape, frozenset(s.triples)) in allowed for s in found)
        allowed = {pair for _, pair in allowed}
    assert_same([frozenset(s.triples) for s in found], allowed)


def assert_same(found: list[frozenset[Triple]], allowed: set[frozenset[Triple]]) -> None:
    """All that the rules allow are found, one for every set of names."""
    assert set(found) <= allowed
    assert len({ids(group) for group in found}) == len(found)
    assert {ids(group) for group in found} == {ids(group) for group in allowed}


def test_a_hub_does_not_fill_the_sample() -> None:
    hub = [(f"city {at}", relation, "hub") for at in range(3000) for relation in ("in", "near")]
    others = [(f"a{at}", relation, f"{relation}{at}") for at in range(50) for relation in ("by", "of")]
    drawn = list(itertools.islice(sample(Graph([*hub, *others]), "conditional", 3), 60))
    assert sum(s.shared == "hub" for s in drawn) < 12


@pytest.mark.parametrize("separator", [",", "'", "’", " ", "\u00a0", "\u2009", "\u202f"])
def test_a_number_has_one_thousands_separator_in_every_place(separator: str) -> None:
    groups = separator.join
    assert [number(text) for text in (groups(["385", "207"]), groups(["−1", "234", "567"]) + ".5")] == [
        385207,
        -1234567.5,
    ]
    wrong = [groups(["1", "23"]), groups(["1234", "567"]), "1" + separator + "234/567", groups(["14", "March"])]
    assert [number(text) for text in wrong] == [None] * 4
