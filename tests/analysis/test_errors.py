"""The error analysis: counts that add up, causes in order, what is known of questions, each question once."""

from __future__ import annotations

import pytest

from r_eval import Run
from r_eval.analysis.causes import CAUSES
from r_eval.analysis.errors import Grouping, causes, responses
from r_eval.analysis.results import Results
from r_eval.folder import RunFolder


@pytest.mark.parametrize("by", [None, "task", "level", "domain"])
def test_every_episode_has_one_type_and_every_wrong_one_a_cause(results: Results, by: Grouping | None) -> None:
    found, why = responses(results, by), causes(results, by)
    keys = ["condition", "system", *([by] if by else [])]
    assert found["episodes"].sum() == len(results.episodes)
    assert found.groupby(keys).size().unique().tolist() == [6]
    assert found.groupby(keys)["share"].sum().round(9).unique().tolist() == [1.0]
    wrong = found[~found["response_type"].isin(["EM", "AM"])]
    assert why.groupby(keys)["episodes"].sum().to_dict() == {
        key: count for key, count in wrong.groupby(keys)["episodes"].sum().items() if count
    }


def test_causes_stand_in_the_order_of_their_table_with_an_episode_of_theirs(results: Results) -> None:
    found, order = causes(results), list(CAUSES)
    for _, own in found.groupby("system"):
        assert own["cause"].tolist() == sorted(own["cause"], key=order.index)
    cause = dict(zip(results.episodes["episode_id"], results.episodes["cause"], strict=True))
    assert [cause[example] for example in found["example"]] == found["cause"].tolist()


def test_causes_are_the_same_in_the_frame_and_in_python(run: RunFolder) -> None:
    episodes, found = Run(run.path).to_pandas(), Run(run.path).causes()
    counts = episodes[episodes["cause"] != ""].groupby(["system", "cause"]).size().to_dict()
    assert dict(zip(zip(found["system"], found["cause"], strict=True), found["episodes"], strict=True)) == counts
