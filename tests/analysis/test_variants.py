"""Scores over samples and stability over their variants: variants first, then samples, never tasks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas
import pytest

from r_eval.analysis.results import Results, load
from r_eval.analysis.robustness import placeholder_scores, stability
from r_eval.records import Question
from tests.analysis.answers import HOP, KS, write_answers

Samples = dict[str, str]
"""By sample, a letter per variant, as of `write_answers`; a sample's part is what its name has before the hyphen."""
TASKS: dict[str, Samples] = {KS: {"filter-1": "rrr"}, HOP: {"v1-1": "rww", "v1-2": "www", "v2-1": "rrw"}}
MIXED = {"a": "rrr", "b": "www", "c": "rrw", "d": "rww"}


def asked(folder: Path, tasks: dict[str, Samples], epochs: int = 1) -> Results:
    """A run of rag over the variants of some samples."""
    answers = {("rag", task): "".join(samples.values()) for task, samples in tasks.items()}
    questions = {
        task: [
            Question(id=f"q{place}", question="?", answers=["Nairobi"], level="KS", meta=meta)
            for place, meta in enumerate(
                {"document": name, "variant": number, "subtask": name.partition("-")[0] if "-" in name else ""}
                for name, letters in samples.items()
                for number in range(len(letters))
            )
        ]
        for task, samples in tasks.items()
    }
    return load(write_answers(folder, answers, questions=questions))


def rows(frame: pandas.DataFrame) -> dict[tuple[str, str], dict[str, Any]]:
    part = frame["part"] if "part" in frame else [""] * len(frame)
    return dict(zip(zip(frame["task"], part, strict=True), frame.to_dict("records"), strict=True))  # type: ignore[arg-type]


def steady(folder: Path, samples: Samples) -> dict[str, Any]:
    (found,) = stability(asked(folder, {KS: samples})).to_dict("records")
    return {str(name): value for name, value in found.items()}


# Scores


def test_a_sample_scores_the_mean_over_its_variants_and_every_sample_weighs_the_same(tmp_path: Path) -> None:
    found = rows(placeholder_scores(asked(tmp_path, TASKS)))
    assert (found[HOP, ""]["score"], found[HOP, ""]["samples"]) == (pytest.approx((1 / 3 + 0 + 2 / 3) / 3), 3)
    assert found["all tasks", ""]["score"] == pytest.approx((1 + 1 / 3 + 0 + 2 / 3) / 4)


def test_the_parts_of_a_task_have_rows_of_their_own_behind_it(tmp_path: Path) -> None:
    found = rows(placeholder_scores(asked(tmp_path, TASKS)))
    assert list(found) == [(KS, ""), (HOP, ""), (HOP, "v1"), (HOP, "v2"), ("all tasks", "")]
    assert found[HOP, "v1"]["score"] == pytest.approx(1 / 6)


def test_variants_without_a_score_are_counted_and_bound_it(tmp_path: Path) -> None:
    found = rows(placeholder_scores(asked(tmp_path, {KS: {"a-1": "rx", "a-2": "xx"}})))[KS, ""]
    assert (found["samples"], found["episodes"], found["incomplete"]) == (1, 1, 3)
    assert (found["score"], found["score_worst"], found["score_best"]) == (1.0, 0.25, 1.0)


# Stability


def test_samples_are_all_right_all_wrong_or_partly_right(tmp_path: Path) -> None:
    found = steady(tmp_path, MIXED)
    assert [found[f"{name}_share"] for name in ("all_right", "all_wrong", "partly_right")] == [0.25, 0.25, 0.5]
    assert (found["samples"], found["left_out"]) == (4, 0)
    assert found["right_of_partly_share"] == pytest.approx((2 / 3 + 1 / 3) / 2)


def test_a_sample_with_one_variant_or_one_without_a_verdict_is_left_out(tmp_path: Path) -> None:
    found = steady(tmp_path, {"a": "rrr", "b": "rrx", "c": "r"})
    assert (found["samples"], found["left_out"], found["all_right_share"]) == (1, 2, 1.0)
