"""Scoring a run: what is written, when it is computed again, and what has no score."""

from __future__ import annotations

import errno
import gc
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from r_eval.analysis.compare_runs import compare_runs
from r_eval.analysis.results import load
from r_eval.analysis.scoring import VERSION, ensure_scored, is_current, score_episode, score_run
from r_eval.disk import write_whole
from r_eval.errors import UserError
from r_eval.folder import Cell, CellWriter, RunFolder
from r_eval.records import Episode, Outcome, Seconds, Step
from tests.analysis.conftest import call, episode, write_manifest, write_run

OWN = """
def broken(prediction, golds):
    return float("nan") if len(prediction) > 10 else 1.0
"""


def kept(run: RunFolder) -> dict[str, bytes]:
    return {str(path.relative_to(run.path)): path.read_bytes() for path in sorted(run.scores_root.rglob("*.jsonl"))}


@pytest.fixture
def small(tmp_path: Path) -> RunFolder:
    return write_run(tmp_path / "r", questions=1)


@pytest.fixture
def own(tmp_path: Path) -> str:
    (tmp_path / "mine.py").write_text(OWN, encoding="utf-8")
    return str(tmp_path / "mine.py")


def test_every_episode_gets_a_line_and_scoring_twice_gives_the_same_bytes(run: RunFolder) -> None:
    score_run(run)
    first = kept(run)
    assert sum(len(run.scores(cell)) for cell in run.cells()) == 880
    assert all({e.episode_id for e in run.cell_episodes(cell)} == set(run.scores(cell)) for cell in run.cells())
    score_run(run)
    assert kept(run) == first


@pytest.mark.parametrize(
    ("metrics", "taxonomy", "message"),
    [(["exact_mach"], "strict", "Did you mean exact_match"), ([], "loose", "unknown taxonomy 'loose'")],
)
def test_what_is_unknown_is_refused_and_nothing_is_written(
    small: RunFolder, metrics: list[str], taxonomy: str, message: str
) -> None:
    with pytest.raises(UserError, match=message):
        score_run(small, metrics, taxonomy)
    assert not small.scores_root.exists()


@pytest.mark.parametrize("name", ["scores", "scores/oracle+none"])
def test_a_file_in_the_way_of_a_folder_is_named(small: RunFolder, name: str) -> None:
    (small.path / name).parent.mkdir(exist_ok=True)
    (small.path / name).touch()
    with pytest.raises(UserError, match=f"{re.escape(name)}: a file is in the way of a folder; move it"):
        score_run(small)


@pytest.mark.parametrize("kind", ["llm_failure", "tool_failure", "cancelled"])
def test_an_infrastructure_failure_has_no_score(kind: str) -> None:
    record = score_episode(episode(outcome=Outcome(kind=kind), answer="", steps=[]), metrics=["exact_match"])  # type: ignore[arg-type]
    assert (record["score"], record["metrics"], record["response_type"]) == (None, {"exact_match": None}, "ME")


@pytest.mark.parametrize("kind", ["gave_up", "exhausted", "tool_misuse"])
def test_a_failure_of_the_system_scores_0(kind: str) -> None:
    steps = [Step(kind="answer", text="", error="unparsed")]
    record = score_episode(episode(outcome=Outcome(kind=kind), answer="", steps=steps))  # type: ignore[arg-type]
    assert (record["score"], record["unparsed"]) == (0.0, True)


def test_a_record_says_why_an_answer_is_wrong_and_what_the_episode_did() -> None:
    steps = [call("0 results."), call("Kenya is a country.")]
    made = episode(answer="Mombasa", steps=steps, seconds=Seconds(total=9, queue=2, retry=1), level="KU")
    record = score_episode(made)
    names = ("cause", "level", "seconds", "queue_seconds", "retry_seconds", "api_calls", "api_found", "supported")
    assert [record[name] for name in names] == ["stopped_short", "KU", 6.0, 2.0, 1.0, 2, 1, False]
    assert (record["reward"], record["scorer_version"], record["metric_version"]) == (0.0, VERSION, 6)
    assert score_episode(episode())["cause"] == ""


