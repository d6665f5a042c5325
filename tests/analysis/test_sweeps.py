"""Component results of a run: which cells stand behind a value, and how combinations are averaged."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from r_eval.analysis.components import Component, Curve, Study
from r_eval.analysis.scoring import ensure_scored, score_run
from r_eval.analysis.sweeps import sweep_studies
from r_eval.folder import Cell, RunFolder
from tests.analysis.sweeping import CROSS, LLM, write_sweep

OTHER = "openai/gpt-4.1"
SHARES = {"rag": 0.5, "rag@chunk_size=64": 0.25, "rag@chunk_size=256": 0.75, "rag@retriever=dense": 0.5}


def part(study: Study, name: str) -> Component:
    return next(component for component in study.components if component.name == name)


def curve(study: Study, name: str, metric: str = "token_f1") -> Curve:
    return next(one for one in part(study, name).curves if one.metric == metric)


def means(study: Study, name: str, metric: str = "token_f1") -> dict[str, float | None]:
    return {point.value: point.estimate.mean for point in curve(study, name, metric).points}


def share(cell: Cell, number: int) -> bool:
    return number % 40 < 40 * SHARES.get(cell.workflow, 0.1)


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> Study:
    path = tmp_path_factory.mktemp("one") / "run"
    (study,) = sweep_studies(write_sweep(path, share, pairs=[("rag", OTHER), ("direct", LLM)]))
    return study


def test_each_setting_that_differs_from_the_base_is_a_component_and_so_are_the_llms(one: Study) -> None:
    assert [component.name for component in one.components] == ["chunk_size", "retriever", "top_k", "llm"]


def test_numbers_ascend_whatever_their_order_in_the_grid(one: Study) -> None:
    assert means(one, "chunk_size") == {"64": 0.25, "128": 0.5, "256": 0.75}


def test_names_keep_the_order_of_the_grid(one: Study) -> None:
    assert (part(one, "retriever").values, part(one, "retriever").numeric) == (("bm25", "dense"), False)


def test_what_moves_along_is_said_and_makes_no_value_of_the_other_setting(one: Study) -> None:
    assert part(one, "top_k").moved == {"2": "chunk_size 512"}
    assert "512" not in part(one, "chunk_size").values


def test_the_base_names_the_llm_of_the_variants(one: Study) -> None:
    assert (one.base["chunk_size"], one.base["llm"]) == ("128", LLM)
    assert part(one, "llm").base == LLM


def test_a_value_has_an_interval_and_counts(one: Study) -> None:
    found = curve(one, "chunk_size").points[0].estimate
    assert found.low is not None
    assert found.low < 0.25 < (found.high or 0)
    assert (found.n, found.expected, found.questions) == (40, 40, 40)


def test_tokens_and_seconds_stand_beside_the_metrics_in_units_of_their_own(one: Study) -> None:
    found = curve(one, "chunk_size", "prompt_tokens")
    assert (found.unit, means(one, "chunk_size", "prompt_tokens")) == ("tokens", {"64": 1000, "128": 1000, "256": 1000})
    assert curve(one, "chunk_size", "seconds").unit == "seconds"


def test_a_run_that_varies_nothing_has_no_components(run: RunFolder) -> None:
    assert sweep_studies(run) == []


def test_an_interval_of_tokens_may_lie_beyond_one(tmp_path: Path) -> None:
    folder = write_sweep(tmp_path / "run", share)
    for cell in folder.cells():
        path = cell.path(folder.episodes_root)
        lines = path.read_text(encoding="utf-8").splitlines()
        records = [json.loads(line) for line in lines]
        for number, record in enumerate(records):
            record["usage"]["prompt_tokens"] = 100 * (number % 3)
        path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    (study,) = sweep_studies(folder)
    found = curve(study, "chunk_size", "prompt_tokens").points[0].estimate
    assert found.mean == pytest.approx(97.5)
    assert (found.low or 0) == pytest.approx(97.5 - 2.0227 * 82.88 / 40**0.5, abs=0.6)


def test_crossed_settings_are_averaged_over_the_others_a_question_at_a_time(tmp_path: Path) -> None:
    marks = {"rag": 1, "rag@chunk_size=64": 2, "rag@retriever=dense": 3, "rag@chunk_size=64,retriever=dense": 4}
    folder = write_sweep(tmp_path / "run", lambda cell, number: number % 10 < marks[cell.workflow], CROSS, "cross")
    (study,) = sweep_studies(folder)
    assert means(study, "chunk_size") == {"64": pytest.approx(0.3), "128": pytest.approx(0.2)}
    assert means(study, "retriever") == {"bm25": pytest.approx(0.15), "dense": pytest.approx(0.35)}
    point = curve(study, "chunk_size").points[0]
    assert sorted(set(point.scores.values())) == [0.0, 0.5, 1.0]
    assert (point.estimate.n, point.estimate.questions) == (80, 40)


def test_a_question_that_one_combination_lacks_counts_for_no_value_of_it(tmp_path: Path) -> None:
    def right(cell: Cell, number: int) -> bool | None:
        return None if cell.workflow == "rag@chunk_size=64,retriever=dense" and number < 5 else True

    (study,) = sweep_studies(write_sweep(tmp_path / "run", right, CROSS, "cross"))
    small, large = curve(study, "chunk_size").points
    assert (len(small.scores), len(large.scores)) == (35, 40)
    assert (small.estimate.missing, small.estimate.n) == (5, 75)
    assert (small.estimate.worst, small.estimate.best) == (pytest.approx(75 / 80), 1.0)


def test_a_combination_that_some_value_lacks_stands_behind_none(tmp_path: Path) -> None:
    workflows = {name: settings for name, settings in CROSS.items() if name != "rag@chunk_size=64,retriever=dense"}
    right = {"rag": 0.2, "rag@chunk_size=64": 0.4, "rag@retriever=dense": 1.0}
    folder = write_sweep(tmp_path / "run", lambda cell, n: n % 10 < 10 * right[cell.workflow], workflows, "cross")
    (study,) = sweep_studies(folder)
    assert means(study, "chunk_size") == {"64": 0.4, "128": 0.2}


def test_a_value_that_was_not_run_yet_has_no_mean(tmp_path: Path) -> None:
    folder = write_sweep(tmp_path / "run", share)
    next(cell for cell in folder.cells() if cell.workflow == "rag@chunk_size=64").path(folder.episodes_root).unlink()
    (study,) = sweep_studies(folder)
    assert means(study, "chunk_size") == {"64": None, "128": 0.5, "256": 0.75}


def test_further_metrics_are_curves_of_their_own(tmp_path: Path) -> None:
    folder = write_sweep(tmp_path / "run", share)
    score_run(folder, ["rouge_l"])
    (study,) = sweep_studies(folder)
    assert curve(study, "chunk_size", "rouge_l").own is False
    assert curve(study, "chunk_size").own is True


def test_retrieval_scores_are_curves_where_the_records_have_them(tmp_path: Path) -> None:
    folder = write_sweep(tmp_path / "run", share)
    ensure_scored(folder)
    for cell in folder.cells():
        records: list[dict[str, Any]] = list(folder.scores(cell).values())
        for record in records:
            record["retrieval"] = {"recall": 0.5, "hit_rate": 1.0, "ndcg": None}
        path = cell.path(folder.scores_root)
        path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    (study,) = sweep_studies(folder)
    assert set(means(study, "chunk_size", "retrieval_recall").values()) == {0.5}
    assert "retrieval_ndcg" not in {found.metric for found in part(study, "chunk_size").curves}
