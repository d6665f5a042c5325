"""What changes how the numbers of a run are read: cut and replayed replies, missing shots, what was left out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from r_eval.analysis.warnings import run_warnings
from r_eval.folder import Cell, CellWriter, RunFolder
from r_eval.records import Step
from tests.analysis.conftest import episode, write_manifest

CELL = Cell("react", "gguf/smollm2-135m", "clean", "wiki/high-freq")
GRID = {"shots": 1, "llms": [{"llm": "gguf/smollm2-135m", "max_tokens": 48}]}
CUT, REPLAYED = Step(kind="thought", text="Nairobi ist \u2028 die", error="length"), Step(kind="thought", replayed=True)


def write(folder: Path, *episodes: list[Step], **manifest: Any) -> RunFolder:
    """A run of one cell whose episodes have these steps."""
    run = RunFolder(folder / "run")
    writer = CellWriter(CELL.path(run.episodes_root))
    for number, steps in enumerate(episodes):
        writer.append(episode(episode_id=f"e{number}", steps=steps).model_dump_json(by_alias=True))
    writer.close()
    write_manifest(run.path, [CELL], len(episodes))
    record = json.loads(run.run_file.read_text(encoding="utf-8")) | {"grid": GRID} | manifest
    record["tasks"] = [{**task, "demonstrations": ["d1"]} for task in record["tasks"]]
    run.run_file.write_text(json.dumps(record), encoding="utf-8")
    return run


def test_a_run_without_any_of_it_has_no_warning(tmp_path: Path) -> None:
    quiet = [Step(kind="thought", text='"length" "replayed"'), Step(kind="call", arguments={"error": "length"})]
    assert run_warnings(write(tmp_path, quiet)) == []


def test_cut_and_replayed_replies_are_counted_once_for_every_episode(tmp_path: Path) -> None:
    run = write(tmp_path, [CUT, REPLAYED], [CUT], [])
    path = CELL.path(run.episodes_root)
    lines = path.read_text(encoding="utf-8").split("\n")
    path.write_text("\n".join([lines[0], *lines, '{"damaged": "length"', ""]), encoding="utf-8")
    cut, replayed = run_warnings(run)
    assert cut == "2 replies were cut at max_tokens 48: raise it (gguf/smollm2-135m)"
    assert replayed.startswith("1 reply was replayed")
    assert "--no-cache --fresh" in replayed


@pytest.mark.parametrize(
    ("changes", "facts"),
    [
        ({"llms": {"m": {"adaptations": {"temperature": "HTTP 400"}}}}, ["m", "temperature", "HTTP 400"]),
        ({"llms": {"m": {"adaptations": {"tools": "no template"}}}}, ["m", "tools", "no template"]),
        (
            {
                "dropped": [
                    {"condition": "noisy", "task": "wiki/high-freq", "questions": 9, "dropped": 4, "reasons": {}}
                ]
            },
            ["4 of 9 questions", "wiki/high-freq", "'noisy'"],
        ),
    ],
)
def test_what_was_sent_otherwise_or_left_out_is_named(
    tmp_path: Path, changes: dict[str, Any], facts: list[str]
) -> None:
    (found,) = run_warnings(write(tmp_path, [], **changes))
    assert [fact for fact in facts if fact not in found] == []


@pytest.mark.parametrize(("shots", "facts"), [(0, []), (1, []), (3, ["shots is 3", "wiki/high-freq (1)"])])
def test_shots_that_a_task_does_not_have_are_named(tmp_path: Path, shots: int, facts: list[str]) -> None:
    found = " ".join(run_warnings(write(tmp_path, [], grid={**GRID, "shots": shots})))
    assert bool(found) == bool(facts)
    assert [fact for fact in facts if fact not in found] == []
