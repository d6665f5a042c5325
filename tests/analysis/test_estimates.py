"""Means by group, against the same means made one by one; pass@k."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from r_eval.analysis.estimates import average_by, mean_by
from r_eval.analysis.repeats import repeats
from r_eval.analysis.results import load
from r_eval.analysis.statistics import mean
from r_eval.folder import RunFolder
from tests.analysis.answers import write_answers


@pytest.fixture
def episodes() -> pd.DataFrame:
    """Two systems with two tasks, two epochs, missing scores and shared documents; names not only ASCII."""
    rng = np.random.default_rng(1)
    keys = [
        (s, t, f"q{q}", e) for s in ("réact+m", "pal+m") for t in ("wiki/a", "wiki/b") for q in range(9) for e in (0, 1)
    ]
    frame = pd.DataFrame(keys, columns=["system", "task", "question_id", "epoch"])
    frame["cluster"] = frame["question_id"].str[-1].astype(int) // 2
    frame["score"] = np.where(rng.random(len(frame)) < 0.1, np.nan, rng.integers(0, 2, len(frame)))
    return frame


def expected(own: pd.DataFrame, strata: bool) -> tuple[float, ...]:
    """As `statistics.mean` has it, from the means of the questions."""
    questions = (
        own.groupby(["task", "question_id"]).agg(score=("score", "mean"), cluster=("cluster", "first")).reset_index()
    )
    clusters = questions["task"].astype(str) + questions["cluster"].astype(str)
    return tuple(mean(questions["score"], clusters, questions["task"] if strata else None))


@pytest.mark.parametrize("categories", [False, True])
def test_each_group_has_its_own_mean(episodes: pd.DataFrame, categories: bool) -> None:
    if categories:
        episodes = episodes.astype({"system": pd.CategoricalDtype(["réact+m", "nobody", "pal+m"]), "task": "category"})
    names = ["score", "score_low", "score_high", "questions", "clusters"]
    for found, by, strata in (
        (mean_by(episodes, ["system", "task"]), ["system", "task"], False),
        (average_by(episodes, ["system"]), ["system"], True),
    ):
        assert list(dict.fromkeys(found["system"])) == ["réact+m", "pal+m"]
        for row in found.to_dict("records"):
            own = episodes[(episodes[by] == [row[name] for name in by]).all(axis=1)]
            assert [row[name] for name in names] == pytest.approx(expected(own, strata))
    assert found["tasks"].tolist() == [2, 2]


def test_every_choice_of_tries_counts_alike(tmp_path: Path) -> None:
    found = repeats(load(write_answers(tmp_path, {"react": "rr\nwr\nwr\nwr"}))).set_index("k")
    assert found["pass_at_k"].tolist() == pytest.approx([0.625, 0.75, 1.0])
    assert found["pass_hat_k"].tolist() == pytest.approx([0.625, 0.5, 0.5])


def test_repeats_need_several_epochs(run: RunFolder) -> None:
    results = load(run)
    assert repeats(results).empty
    first, second = results.episodes, results.episodes.assign(epoch=1)
    found = repeats(replace(results, episodes=pd.concat([first, second], ignore_index=True)))
    assert set(found["k"]) == {1, 2}
    own = found[(found["system"] == "react+openai/gpt-4o-mini") & (found["task"] == "wiki/hotpotqa")]
    scored = first[(first["system"] == "react+openai/gpt-4o-mini") & (first["task"] == "wiki/hotpotqa")]["score"]
    assert own["pass_at_k"].tolist() == pytest.approx([(scored.dropna() >= 0.5).mean()] * 2)
    assert (own["pass_at_k_low"] < own["pass_at_k"]).all()
