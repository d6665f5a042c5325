"""The writing side of a run folder: one writer, nothing twice, nothing lost, nothing mixed."""

from __future__ import annotations

import asyncio
import errno
import functools
import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from r_eval import Grid, UserError
from r_eval.folder import Cell, RunFolder
from r_eval.records import Outcome, Step
from r_eval.runner.ledger import Ledger
from r_eval.runner.plan import Plan, PlannedCell, resolve
from r_eval.runner.store import Store
from tests.runner.desks import make_episode


def planned(**keys: Any) -> Plan:
    return resolve(
        Grid(**{"llms": ["openai/m"], "workflows": ["direct"], "tasks": ["aminer/soay-easy"], **keys}), limit=5
    )


@pytest.fixture(scope="module")
def plan() -> Plan:
    return planned()


@pytest.fixture
def cell(plan: Plan) -> PlannedCell:
    return plan.cells[0]


@pytest.fixture
def store(tmp_path: Path, plan: Plan) -> Iterator[Store]:
    with Store(RunFolder(tmp_path / "run"), plan) as opened:
        opened.write_manifest("running")
        yield opened


def test_an_episode_can_be_read_as_soon_as_it_is_appended(store: Store, cell: PlannedCell) -> None:
    store.append(cell, make_episode(cell, 3))
    (read,) = store.folder.cell_episodes(cell.cell)
    assert read.model_copy(update={"checksum": ""}) == make_episode(cell, 3)
    line = cell.cell.path(store.folder.episodes_root).read_bytes()
    assert line.endswith(b',"checksum":"%s"}\n' % read.checksum.encode())
    assert read.checksum == f"{zlib.crc32(line[:-24]):08x}"


def test_what_a_kill_left_of_files_that_were_being_replaced_is_taken_away(tmp_path: Path, plan: Plan) -> None:
    folder = RunFolder(tmp_path / "run")
    with Store(folder, plan) as first:
        first.write_manifest("running")
    left = [folder.path / name for name in (".run.json.1.part", "questions/.t.1.part", "episodes/a/b/.t.1.part")]
    for draft in left:
        draft.parent.mkdir(parents=True, exist_ok=True)
        draft.write_text("half", encoding="utf-8")
    with Store(folder, plan):
        assert [draft for draft in left if draft.exists()] == []


@pytest.mark.parametrize("text", ["a\u2028b", "a\x85b", "a\u2029b\x1cc", "a\r\nb", '"\\', '","checksum":"00000000"}'])
def test_no_text_can_break_a_line(store: Store, cell: PlannedCell, text: str) -> None:
    for number in (4, 3, 2, 1, 0):
        store.append(cell, make_episode(cell, number, answer=text))
    asyncio.run(store.complete(cell))
    found = [e.answer for e in store.folder.cell_episodes(cell.cell)]
    assert found == [text] * 5


@pytest.mark.parametrize("part", Cell._fields)
def test_an_episode_of_another_cell_is_none_of_this_one(store: Store, cell: PlannedCell, part: str) -> None:
    store.append(cell, make_episode(cell, 1).model_copy(update={part: "\x1b[31m其他"}))
    store.append(cell, make_episode(cell, 2))
    assert [e.question_id for e in store.folder.cell_episodes(cell.cell)] == [cell.planned.questions[2].id]
    path = store.folder.path / "copy.jsonl"
    path.write_bytes(cell.cell.path(store.folder.episodes_root).read_bytes())
    assert (Ledger(cell, 1, path).left(), path.with_suffix(".damaged").read_bytes().count(b"\n")) == (4, 1)


def call(**fields: Any) -> Step:
    """A step as it is made on hot paths, without a look at its fields."""
    return Step.model_construct(kind="call", **fields)


NESTED: dict[str, Any] = functools.reduce(lambda inner, _: {"a": inner}, range(300), {})
STRANGE: dict[str, tuple[dict[str, Any], str, str]] = {
    "half a pair of surrogates": ({"answer": "half \ud83d"}, "finished", "half \ufffd"),
    "no answer": ({"answer": None}, "tool_failure", ""),
    "an outcome that there is not": ({"outcome": Outcome.model_construct(kind="won")}, "tool_failure", ""),
    "an object as an argument": ({"steps": [call(arguments={"a": object()})]}, "finished", "Ada"),
    "a time that is no number": ({"steps": [call(seconds=float("nan"))]}, "tool_failure", ""),
    "a step nested without end": ({"steps": [call(arguments=NESTED)]}, "tool_failure", ""),
}


@pytest.mark.parametrize("strange", sorted(STRANGE))
def test_whatever_a_plug_in_puts_into_a_record_can_be_read_back(
    store: Store, cell: PlannedCell, strange: str, recwarn: pytest.WarningsRecorder
) -> None:
    change, kind, answer = STRANGE[strange]
    store.append(cell, make_episode(cell, 0).model_copy(update=change))
    (read,) = store.folder.cell_episodes(cell.cell)
    assert (read.outcome.kind, read.answer) == (kind, answer)
    assert store.ledger(cell).count() == (kind == "finished")
    assert not list(recwarn)


def test_a_second_writer_is_refused_until_the_first_is_done(tmp_path: Path, plan: Plan) -> None:
    folder = RunFolder(tmp_path / "run")
    with Store(folder, plan) as store:
        store.write_manifest("running")
        for fresh in (False, True):
            with pytest.raises(UserError, match=r"run is in use by another r-eval \(process \d+\)"):
                Store(folder, plan, fresh)
    with Store(folder, plan):
        pass


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EINVAL, errno.EIO])
def test_a_file_system_without_locks_is_written_to_all_the_same(
    plan: Plan, number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("fcntl.flock", mock.Mock(side_effect=OSError(number, os.strerror(number))))
    with Store(RunFolder(tmp_path / "run"), plan) as store:
        store.write_manifest("running")
    assert f"run cannot be locked ({os.strerror(number)}): see that no other r-eval writes to it" in caplog.text


def test_no_key_stands_in_the_manifest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "sk-very-secret-indeed")
    plan = planned(llms=[{"llm": "openai/m", "api_key_env": "MY_KEY"}])
    with Store(RunFolder(tmp_path / "run"), plan) as store:
        store.write_manifest("running")
    assert "very-secret" not in (tmp_path / "run" / "run.json").read_text(encoding="utf-8")


def test_a_folder_that_a_kill_left_before_the_runs_record_is_taken(tmp_path: Path, plan: Plan) -> None:
    folder = RunFolder(tmp_path / "run")
    folder.path.mkdir()
    for name in (".lock", ".run.json.1.part"):
        (folder.path / name).touch()
    with Store(folder, plan) as opened:
        opened.write_manifest("running")
    assert (folder.path / ".lock").exists()
    assert folder.run_file.exists()
