"""Makes runs over seasons: question files with their sidecars, and runs that asked some of these questions."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from r_eval.folder import Cell, CellWriter, RunFolder
from r_eval.records import Episode, Outcome, Question, Step
from r_eval.tasks.questions import write_questions
from r_eval.tasks.seasons.season import Season, write_season
from r_eval.tasks.seasons.version import Version

TASK = "news/graph"
Verdicts = dict[str, str]
"""By system, a verdict a question: r right and found, g found only, w neither, ! stopped by the machinery."""


@pytest.fixture
def season(tmp_path: Path) -> Callable[..., Path]:
    """Writes the question file of a version, and its season."""

    def write(version: str, number: int = 4, name: str = "") -> Path:
        path = tmp_path / f"{name or version}.jsonl"
        write_questions(path, questions(version, number))
        made = Season(
            version=str(Version.parse(version)), environment="news", environment_version="1", seed=0, count=number
        )
        write_season(path, made)
        return path

    return write


def questions(version: str, number: int) -> list[Question]:
    """Questions of a version; every other one is of the type set."""
    return [
        Question(
            id=f"q{place}",
            question=f"Who won race {place} of season {version}?",
            answers=["Nairobi"],
            level="KS",
            meta={"type": "set" if place % 2 else "simple", "text_ids": ["right"]},
        )
        for place in range(number)
    ]


@pytest.fixture
def over(tmp_path: Path) -> Callable[..., RunFolder]:
    """Writes a run of some systems over the first questions of a version."""

    def write(
        name: str, version: str, verdicts: Verdicts, tasks: Sequence[str] = (TASK,), condition: str = "clean"
    ) -> RunFolder:
        run = RunFolder(tmp_path / "runs" / name)
        asked = questions(version, max(map(len, verdicts.values())))
        run.path.mkdir(parents=True)
        for task in tasks:
            path = run.questions_file(task)
            path.parent.mkdir(exist_ok=True)
            path.write_text("".join(f"{one.model_dump_json()}\n" for one in asked), encoding="utf-8")
        cells = [Cell(*system.split("+"), condition, task) for system in verdicts for task in tasks]  # type: ignore[call-arg]
        for cell in cells:
            writer = CellWriter(cell.path(run.episodes_root))
            for one, verdict in zip(asked, verdicts[cell.system], strict=False):
                writer.append(episode(cell, one, verdict).model_dump_json(by_alias=True))
            writer.close()
        manifest = {
            "schema": 1,
            "name": name,
            "created": "2026-03-04T09:30:00+00:00",
            "updated": f"2026-03-{10 + int(version.split('.')[1]):02}T09:41:12+00:00",
            "state": "complete",
            "seed": 0,
            "grid": {},
            "systems": [{"name": cell.system, "workflow": cell.workflow, "llm": cell.llm} for cell in cells],
            "tasks": [
                {"name": task, "domain": "news", "level": "KS", "metric": "exact_match", "questions": len(asked)}
                for task in tasks
            ],
            "conditions": [condition],
            "cells": [{**cell._asdict(), "episodes": len(asked), "fingerprint": "f"} for cell in cells],
        }
        run.run_file.write_text(json.dumps(manifest), encoding="utf-8")
        return run

    return write


def episode(cell: Cell, asked: Question, verdict: str) -> Episode:
    """An episode that ended as the verdict says."""
    found = [Step(kind="call", api="retrieve", observation="A text.", found=["right#1" if verdict in "rg" else "no#1"])]
    return Episode(
        episode_id=f"{cell.system}-{cell.task}-{asked.id}",
        question_id=asked.id,
        task=cell.task,
        domain="news",
        level="KS",
        workflow=cell.workflow,
        llm=cell.llm,
        condition=cell.condition,
        question=asked.question,
        golds=asked.answers,
        answer="Nairobi" if verdict == "r" else "Nakuru",
        outcome=Outcome(kind="llm_failure" if verdict == "!" else "finished"),
        steps=[] if cell.workflow == "direct" else found,
    )
