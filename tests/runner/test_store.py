"""The writing side of a run folder: one writer, nothing twice, nothing lost, nothing mixed."""

from __future__ import annotations

import asyncio
import functools
import json
import threading
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest

from r_eval import Grid, UserError
from r_eval.folder import CellWriter, RunFolder
from r_eval.records import INFRASTRUCTURE_FAILURES, Episode, Outcome, OutcomeKind, Step
from r_eval.runner.episode import episode_id
from r_eval.runner.plan import Plan, PlannedCell, resolve
from r_eval.runner.store import Store


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


def episode(cell: PlannedCell, number: int, kind: OutcomeKind = "finished", answer: str = "Ada") -> Episode:
    """An episode of the cell's question of that number."""
    question = cell.planned.questions[number]
    return Episode(
        **{k: v for k, v in cell.cell._asdict().items() if k != "task"},
        episode_id=episode_id(cell, question, 0),
        question_id=question.id,
        task=cell.cell.task,
        domain="aminer",
        level=question.level,
        question=question.question,
        golds=question.answers,
        answer=answer,
        outcome=Outcome(kind=kind),
        fingerprint=cell.fingerprint,
    )


def recorded(store: Store, cell: PlannedCell) -> list[dict[str, Any]]:
    path = cell.cell.path(store.folder.episodes_root)
    return [json.loads(line) for line in path.read_bytes().split(b"\n")[:-1]]


def test_an_episode_can_be_read_as_soon_as_it_is_appended(store: Store, cell: PlannedCell) -> None:
    store.append(cell, episode(cell, 3))
    (read,) = store.folder.cell_episodes(cell.cell)
    assert read.model_copy(update={"checksum": ""}) == episode(cell, 3)
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


@pytest.mark.parametrize("kind", get_args(OutcomeKind))
def test_what_the_system_did_is_done_and_what_the_machinery_did_is_missing_still(
    store: Store, cell: PlannedCell, kind: OutcomeKind
) -> None:
    store.append(cell, episode(cell, 0, kind))
    done = kind not in INFRASTRUCTURE_FAILURES
    assert (store.ledger(cell).count(), len(list(store.missing(cell)))) == (done, 5 - done)


def test_a_file_that_a_thread_is_closing_is_synced_by_nobody_else(
    store: Store, cell: PlannedCell, monkeypatch: pytest.MonkeyPatch
) -> None:
    def close_slowly(writer: CellWriter) -> None:
        close(writer)
        time.sleep(0.2)

    async def main() -> None:
        store.append(cell, episode(cell, 0))
        closing = asyncio.create_task(store.complete(cell))
        await asyncio.sleep(0.1)
        await store.sync()
        await closing

    close = CellWriter.close
    monkeypatch.setattr(CellWriter, "close", close_slowly)
    asyncio.run(main())
    assert store.ledger(cell).count() == 1


@pytest.mark.parametrize("text", ["a\u2028b", "a\x85b", "a\u2029b\x1cc", "a\r\nb", '"\\', '","checksum":"00000000"}'])
def test_no_text_can_break_a_line(store: Store, cell: PlannedCell, text: str) -> None:
    for number in (4, 3, 2, 1, 0):
        store.append(cell, episode(cell, number, answer=text))
    asyncio.run(store.complete(cell))
    found = [e.answer for e in store.folder.cell_episodes(cell.cell)]
    assert found == [text] * 5


def call(**fields: Any) -> Step:
    """A step as it is made on hot paths, without a look at its fields."""
    return Step.model_construct(kind="call", **fields)


NESTED: dict[str, Any] = functools.reduce(lambda inner, _: {"a": inner}, range(300), {})
STRANGE: dict[str, tuple[dict[str, Any], str, str]] = {
    "half a pair of surrogates": ({"answer": "half \ud83d"}, "finished", "half \ufffd"),
    "no answer": ({"answer": None}, "tool_failure", ""),
    "an outcome that there is not": ({"outcome": Outcome.model_construct(kind="won")}, "tool_failure", ""),
    "an object as an argument": (
        {"steps": [call(arguments={"a": object()})]},
        "finished",
        "Ada",
    ),
    "a time that is no number": (
        {"steps": [call(seconds=float("nan"))]},
        "tool_failure",
        "",
    ),
    "a step nested without end": ({"steps": [call(arguments=NESTED)]}, "tool_failure", ""),
}


