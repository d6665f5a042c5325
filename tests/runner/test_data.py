"""Published datasets in a grid: `data:` beside a task."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from r_eval import Grid, load_run
from r_eval.cli.run import run_grid
from r_eval.runner.plan import Plan, resolve
from r_eval.tasks.base import installed

RECORDS = [
    {"question": f"Which of {n} lighthouses is old?", "answer": f"the {n}th", "type": "bridge"} for n in range(30)
]


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    """A folder with a dataset and a scripted LLM."""
    (tmp_path / "sets").mkdir()
    (tmp_path / "sets" / "hotpot.json").write_text(json.dumps(RECORDS), encoding="utf-8")
    (tmp_path / "llm.py").write_text("def answer(request):\n    return 'the 3th'\n", encoding="utf-8")
    return tmp_path


def grid(desk: Path, *tasks: dict[str, Any], **more: Any) -> Grid:
    llm = f"scripted/{desk / 'llm.py'}:answer"
    return Grid(folder=desk, llms=[llm], workflows=["direct"], tasks=list(tasks), **more)


def planned(desk: Path, *, limit: int | None = None, shots: int = 1, **task: Any) -> Plan:
    return resolve(grid(desk, {"task": "wiki/hotpotqa", "data": "sets/hotpot.json", **task}, shots=shots), limit)


def test_the_first_questions_are_kept_and_another_dataset_has_another_fingerprint(desk: Path) -> None:
    every, few = planned(desk), planned(desk, limit=4)
    assert few.tasks[0].questions == every.tasks[0].questions[:4]
    assert len(few.tasks[0].task.questions) == 4
    before = few.cells[0].fingerprint
    assert before == every.cells[0].fingerprint
    (desk / "sets" / "hotpot.json").write_text(json.dumps(RECORDS[:-1]), encoding="utf-8")
    assert planned(desk, limit=4).cells[0].fingerprint != before


def test_a_run_keeps_what_is_known_of_its_dataset_and_says_what_is_broken(
    desk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = [*RECORDS, {"question": "What?"}]
    (desk / "sets" / "hotpot.json").write_text(json.dumps(broken), encoding="utf-8")
    entry = {"task": "wiki/hotpotqa", "data": "sets/hotpot.json", "broken": 0.1}
    assert run_grid(grid(desk, entry, samples=2), desk / "out", quiet=True) == 0
    assert "1 of 31 records are broken and not used" in capsys.readouterr().err
    done = load_run(desk / "out")
    (task,) = done.folder.manifest()["tasks"]
    assert (task["questions"], task["data"]["records"], task["data"]["broken"]) == (2, 31, 1)
    assert done.state == "complete"


# Noise of several levels

FORM = {"weak": 4, "moderate": 4, "hard": 1}


@pytest.mark.parametrize(
    ("noise", "vary", "counts"),
    [
        (FORM, None, [(4, 4, 1)]),
        ({"weak": 2}, None, [(2, 0, 0)]),
        (
            {"hard": 1},
            {"noise.weak": [5, {"noise.weak": 3, "noise.moderate": 2}, 0]},
            [(5, 0, 1), (3, 2, 1), (0, 0, 1)],
        ),
    ],
)
def test_an_embedded_task_has_the_noise_that_a_grid_names_or_varies(
    desk: Path, noise: dict[str, int], vary: dict[str, Any] | None, counts: list[tuple[int, int, int]]
) -> None:
    embedded = installed("prgb/filtering").questions
    plan = resolve(grid(desk, {"task": "prgb/filtering", "noise": noise}, {"task": "wiki/high-freq"}, vary=vary))
    found = [cell.planned for cell in plan.cells if cell.cell.task == "prgb/filtering"]
    assert [tuple(one.questions[0].meta["noise"].values()) for one in found] == counts
    assert all([q.id for q in one.questions] == [q.id for q in found[0].questions] for one in found)
    assert noise != FORM or sorted(found[0].questions, key=lambda q: q.id) == sorted(embedded, key=lambda q: q.id)
    assert len({cell.fingerprint for cell in plan.cells if cell.cell.task == "prgb/filtering"}) == len(counts)
    assert len({cell.fingerprint for cell in plan.cells if cell.cell.task == "wiki/high-freq"}) == 1
