"""A run in progress can be reported: what it has by now, and how much is missing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from r_eval.analysis.scoring import ensure_scored, score_run
from r_eval.folder import Cell, CellWriter, RunFolder
from r_eval.records import Episode
from tests.analysis.conftest import episode, write_manifest

CELL = Cell("react", "m", "clean", "wiki/high-freq")


def made(number: int) -> Episode:
    return episode(episode_id=f"e{number}", question_id=f"q{number}", llm="m")


def write(run: RunFolder, *numbers: int) -> None:
    writer = CellWriter(CELL.path(run.episodes_root))
    for number in numbers:
        writer.append(made(number).model_dump_json(by_alias=True))
    writer.close()


class Growing(RunFolder):
    """A run that gets an episode right after its episodes have been read."""

    def cell_episodes(self, cell: Cell) -> Iterator[Episode]:
        yield from super().cell_episodes(cell)
        write(self, 7)


def test_an_episode_that_comes_while_a_run_is_scored_is_scored_the_next_time(tmp_path: Path) -> None:
    run = Growing(tmp_path)
    write(run, 0)
    write_manifest(tmp_path, [CELL], 2)
    score_run(run)
    assert list(run.scores(CELL)) == ["e0"]
    ensure_scored(RunFolder(tmp_path))
    assert list(run.scores(CELL)) == ["e0", "e7"]
