"""Scoring a run: what is written, that it can be repeated, and what has no score."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from r_eval.analysis.scoring import BATCH, ensure_scored, score_episode, score_run
from r_eval.errors import UserError
from r_eval.folder import RunFolder
from r_eval.records import Episode, Outcome, Seconds, Step

Make = Callable[..., Episode]
MakeRun = Callable[..., RunFolder]
MakeCall = Callable[..., Step]


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
    with pytest.raises(UserError, match="Did you mean exact_match"):
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


def test_scores_of_a_version_that_wrote_less_are_stale(tmp_path: Path, make_run: MakeRun) -> None:
    run = make_run(tmp_path / "r", questions=1)
    score_run(run, threshold=0.3)
    for cell in run.cells():
        records = run.scores(cell).values()
        old = [{k: v for k, v in record.items() if k not in ("cause", "scorer_version")} for record in records]
        run.write_scores(cell, old)
    ensure_scored(run)
    record = next(iter(run.scores(run.cells()[0]).values()))
    assert (record["threshold"], "cause" in record, "scorer_version" in record) == (0.3, True, True)


def test_a_record_says_why_an_answer_is_wrong_and_what_the_episode_did(make_episode: Make, make_call: MakeCall) -> None:
    seconds = Seconds(total=9, queue=2, retry=1)
    steps = [make_call("0 results."), make_call("Kenya is a country.")]
    record = score_episode(make_episode(answer="Mombasa", steps=steps, seconds=seconds, level="KU"))
    names = ("cause", "level", "seconds", "queue", "retry", "api_calls", "api_found", "supported", "reward")
    assert [record[name] for name in names] == ["stopped_short", "KU", 6.0, 2.0, 1.0, 2, 1, False, 0.0]


def test_a_right_answer_has_no_cause_in_its_record(make_episode: Make) -> None:
    assert score_episode(make_episode())["cause"] == ""


def test_the_reward_is_what_the_type_rests_on_and_the_score_the_tasks_metric(make_episode: Make) -> None:
    record = score_episode(make_episode(answer="yes, they were", golds=["yes"]), "token_f1", taxonomy="published")
    assert (record["score"], record["reward"]) == (1.0, 0.0)


def test_a_cell_larger_than_a_batch_is_scored_in_order(tmp_path: Path, make_run: MakeRun) -> None:
    run = make_run(tmp_path / "r", questions=1)
    cell = run.cells()[0]
    path = cell.path(run.episodes_root)
    line = path.read_text(encoding="utf-8")
    number = 2 * BATCH + 1
    path.write_text("".join(line.replace('"episode_id":"', f'"episode_id":"{n}-') for n in range(number)), "utf-8")
    score_run(run)
    assert list(run.scores(cell)) == [episode.episode_id for episode in run.cell_episodes(cell)]
    assert len(run.scores(cell)) == number


def test_a_record_is_short(run: RunFolder) -> None:
    sizes = [len(line) for path in run.scores_root.rglob("*.jsonl") for line in path.read_bytes().splitlines()]
    assert sum(sizes) / len(sizes) < 800


@pytest.mark.parametrize("steps", [True, False])
def test_where_the_metric_fails_there_is_no_score_and_the_type_is_ME(
    tmp_path: Path, make_episode: Make, steps: bool
) -> None:
    (tmp_path / "mine.py").write_text(
        "def broken(prediction, golds):\n    return float('nan') if len(prediction) > 10 else 1.0\n", encoding="utf-8"
    )
    name = f"{tmp_path / 'mine.py'}:broken"
    more: dict[str, Any] = {} if steps else {"steps": []}
    records = [score_episode(make_episode(answer=answer, **more), name, [name]) for answer in ("a" * 11, "a")]
    assert [(r["score"], r["reward"], r["metrics"][name]) for r in records] == [(None, None, None), (1.0, 1.0, 1.0)]
    assert (records[0]["response_type"], records[0]["cause"]) == ("ME", "unscored")
