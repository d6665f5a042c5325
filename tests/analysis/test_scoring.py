"""Scoring a run: what is written, that it can be repeated, and what has no score."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from r_eval.analysis.scoring import ensure_scored, score_episode, score_run
from r_eval.errors import UserError
from r_eval.folder import RunFolder
from r_eval.records import Episode, Outcome, Step

Make = Callable[..., Episode]
MakeRun = Callable[..., RunFolder]


def kept(run: RunFolder) -> dict[str, bytes]:
    return {str(path.relative_to(run.path)): path.read_bytes() for path in sorted(run.scores_root.rglob("*.jsonl"))}


def test_every_episode_gets_a_line(run: RunFolder) -> None:
    score_run(run)
    assert all({e.episode_id for e in run.cell_episodes(cell)} == set(run.scores(cell)) for cell in run.cells())


def test_scoring_twice_gives_the_same_bytes(run: RunFolder) -> None:
    score_run(run)
    first = kept(run)
    score_run(run)
    assert kept(run) == first


def test_the_counts_add_up(run: RunFolder) -> None:
    scores = score_run(run)
    assert scores.episodes == sum(scores.types.values()) == 880


def test_rescoring_replaces_the_taxonomy(tmp_path: Path, make_run: MakeRun) -> None:
    run = make_run(tmp_path / "r", questions=2)
    score_run(run)
    score_run(run, ("exact_match",), "published", 0.2)
    record = next(iter(run.scores(run.cells()[0]).values()))
    assert (record["taxonomy"], record["threshold"], list(record["metrics"])) == ("published", 0.2, ["exact_match"])


def test_an_unknown_metric_leaves_the_scores_as_they_are(tmp_path: Path, make_run: MakeRun) -> None:
    run = make_run(tmp_path / "r", questions=1)
    with pytest.raises(UserError, match="did you mean"):
        score_run(run, ("exact_mach",))
    assert not run.scores_root.exists()


@pytest.mark.parametrize("kind", ["llm_failure", "tool_failure", "cancelled"])
def test_a_failure_of_the_machinery_has_no_score(make_episode: Make, kind: str) -> None:
    record = score_episode(make_episode(outcome=Outcome(kind=kind), answer="", steps=[]), metrics=["exact_match"])  # type: ignore[arg-type]
    assert (record["score"], record["metrics"], record["response_type"]) == (None, {"exact_match": None}, "ME")


@pytest.mark.parametrize("kind", ["gave_up", "exhausted", "tool_misuse"])
def test_a_failure_of_the_system_scores_0(make_episode: Make, kind: str) -> None:
    assert score_episode(make_episode(outcome=Outcome(kind=kind), answer=""))["score"] == 0.0  # type: ignore[arg-type]


def test_an_answer_that_could_not_be_read_is_counted(make_episode: Make) -> None:
    steps = [Step(kind="answer", text="", error="unparsed")]
    assert score_episode(make_episode(answer="", steps=steps))["unparsed"]


def test_the_published_taxonomy_goes_by_the_published_f1(make_episode: Make) -> None:
    made = make_episode(answer="yes, they were", golds=["yes"], steps=[])
    record = score_episode(made, "token_f1", taxonomy="published")
    assert (record["score"], record["response_type"]) == (1.0, "RE")


def test_new_episodes_make_the_kept_scores_stale(tmp_path: Path, make_run: MakeRun) -> None:
    run = make_run(tmp_path / "r", questions=1)
    score_run(run, taxonomy="published")
    cell = run.cells()[0]
    path = cell.path(run.episodes_root)
    line = path.read_text(encoding="utf-8").replace('"episode_id":"', '"episode_id":"second-')
    with path.open("a", encoding="utf-8") as file:
        file.write(line)
    ensure_scored(run)
    assert {record["taxonomy"] for record in run.scores(cell).values()} == {"published"}
    assert len(run.scores(cell)) == 2
