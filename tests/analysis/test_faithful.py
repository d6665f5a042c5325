"""Faithful, leaked, other: what an answer says of where it came from."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from r_eval.analysis.faithful import Faithful, faithful, verdict
from r_eval.folder import Cell, CellWriter, RunFolder
from r_eval.records import Episode, Outcome, Question

Make = Callable[..., Episode]
ANSWERS = {"n": "Lima", "o": "Oslo", "x": "Quito", "-": "", "!": ""}
"""By letter: the new gold, the old gold, something else, nothing; ! is stopped by the machinery."""


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("Lima", "faithful"),
        ("the city of Lima", "faithful"),
        ("OSLO.", "leaked"),
        ("Quito", "other"),
        ("", "other"),
        ("Oslo or Lima", "other"),
        ("Lima, and not Oslo as elsewhere in the world", "other"),
    ],
)
def test_an_answer_matches_the_new_gold_the_old_one_or_neither(answer: str, expected: str) -> None:
    assert verdict(answer, ["Lima"], ["Oslo"]) == expected


def test_where_golds_share_words_the_better_match_counts() -> None:
    new, old = ["8 June 1912"], ["8 June 1916"]
    assert (verdict("8 June 1912", new, old), verdict("8 June 1916", new, old)) == ("faithful", "leaked")


def folder(path: Path, make: Make, tasks: dict[str, str], condition: str = "counterfactual", **cell: int) -> RunFolder:
    """A run of one system whose answers are told by letters, a question a letter."""
    run = RunFolder(path)
    cells = [Cell("react", "m", condition, task) for task in tasks]
    for one, letters in zip(cells, tasks.values(), strict=True):
        writer = CellWriter(one.path(run.episodes_root))
        for number, letter in enumerate(letters):
            made = make(
                episode_id=f"{one.task}-{number}",
                question_id=f"q{number}",
                task=one.task,
                condition=condition,
                golds=["Oslo"] if condition == "clean" else ["Lima"],
                answer=ANSWERS[letter],
                outcome=Outcome(kind="llm_failure" if letter == "!" else "finished"),
            )
            writer.append(made.model_dump_json(by_alias=True))
        writer.close()
        file = run.questions_file(one.task)
        file.parent.mkdir(parents=True, exist_ok=True)
        asked = [Question(id=f"q{n}", question="Which?", answers=["Oslo"], level="KS") for n in range(len(letters))]
        file.write_text("".join(question.model_dump_json() + "\n" for question in asked), encoding="utf-8")
    manifest = {
        "schema": 1,
        "name": "r",
        "state": "complete",
        "systems": [{"name": "react+m", "workflow": "react", "llm": "m"}],
        "tasks": [{"name": task} for task in tasks],
        "conditions": [condition],
        "cells": [{**one._asdict(), "episodes": len(tasks[one.task]), **cell} for one in cells],
    }
    run.run_file.write_text(json.dumps(manifest), encoding="utf-8")
    return run


def line(path: Path, make: Make, letters: str, **cell: int) -> Faithful:
    (found,) = faithful(folder(path, make, {"t": letters}, **cell))
    return found


def test_answers_are_counted_by_verdict(tmp_path: Path, make_episode: Make) -> None:
    found = line(tmp_path, make_episode, "nnnnoox-")
    assert found.counts == {"faithful": 4, "leaked": 2, "other": 2}
    assert (found.system, found.condition, found.task, found.answers) == ("react+m", "counterfactual", "t", 8)


def test_shares_have_intervals(tmp_path: Path, make_episode: Make) -> None:
    share = line(tmp_path, make_episode, "nnno").shares["faithful"]
    assert share.mean == pytest.approx(0.75)
    assert share.low is not None
    assert share.high is not None
    assert share.low < 0.75 < share.high


def test_what_the_machinery_stopped_is_incomplete(tmp_path: Path, make_episode: Make) -> None:
    found = line(tmp_path, make_episode, "n!o!")
    assert (found.answers, found.incomplete) == (2, 2)
    assert (found.shares["leaked"].worst, found.shares["leaked"].best) == (0.25, 0.75)


def test_episodes_that_are_not_there_yet_are_incomplete(tmp_path: Path, make_episode: Make) -> None:
    assert line(tmp_path, make_episode, "no", episodes=5).incomplete == 3


def test_dropped_questions_are_told(tmp_path: Path, make_episode: Make) -> None:
    assert line(tmp_path, make_episode, "n", dropped=7).dropped == 7


def test_a_cell_that_the_machinery_stopped_as_a_whole_has_no_shares(tmp_path: Path, make_episode: Make) -> None:
    found = line(tmp_path, make_episode, "!!")
    assert (found.answers, found.incomplete, found.shares["faithful"].mean) == (0, 2, None)


def test_several_tasks_count_alike(tmp_path: Path, make_episode: Make) -> None:
    *_, whole = faithful(folder(tmp_path, make_episode, {"a": "nnnnnnnn", "b": "oo"}))
    assert (whole.task, whole.answers) == ("", 10)
    assert whole.shares["faithful"].mean == pytest.approx(0.5)


def test_a_condition_that_changes_no_gold_says_nothing(tmp_path: Path, make_episode: Make) -> None:
    assert faithful(folder(tmp_path, make_episode, {"t": "oo"}, condition="clean")) == []


def test_a_run_without_its_questions_says_nothing(tmp_path: Path, make_episode: Make) -> None:
    run = folder(tmp_path, make_episode, {"t": "no"})
    run.questions_file("t").unlink()
    assert faithful(run) == []
