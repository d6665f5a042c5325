"""Scores, averages and ranks: what counts, what is missing and what it bounds, what is not ranked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas
import pytest

from r_eval.analysis.results import load
from r_eval.analysis.scores import averages, failures, further, scores, scores_table
from r_eval.analysis.scoring import score_run
from r_eval.folder import RunFolder
from tests.analysis.answers import HOP, KS, SOAY, Answers, write_answers


def average(folder: Path, answers: Answers, group: str = "all", workflow: str = "react") -> dict[str, Any]:
    frame = averages(load(write_answers(folder / "run", answers)))
    (row,) = frame[(frame["group"] == group) & (frame["workflow"] == workflow)].to_dict("records")
    return row


def test_an_average_weighs_every_task_the_same(tmp_path: Path) -> None:
    row = average(tmp_path, {("react", KS): "rrrr", ("react", HOP): "w", ("react", SOAY): "r"}, "wiki")
    assert (row["score"], row["tasks"], row["of_tasks"], row["complete"]) == (0.5, 2, 2, True)


@pytest.mark.parametrize(
    ("letters", "expected"),
    [
        ("rw\nro\nro", {"score": 0.5, "questions": 2, "episodes": 4, "incomplete": 2}),
        ("rwxo", {"score": 0.5, "episodes": 2, "incomplete": 2, "score_worst": 0.25, "score_best": 0.75}),
    ],
    ids=["the epochs of a question are averaged first", "missing episodes are left out of the mean and bound it"],
)
def test_a_mean_is_over_questions_that_have_a_score(tmp_path: Path, letters: str, expected: dict[str, float]) -> None:
    (row,) = scores(load(write_answers(tmp_path / "run", {"react": letters}))).to_dict("records")
    assert {name: row[name] for name in expected} == expected


def test_a_system_that_lacks_a_task_is_not_ranked_over_it(tmp_path: Path) -> None:
    answers = {("react", KS): "r", ("pal", KS): "w", ("pal", HOP): "w"}
    frame = averages(load(write_answers(tmp_path / "run", answers)))
    ranks = {(row.workflow, row.group): row.rank for row in frame.itertuples()}
    assert ranks["react", "wiki_KS"] == 1
    assert ranks["pal", "all"] == 1
    assert all(ranks["react", group] is pandas.NA for group in ("wiki_KA", "wiki", "all"))


def test_ties_share_the_lower_rank_and_references_have_none(tmp_path: Path) -> None:
    frame = averages(load(write_answers(tmp_path / "run", {"react": "r", "direct": "r", "fc": "w", "oracle": "r"})))
    own = frame[frame["group"] == "all"]
    assert own["rank"].astype(object).tolist() == [1, 1, 3, pandas.NA]
    assert own["rank_low"].astype(object).tolist()[:3] == [1, 1, 1]
    assert own["rank_high"].astype(object).tolist()[:3] == [3, 3, 3]


def test_published_means_have_an_interval_where_their_episodes_are_known(tmp_path: Path) -> None:
    lines = "workflow,llm,task,score,episodes\nreact,m,1-1,50,20\nreact,m,1-2,40,\n"
    (tmp_path / "scores.csv").write_text(lines, encoding="utf-8")
    known, unknown = scores(load(RunFolder(tmp_path))).to_dict("records")
    assert (known["score_low"], known["score_high"]) == pytest.approx((0.299, 0.701), abs=0.001)
    assert (known["episodes"], known["score_worst"], unknown["score_best"]) == (20, 0.5, 0.4)
    assert all(pandas.isna(unknown[name]) for name in ("score_low", "episodes", "questions"))
    (row,) = averages(load(RunFolder(tmp_path)))[lambda frame: frame["group"] == "all"].to_dict("records")
    assert (row["score"], row["rank"], pandas.isna(row["rank_low"])) == (0.45, 1, True)


def test_the_score_table_has_the_columns_of_the_interface(run: RunFolder) -> None:
    found = scores_table(load(run))
    tasks = [KS, HOP, SOAY, "aminer/soay-hard"]
    levels = [f"rank_{domain}_{level}" for domain in ("wiki", "aminer") for level in ("KS", "KA")]
    assert list(found.columns) == [
        *("system", "workflow", "llm", *tasks, "average_wiki", "average_aminer", "average_all"),
        *(*levels, "rank_wiki", "rank_aminer", "rank_all", "episodes", "incomplete"),
        *("low", "high", "worst", "best", *(f"episodes_{task}" for task in tasks), "condition", "role"),
    ]
    oracle = found.set_index("system").loc["oracle+none"]
    assert (oracle[KS], oracle["average_all"], pandas.isna(oracle["rank_all"])) == (100.0, 100.0, True)


def test_the_score_table_is_in_percent_and_counts_what_is_missing(tmp_path: Path) -> None:
    (row,) = scores_table(load(write_answers(tmp_path / "run", {"react": "rwwwxo"}))).to_dict("records")
    expected = {KS: 25.0, "average_wiki": 25.0, "average_all": 25.0, "worst": 16.67, "best": 50.0, "rank_all": 1}
    assert {name: row[name] for name in expected} == expected
    assert (row["episodes"], row["incomplete"], row[f"episodes_{KS}"]) == (4, 2, 4)


def test_failures_are_counted_by_task_and_cause_with_an_episode_to_read(tmp_path: Path) -> None:
    (row,) = failures(load(write_answers(tmp_path / "run", {"react": "rxx"}))).to_dict("records")
    expected = {"task": KS, "outcome": "llm_failure", "outcome_cause": "timeout", "episodes": 2}
    assert {name: row[name] for name in expected} == expected
    assert (row["counts_as"], row["example"]) == ("incomplete", f"react-m-clean-{KS}-1-0")


def test_further_metrics_stand_beside_the_length_of_the_answers(tmp_path: Path) -> None:
    run = write_answers(tmp_path / "run", {"react": "rrwx", "pal": "wwww"})
    score_run(run, ["exact_match"])
    found = further(load(run))
    own = found[found["workflow"] == "react"].set_index("metric")
    assert own["unit"].to_dict() == {"exact_match": "share", "characters": "characters"}
    assert own["value"].to_dict() == pytest.approx({"exact_match": 2 / 3, "characters": 7.0})
    assert own["incomplete"].tolist() == [1, 1]
    assert own.loc["exact_match", "value_low"] < 2 / 3 < own.loc["exact_match", "value_high"] < 1
