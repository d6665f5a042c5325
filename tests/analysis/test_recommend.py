"""What to take: the best value, what cannot be told from it, the cheapest of these, and metrics that disagree."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from r_eval.analysis.components import Component, Curve, Point, Study, ordered
from r_eval.analysis.estimate import Estimate, of_questions, published
from r_eval.analysis.recommend import Recommendation, recommendations, sentence, strongest
from r_eval.analysis.sweeps import sweep_studies
from r_eval.folder import Cell
from tests.analysis.sweeping import write_sweep

Number = dict[str, float]
"""By value."""


def scores_of(mean: float, questions: int) -> dict[str, float]:
    """So many questions right, always the first ones."""
    return {f"q{number}": float(number < round(mean * questions)) for number in range(questions)}


def study(
    means: Number, tokens: Number | None = None, seconds: Number | None = None, questions: int = 100, **further: Number
) -> Study:
    """A component with a task's own metric and, by name, further ones."""
    values, numeric = ordered(list(means))

    def shares(metric: str, found: Number) -> Curve:
        scores = {value: scores_of(mean, questions) for value, mean in found.items()}
        points = [
            Point(value, of_questions(list(own), list(own.values()), questions), own)
            for value, own in sorted(scores.items(), key=lambda pair: values.index(pair[0]))
        ]
        return Curve("chunk_size", "t", metric, "share", metric == "token_f1", tuple(points))

    curves = [shares("token_f1", means), *(shares(name, found) for name, found in further.items())]
    for name, numbers in (("prompt_tokens", tokens or {}), ("seconds", seconds or {})):
        found = {value: Estimate(number, 1, 1, None, None, None, None) for value, number in numbers.items()}
        points = tuple(Point(value, estimate) for value, estimate in found.items())
        curves.append(Curve("chunk_size", "t", name, name, False, points))
    component = Component("chunk_size", values, numeric, next(iter(means)), tuple(curves))
    return Study("run", "clean", "one", {"chunk_size": next(iter(means))}, (component,))


def only(found: Study) -> Recommendation:
    (one,) = recommendations([found])
    return one


def test_a_value_far_ahead_of_every_other_is_certain() -> None:
    found = only(study({"128": 0.3, "64": 0.8, "256": 0.4}))
    assert (found.best, found.choice, found.certain, found.level) == (("64",), "64", True, ())


def test_each_other_value_stands_behind_with_a_difference_an_interval_and_a_p() -> None:
    first, second = only(study({"128": 0.3, "64": 0.8, "256": 0.4})).behind
    assert (first.value, second.value) == ("256", "128")
    assert first.difference == pytest.approx(0.4)
    assert first.low is not None
    assert first.low < 0.4 < (first.high or 0)
    assert (first.questions, first.p is not None and first.p < 0.001) == (100, True)


def test_the_p_is_corrected_over_all_pairs_of_values() -> None:
    two = only(study({"128": 0.30, "64": 0.36})).behind[0]
    four = only(study({"128": 0.30, "64": 0.36, "256": 0.30, "512": 0.30})).behind[0]
    assert two.p is not None
    assert four.p == pytest.approx(min(1.0, 6 * two.p))


def test_what_cannot_be_told_from_the_best_is_listed() -> None:
    found = only(study({"128": 0.79, "64": 0.8, "256": 0.3}))
    assert (found.best, found.certain, found.level) == (("64",), False, ("128",))


def test_of_values_that_cannot_be_told_apart_the_one_with_fewest_prompt_tokens_is_taken() -> None:
    found = only(study({"128": 0.79, "64": 0.8, "256": 0.3}, {"64": 2000, "128": 1000, "256": 10}))
    assert found.choice == "128"
    assert found.cheaper == "1000 prompt tokens in place of 2000"


def test_as_many_tokens_leave_it_to_the_seconds() -> None:
    found = only(study({"128": 0.79, "64": 0.8}, {"64": 1010, "128": 1000}, {"64": 4.0, "128": 2.0}))
    assert (found.choice, found.cheaper) == ("128", "2 s in place of 4 s, with as many prompt tokens")


def test_a_cost_that_differs_by_noise_leaves_the_best() -> None:
    found = only(study({"128": 0.79, "64": 0.8}, {"64": 1010, "128": 1000}, {"64": 2.05, "128": 2.0}))
    assert (found.choice, found.cheaper) == ("64", "")


def test_a_cost_that_is_not_known_leaves_the_best() -> None:
    assert only(study({"128": 0.79, "64": 0.8})).choice == "64"


