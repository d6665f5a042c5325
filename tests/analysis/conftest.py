"""A made-up run on disk, and episodes to change."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from r_eval.analysis.results import Results, load
from r_eval.folder import Cell, RunFolder
from r_eval.records import Episode, Outcome, Step
from tests.analysis.report import makers

LLMS = ("gguf/smollm2-135m", "openai/gpt-4o-mini")
TASKS: tuple[dict[str, Any], ...] = (
    {"name": "wiki/high-freq", "id": "1-1", "domain": "wiki", "level": "KS"},
    {"name": "wiki/hotpotqa", "id": "3-1", "domain": "wiki", "level": "KA"},
    {"name": "aminer/soay-easy", "id": "1-3", "domain": "aminer", "level": "KS"},
    {"name": "aminer/soay-hard", "id": "3-5", "domain": "aminer", "level": "KA"},
)


def episode(**changes: Any) -> Episode:
    """An episode that finished with the right answer, seen in an observation; any field can be changed."""
    fields: dict[str, Any] = {
        **{"episode_id": "e1", "question_id": "q1", "task": "wiki/high-freq", "domain": "wiki", "level": "KS"},
        **{"workflow": "react", "llm": "gguf/smollm2-135m", "condition": "clean"},
        "question": "Which city is the capital of Kenya?",
        "golds": ["Nairobi"],
        "answer": "Nairobi",
        "outcome": Outcome(kind="finished"),
        "steps": [call("The capital of Kenya is Nairobi.")],
        **changes,
    }
    return Episode(**fields)


def call(observation: str, error: str | None = None, **arguments: Any) -> Step:
    """A step that called Search."""
    return Step(kind="call", api="Search", arguments=arguments, observation=observation, error=error)


def write_run(path: Path, questions: int = 20, conditions: tuple[str, ...] = ("clean",)) -> RunFolder:
    """Write a run of every workflow with two LLMs, the baseline and the oracle, over TASKS."""
    pairs = [*makers.systems(LLMS), *(("direct", llm) for llm in LLMS)]
    tasks = [{**task, "title": task["name"], "metric": "token_f1"} for task in TASKS]
    return makers.write_run(path, pairs, tasks, questions, makers.episode, conditions)


def write_manifest(path: Path, cells: list[Cell], questions: int | Mapping[Cell, int], /, **more: Any) -> None:
    """Write the run.json of these cells, all or each of so many questions; `more` are further keys of it."""
    names = {cell.task for cell in cells}
    tasks = [{**task, "title": task["name"], "metric": "token_f1"} for task in TASKS if task["name"] in names]
    counts = dict.fromkeys(cells, questions) if isinstance(questions, int) else questions
    entries = [{**cell._asdict(), "episodes": counts[cell], "fingerprint": "f"} for cell in cells]
    makers.write_manifest(RunFolder(path), tasks, entries, **more)


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """The made-up run, for tests that only read it (or score it again in the same way)."""
    return write_run(tmp_path_factory.mktemp("runs") / "synthetic")


@pytest.fixture(scope="session")
def results(run: RunFolder) -> Results:
    """Of the made-up run: ten systems and a reference on four tasks of two domains."""
    return load(run)
