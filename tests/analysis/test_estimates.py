"""Means by group, against the same means made one by one; pass@k."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from r_eval.analysis.results import load
from r_eval.analysis.robustness import repeats
from r_eval.folder import RunFolder
from tests.analysis.answers import write_answers


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