def test_a_value_that_surely_is_worse_is_never_taken_for_its_price() -> None:
    assert only(study({"128": 0.2, "64": 0.8}, {"64": 2000, "128": 10})).choice == "64"


def test_equal_means_are_all_the_best() -> None:
    found = only(study({"128": 0.5, "64": 0.5}))
    assert (found.best, found.certain) == (("64", "128"), False)


def test_a_further_metric_that_wants_another_value_is_named() -> None:
    found = only(study({"128": 0.3, "64": 0.8}, recall={"128": 0.9, "64": 0.2}, precision={"128": 0.1, "64": 0.2}))
    (other,) = found.otherwise
    assert (other.metric, other.value, other.told_apart) == ("recall", "128", True)
    assert other.difference == pytest.approx(0.7)


def test_a_further_metric_that_wants_another_value_by_chance_is_said_to_be_unsure() -> None:
    (other,) = only(study({"128": 0.3, "64": 0.8}, recall={"128": 0.51, "64": 0.5})).otherwise
    assert other.told_apart is False


def test_clusters_count_once() -> None:
    loose = study({"128": 0.3, "64": 0.4})
    tied = Study(*(getattr(loose, name) for name in ("name", "condition", "protocol", "base", "components")))
    clustered = Study(
        tied.name,
        tied.condition,
        "one",
        tied.base,
        tied.components,
        {"t": {f"q{n}": f"c{n // 25}" for n in range(100)}},
    )
    alone, together = only(loose).behind[0], only(clustered).behind[0]
    assert (alone.told_apart, together.told_apart) == (True, False)


def test_one_value_alone_recommends_nothing() -> None:
    assert recommendations([study({"128": 0.3})]) == []


def test_published_means_have_a_best_value_and_a_trend_and_no_certainty() -> None:
    points = tuple(Point(value, published(mean)) for value, mean in (("64", 0.4), ("128", 0.5)))
    curve = Curve("chunk_size", "t", "quest_eval_recall", "share", True, points)
    component = Component("chunk_size", ("64", "128"), True, "", (curve,))
    found = only(Study("paper", "clean", "", {}, (component,)))
    assert (found.best, found.trend, found.certain, found.level) == (("128",), "rising", False, ())
    assert (found.behind[0].p, found.behind[0].difference) == (None, pytest.approx(0.1))


def test_the_strongest_is_surely_better_than_the_base_by_most() -> None:
    weak, strong = study({"128": 0.3, "64": 0.5}), study({"128": 0.1, "64": 0.9})
    found = recommendations([weak, strong])
    assert strongest(found) is found[1]


@pytest.mark.parametrize(
    ("made", "start"),
    [
        (
            study({"128": 0.1, "64": 0.9}),
            "t: chunk_size 64 is better than 128 for certain, by 80.0 points of token_f1 (p = ",
        ),
        (study({"128": 0.5, "64": 0.51}), "no value of chunk_size can be told from the others with 100 questions"),
        (study({"128": 0.5}), ""),
    ],
)
def test_the_sentence_says_what_is_certain(made: Study, start: str) -> None:
    said = sentence(recommendations([made]))
    assert said.startswith(start)
    assert bool(said) == bool(start)


def test_what_is_the_strongest_of_many_is_not_called_certain_where_chance_alone_brings_one() -> None:
    found = recommendations([study({"128": 0.3, "64": 0.6}, questions=20)])
    p = found[0].behind[0].p
    assert p is not None
    assert 0.01 < p <= 0.05
    assert "better than 128 for certain" in sentence(found)
    many = sentence(found * 5)
    assert "for certain" not in many
    assert "of 5 comparisons of settings one comes out so by chance easily" in many


@pytest.fixture
def sweep(tmp_path: Path) -> Callable[..., list[Recommendation]]:
    def make(right: dict[str, int], **settings: Any) -> list[Recommendation]:
        def share(cell: Cell, number: int) -> bool:
            return number % 10 < right.get(cell.workflow, 3)

        return recommendations(sweep_studies(write_sweep(tmp_path / "run", share, **settings)))

    return make


def test_a_run_is_advised_for_each_task_and_component(sweep: Callable[..., list[Recommendation]]) -> None:
    found = sweep({"rag@chunk_size=64": 9}, tokens=lambda cell: 2000 if cell.workflow == "rag" else 1000)
    assert [(one.component, one.choice, one.certain) for one in found] == [
        ("chunk_size", "64", True),
        ("retriever", "dense", False),
        ("top_k", "2", False),
    ]
    assert {one.metric for one in found} == {"token_f1"}
