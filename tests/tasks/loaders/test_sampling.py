"""A sample out of a stream is the one that all would give."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from r_eval.records import Question
from r_eval.tasks.loaders.sampling import Sample
from r_eval.tasks.questions import in_order

IDS = st.lists(st.text(max_size=4), unique=True, max_size=30)


def sampled(ids: list[str], size: int | None, seed: int) -> list[str]:
    sample = Sample[str](size, seed)
    for id in ids:
        sample.offer(id, id)
    return list(sample.kept())


def first(ids: list[str], size: int, seed: int) -> list[str]:
    """The first ids in the order in which the questions of a whole file are asked."""
    questions = [Question(id=id, question="?", answers=["!"], level="KS") for id in ids]
    return [q.id for q in in_order(questions, seed)[:size]]


@given(IDS, st.integers(0, 12), st.integers(0, 3))
def test_the_sample_is_what_comes_first_when_everything_is_read(ids: list[str], size: int, seed: int) -> None:
    assert set(sampled(ids, size, seed)) == set(first(ids, size, seed))


@given(IDS, IDS, st.integers(1, 8))
def test_new_records_push_out_as_many_as_they_bring(ids: list[str], new: list[str], size: int) -> None:
    before, after = set(sampled(ids, size, 0)), set(sampled([*ids, *new], size, 0))
    assert after - before <= set(new)


@given(IDS, st.integers(0, 8))
def test_the_order_of_the_records_does_not_matter(ids: list[str], size: int) -> None:
    assert set(sampled(ids, size, 0)) == set(sampled(ids[::-1], size, 0))


def test_of_an_id_that_stands_twice_the_first_is_kept() -> None:
    for size in (None, 2):
        sample = Sample[int](size, 0)
        assert [sample.offer("a", 1), sample.offer("b", 2), sample.offer("a", 3)] == [True, True, False]
        assert sample.kept() == {"a": 1, "b": 2}
