"""Aggregates: means over tasks, bounds of what is missing, ranks, and several runs at once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from r_eval.analysis.aggregate import aggregate
from r_eval.analysis.rows import Row
from r_eval.folder import Cell, CellWriter, RunFolder
from r_eval.records import Episode, Outcome

Make = Callable[..., Episode]
MakeManifest = Callable[..., None]
Answers = dict[tuple[str, str], list[str]]


@pytest.fixture
def small(tmp_path: Path, make_episode: Make, make_manifest: MakeManifest) -> Callable[..., RunFolder]:
    """Writes a run from answers by (workflow, task): right, wrong, or down (the LLM failed)."""

    def write(answers: Answers, expected: int = 2, name: str = "small", **fields: object) -> RunFolder:
        run = RunFolder(tmp_path / name)
        cells = [Cell(workflow, "m", "clean", task) for workflow, task in answers]
        for cell, given in zip(cells, answers.values(), strict=True):
            writer = CellWriter(cell.path(run.episodes_root))
            for number, answer in enumerate(given):
                outcome = Outcome(kind="llm_failure", cause="timeout") if answer == "down" else Outcome(kind="finished")
                changes = {
                    **cell._asdict(),
                    "outcome": outcome,
                    "answer": "Nairobi" if answer == "right" else "",
                    **fields,
                }
                made = make_episode(episode_id=f"{cell.task}{number}", **changes)
                writer.append(made.model_dump_json(by_alias=True))
            writer.close()
        make_manifest(run.path, cells, expected)
        return run

    return write


def row(run: RunFolder, workflow: str = "react") -> Row:
    return next(row for row in aggregate(run).rows if row.workflow == workflow)


KS, HOP, SOAY = "wiki/high-freq", "wiki/hotpotqa", "aminer/soay-easy"


def test_an_average_weighs_every_task_the_same(small: Callable[..., RunFolder]) -> None:
    run = small({("react", KS): ["right", "right", "right", "right"], ("react", HOP): ["wrong"]})
    assert row(run).averages["wiki"].mean == 0.5


def test_the_overall_average_is_over_tasks_not_domains(small: Callable[..., RunFolder]) -> None:
    run = small({("react", KS): ["right"], ("react", HOP): ["right"], ("react", SOAY): ["wrong"]}, expected=1)
    assert row(run).overall.mean == pytest.approx(2 / 3)


def test_missing_episodes_are_left_out_of_the_mean_and_bound_it(small: Callable[..., RunFolder]) -> None:
    found = row(small({("react", KS): ["right", "wrong", "down"]}, expected=4)).tasks[KS]
    assert (found.mean, found.n, found.missing, found.worst, found.best) == (0.5, 2, 2, 0.25, 0.75)


def test_a_task_without_any_score_has_no_mean(small: Callable[..., RunFolder]) -> None:
    found = row(small({("react", KS): ["down", "down"]})).tasks[KS]
    assert (found.mean, found.worst, found.best) == (None, 0.0, 1.0)


def test_a_system_that_lacks_a_task_is_not_ranked_over_it(small: Callable[..., RunFolder]) -> None:
    run = small({("react", KS): ["right"], ("pal", KS): ["wrong"], ("pal", HOP): ["wrong"]}, expected=1)
    assert (row(run).ranks, row(run, "pal").ranks["all"]) == (
        {"wiki_KS": 1, "wiki_KA": None, "wiki": None, "all": None},
        1,
    )


def test_ties_share_the_lower_rank(small: Callable[..., RunFolder]) -> None:
    run = small(
        {(workflow, KS): [answer] for workflow, answer in (("react", "right"), ("pal", "right"), ("fc", "wrong"))}, 1
    )
    assert [row(run, workflow).ranks["all"] for workflow in ("react", "pal", "fc")] == [1, 1, 3]


def test_failures_are_counted_by_task_and_cause(small: Callable[..., RunFolder]) -> None:
    (failure,) = row(small({("react", KS): ["right", "down", "down"]}, 3)).failures
    assert (failure.task, failure.outcome, failure.cause, failure.episodes, failure.machinery) == (
        KS,
        "llm_failure",
        "timeout",
        2,
        True,
    )


def test_two_runs_over_different_tasks_make_one_row(small: Callable[..., RunFolder]) -> None:
    runs = small({("react", KS): ["right"]}, 1, "one"), small({("react", HOP): ["wrong"]}, 1, "two")
    (found,) = aggregate(*runs).rows
    assert (found.overall.mean, found.recorded) == (0.5, 2)


def test_two_runs_of_the_same_cell_stay_apart(small: Callable[..., RunFolder]) -> None:
    runs = small({("react", KS): ["right"]}, 1, "one"), small({("react", KS): ["wrong"]}, 1, "two")
    assert [row.system for row in aggregate(*runs).rows] == ["react+m", "react+m (two)"]


def test_shares_of_response_types_add_up_to_one(run: RunFolder) -> None:
    assert all(sum(row.types.values()) == row.recorded for row in aggregate(run).rows)


def test_the_oracle_scores_1_everywhere(run: RunFolder) -> None:
    assert {estimate.mean for estimate in row(run, "oracle").tasks.values()} == {1.0}
