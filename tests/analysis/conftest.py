"""A made-up run on disk: six workflows, two LLMs, four tasks of two domains, every outcome."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from r_eval.folder import Cell, CellWriter, RunFolder
from r_eval.records import Episode, Outcome, OutcomeKind, Seconds, Step, Tokens, Usage

LLMS = ("gguf/smollm2-135m", "openai/gpt-4o-mini")
WORKFLOWS = ("react", "pal", "dfsdt", "fc", "direct", "oracle")
TASKS: tuple[dict[str, Any], ...] = (
    {"name": "wiki/high-freq", "id": "1-1", "domain": "wiki", "level": "KS"},
    {"name": "wiki/hotpotqa", "id": "3-1", "domain": "wiki", "level": "KA"},
    {"name": "aminer/soay-easy", "id": "1-3", "domain": "aminer", "level": "KS"},
    {"name": "aminer/soay-hard", "id": "3-5", "domain": "aminer", "level": "KA"},
)
SKILL = {"react": 0.55, "pal": 0.62, "dfsdt": 0.45, "fc": 0.66, "direct": 0.22, "oracle": 1.0}
SECONDS = {"react": 9.0, "pal": 3.2, "dfsdt": 41.0, "fc": 6.5, "direct": 0.6, "oracle": 0.01}
FAILURES: tuple[tuple[OutcomeKind, str], ...] = (
    ("gave_up", "finish"),
    ("exhausted", "steps"),
    ("exhausted", "context"),
    ("tool_misuse", "syntax"),
    ("tool_failure", "server"),
    ("llm_failure", "timeout"),
)


def episode(**changes: Any) -> Episode:
    """An episode that finished with the right answer, seen in an observation; any field can be changed."""
    fields: dict[str, Any] = {
        "episode_id": "e1",
        "question_id": "q1",
        "task": "wiki/high-freq",
        "domain": "wiki",
        "level": "KS",
        "workflow": "react",
        "llm": "gguf/smollm2-135m",
        "condition": "clean",
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


def write_run(path: Path, questions: int = 20, seed: int = 0, conditions: tuple[str, ...] = ("clean",)) -> RunFolder:
    """Write a run of every workflow, LLM, task and condition; the oracle has no LLM."""
    rng = random.Random(seed)
    cells = [
        Cell(workflow, llm, condition, task["name"])
        for workflow in WORKFLOWS
        for llm in (("none",) if workflow == "oracle" else LLMS)
        for condition in conditions
        for task in TASKS
    ]
    run = RunFolder(path)
    for cell in cells:
        writer = CellWriter(cell.path(run.episodes_root))
        for made in _cell(cell, questions, rng):
            writer.append(made.model_dump_json(by_alias=True))
        writer.close()
    write_manifest(path, cells, questions, conditions)
    return run


def write_manifest(path: Path, cells: list[Cell], questions: int, conditions: tuple[str, ...] = ("clean",)) -> None:
    """Write the run.json that belongs to these cells."""
    systems = dict.fromkeys((cell.system, cell.workflow, cell.llm) for cell in cells)
    names = {cell.task for cell in cells}
    manifest = {
        "schema": 1,
        "name": path.name,
        "created": "2025-03-04T09:30:00+00:00",
        "updated": "2025-03-04T09:41:12+00:00",
        "state": "complete",
        "versions": {"r-eval": "0.1.0", "python": "3.11.7"},
        "seed": 0,
        "grid": {},
        "systems": [{"name": name, "workflow": workflow, "llm": llm} for name, workflow, llm in systems],
        "tasks": [
            {**task, "title": task["name"], "metric": "token_f1", "questions": questions}
            for task in TASKS
            if task["name"] in names
        ],
        "conditions": list(conditions),
        "cells": [{**cell._asdict(), "episodes": questions, "fingerprint": "f"} for cell in cells],
    }
    path.mkdir(parents=True, exist_ok=True)
    (path / "run.json").write_text(json.dumps(manifest), encoding="utf-8")


def _cell(cell: Cell, questions: int, rng: random.Random) -> Iterator[Episode]:
    task = next(task for task in TASKS if task["name"] == cell.task)
    strong = 1.0 if "gpt" in cell.llm else 0.55
    skill = SKILL[cell.workflow] * (1.0 if cell.workflow == "oracle" else strong)
    skill *= {"KS": 1.0, "KA": 0.7}[task["level"]] if cell.workflow != "oracle" else 1.0
    for number in range(questions):
        gold = rng.choice(["Lake Turkana", "Mombasa", "Grace Ogot", "1963", "yes", "7"])
        right = rng.random() < skill
        seen = cell.workflow != "direct" and (right or rng.random() < 0.25)
        outcome: tuple[OutcomeKind, str] = ("finished", "")
        if not right and cell.workflow != "direct" and rng.random() < 0.5:
            outcome = rng.choice(FAILURES)
        text = f"An article that says {gold} among other things." if seen else "An article about something else."
        answer = gold if right else rng.choice([f"{gold} and others", "Nakuru", ""])
        steps = [Step(kind="thought", text="I should search.", tokens=Tokens(prompt=400, completion=30))]
        steps += [] if cell.workflow == "direct" else [call(text, entity="Kenya")]
        yield episode(
            episode_id=f"{cell.system}-{cell.condition}-{cell.task}-{number}",
            question_id=f"q{number}",
            task=cell.task,
            domain=task["domain"],
            level=task["level"],
            workflow=cell.workflow,
            llm=cell.llm,
            condition=cell.condition,
            golds=[gold],
            answer="" if outcome[0] in ("llm_failure", "tool_misuse") else answer,
            outcome=Outcome(kind=outcome[0], cause=outcome[1]),
            steps=[*steps, Step(kind="answer", text=answer, error=None if answer else "unparsed")],
            usage=_usage(cell, rng),
            seconds=Seconds(
                total=SECONDS[cell.workflow] * (0.4 + 1.2 * rng.random()) * (0.7 if "gpt" in cell.llm else 1)
            ),
        )


def _usage(cell: Cell, rng: random.Random) -> Usage:
    if cell.workflow == "oracle":
        return Usage(cost=0.0)
    calls = rng.randint(1, 8)
    cost = calls * 0.0002 if "gpt" in cell.llm else None
    return Usage(calls=calls, prompt_tokens=calls * 700, completion_tokens=calls * 60, cost=cost)


@pytest.fixture
def make_episode() -> Callable[..., Episode]:
    """Makes an episode that finished with the right answer; any field can be changed."""
    return episode


@pytest.fixture
def make_call() -> Callable[..., Step]:
    """Makes a call step: observation, error, arguments."""
    return call


@pytest.fixture
def make_run() -> Callable[..., RunFolder]:
    """Writes a made-up run into a folder."""
    return write_run


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """The made-up run, for tests that only read it (or score it again in the same way)."""
    return write_run(tmp_path_factory.mktemp("runs") / "synthetic")
