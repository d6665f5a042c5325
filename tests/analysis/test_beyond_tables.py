"""The tables beyond the scores, from a run folder to their files."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from r_eval.analysis.beyond import Beyond, beyond
from r_eval.analysis.beyond_said import sentences
from r_eval.analysis.systems import clusters_of, systems
from r_eval.analysis.tables.beyond import beyond_sheets
from r_eval.analysis.tables.formats import write_sheet
from r_eval.analysis.tables.sheet import Sheet
from r_eval.folder import RunFolder
from r_eval.records import Question
from tests.analysis.towns import towns_run


def sheets(run: RunFolder) -> dict[str, Sheet]:
    return {sheet.name: sheet for sheet in beyond_sheets(found(run))}


def found(*runs: RunFolder) -> Beyond:
    return beyond(runs, systems(*runs), clusters_of(runs))


def lines(sheet: Sheet, **wanted: str) -> list[dict[str, Any]]:
    """The lines of a table that have these values."""
    named = [dict(zip(sheet.header, line, strict=True)) for line in sheet.lines]
    return [line for line in named if all(line[key] == value for key, value in wanted.items())]


@pytest.fixture(scope="module")
def towns(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    return towns_run(tmp_path_factory.mktemp("towns"))


@pytest.fixture(scope="module")
def of_towns(towns: RunFolder) -> Beyond:
    return found(towns)


def test_a_run_with_direct_has_the_table_of_closed_books_alone(run: RunFolder) -> None:
    assert list(sheets(run)) == ["closed_book"]


def test_a_run_of_questions_in_variants_has_their_tables(make_run: Callable[..., RunFolder], tmp_path: Path) -> None:
    run, task = make_run(tmp_path / "run", 18), "wiki/high-freq"
    asked = [
        Question(
            id=f"q{number}",
            question="Which?",
            answers=["a"],
            level="KS",
            meta={"document": f"r{number // 3}", "variant": number % 3, "subtask": "filter"},
        )
        for number in range(18)
    ]
    path = run.questions_file(task)
    path.parent.mkdir()
    path.write_text("".join(f"{one.model_dump_json()}\n" for one in asked), encoding="utf-8")
    made = sheets(run)
    assert list(made) == ["closed_book", "placeholder_scores", "stability"]
    assert {line["task"] for line in lines(made["stability"])} == {task}
    assert all(line["samples"] + line["left_out"] == 6 for line in lines(made["stability"]))
    written = [path.name for sheet in made.values() for path in write_sheet(sheet, tmp_path / "tables")]
    assert len(written) == 9


def test_a_run_under_conditions_has_all_tables(of_towns: Beyond, tmp_path: Path) -> None:
    made = {sheet.name: sheet for sheet in beyond_sheets(of_towns)}
    names = ["faithful", "closed_book", "placeholder_scores", "stability", "recovery", "against_clean"]
    assert list(made) == names
    for sheet in made.values():
        assert {len(line) for line in sheet.lines} == {len(sheet.header)}
        assert {len(line) - len(view.header) for view in sheet.shown() for line in view.lines} == {0}
        assert [path.suffix for path in write_sheet(sheet, tmp_path)] == [".csv", ".md", ".tex"]


def test_who_reads_is_faithful_on_every_task_and_overall(of_towns: Beyond) -> None:
    (sheet,) = [one for one in beyond_sheets(of_towns) if one.name == "faithful"]
    own = lines(sheet, system="react+reader")
    assert [line["task"] for line in own] == ["towns/rivers", "towns/mayors", "all tasks"]
    assert {line["faithful_share"] for line in own} == {"100.00"}
    (knower,) = lines(sheet, system="react+knower", task="all tasks")
    assert (knower["answers"], knower["faithful"], knower["leaked"], knower["dropped"]) == (24, 10, 14, 0)


def test_retries_stand_in_the_table_of_failures(of_towns: Beyond) -> None:
    (sheet,) = [one for one in beyond_sheets(of_towns) if one.name == "recovery"]
    (reader,) = lines(sheet, system="react+reader", task="all tasks")
    assert (reader["failures"], reader["retried"], reader["succeeded"], reader["answered"]) == (16, 14, 8, 2)
    assert (reader["met_episodes"] + reader["spared_episodes"], reader["met_clean"]) == (24, "100.00")
    (knower,) = lines(sheet, system="react+knower", task="all tasks")
    assert (knower["retried"], knower["answered"], knower["success"]) == (0, 10, None)
    assert (knower["met_score"], knower["met_difference"]) == ("80.00", "-20.00")


def test_under_counterfactual_the_new_golds_are_held_against_clean(of_towns: Beyond) -> None:
    (sheet,) = [one for one in beyond_sheets(of_towns) if one.name == "against_clean"]
    (line,) = lines(sheet, system="react+knower", condition="counterfactual", task="all tasks")
    assert (line["questions"], line["clean"], line["score"]) == (24, "100.00", "41.67")
    assert (line["difference"], line["told_apart"]) == ("-58.33", True)


def test_the_terminal_gets_a_sentence_a_finding(of_towns: Beyond) -> None:
    said = dict(sentences(of_towns))
    assert list(said) == ["Memory", "Domain", "Variants", "Retries", "Condition"]
    assert said["Memory"] == (
        "react+reader read 100 % of the replaced values and remembered 0 %; react+knower remembered most, 58 %"
    )
    assert said["Domain"] == (
        "42 % of react+reader's right answers need the domain under clean (mean over tasks; 24 right answers)"
    )
    assert said["Retries"] == (
        "react+reader met 16 failed calls (42 %), and tried 88 % of them again, with success in 57 %"
    )
    assert said["Condition"].startswith(
        "react+knower is 58.3 points lower under counterfactual than under clean (difference -100.0 to -1"
    )


def test_nothing_is_said_where_there_is_nothing(make_run: Callable[..., RunFolder], tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", 1)
    alone = [one for one in systems(run) if one.workflow != "direct"]
    made = beyond([run], alone, {})
    assert (bool(made), list(sentences(made)), beyond_sheets(made)) == (False, [], [])


def test_two_runs_of_the_same_cells_keep_their_lines_apart(towns: RunFolder, tmp_path: Path) -> None:
    shutil.copytree(towns.path, tmp_path / "again")
    both = found(towns, RunFolder(tmp_path / "again"))
    names = {one.system for one in both.faithful}
    assert {one.system for one in both.recovery} <= names
    assert len(names) == 8
    assert {one.task for one in both.faithful if one.system == "react+reader (towns)"} == {
        "towns/rivers",
        "towns/mayors",
        "",
    }
