"""`r-eval compare`: verdicts, warnings, JSON, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from r_eval.folder import Cell, CellWriter, RunFolder
from r_eval.records import Episode, Outcome
from tests.commands import typed_here

TASKS = {"wiki/high-freq": ("wiki", "KS"), "wiki/hotpotqa": ("wiki", "KA")}
Right = Mapping[str, Mapping[str, Sequence[int | None]]]
"""By workflow and task: 1 right, 0 wrong, None the infrastructure failed."""


def write(folder: Path, right: Right, text: str = "Question {n}?", condition: str = "clean", template: int = 0) -> Path:
    """A run of the LLM m, with its questions."""
    run = RunFolder(folder)
    cells = {
        Cell(workflow, "m", condition, task): given for workflow in right for task, given in right[workflow].items()
    }
    for cell, given in cells.items():
        writer = CellWriter(cell.path(run.episodes_root))
        for n, score in enumerate(given):
            made = Episode(
                episode_id=f"{cell.system}{cell.task}{n}", question_id=f"q{n}", task=cell.task,
                domain=TASKS[cell.task][0], level=TASKS[cell.task][1],
                workflow=cell.workflow, llm="m", condition=condition,
                question=text.format(n=n), golds=["Nairobi"], answer="Nairobi" if score else "Mombasa",
                outcome=Outcome(kind="finished" if score is not None else "llm_failure"),
            )  # fmt: skip
            writer.append(made.model_dump_json(by_alias=True))
        writer.close()
        run.questions_file(cell.task).parent.mkdir(parents=True, exist_ok=True)
        lines = [
            {"id": f"q{n}", "question": text.format(n=n), "answers": ["Nairobi"], "level": "KS",
             "meta": {"template": f"t{n // template}"} if template else {}}
            for n in range(len(given))
        ]  # fmt: skip
        run.questions_file(cell.task).write_text("\n".join(map(json.dumps, lines)) + "\n", encoding="utf-8")
    manifest = {
        "schema": 1, "name": "same", "created": "2025-03-04T09:30:00+00:00", "updated": "2025-03-04T09:30:00+00:00",
        "state": "complete", "versions": {}, "seed": 0, "grid": {}, "conditions": [condition],
        "systems": [{"name": f"{workflow}+m", "workflow": workflow, "llm": "m"} for workflow in right],
        "tasks": [
            {"name": task, "domain": TASKS[task][0], "level": TASKS[task][1], "metric": "token_f1"}
            for task in dict.fromkeys(cell.task for cell in cells)
        ],
        "cells": [{**cell._asdict(), "episodes": len(given), "fingerprint": "f"} for cell, given in cells.items()],
    }  # fmt: skip
    (folder / "run.json").write_text(json.dumps(manifest), encoding="utf-8")
    return folder


def printed(folder: Path, *words: str) -> str:
    """What a comparison prints."""
    done = typed_here(["compare", *words], folder)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


KS, HOP = TASKS
BETTER: Right = {"react": {KS: [1] * 30 + [0] * 10}, "pal": {KS: [1] * 18 + [0] * 22}, "rag": {KS: [1] * 28 + [0] * 12}}
REACT_PAL = ("--systems", "react+m", "pal+m")


def test_the_better_system_is_named_with_interval_p_and_number(tmp_path: Path) -> None:
    write(tmp_path / "run", BETTER)
    first, *rest = printed(tmp_path, "run", "--systems", "pal+m", "react+m").splitlines()
    assert first.startswith("react+m is significantly better than pal+m by 30.0 points (13.0 to 45.9), p = 0.001")
    assert any(
        line.endswith("only pal+m 0, only react+m 12, both 18, neither 10; --json has the questions.") for line in rest
    )


def test_all_pairs_of_one_run_are_ranked_without_references(tmp_path: Path) -> None:
    write(tmp_path / "run", {**BETTER, "oracle": {KS: [1] * 40}})
    found = json.loads(printed(tmp_path, "run", "--json"))["conditions"][0]
    ranks = [(place["system"], place["rank_low"], place["rank_high"]) for place in found["ranking"]]
    assert ranks == [("react+m", 1, 2), ("rag+m", 1, 2), ("pal+m", 3, 3)]
    assert (len(found["comparisons"]), found["references"]) == (3, ["oracle+m"])
    assert "References left out: oracle+m" in printed(tmp_path, "run")


def test_templates_are_clusters_where_asked(tmp_path: Path) -> None:
    write(tmp_path / "run", BETTER, template=10)
    assert "significantly better" in printed(tmp_path, "run", *REACT_PAL)
    text = printed(tmp_path, "run", *REACT_PAL, "--cluster", "template")
    assert "do not differ significantly" in text
    assert "40 questions in 4 clusters" in text


REFUSED: dict[str, tuple[list[str], str]] = {
    "an unknown system": (["one", "--systems", "reakt+m", "pal+m"], "Did you mean react+m?"),
    "published results": (["paper"], "means without episodes"),
    "a system of both runs": (["one", "two", *REACT_PAL], "react+m is in several of the runs"),
    "no common question": (["one", "reworded"], "the runs share 40 ids, but with different texts"),
}


@pytest.mark.parametrize("why", REFUSED)
def test_what_cannot_be_compared_ends_with_2(tmp_path: Path, why: str) -> None:
    write(tmp_path / "one", BETTER)
    write(tmp_path / "two", BETTER)
    write(tmp_path / "reworded", BETTER, text="Question {n}!")
    (tmp_path / "paper").mkdir()
    (tmp_path / "paper" / "scores.csv").write_text("workflow,llm,task,score\nreact,m,1-1,40\n", encoding="utf-8")
    words, message = REFUSED[why]
    done = typed_here(["compare", *words], tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
