"""Aggregation over samples: variants first, then samples, never tasks."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from r_eval.analysis.columns import of_records
from r_eval.analysis.placeholder_scores import (
    Scored,
    Variant,
    attainable,
    placeholder_scores,
    samples_of,
    variant_of,
    variants_of,
    weighted,
)
from r_eval.analysis.scoring import score_episode
from r_eval.analysis.systems import System, systems
from r_eval.analysis.tables.stability import placeholder_scores_sheet
from r_eval.errors import UserError
from r_eval.folder import Cell, RunFolder
from r_eval.records import Episode, Outcome, Question

Make = Callable[..., Episode]
Answers = dict[str, list[str]]
"""By sample, the answer to each of its variants; "" is wrong, "!" a failure of the machinery."""


def system(make: Make, tasks: dict[str, Answers]) -> System:
    """A system that answered the samples of some tasks."""
    made = System("clean", "rag+m", "rag", "m")
    for task, samples in tasks.items():
        records = [
            score_episode(
                make(
                    question_id=f"{sample}#{number}",
                    answer="Nairobi" if answer == "Nairobi" else "Nakuru",
                    outcome=Outcome(kind="llm_failure" if answer == "!" else "finished"),
                )
            )
            for sample, answers in samples.items()
            for number, answer in enumerate(answers)
        ]
        made.cells[task] = of_records(Cell("rag", "m", "clean", task), records, len(records))
    return made


def variants(tasks: dict[str, Answers]) -> dict[str, dict[str, Variant]]:
    """The variants of those questions; a sample's part is what stands before the hyphen."""
    return {
        task: {
            f"{sample}#{number}": Variant(sample, str(number), sample.partition("-")[0])
            for sample, answers in samples.items()
            for number in range(len(answers))
        }
        for task, samples in tasks.items()
    }


def scored(make: Make, tasks: dict[str, Answers]) -> dict[tuple[str, str], Scored]:
    return {(one.task, one.part): one for one in placeholder_scores([system(make, tasks)], variants(tasks))}


R, W = "Nairobi", ""
TASKS: dict[str, Answers] = {
    "prgb/filtering": {"filter-1": [R, R, R]},
    "prgb/combination": {"v1-1": [R, W, W], "v1-2": [W, W, W], "v2-1": [R, R, W]},
}


def test_a_sample_scores_the_mean_over_its_variants(make_episode: Make) -> None:
    found = scored(make_episode, TASKS)
    assert found["prgb/combination", ""].score.mean == pytest.approx((1 / 3 + 0 + 2 / 3) / 3)
    assert found["prgb/combination", ""].samples == 3


def test_over_all_tasks_every_sample_weighs_the_same(make_episode: Make) -> None:
    assert scored(make_episode, TASKS)["", ""].score.mean == pytest.approx((1 + 1 / 3 + 0 + 2 / 3) / 4)


def test_a_sample_with_fewer_variants_weighs_as_much_as_another(make_episode: Make) -> None:
    found = scored(make_episode, {"t": {"a-1": [R], "a-2": [W, W, W]}})
    assert found["t", ""].score.mean == pytest.approx(0.5)


def test_the_parts_of_a_task_have_lines_of_their_own(make_episode: Make) -> None:
    found = scored(make_episode, TASKS)
    assert found["prgb/combination", "v1"].score.mean == pytest.approx(1 / 6)
    assert found["prgb/combination", "v2"].score.mean == pytest.approx(2 / 3)
    assert ("prgb/filtering", "filter") not in found


def test_the_parts_give_the_task_by_their_sizes(make_episode: Make) -> None:
    found = scored(make_episode, TASKS)
    parts = {part: one for (task, part), one in found.items() if task == "prgb/combination" and part}
    means = {part: one.score.mean or 0.0 for part, one in parts.items()}
    whole = weighted(means, {part: one.samples for part, one in parts.items()})
    assert whole == pytest.approx(found["prgb/combination", ""].score.mean)


def test_variants_that_the_machinery_stopped_are_counted_and_bound_the_score(make_episode: Make) -> None:
    found = scored(make_episode, {"t": {"a-1": [R, "!"], "a-2": ["!", "!"]}})["t", ""]
    assert (found.samples, found.score.n, found.score.missing) == (1, 1, 3)
    assert (found.score.mean, found.score.worst, found.score.best) == (1.0, 0.25, 1.0)


