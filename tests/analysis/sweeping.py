"""Makes run folders that vary settings; the test says which questions a workflow answers right, and what it takes."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from r_eval.folder import Cell, CellWriter, RunFolder
from r_eval.records import Outcome, Question, Usage
from tests.analysis.conftest import episode, write_manifest

TASK = "wiki/high-freq"
LLM = "gguf/smollm2-135m"
BASE = {"chunk_size": 128, "retriever": "bm25", "top_k": 8}
ONE: dict[str, dict[str, Any]] = {
    "rag": BASE,
    "rag@chunk_size=64": {**BASE, "chunk_size": 64},
    "rag@chunk_size=256": {**BASE, "chunk_size": 256},
    "rag@retriever=dense": {**BASE, "retriever": "dense"},
    "rag@top_k=2": {**BASE, "top_k": 2, "chunk_size": 512},
}
CROSS: dict[str, dict[str, Any]] = {
    "rag": {"chunk_size": 128, "retriever": "bm25"},
    "rag@chunk_size=64": {"chunk_size": 64, "retriever": "bm25"},
    "rag@retriever=dense": {"chunk_size": 128, "retriever": "dense"},
    "rag@chunk_size=64,retriever=dense": {"chunk_size": 64, "retriever": "dense"},
}

Right = Callable[[Cell, int], bool | None]
"""Whether a cell's answer to a question (a number) is right; None: an infrastructure failure."""


def write_sweep(
    path: Path,
    right: Right,
    workflows: dict[str, dict[str, Any]] | None = None,
    protocol: str = "one",
    questions: int = 40,
    tokens: Callable[[Cell, int], int] = lambda cell, number: 1000,
    pairs: Sequence[tuple[str, str]] = (),
    document: Callable[[int], str] = lambda number: "",
) -> RunFolder:
    """Write a run whose workflows are `workflows` (ONE by default), each with LLM, and further pairs beside them.

    Args:
        document: What a question shares with others; "" for nothing.
    """
    settings = ONE if workflows is None else workflows
    run = RunFolder(path)
    cells = [Cell(*pair, "clean", TASK) for pair in (*((name, LLM) for name in settings), *pairs)]
    write_manifest(path, cells, questions)
    manifest = json.loads(run.run_file.read_text(encoding="utf-8"))
    vary = {"workflows": settings, "base": next(iter(settings)), "protocol": protocol}
    run.run_file.write_text(json.dumps({**manifest, "vary": vary}), encoding="utf-8")
    asked = [
        Question(
            id=f"q{n}",
            question=f"{n}?",
            answers=["Nairobi"],
            level="KS",
            meta={"document": document(n)} if document(n) else {},
        )
        for n in range(questions)
    ]
    run.questions_file(TASK).parent.mkdir()
    run.questions_file(TASK).write_text("".join(f"{one.model_dump_json()}\n" for one in asked), encoding="utf-8")
    for cell in cells:
        writer = CellWriter(cell.path(run.episodes_root))
        for number, one in enumerate(asked):
            found = right(cell, number)
            made = episode(
                **{"episode_id": f"{cell.system}-{one.id}", "question_id": one.id, "task": TASK},
                **{"workflow": cell.workflow, "llm": cell.llm, "golds": one.answers},
                answer="Nairobi" if found else "Nakuru",
                outcome=Outcome(kind="llm_failure" if found is None else "finished"),
                usage=Usage(calls=1, prompt_tokens=tokens(cell, number), completion_tokens=20),
            )
            writer.append(made.model_dump_json(by_alias=True))
        writer.close()
    return run
