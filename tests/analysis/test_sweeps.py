"""Sweeps: which cells are behind a value, how combinations are averaged, and which value to take."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from r_eval.analysis.published_results import COMPONENTS
from r_eval.analysis.results import Results, load
from r_eval.analysis.sweeps import PAIRS, RECOMMENDED, advice, components, recommend, setting_pairs
from tests.analysis.answers import KS, write_answers

BASE = {"chunk_size": 128, "retriever": "bm25", "top_k": 8}
ONE: dict[str, dict[str, Any]] = {
    "rag": BASE,
    "rag@chunk_size=64": {**BASE, "chunk_size": 64},
    "rag@chunk_size=256": {**BASE, "chunk_size": 256},
    "rag@retriever=dense": {**BASE, "retriever": "dense"},
    "rag@top_k=2": {**BASE, "top_k": 2, "chunk_size": 512},
}
CROSS = {name: {**BASE, "chunk_size": 64 if "64" in name else 128} for name in ("rag", "rag@chunk_size=64")}
CROSS |= {"rag@retriever=dense": {**BASE, "retriever": "dense"}}
CROSS |= {"rag@chunk_size=64,retriever=dense": {**BASE, "chunk_size": 64, "retriever": "dense"}}
SIZES = {name: {"chunk_size": ONE[name]["chunk_size"]} for name in list(ONE)[:3]}


def swept(folder: Path, workflows: dict[str, dict[str, Any]], right: Sequence[int], of: int, **more: str) -> Results:
    """A run that varies settings, the first workflow being the base; so many of the questions are right of each."""
    answers = {name: "r" * count + "w" * (of - count) for name, count in zip(workflows, right, strict=True)}
    systems = {("rag", KS, llm): letters for llm, letters in more.items()}
    vary = {"workflows": workflows, "base": next(iter(workflows))}
    return load(write_answers(folder, {**answers, **systems}, vary=vary))


def means(results: Results, component: str, metric: str = "token_f1") -> dict[str, float]:
    found = components(results)
    found = found[(found["component"] == component) & (found["metric"] == metric)].set_index("setting")
    return {str(name): value for name, value in found["score"].fillna(found["number"]).items()}


def test_each_setting_that_differs_from_the_base_is_a_component_and_so_are_the_llms(tmp_path: Path) -> None:
    one = swept(tmp_path, ONE, [2, 1, 3, 2, 1], 4, other="wwww")
    assert list(dict.fromkeys(components(one)["component"])) == ["chunk_size", "retriever", "top_k", "llm"]


def test_crossed_settings_are_compared_while_the_others_are_the_bases(tmp_path: Path) -> None:
    found = swept(tmp_path, CROSS, [1, 2, 3, 4], 10)
    assert means(found, "chunk_size") == {"64": pytest.approx(0.2), "128": pytest.approx(0.1)}
    assert means(found, "retriever") == {"bm25": pytest.approx(0.1), "dense": pytest.approx(0.3)}


def test_a_run_that_varies_nothing_has_empty_frames_with_their_columns(results: Results) -> None:
    frames = ((components, COMPONENTS), (setting_pairs, PAIRS), (recommend, RECOMMENDED))
    for function, columns in frames:
        found = function(results)
        assert len(found) == 0
        assert found.dtypes.astype(str).to_dict() == columns
    assert advice(results) == ""


@pytest.fixture
def sweep(tmp_path: Path) -> Callable[..., Results]:
    """A run over three chunk sizes (128 is the base), so many of 100 questions right each."""
    return lambda *right: swept(tmp_path / "run", SIZES, right, 100)


def test_all_pairs_of_values_are_one_family(sweep: Callable[..., Results]) -> None:
    found = setting_pairs(sweep(30, 80, 40))
    assert found[["setting_a", "setting_b"]].to_numpy().tolist() == [["64", "128"], ["64", "256"], ["128", "256"]]
    assert found["difference"].to_list() == [pytest.approx(0.5), pytest.approx(0.4), pytest.approx(-0.1)]
    assert (found["p_adjusted"] >= found["p"]).all()
    assert found["significant"].to_list() == [True, True, True]


@pytest.mark.parametrize(
    ("right", "best", "not_worse", "choice", "reason"),
    [
        ((30, 80, 40), "64", "", "64", "significantly better than 128, by 50.0 points (p < 0.001)"),
        ((79, 80, 30), "64", "128", "128", "not significantly worse than 64"),
        ((50, 50, 50), "64, 128, 256", "", "", "no value is significantly better than another on 100 questions"),
    ],
    ids=["the best is better than the base", "the base is not worse", "noise"],
)
def test_the_best_value_is_taken_where_it_is_significantly_better_than_the_base(
    sweep: Callable[..., Results], right: tuple[int, ...], best: str, not_worse: str, choice: str, reason: str
) -> None:
    (found,) = recommend(sweep(*right)).to_dict("records")
    assert (found["best"], found["choice"], found["reason"], found["base"]) == (best, choice, reason, "128")
    assert (found["not_worse"] == not_worse or not choice, found["significant"]) == (True, bool(choice))
    if choice == best:
        assert (found["rival"], found["difference"]) == ("128", pytest.approx(0.5))
        assert found["difference_low"] < 0.5 < found["difference_high"]
