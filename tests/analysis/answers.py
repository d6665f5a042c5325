"""Small runs on disk, each a few letters: what every system answered to every question."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from r_eval.folder import Cell, CellWriter, RunFolder
from r_eval.records import Outcome, Question
from tests.analysis.conftest import call, episode, write_manifest

KS, HOP, SOAY = "wiki/high-freq", "wiki/hotpotqa", "aminer/soay-easy"
LEVEL = {KS: "KS", HOP: "KA", SOAY: "KS"}
LLM = "m"

Answers = Mapping[str | tuple[str, ...], str]
Changes = Callable[[Cell, int], Mapping[str, Any]]


def write_answers(
    folder: Path,
    answers: Answers,
    conditions: tuple[str, ...] = ("clean",),
    changes: Changes = lambda cell, number: {},
    questions: Mapping[str, list[Question]] | None = None,
    **manifest: Any,
) -> RunFolder:
    """Write a run.

    Args:
        answers: By workflow (over the task KS), by workflow and task, or by these and the LLM, a letter per question: r
            right, w wrong, x a failure of the infrastructure, o not run yet. A line break begins the next epoch.
        changes: Fields of an episode.
        questions: By task, what is written into the run's question files.
        manifest: Keys of run.json.
    """
    run = RunFolder(folder)
    cells = {}
    for key, letters in answers.items():
        workflow, task, llm = (*(key if isinstance(key, tuple) else (key, KS)), LLM)[:3]
        cells |= {Cell(workflow, llm, condition, task): letters for condition in conditions}
    for cell, letters in cells.items():
        writer = CellWriter(cell.path(run.episodes_root))
        for epoch, line in enumerate(letters.splitlines()):
            for number, letter in enumerate(line):
                if letter != "o":
                    fields = {**_fields(cell, number, epoch, letter), **changes(cell, number)}
                    writer.append(episode(**fields).model_dump_json(by_alias=True))
        writer.close()
    counts = {cell: len(letters.replace("\n", "")) for cell, letters in cells.items()}
    write_manifest(run.path, list(cells), counts, **manifest)
    for task, lines in (questions or {}).items():
        path = run.questions_file(task)
        path.parent.mkdir(exist_ok=True)
        path.write_text("".join(f"{one.model_dump_json()}\n" for one in lines), encoding="utf-8")
    return run


def _fields(cell: Cell, number: int, epoch: int, letter: str) -> dict[str, Any]:
    right = letter == "r"
    return {
        **{"episode_id": "-".join([*cell, str(number), str(epoch)]), "question_id": f"q{number}", "epoch": epoch},
        **{"task": cell.task, "domain": cell.task.partition("/")[0], "level": LEVEL[cell.task]},
        **{"workflow": cell.workflow, "llm": cell.llm, "condition": cell.condition},
        "answer": "Nairobi" if right else "Mombasa",
        "outcome": Outcome(kind="llm_failure", cause="timeout") if letter == "x" else Outcome(kind="finished"),
        "steps": [call("Nairobi is the capital of Kenya." if right else "0 results.")],
    }
