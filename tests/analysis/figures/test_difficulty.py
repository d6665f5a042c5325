"""The difficulty of questions: by how many systems each is answered right."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from r_eval.analysis.aggregate import aggregate
from r_eval.analysis.systems import systems
from r_eval.folder import Cell, CellWriter, RunFolder
from r_eval.records import Episode, Outcome

pytest.importorskip("matplotlib")

from r_eval.analysis.figures.difficulty import _grade, difficulty, shares_right
from r_eval.analysis.figures.style import styled
from tests.analysis.figures.measuring import words

TASK = "wiki/high-freq"
Run = Callable[[dict[str, str]], RunFolder]


@pytest.fixture
def run_of(tmp_path: Path, make_episode: Callable[..., Episode], make_manifest: Callable[..., None]) -> Run:
    """A run of react, pal, fc... on one task, from their answers: r right, w wrong, x a failure of the machinery."""

    def made(answers: dict[str, str]) -> RunFolder:
        run = RunFolder(tmp_path / "run")
        cells = [Cell(workflow, "m", "clean", TASK) for workflow in answers]
        for cell in cells:
            writer = CellWriter(cell.path(run.episodes_root))
            for number, letter in enumerate(answers[cell.workflow]):
                outcome = Outcome(kind="llm_failure" if letter == "x" else "finished")
                names = {"workflow": cell.workflow, "llm": "m", "question_id": f"q{number}", "outcome": outcome}
                answer = "Nairobi" if letter == "r" else "Mombasa"
                episode = make_episode(episode_id=f"{cell.workflow}{number}", answer=answer, **names)
                writer.append(episode.model_dump_json(by_alias=True))
            writer.close()
        make_manifest(run.path, cells, len(next(iter(answers.values()))))
        return run

    return made


def shares(run: RunFolder) -> list[float]:
    (asked,) = shares_right(systems(run), aggregate(run).tasks)
    return asked.shares


def test_a_share_is_of_the_systems_that_answered_right(run_of: Run) -> None:
    assert shares(run_of({"react": "rrww", "pal": "rwrw"})) == [1.0, 0.5, 0.5, 0.0]


def test_a_system_without_a_score_on_a_question_does_not_count_there(run_of: Run) -> None:
    assert shares(run_of({"react": "rx", "pal": "ww"})) == [0.5, 0.0]


def test_a_question_without_any_score_is_left_out(run_of: Run) -> None:
    assert shares(run_of({"react": "xr", "pal": "xw"})) == [0.5]


def test_bounds_do_not_count(run_of: Run) -> None:
    assert shares(run_of({"react": "ww", "pal": "rw", "oracle": "rr"})) == [0.5, 0.0]


@pytest.mark.parametrize(
    ("share", "grade"), [(0.0, 0), (0.01, 1), (0.25, 1), (0.26, 2), (0.5, 2), (0.75, 3), (0.76, 4), (0.99, 4), (1.0, 5)]
)
def test_shares_are_put_into_six_grades(share: float, grade: int) -> None:
    assert _grade(share) == grade


def test_thirds_add_up_to_their_own_grade(run_of: Run) -> None:
    (asked,) = shares_right(systems(run := run_of({"react": "rr", "pal": "rw", "fc": "ww"})), aggregate(run).tasks)
    assert asked.grades == [0, 0, 1, 1, 0, 0]


@pytest.fixture
def style() -> Iterator[None]:
    with styled():
        yield


def test_the_figure_names_tasks_questions_and_systems(run_of: Run, style: None) -> None:
    run = run_of({"react": "rrww", "pal": "rwrw"})
    figure = difficulty(aggregate(run), systems(run))
    assert figure is not None
    assert "1-1 high-freq  (n=4, 2 systems)" in words(figure)


def test_one_system_makes_no_figure(run_of: Run, style: None) -> None:
    run = run_of({"react": "rrww", "oracle": "rrrr"})
    assert difficulty(aggregate(run), systems(run)) is None
