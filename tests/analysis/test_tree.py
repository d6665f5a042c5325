"""The tree of a search is rebuilt from the order and the depths of its replies alone."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from r_eval.analysis.tree import Branch, drawing, tree
from r_eval.records import Step

Shape = list["Shape"]


def thought(text: str, depth: int | None) -> Step:
    return Step(kind="thought", text=text, depth=depth)


def call(**arguments: str) -> Step:
    return Step(kind="call", api="find_dish", arguments=arguments, observation="1 result.\nomelette")


def shape(branches: list[Branch], parent: int = -1) -> Shape:
    return [shape(branches, branch.number) for branch in branches if branch.parent == parent]


def walked(branches: Shape, depth: int, sizes: list[int]) -> list[Step]:
    """The replies of a search through a tree of some shape; each makes a node as much deeper as the next size says."""
    steps = []
    for children in branches:
        steps.append(thought("", depth))
        steps += walked(children, depth + sizes[len(steps) % len(sizes)], sizes)
    return steps


@settings(deadline=None)
@given(
    st.recursive(st.just([]), lambda inner: st.lists(inner, max_size=3), max_leaves=25),
    st.lists(st.integers(1, 3), min_size=1, max_size=5),
)
def test_a_tree_of_any_shape_is_rebuilt(drawn: Shape, sizes: list[int]) -> None:
    assert shape(tree(walked(drawn, 0, sizes))) == drawn


def test_what_follows_a_reply_is_kept_with_it() -> None:
    steps = [thought("a", 0), call(name="o"), thought("b", 3), Step(kind="observation", text="wrong"), thought("c", 0)]
    found = [(branch.number, branch.parent, branch.after) for branch in tree(steps)]
    assert found == [(0, -1, [1]), (2, 0, [3]), (4, -1, [])]


def test_a_drawing_indents_every_level_and_numbers_the_steps() -> None:
    steps = [thought("I look.", 0), call(name="o"), thought("I give up.", 3), thought("I look elsewhere.", 0)]
    assert drawing(steps).splitlines() == [
        "1 I look.",
        '    = find_dish(name="o"): 1 result. omelette',
        "3    I give up.",
        "4 I look elsewhere.",
    ]
