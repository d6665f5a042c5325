"""A published dataset is checked: its records, its questions, and what is broken."""

from __future__ import annotations

import json
from pathlib import Path

from r_eval.checks import check_target as check

RECORDS = [{"question": f"Which of {n}?", "answer": "it", "type": "bridge"} for n in range(6)]


def lines(path: Path) -> list[str]:
    return [finding.line() for finding in check(str(path))]


def test_a_sound_dataset_is_one_note(tmp_path: Path) -> None:
    path = tmp_path / "h.json"
    path.write_text(json.dumps(RECORDS), encoding="utf-8")
    assert lines(path) == [f"{path}: note: 6 records of the format 'hotpotqa': 6 questions (6 KA)"]


def test_broken_records_are_shown_with_their_place_and_counted(tmp_path: Path) -> None:
    path = tmp_path / "h.json"
    path.write_text(json.dumps([*RECORDS, *[{"question": "?"}] * 4, {"answer": "x"}]), encoding="utf-8")
    found = lines(path)
    assert found[0].startswith(f"{path}: record 7: warning: a broken record: the key answer is missing")
    assert "5 broken records" in found[3]


def test_a_file_of_no_format_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text('[{"a": 1}]', encoding="utf-8")
    assert "unknown format" in lines(path)[0]
