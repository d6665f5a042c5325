"""The tables beyond the scores, from a run folder to their files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from r_eval.analysis.systems import clusters_of, systems
from r_eval.analysis.tables.beyond import beyond_sheets
from r_eval.analysis.tables.formats import write_sheet
from r_eval.analysis.tables.sheet import Sheet
from r_eval.folder import RunFolder
from r_eval.records import Question


def sheets(run: RunFolder) -> dict[str, Sheet]:
    return {sheet.name: sheet for sheet in beyond_sheets([run], systems(run), clusters_of([run]))}


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
    found = sheets(run)
    assert list(found) == ["closed_book", "placeholder_scores", "stability"]
    lines = [dict(zip(found["stability"].header, line, strict=True)) for line in found["stability"].lines]
    assert {line["task"] for line in lines} == {task}
    assert all(line["samples"] + line["left_out"] == 6 for line in lines)
    written = [path.name for sheet in found.values() for path in write_sheet(sheet, tmp_path / "tables")]
    assert len(written) == 9
