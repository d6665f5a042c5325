"""Pairs of systems from the frame of episodes: what is paired, what is a family, and what is left out."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from r_eval.analysis.compare import comparable, pairs, score_matrix
from r_eval.analysis.results import Results, load
from r_eval.analysis.statistics import ScorePairs, compare
from tests.analysis.conftest import write_run


def test_the_epochs_of_a_question_are_averaged_and_missing_scores_stay_missing() -> None:
    rows = [("b", "t", "q1", 1.0), ("a", "t", "q1", 0.0), ("a", "t", "q1", 1.0), ("a", "u", "q1", 1.0)]
    rows.append(("b", "u", "q1", np.nan))
    frame = pd.DataFrame(rows, columns=["system", "task", "question_id", "score"]).assign(cluster="d", template="")
    found = score_matrix(frame)
    assert (found.columns, found.tasks) == (["b", "a"], ["t", "u"])
    assert np.array_equal(found.scores, [[1.0, 0.5], [np.nan, 1.0]], equal_nan=True)
    assert found.cluster.tolist() == [0, 1]
    assert np.isnan(found.column("nobody")).all()
    assert score_matrix(frame, by=["system", "task"]).columns[0] == ("b", "t")


def test_questions_of_a_template_are_a_cluster_where_asked() -> None:
    rows = [("a", "t", f"q{n}", 1.0, f"q{n}", "" if n > 5 else f"p{n // 3}") for n in range(8)]
    frame = pd.DataFrame(rows, columns=["system", "task", "question_id", "score", "cluster", "template"])
    assert score_matrix(frame).cluster.tolist() == list(range(8))
    assert score_matrix(frame, cluster="template").cluster.tolist() == [0, 0, 0, 1, 1, 1, 2, 3]


def test_pairs_are_one_family_of_all_ranked_systems(results: Results) -> None:
    found = pairs(results)
    systems = [*dict.fromkeys(found["system_a"]), found["system_b"].iloc[-1]]
    assert "oracle+none" not in systems
    assert list(zip(found["system_a"], found["system_b"], strict=True)) == list(combinations(systems, 2))
    assert ((found["difference_low"] > 0) | (found["difference_high"] < 0)).tolist() == found["significant"].tolist()
    assert found["significant"].any()
    assert not found["significant"].all()
    matrix = score_matrix(results.episodes[results.episodes["role"] != "reference"])
    whole = compare(
        *[ScorePairs(matrix.column(a), matrix.column(b), strata=matrix.task) for a, b in combinations(systems, 2)]
    )
    assert np.allclose(found["p_adjusted"], whole.p_adjusted)
    assert np.allclose(found["difference"], found["score_a"] - found["score_b"])


@pytest.mark.parametrize(
    ("by", "groups"),
    [("domain", ["wiki", "aminer"]), ("level", ["wiki_KS", "wiki_KA", "aminer_KS", "aminer_KA"])],
)
def test_groups_of_tasks_are_compared_as_one_family(results: Results, by: str, groups: list[str]) -> None:
    found = pairs(results, by=by)  # type: ignore[arg-type]
    assert list(dict.fromkeys(found["group"])) == groups
    assert len(found) == 45 * len(groups)
    least = found["p"].idxmin()
    assert found["p_adjusted"][least] == pytest.approx(len(found) * found["p"][least])


def test_a_reworded_question_is_no_common_question(tmp_path: Path) -> None:
    one, two = write_run(tmp_path / "one", questions=3), write_run(tmp_path / "two", questions=3)
    for run, text in ((one, "Wo liegt Köln?"), (two, "Where is Cologne?")):
        file = run.questions_file("wiki/hotpotqa")
        file.parent.mkdir(parents=True, exist_ok=True)
        line = '{{"id": "wiki-hotpotqa-1", "question": "{}", "answers": ["x"], "level": "KA"}}\n'
        file.write_text(line.format(text), encoding="utf-8")
    assert comparable(load(one))[1] == 0
    found = pairs(load(one, two))
    assert found.attrs["notes"] == ["1 question left out: worded differently in another run."]
    assert found["questions"].max() <= 11