@pytest.mark.parametrize("strange", sorted(STRANGE))
def test_whatever_a_plug_in_puts_into_a_record_can_be_read_back(
    store: Store, cell: PlannedCell, strange: str, recwarn: pytest.WarningsRecorder
) -> None:
    change, kind, answer = STRANGE[strange]
    store.append(cell, episode(cell, 0).model_copy(update=change))
    (read,) = store.folder.cell_episodes(cell.cell)
    assert (read.outcome.kind, read.answer) == (kind, answer)
    assert store.ledger(cell).count() == (kind == "finished")
    assert not list(recwarn)


def test_a_reader_never_makes_a_starting_run_believe_that_it_is_in_use(tmp_path: Path, plan: Plan) -> None:
    folder, over = RunFolder(tmp_path / "run"), threading.Event()
    with Store(folder, plan) as first:
        first.write_manifest("running")

    def ask() -> None:
        while not over.is_set():
            folder.state()

    readers = [threading.Thread(target=ask) for _ in range(3)]
    for reader in readers:
        reader.start()
    for _ in range(30):
        Store(folder, plan).__exit__()
    over.set()
    for reader in readers:
        reader.join()


def test_a_second_writer_is_refused_until_the_first_is_done(tmp_path: Path, plan: Plan) -> None:
    folder = RunFolder(tmp_path / "run")
    with Store(folder, plan) as store:
        store.write_manifest("running")
        for fresh in (False, True):
            with pytest.raises(UserError, match=r"run is in use by another r-eval \(process \d+\)"):
                Store(folder, plan, fresh)
    with Store(folder, plan):
        pass


def test_a_refused_writer_lets_go_of_the_folder(tmp_path: Path, plan: Plan) -> None:
    folder = RunFolder(tmp_path / "run")
    with Store(folder, plan) as store:
        store.write_manifest("running")
        store.append(plan.cells[0], episode(plan.cells[0], 0))
    with pytest.raises(UserError, match="seed") as refused:
        Store(folder, planned(seed=1))
    assert refused.value
    with Store(folder, plan) as store:
        assert store.ledger(plan.cells[0]).count() == 1


def test_a_writer_that_never_ran_leaves_an_empty_folder_usable(tmp_path: Path, plan: Plan) -> None:
    folder = RunFolder(tmp_path / "run")
    for _ in range(2):
        with Store(folder, plan):
            pass
    assert not folder.path.exists()


def test_the_manifest_says_what_was_run(store: Store, plan: Plan) -> None:
    manifest = store.folder.manifest()
    assert (manifest["schema"], manifest["state"], manifest["seed"], manifest["name"]) == (1, "running", 0, "grid")
    assert manifest["systems"] == [{"name": "direct+openai/m", "workflow": "direct", "llm": "openai/m"}]
    task = manifest["tasks"][0]
    assert (task["name"], task["id"], task["level"], task["questions"]) == ("aminer/soay-easy", "1-3", "KS", 5)
    assert manifest["cells"][0]["fingerprint"] == plan.cells[0].fingerprint
    assert set(manifest["cells"][0]["parts"]) >= {"workflow", "llm", "task", "environment", "limits", "shots", "seed"}
    assert store.folder.cells() == [plan.cells[0].cell]


def test_no_key_stands_in_the_manifest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "sk-very-secret-indeed")
    plan = planned(llms=[{"llm": "openai/m", "api_key_env": "MY_KEY"}])
    with Store(RunFolder(tmp_path / "run"), plan) as store:
        store.write_manifest("running")
    assert "very-secret" not in (tmp_path / "run" / "run.json").read_text(encoding="utf-8")
