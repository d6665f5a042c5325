"""Makes run folders that vary settings; the test says which questions a workflow answers right, and what it takes."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from r_eval.folder import Cell, RunFolder
from r_eval.records import Episode, Question, Tokens, Usage
from tests.analysis.conftest import call, episode
from tests.analysis.report import makers

TASKS = makers.TASKS[:2]
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
LLM = "gguf/smollm2-135m"

Right = Callable[[Cell, int], bool | None]
"""Whether a cell's answer to a question (a number) is right; None: the machinery failed."""


def write_sweep(
    path: Path,
    right: Right,
    workflows: dict[str, dict[str, Any]] | None = None,
    protocol: str = "one",
    questions: int = 40,
    tokens: Callable[[Cell], int] = lambda cell: 1000,
    pairs: Sequence[tuple[str, str]] = (),
    **more: Any,
) -> RunFolder:
    """Write a run whose workflows are `workflows` (ONE by default), each with LLM, and further pairs beside them.

    Every question stands alone, without a template.
    """
    settings = ONE if workflows is None else workflows

    def make(cell: Cell, task: dict[str, Any], asked: Question, rng: random.Random) -> Episode:
        found = right(cell, int(asked.id.rpartition("-")[2]))
        outcome = {"kind": "llm_failure", "cause": "timeout"} if found is None else {"kind": "finished"}
        return episode(
            **makers.place(cell, task, asked),
            answer=asked.answers[0] if found else "Nakuru",
            outcome=outcome,
            steps=[call("Some text.").model_copy(update={"tokens": Tokens(prompt=1, completion=1)})],
            usage=Usage(calls=1, prompt_tokens=tokens(cell), completion_tokens=20),
        )

    def ask(task: dict[str, Any], number: int, rng: random.Random) -> Question:
        return makers.question(task, number, rng).model_copy(
            update={"meta": {}, "evidence": [], "answers": ["Mombasa"]}
        )

    vary = {"workflows": settings, "base": next(iter(settings)), "protocol": protocol}
    ran = [(name, LLM) for name in settings]
    return makers.write_run(path, [*ran, *pairs], TASKS[:1], questions, make, ask=ask, vary=vary, **more)
