"""Published results: a folder with a scores.csv where a run could be."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from r_eval.analysis.figures import write_figures
from r_eval.analysis.published import load, read_published
from r_eval.analysis.report import write_report
from r_eval.analysis.tables import write_tables
from r_eval.errors import UserError
from r_eval.folder import RunFolder


def write(folder: Path, *lines: str) -> Path:
    (folder / "scores.csv").write_text("\n".join(["workflow,llm,task,score", *lines, ""]), encoding="utf-8")
    return folder


def test_a_papers_id_stands_for_its_task(tmp_path: Path) -> None:
    (task,) = read_published(write(tmp_path, "react,gpt-4,3-5,40")).tasks
    assert (task.name, task.domain, task.level) == ("aminer/soay-hard", "aminer", "KA")


def test_means_come_without_an_interval(tmp_path: Path) -> None:
    (row,) = read_published(write(tmp_path, "react,gpt-4,1-1,40")).rows
    assert (row.overall.mean, row.overall.low) == (0.4, None)


def test_only_the_score_table_is_written(tmp_path: Path) -> None:
    found = read_published(write(tmp_path, "react,gpt-4,1-1,40"))
    names = [path.name for path in write_tables(found, tmp_path / "tables")]
    assert names == ["scores.csv", "scores.md", "scores.tex"]


def test_they_can_stand_beside_a_run(tmp_path: Path, run: RunFolder) -> None:
    found = load(run, RunFolder(write(tmp_path, "react,gpt-4,1-1,40")))
    assert (len(found.rows), found.rows[-1].ranks["wiki_KS"] is not None) == (12, True)


def test_a_system_that_a_run_has_too_gets_the_folders_name(tmp_path: Path, run: RunFolder) -> None:
    folder = write(tmp_path, "react,openai/gpt-4o-mini,1-1,40", "pal,other,1-1,40")
    names = [row.system for row in load(run, RunFolder(folder)).rows]
    assert names[-2:] == [f"react+openai/gpt-4o-mini ({tmp_path.name})", f"pal+other ({tmp_path.name})"]
    assert len(set(names)) == 13


def test_a_run_beside_the_papers_systems_makes_a_whole_report(tmp_path: Path, run: RunFolder) -> None:
    paper = Path(__file__).parents[2] / "examples" / "paper"
    write_report([run, RunFolder(paper)], tmp_path, figures=False)
    with (tmp_path / "tables" / "scores.csv").open(encoding="utf-8", newline="") as file:
        assert len(list(csv.DictReader(file))) == 32


def test_the_figures_hold_a_run_and_published_means_together(tmp_path: Path, run: RunFolder) -> None:
    pytest.importorskip("matplotlib")
    found = load(run, RunFolder(write(tmp_path, *(f"react,gpt-4,{task},40" for task in ("1-1", "3-1", "1-3", "3-5")))))
    found.rows = [row for row in found.rows if row.workflow == "react"]
    for name, path in {path.stem: path for path in write_figures(found, tmp_path) if path.suffix == ".svg"}.items():
        told = name in ("responses", "response-rings")  # of episodes, which means have none of
        assert ("gpt-4<" in path.read_text(encoding="utf-8")) is not told, name


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("react,gpt-4,1-1,abc", r"scores.csv:2: score is 'abc'; expected a number from 0 to 100"),
        ("react,gpt-4,1-1,140", r"scores.csv:2: score is '140'"),
        ("react,gpt-4,,40", r"scores.csv:2: a value is missing"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, line: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        read_published(write(tmp_path, line))


def test_a_missing_column_is_named(tmp_path: Path) -> None:
    (tmp_path / "scores.csv").write_text("workflow,llm,score\n", encoding="utf-8")
    with pytest.raises(UserError, match="lacks the column 'task'"):
        read_published(tmp_path)