def test_variants_of_one_sample_are_no_independent_questions(make_episode: Make) -> None:
    found = scored(make_episode, {"t": {f"a-{number}": [R, R, W] for number in range(10)}})["t", ""]
    assert (found.score.questions, found.score.clusters) == (10, 10)


def test_a_task_without_variants_has_no_line(make_episode: Make) -> None:
    assert placeholder_scores([system(make_episode, TASKS)], {}) == []


def test_the_epochs_of_a_variant_are_averaged_first(make_episode: Make) -> None:
    records = [
        score_episode(make_episode(question_id="a#0", epoch=epoch, answer=answer))
        for epoch, answer in enumerate([R, "Nakuru"])
    ]
    cell = of_records(Cell("rag", "m", "clean", "t"), records, 2)
    (sample,) = samples_of(cell, cell.scores, {"a#0": Variant("a", "0")})
    assert sample.values == {"0": 0.5}


def test_the_variants_are_read_from_the_questions_of_a_run(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    tasks = [{"name": "t"}, {"name": "u"}]
    manifest = {"schema": 1, "name": "r", "state": "complete", "tasks": tasks, "cells": []}
    run.run_file.write_text(json.dumps(manifest), encoding="utf-8")
    meta = {"document": "f-1", "variant": 0, "subtask": "filter"}
    asked = {
        "t": [Question(id="f-1#0", question="?", answers=["a"], level="KS", meta=meta)],
        "u": [Question(id="q", question="?", answers=["a"], level="KS", meta={"document": "d"})],
    }
    for task, questions in asked.items():
        path = run.questions_file(task)
        path.parent.mkdir(exist_ok=True)
        path.write_text("".join(f"{one.model_dump_json(by_alias=True)}\n" for one in questions), encoding="utf-8")
    assert variants_of([run]) == {"t": {"f-1#0": Variant("f-1", "0", "filter")}}


@pytest.mark.parametrize("meta", [{}, {"document": "d"}, {"variant": 1}, {"document": ["d"], "variant": 1}])
def test_a_question_whose_meta_names_no_variant_has_none(meta: dict[str, object]) -> None:
    assert variant_of(meta) is None


def test_a_run_without_variants_has_no_lines(run: RunFolder) -> None:
    assert placeholder_scores(systems(run), variants_of([run])) == []


def test_the_table_has_a_line_each_and_can_be_written(make_episode: Make) -> None:
    sheet = placeholder_scores_sheet(list(scored(make_episode, TASKS).values()))
    last = dict(zip(sheet.header, sheet.lines[-1], strict=True))
    assert (last["task"], last["samples"], last["n"], last["score"]) == ("all tasks", 4, 12, "50.00")
    assert all(len(line) == len(view.header) for view in sheet.shown() for line in view.lines)
    assert json.dumps(sheet.lines)


def test_parts_without_a_size_are_refused() -> None:
    with pytest.raises(UserError, match="differ: b, c"):
        weighted({"a": 1.0, "b": 2.0}, {"a": 3, "c": 1})


def test_no_samples_have_no_mean() -> None:
    with pytest.raises(UserError, match="no samples"):
        weighted({"a": 1.0}, {"a": 0})


@given(st.integers(1, 7000), st.data())
def test_every_share_of_so_many_tries_is_attainable_as_printed(tries: int, data: st.DataObject) -> None:
    right = data.draw(st.integers(0, tries))
    assert attainable(float(f"{100 * right / tries:.2f}"), tries)


@pytest.mark.parametrize(
    ("score", "tries"), [(60.20, 2400), (74.03, 3087), (100.01, 300), (-0.5, 3), (50.0, 0), (float("nan"), 3)]
)
def test_scores_that_no_count_gives_are_not(score: float, tries: int) -> None:
    assert not attainable(score, tries)


def test_the_score_of_another_task_is_told_by_its_grain() -> None:
    assert attainable(60.20, 3 * 1495)
    assert np.isclose(100 * 2700 / 4485, 60.20, atol=0.005)
