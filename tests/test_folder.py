"""The run folder: torn lines, whole replacements, names that no file system minds, and reading it all back."""

from __future__ import annotations

import fcntl
import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from r_eval import UserError
from r_eval.folder import Cell, CellWriter, RunFolder, file_name, read_lines
from r_eval.records import SCHEMA

CELL = Cell("react", "gguf/smollm2-135m", "clean", "wiki/high-freq")
RECORDS = st.lists(st.dictionaries(st.text(max_size=5), st.text(max_size=30), max_size=3), max_size=8)


# Torn lines


@given(records=RECORDS, cut=st.floats(0, 1))
@example(records=[{"a": "x" * 200_000}, {"b": "y" * 200_000}], cut=0.9)
@example(records=[{"a": "x" * 65_533}, {"b": "y"}], cut=0.9999)
@settings(max_examples=150)
def test_any_beginning_of_a_valid_file_is_repaired_to_its_whole_lines(
    tmp_path_factory: pytest.TempPathFactory, records: list[dict[str, str]], cut: float
) -> None:
    path = tmp_path_factory.getbasetemp() / "torn.jsonl"
    whole = [json.dumps(r, ensure_ascii=False).encode() + b"\n" for r in records]
    torn = b"".join(whole)[: int(cut * len(b"".join(whole)))]
    path.write_bytes(torn)
    read_before = [r for _, r in read_lines(path)]
    CellWriter(path).close()
    kept = path.read_bytes()
    count = kept.count(b"\n")
    assert kept == b"".join(whole[:count])
    assert len(torn) - len(kept) < (len(whole[count]) if count < len(whole) else 1)
    assert [r for _, r in read_lines(path)] == read_before == records[:count]


@pytest.mark.parametrize("text", ["{}\n\n", "\n{}\n", "{}\n  \n\n", "{}\r\n\r\n", "\ufeff{}\n"])
def test_what_an_editor_adds_is_no_record(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.jsonl").write_text(text, encoding="utf-8", newline="")
    assert [record for _, record in read_lines(tmp_path / "a.jsonl")] == [{}]


@pytest.mark.parametrize(
    ("line", "complaint"), [("{]", "not a JSON record"), ("[1]", "expected a JSON object, found list")]
)
def test_a_line_that_is_not_a_record_is_named(tmp_path: Path, line: str, complaint: str) -> None:
    (tmp_path / "a.jsonl").write_text(f"{{}}\n{line}\n", encoding="utf-8")
    with pytest.raises(UserError, match=rf"a\.jsonl:2: {complaint}"):
        list(read_lines(tmp_path / "a.jsonl"))


# Names


@given(st.text(max_size=400))
@example("../../etc/passwd")
@example("..")
@example("")
@example(".hidden")
@example("a" * 400)
@example("é" * 400)
@example('CON\x00\n\t:*?"<>|\\')
@example("\ud800\u202e")
def test_every_name_becomes_one_safe_part_of_a_path(name: str) -> None:
    part = file_name(name)
    assert part
    assert not part.startswith(".")
    assert not set(part) & set('/\\\0\n\r\t:*?"<>|')
    assert len(os.fsencode(f".{part}.damaged.4194304.part")) <= 255
    assert file_name(name) == part


def test_a_slash_becomes_two_underscores() -> None:
    assert file_name("react+gguf/smollm2-135m") == "react+gguf__smollm2-135m"
    assert file_name("x" * 300 + "a") != file_name("x" * 300 + "b")
    assert CELL.path(Path("e")) == Path("e/react+gguf__smollm2-135m/clean/wiki__high-freq.jsonl")


# Reading


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (None, r"is not a run: it has no run\.json \(r-eval run GRID\.yaml makes one\)"),
        ("{", r"run\.json: damaged.*JSON"),
        ('{"schema": 99, "cells": []}', r"run\.json: damaged, or of another version of R-Eval \(schema: "),
        *((text, r"run\.json: ") for text in ("[]", "{}", "\x00", "[" * 100_000, '{"a":' * 100_000)),
        *((text, r"run\.json: ") for text in ('{"schema": NaN}', '{"schema": "x", "cells": []}')),
    ],
    ids=lambda value: str(value)[:30],
)
def test_a_folder_that_is_not_a_run_says_why(tmp_path: Path, text: str | None, complaint: str) -> None:
    if text is not None:
        (tmp_path / "run.json").write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match=complaint):
        RunFolder(tmp_path).manifest()


STRANGE: list[dict[str, Any]] = [
    {"grid": {"shots": "2"}},
    {"grid": {"shots": -1}},
    {"grid": {"shots": 10**15}},
    {"grid": {"workflows": 7}},
    {"grid": {"workflows": [{"name": "fast"}]}},
    {"grid": {"workflows": [{"workflow": "react", "name": ["fast"]}]}},
    {"grid": {"llms": {"llm": "x"}}},
    {"dropped": [{}]},
    {"dropped": [{"condition": "clean", "task": "t", "questions": "many", "dropped": 1}]},
    {"stopped": [{"system": "react+x", "condition": "clean"}]},
    {"llms": {"x": {"adaptations": ["temperature"]}}},
    {"tasks": [{"name": "t", "demonstrations": 2}]},
]


@pytest.mark.parametrize("part", STRANGE, ids=str)
def test_a_part_of_another_type_is_refused_where_it_is_read(tmp_path: Path, part: dict[str, Any]) -> None:
    manifest = {"schema": SCHEMA, "name": "n", "state": "complete", "tasks": [], "cells": []}
    (tmp_path / "run.json").write_text(json.dumps(manifest), encoding="utf-8-sig")
    RunFolder(tmp_path).manifest()
    (tmp_path / "run.json").write_text(json.dumps(manifest | part), encoding="utf-8")
    with pytest.raises(UserError, match=rf"run\.json: damaged, .*\({next(iter(part))}"):
        RunFolder(tmp_path).manifest()


def test_a_run_that_says_that_it_goes_on_crashed_unless_a_process_holds_its_lock(tmp_path: Path) -> None:
    manifest = {"schema": SCHEMA, "name": "n", "state": "running", "tasks": [], "cells": []}
    (tmp_path / "run.json").write_text(json.dumps(manifest), encoding="utf-8")
    assert RunFolder(tmp_path).state() == "crashed"
    with (tmp_path / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert RunFolder(tmp_path).state() == "running"
    assert RunFolder(tmp_path).state() == "crashed"
