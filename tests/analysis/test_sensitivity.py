"""Response types by threshold: from the kept scores, the same as scoring again, for both taxonomies."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console

from r_eval.analysis.scoring import score_run
from r_eval.analysis.sensitivity import MATCH_THRESHOLDS, sensitivity, sensitivity_table
from r_eval.folder import RunFolder

MakeRun = Callable[..., RunFolder]


@pytest.fixture
def own(tmp_path: Path, run: RunFolder) -> RunFolder:
    """A copy of the made-up run, to be scored in other ways."""
    shutil.copytree(run.path, tmp_path / "own")
    return RunFolder(tmp_path / "own")


def total(run: RunFolder, threshold: float) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for one in sensitivity(run):
        counts += one.types[threshold]
    return dict(counts)


@pytest.mark.parametrize("taxonomy", ["strict", "published"])
@pytest.mark.parametrize("threshold", MATCH_THRESHOLDS)
def test_a_threshold_gives_what_scoring_with_it_gives(own: RunFolder, taxonomy: str, threshold: float) -> None:
    score_run(own, taxonomy=taxonomy)
    told = total(own, threshold)
    assert score_run(own, taxonomy=taxonomy, threshold=threshold).types == told


def test_no_episode_is_read_again(own: RunFolder) -> None:
    score_run(own)
    expected = total(own, 0.2)
    for path in own.episodes_root.rglob("*.jsonl"):
        stamp = path.stat()
        path.write_bytes(b"")
        path.touch()
        own_scores = own.scores_root / path.relative_to(own.episodes_root)
        assert own_scores.stat().st_mtime_ns >= stamp.st_mtime_ns
        own_scores.touch()
    assert total(own, 0.2) == expected


def test_the_shares_of_any_number_of_episodes_add_up_to_1(tmp_path: Path, make_run: MakeRun) -> None:
    run = make_run(tmp_path / "r", questions=7)
    assert all(sum(one.shares(at).values()) == pytest.approx(1) for one in sensitivity(run) for at in one.types)


def test_right_answers_only_become_fewer_as_the_threshold_rises(run: RunFolder) -> None:
    for one in sensitivity(run):
        right = [one.types[at]["EM"] + one.types[at]["AM"] for at in one.types]
        assert right == sorted(right, reverse=True)


def test_undecided_ones_are_counted(own: RunFolder) -> None:
    scores = score_run(own)
    assert sum(one.undecided for one in sensitivity(own)) == scores.undecided > 0


def test_the_threshold_that_is_kept_is_among_them(own: RunFolder) -> None:
    score_run(own, threshold=0.42)
    assert all(0.42 in one.types and one.threshold == 0.42 for one in sensitivity(own))


def test_conditions_are_told_apart(tmp_path: Path, make_run: MakeRun) -> None:
    run = make_run(tmp_path / "r", questions=1, conditions=("clean", "noisy"))
    found = sensitivity(run)
    console = Console(width=120, color_system=None)
    with console.capture() as captured:
        console.print(sensitivity_table(found))
    assert {one.condition for one in found} == {"clean", "noisy"}
    assert "oracle+none (noisy)" in captured.get()
