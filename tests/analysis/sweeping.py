"""Makes run folders that vary settings; the test says which questions a workflow answers right, and what it takes."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from r_eval.folder import Cell, RunFolder
from r_eval.records import Episode, Outcome, Question
from tests.analysis.conftest import episode
from tests.analysis.report import makers

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
    questions: int = 40,
    pairs: Sequence[tuple[str, str]] = (),
) -> RunFolder:
    """Write a run whose workflows are `workflows` (ONE by default), each with LLM, and further pairs beside them."""
    settings = ONE if workflows is None else workflows

    def ask(task: dict[str, Any], number: int, rng: random.Random) -> Question:
        return Question(id=str(number), question=f"{number}?", answers=["Nairobi"], level="KS")

    def make(cell: Cell, task: dict[str, Any], asked: Question, rng: random.Random) -> Episode:
        found = right(cell, int(asked.id))
        return episode(
            **makers.place(cell, task, asked),
            answer="Nairobi" if found else "Nakuru",
            outcome=Outcome(kind="llm_failure" if found is None else "finished"),
        )

    systems = [*((name, LLM) for name in settings), *pairs]
    vary = {"workflows": settings, "base": next(iter(settings))}
    task = {"name": TASK, "domain": "wiki", "level": "KS", "metric": "token_f1"}
    return makers.write_run(path, systems, [task], questions, make, ask=ask, vary=vary)
