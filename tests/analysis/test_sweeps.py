"""Sweeps: which cells are behind a value, how combinations are averaged, and which value to take."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas
import pytest

from r_eval.analysis.published_results import COMPONENTS
from r_eval.analysis.results import Results, load
from r_eval.analysis.scoring import score_run
from r_eval.analysis.sweeps import PAIRS, RECOMMENDED, advice, components, recommend, setting_pairs
from r_eval.folder import Cell, RunFolder
from tests.analysis.sweeping import CROSS, LLM, write_sweep

OTHER = "openai/gpt-4.1"
SHARES = {"rag": 0.5, "rag@chunk_size=64": 0.25, "rag@chunk_size=256": 0.75, "rag@retriever=dense": 0.5}
VALUES = {
    "rag": {"chunk_size": 128},
    "rag@chunk_size=64": {"chunk_size": 64},
    "rag@chunk_size=256": {"chunk_size": 256},
}


def share(cell: Cell, number: int) -> bool:
    return number % 40 < 40 * SHARES.get(cell.workflow, 0.1)


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> Results:
    path = tmp_path_factory.mktemp("one") / "run"
    run = write_sweep(path, share, pairs=[("rag", OTHER), ("direct", LLM)])
    score_run(run, ["rouge_l"])
    return load(run)


def points(results: Results, component: str, metric: str = "token_f1") -> pandas.DataFrame:
    found = components(results)
    return found[(found["component"] == component) & (found["metric"] == metric)].set_index("setting")


def means(results: Results, component: str, metric: str = "token_f1") -> dict[str, float]:
    found = points(results, component, metric)
    return {str(name): value for name, value in found["score"].fillna(found["number"]).items()}


# What each value comes to


def test_each_setting_that_differs_from_the_base_is_a_component_and_so_are_the_llms(one: Results) -> None:
    assert list(dict.fromkeys(components(one)["component"])) == ["chunk_size", "retriever", "top_k", "llm"]


def test_crossed_settings_are_compared_while_the_others_are_the_bases(tmp_path: Path) -> None:
    marks = {"rag": 1, "rag@chunk_size=64": 2, "rag@retriever=dense": 3, "rag@chunk_size=64,retriever=dense": 4}
    run = write_sweep(tmp_path / "run", lambda cell, number: number % 10 < marks[cell.workflow], CROSS)
    found = load(run)
    assert means(found, "chunk_size") == {"64": pytest.approx(0.2), "128": pytest.approx(0.1)}
    assert means(found, "retriever") == {"bm25": pytest.approx(0.1), "dense": pytest.approx(0.3)}


def test_a_run_that_varies_nothing_has_empty_frames_with_their_columns(run: RunFolder) -> None:
    results = load(run)
    frames = ((components, COMPONENTS), (setting_pairs, PAIRS), (recommend, RECOMMENDED))
    for function, columns in frames:
        found = function(results)
        assert len(found) == 0
        assert found.dtypes.astype(str).to_dict() == columns
    assert advice(results) == ""


# Which differ, and which to take

Sweep = Callable[..., Results]


@pytest.fixture
def sweep(tmp_path: Path) -> Sweep:
    """A run over three chunk sizes (128 is the base), so many of 100 questions right each."""

    def make(base: int, small: int, large: int, **settings: Any) -> Results:
        count = dict(zip(VALUES, (base, small, large), strict=True))
        more = {"questions": 100, **settings}
        return load(write_sweep(tmp_path / f"{small}", lambda cell, n: n < count[cell.workflow], VALUES, **more))

    return make


def only(results: Results) -> dict[str, Any]:
    (found,) = recommend(results).to_dict("records")
    return found


def test_all_pairs_of_values_are_one_family(sweep: Sweep) -> None:
    found = setting_pairs(sweep(30, 80, 40))
    assert list(zip(found["setting_a"], found["setting_b"], strict=True)) == [
        ("64", "128"),
        ("64", "256"),
        ("128", "256"),
    ]
    assert found["difference"].to_list() == [pytest.approx(0.5), pytest.approx(0.4), pytest.approx(-0.1)]
    assert (found["p_adjusted"] >= found["p"]).all()
    assert found["significant"].to_list() == [True, True, True]


def test_the_best_value_is_taken_where_it_is_significantly_better_than_the_base(sweep: Sweep) -> None:
    found = only(sweep(30, 80, 40))
    assert (found["best"], found["choice"], found["not_worse"], found["base"]) == ("64", "64", "", "128")
    assert (found["rival"], found["difference"]) == ("128", pytest.approx(0.5))
    assert found["difference_low"] < 0.5 < found["difference_high"]
    assert found["reason"] == "significantly better than 128, by 50.0 points (p < 0.001)"


def test_the_base_stays_where_it_is_not_significantly_worse(sweep: Sweep) -> None:
    found = only(sweep(79, 80, 30))
    assert (found["best"], found["not_worse"], found["choice"]) == ("64", "128", "128")
    assert found["reason"] == "not significantly worse than 64"


def test_noise_between_identical_settings_recommends_nothing(sweep: Sweep) -> None:
    found = only(sweep(50, 50, 50))
    assert (found["choice"], found["significant"]) == ("", False)
    assert found["best"] == "64, 128, 256"
    assert found["reason"] == "no value is significantly better than another on 100 questions"
