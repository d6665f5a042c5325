"""The filters that need no model."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from r_eval.tasks.graphs.asking import Asking, askings
from r_eval.tasks.graphs.filters import flaw, holds, likeness, names
from r_eval.tasks.graphs.sampling import Subgraph, sample
from r_eval.tasks.graphs.store import Graph
from r_eval.tasks.questions import folded

VOICE = Subgraph("simple", (("Morty Smith", "voice", "Harry Belden"),), ("Morty Smith", "Harry Belden"))
FORWARD = askings(VOICE)[0]


def over_bridge() -> Asking:
    """From Maud over Norway to the krone."""
    graph = Graph([("Maud", "born in", "Norway"), ("Norway", "currency", "krone")])
    (found,) = sample(graph, "multi-hop", 0)
    return next(asking for asking in askings(found) if asking.named == ("Maud",))


@pytest.mark.parametrize(
    ("entity", "text", "expected"),
    [
        ("в москве", "кто живёт в москве", 100),
        ("москва", "в москве", 83),
        ("m-bar", "performed at m bar", 80),
        ("", "anything", 0),
    ],
)
def test_likeness_is_that_of_the_reference(entity: str, text: str, expected: int) -> None:
    assert int(likeness(entity, text)) == expected


@pytest.mark.parametrize(
    ("asking", "text", "words", "reason"),
    [
        (FORWARD, "Who lends Morty Smith a voice?", "", None),
        (FORWARD, "Who lends the boy a voice?", "", "entity not named"),
        (FORWARD, "Does Harry Belden lend Morty Smith a voice?", "", "answer in question"),
        (FORWARD, "Who gave Morty Smith a voice in 2013?", "", "number from nowhere"),
        (FORWARD, "Who gave Morty Smith a voice in 2013?", None, None),
        (over_bridge(), "What is the currency of Norway, where Maud was born?", "", "bridge named"),
        (over_bridge(), "What is the currency of the country in which Maud was born?", "", None),
    ],
)
def test_what_a_question_gives_away_or_leaves_out(
    asking: Asking, text: str, words: str | None, reason: str | None
) -> None:
    assert flaw(asking, text, words) == reason


def test_an_inflected_name_counts_as_named() -> None:
    assert names("Кто родился в Москве?", "Москва")


def test_a_short_name_counts_as_whole_words_only() -> None:
    assert not names("Where was he at?", "Ra")


def test_an_answer_that_names_the_bridge_is_dropped() -> None:
    graph = Graph([("Maud", "born in", "Norway"), ("Norway", "bank", "Bank of Norway")])
    (found,) = sample(graph, "multi-hop", 0)
    asking = next(asking for asking in askings(found) if asking.named == ("Maud",))
    assert flaw(asking, "What is the bank of the country in which Maud was born?", "") == "bridge named"


def test_a_question_that_holds_one_member_of_the_set_is_dropped() -> None:
    group = Subgraph("set", (("A", "r", "Lima"), ("A", "r", "Oslo")), ("Lima", "Oslo"), "A", "S")
    assert flaw(askings(group)[0], "What does A have besides Lima?", "") == "answer in question"


def test_a_comparison_may_name_its_answer() -> None:
    pair = Subgraph("comparison", (("Oslo", "population", "9"), ("Bergen", "population", "5")), ("Oslo", "Bergen"))
    assert flaw(askings(pair)[0], "Which has more people, Oslo or Bergen?", "") is None


@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [
        ("Is it in Nigeria?", "Niger", False),
        ("the Niger's source", "niger", True),
        ("1,234 people", "1", False),
        ("1,234 people", "1,234", True),
        ("born in 1987", "7", False),
        ("it has 7.", "7", True),
        ("我住在北京市", "北京", True),
        ("Ｐａｒｉｓ", "paris", True),
        ("C++ and C", "C++", True),
        ("anything", "", False),
    ],
)
def test_a_name_stands_in_a_text_as_whole_words(text: str, name: str, expected: bool) -> None:
    assert holds(text, name) is expected


@given(st.text(max_size=20), st.text(max_size=10), st.text(max_size=20))
def test_a_name_between_spaces_is_always_found(before: str, name: str, after: str) -> None:
    assert holds(f"{before} {name} {after}", name) or not folded(name)