@pytest.mark.parametrize("more", [{}, {"steps": []}])
def test_where_the_metric_fails_there_is_no_score_and_the_type_is_ME(own: str, more: dict[str, Any]) -> None:
    name = f"{own}:broken"
    records = [score_episode(episode(answer=answer, **more), name, [name]) for answer in ("a" * 11, "a")]
    assert [(r["score"], r["reward"], r["metrics"][name]) for r in records] == [(None, None, None), (1.0, 1.0, 1.0)]
    assert (records[0]["response_type"], records[0]["cause"]) == ("ME", "unscored")


def test_other_bytes_make_scores_stale_whatever_the_times_of_the_files_say(small: RunFolder) -> None:
    score_run(small, taxonomy="published")
    cell = small.cells()[0]
    path = cell.path(small.episodes_root)
    before = path.stat()
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace('"episode_id":"', '"episode_id":"another-', 1), encoding="utf-8")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert [is_current(small, one) for one in small.cells()[:2]] == [False, True]
    ensure_scored(small)
    ((id_, record),) = small.scores(cell).items()
    assert id_.startswith("another-")
    assert record["taxonomy"] == "published"
    for one in small.cells():
        os.utime(one.path(small.scores_root), ns=(0, 0))
        assert is_current(small, one)


@pytest.mark.parametrize("changed", [{"scorer_version": 1}, {"metric_version": 0}, {"episodes_hash": "0"}])
def test_scores_of_another_scorer_are_computed_again_with_their_settings(
    small: RunFolder, changed: dict[str, Any]
) -> None:
    score_run(small, threshold=0.3)
    first = kept(small)
    for cell in small.cells():
        small.write_scores(cell, [record | changed for record in small.scores(cell).values()])
    ensure_scored(small)
    assert kept(small) == first


@pytest.mark.parametrize("number", [errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOSPC, errno.EDQUOT, errno.ESTALE])
def test_a_folder_that_takes_no_scores_is_read_all_the_same(
    small: RunFolder, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write(path: Path, text: Any) -> None:
        if path.is_relative_to(small.path):
            raise OSError(number, os.strerror(number), str(path))
        write_whole(path, text)

    monkeypatch.setattr("r_eval.folder.write_whole", write)
    with pytest.raises(OSError, match="scores"):
        score_run(small)
    reader = RunFolder(small.path)
    compared = compare_runs([reader], metric="exact_match")
    elsewhere = reader.scores_root
    assert load(reader).episodes["response_type"].notna().all()
    assert not list(small.path.glob("scores/*"))
    del reader, compared
    gc.collect()
    assert not elsewhere.exists()


def test_nothing_is_written_or_deleted_where_a_link_leads(small: RunFolder, tmp_path: Path) -> None:
    score_run(small)
    outside = tmp_path / "outside"
    small.scores_root.rename(outside)
    small.scores_root.symlink_to(outside)
    before = {path: path.read_bytes() for path in outside.rglob("*.jsonl")}
    cell = small.cells()[0]
    for change in (lambda path: path.write_bytes(b"\n"), lambda path: path.unlink()):
        change(cell.path(small.episodes_root))
        with pytest.raises(UserError, match="a link in a run's folder"):
            score_run(small)
    assert {path: path.read_bytes() for path in outside.rglob("*.jsonl")} == before


class Growing(RunFolder):
    """A run that gets an episode right after its episodes have been read."""

    def cell_episodes(self, cell: Cell) -> Iterator[Episode]:
        yield from super().cell_episodes(cell)
        append(self, cell, 7)


def append(run: RunFolder, cell: Cell, number: int) -> None:
    writer = CellWriter(cell.path(run.episodes_root))
    writer.append(episode(episode_id=f"e{number}", question_id=f"q{number}", llm="m").model_dump_json(by_alias=True))
    writer.close()


def test_an_episode_that_comes_while_a_run_is_scored_is_scored_the_next_time(tmp_path: Path) -> None:
    run, cell = Growing(tmp_path), Cell("react", "m", "clean", "wiki/high-freq")
    append(run, cell, 0)
    write_manifest(tmp_path, [cell], 2)
    score_run(run)
    assert list(run.scores(cell)) == ["e0"]
    ensure_scored(RunFolder(tmp_path))
    assert list(run.scores(cell)) == ["e0", "e7"]
