"""Published component results: a folder with a components.csv."""

from __future__ import annotations

from pathlib import Path

import pytest

from r_eval.analysis.published import is_published, load
from r_eval.analysis.published_components import read_components, studies
from r_eval.analysis.report import write_report
from r_eval.errors import UserError
from r_eval.folder import RunFolder

HEAD = "table,component,value,task,metric,score,source"


def write(folder: Path, *lines: str, head: str = HEAD) -> Path:
    (folder / "components.csv").write_text("\n".join([head, *lines, ""]), encoding="utf-8")
    return folder


def test_values_stand_in_order_and_means_have_no_interval(tmp_path: Path) -> None:
    lines = ("3,chunk_size,128,t,bleu,23.69,paper", "3,chunk_size,64,t,bleu,24.60,paper")
    (component,) = read_components(write(tmp_path, *lines)).components
    assert component.values == ("64", "128")
    points = component.curves[0].points
    assert [(point.estimate.mean, point.estimate.low) for point in points] == [
        (pytest.approx(0.246), None),
        (0.2369, None),
    ]


def test_a_number_keeps_its_table_and_its_source(tmp_path: Path) -> None:
    (component,) = read_components(write(tmp_path, "8,llm,qwen-14b,t,bleu,32.51,second-hand")).components
    assert (component.curves[0].points[0].table, component.curves[0].points[0].source) == ("8", "second-hand")


def test_a_length_is_in_characters_and_no_share(tmp_path: Path) -> None:
    (component,) = read_components(write(tmp_path, "3,llm,a,t,length,205.9,paper")).components
    assert (component.curves[0].unit, component.curves[0].points[0].estimate.mean) == ("characters", 205.9)


def test_a_value_without_a_figure_has_no_point(tmp_path: Path) -> None:
    lines = ("3,k,1,t,bleu,1,s", "3,k,2,t,bleu,2,s", "3,k,2,t,rouge_l,2,s")
    (component,) = read_components(write(tmp_path, *lines)).components
    assert [len(curve.points) for curve in component.curves] == [2, 1]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("3,k,1,t,bleu,140,s", r"components.csv:2: score is '140'; expected a number from 0 to 100"),
        ("3,k,1,t,length,nan,s", r"components.csv:2: score is 'nan'; expected a number of 0 or more"),
        ("3,k,1,t,,1,s", r"components.csv:2: a value is missing"),
        ("3,k,1,t,bleu,1", r"components.csv:2: a value is missing"),
        ("3,k,1,t,bleu,1,s\n3,k,1,t,bleu,2,s", r"components.csv:3: a second score for k 1, t, bleu"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, line: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        read_components(write(tmp_path, line))


def test_a_missing_column_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="lacks the column 'source'"):
        read_components(write(tmp_path, head=HEAD.removesuffix(",source")))


def test_a_file_that_is_no_text_is_named(tmp_path: Path) -> None:
    (tmp_path / "components.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UserError, match="cannot be read as CSV in UTF-8"):
        read_components(tmp_path)


def test_such_a_folder_is_published_and_has_no_systems(tmp_path: Path) -> None:
    write(tmp_path, "3,k,1,t,bleu,1,s")
    assert is_published(tmp_path)
    assert load(RunFolder(tmp_path)).rows == []


def test_scores_and_components_can_stand_in_one_folder(tmp_path: Path) -> None:
    write(tmp_path, "3,k,1,t,bleu,1,s")
    (tmp_path / "scores.csv").write_text("workflow,llm,task,score\nreact,gpt-4,1-1,40\n", encoding="utf-8")
    assert (len(load(RunFolder(tmp_path)).rows), len(studies(RunFolder(tmp_path)))) == (1, 1)


def test_a_report_of_it_has_its_tables_and_no_table_of_scores(tmp_path: Path) -> None:
    write(tmp_path, "3,k,1,t,bleu,1,s", "3,k,2,t,bleu,2,s")
    page = write_report([RunFolder(tmp_path)], tmp_path / "report")
    names = sorted(path.stem for path in (page.parent / "tables").glob("*.csv"))
    assert names == ["components", "recommendations"]


def test_it_can_stand_beside_a_run(tmp_path: Path, run: RunFolder) -> None:
    write(tmp_path, "3,k,1,t,bleu,1,s")
    page = write_report([run, RunFolder(tmp_path)], tmp_path / "report", figures=False)
    assert {"scores.csv", "components.csv"} <= {path.name for path in (page.parent / "tables").iterdir()}
