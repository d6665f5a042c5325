"""What changes how the numbers of a run are read: cut and replayed replies, missing shots, what was left out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from r_eval.analysis.results import CLEAN, load
from r_eval.analysis.warnings import run_warnings
from r_eval.folder import RunFolder
from r_eval.records import Step
from tests.analysis.answers import KS, write_answers

GRID = {"shots": 1, "llms": [{"llm": "m", "max_tokens": 48}]}
CUT, REPLAYED = Step(kind="thought", text="Nairobi ist \u2028 die", error="length"), Step(kind="thought", replayed=True)


def write(folder: Path, *episodes: list[Step], **manifest: Any) -> RunFolder:
    """A run of one cell whose episodes have these steps."""
    tasks = [{"name": KS, "domain": "wiki", "demonstrations": ["d1"]}]
    more = {"grid": GRID, "tasks": tasks, **manifest}
    return write_answers(folder, {"react": "r" * len(episodes)}, (CLEAN,), lambda _, n: {"steps": episodes[n]}, **more)


def warnings(run: RunFolder) -> list[str]:
    return run_warnings(load(run))


def test_cut_and_replayed_replies_are_counted_once_for_every_episode(tmp_path: Path) -> None:
    run = write(tmp_path, [CUT, REPLAYED], [CUT], [])
    (path,) = run.episodes_root.rglob("*.jsonl")
    lines = path.read_text(encoding="utf-8").split("\n")
    path.write_text("\n".join([lines[0], *lines, '{"damaged": "length"', ""]), encoding="utf-8")
    cut, replayed = warnings(run)
    assert cut == "2 replies were cut at max_tokens 48: raise it (m)"
    assert replayed.startswith("1 reply was replayed")
    assert "--no-cache --fresh" in replayed


@pytest.mark.parametrize(
    ("changes", "facts"),
    [
        ({"llms": {"m": {"adaptations": {"temperature": "HTTP 400"}}}}, ["m", "temperature", "HTTP 400"]),
        ({"llms": {"m": {"adaptations": {"tools": "no template"}}}}, ["m", "tools", "no template"]),
        (
            {"dropped": [{"condition": "noisy", "task": KS, "questions": 9, "dropped": 4, "reasons": {}}]},
            ["4 of 9 questions", KS, "'noisy'"],
        ),
    ],
)
def test_what_was_sent_otherwise_or_left_out_is_named(
    tmp_path: Path, changes: dict[str, Any], facts: list[str]
) -> None:
    (found,) = warnings(write(tmp_path, [], **changes))
    assert [fact for fact in facts if fact not in found] == []


@pytest.mark.parametrize(("shots", "facts"), [(0, []), (1, []), (3, ["shots is 3", "wiki/high-freq (1)"])])
def test_shots_that_a_task_does_not_have_are_named(tmp_path: Path, shots: int, facts: list[str]) -> None:
    found = " ".join(warnings(write(tmp_path, [], grid={**GRID, "shots": shots})))
    assert bool(found) == bool(facts)
    assert [fact for fact in facts if fact not in found] == []
