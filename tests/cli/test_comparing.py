"""`r-eval compare`, as it is typed."""

from __future__ import annotations

import contextlib
import io
import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from r_eval.cli.app import main
from r_eval.folder import Cell, CellWriter, RunFolder
from r_eval.records import Episode, Outcome

R_EVAL = Path(sys.executable).with_name("r-eval")
TASKS = {"wiki/high-freq": ("wiki", "KS"), "wiki/hotpotqa": ("wiki", "KA")}
Right = Mapping[str, Mapping[str, Sequence[int | None]]]
"""By workflow and task: 1 right, 0 wrong, None the machinery failed."""


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


def typed(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """What the command does when it is typed in a folder, without a process of its own."""
    command = [str(R_EVAL), "compare", *words]
    output, errors = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
        patch.chdir(folder)
        patch.setattr(sys, "argv", command)
        with pytest.raises(SystemExit) as ended:
            main()
    return subprocess.CompletedProcess(command, int(ended.value.code or 0), output.getvalue(), errors.getvalue())


def in_a_process(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [str(R_EVAL), "compare", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, encoding="utf-8", timeout=120, check=False)


KS, HOP = TASKS
BETTER: Right = {"react": {KS: [1] * 30 + [0] * 10}, "pal": {KS: [1] * 18 + [0] * 22}, "rag": {KS: [1] * 28 + [0] * 12}}


def test_the_better_system_is_named_with_interval_p_and_number(tmp_path: Path) -> None:
    write(tmp_path / "run", BETTER)
    done = typed(tmp_path, "run", "--systems", "pal+m", "react+m")
    assert (done.returncode, done.stderr) == (0, "")
    first, *rest = done.stdout.splitlines()
    assert first == "react+m is better than pal+m by 30.0 points (15.2 to 44.8), p = 0.0002, 40 questions"
    assert "  Answered (score 0.5 or more): only by pal+m 0, only by react+m 12, by both 18, by neither 10." in rest
    assert "  Only by react+m: q18, q19, q20, q21, q22, q23, q24, q25, q26, q27, q28, q29" in rest


def test_systems_too_close_cannot_be_told_apart(tmp_path: Path) -> None:
    write(tmp_path / "run", BETTER)
    done = typed(tmp_path, "run", "--systems", "react+m", "rag+m")
    assert done.stdout.startswith("react+m and rag+m cannot be told apart: +5.0 points (")


def test_one_run_without_systems_gives_a_ranking_and_all_pairs(tmp_path: Path) -> None:
    write(tmp_path / "run", {**BETTER, "direct": {KS: [0] * 40}})
    found = json.loads(typed(tmp_path, "run", "--json").stdout)["conditions"][0]
    assert [(p["system"], p["groups"]) for p in found["ranking"]] == [("react+m", "a"), ("rag+m", "a"), ("pal+m", "b")]
    assert len(found["comparisons"]) == 3
    assert found["bounds"] == ["direct+m"]
    assert "Bounds left out: direct+m" in typed(tmp_path, "run").stdout


def test_two_runs_compare_the_system_that_they_share(tmp_path: Path) -> None:
    write(tmp_path / "before", {"pal": {KS: [1] * 10 + [0] * 30}})
    write(tmp_path / "after", {"pal": {KS: [0] * 1 + [1] * 29 + [0] * 10}})
    done = typed(tmp_path, "before", "after")
    assert done.stdout.startswith("pal+m (after) is better than pal+m (before) by 47.5 points")
    assert "  Only by pal+m (before): q0\n" in done.stdout
    assert typed(tmp_path, "before", "after", "--systems", "pal+m", "pal+m").stdout == done.stdout


def test_two_systems_may_lie_in_two_runs(tmp_path: Path) -> None:
    write(tmp_path / "one", {"pal": {KS: [1] * 40}})
    write(tmp_path / "two", {"react": {KS: [0] * 40}})
    done = typed(tmp_path, "one", "two", "--systems", "pal+m", "react+m")
    assert done.stdout.startswith("pal+m is better than react+m by 100.0 points")


def test_json_has_every_flipped_question_and_each_task(tmp_path: Path) -> None:
    write(tmp_path / "run", {"react": {KS: [1] * 30, HOP: [1, 0]}, "pal": {KS: [0] * 30, HOP: [0, 1]}})
    (one,) = json.loads(typed(tmp_path, "run", "--systems", "react+m", "pal+m", "--json").stdout)["conditions"][0][
        "comparisons"
    ]
    assert len(one["flipped"]["only_a"]) == 31
    assert one["flipped"]["only_b"] == [{"task": HOP, "question": "q1"}]
    assert [(task["tasks"], task["difference"]) for task in one["by_task"]] == [([KS], 1.0), ([HOP], 0.0)]
    assert one["difference"] == 0.5


def test_more_than_20_flipped_questions_are_cut_in_the_terminal(tmp_path: Path) -> None:
    write(tmp_path / "run", {"react": {KS: [1] * 30}, "pal": {KS: [0] * 30}})
    assert "; and 10 more (--json has all)" in typed(tmp_path, "run", "--systems", "react+m", "pal+m").stdout


def test_what_cannot_be_paired_is_counted_and_said(tmp_path: Path) -> None:
    write(tmp_path / "run", {"react": {KS: [1, 0, None, 1]}, "pal": {KS: [1, None, 1, None]}})
    done = typed(tmp_path, "run", "--systems", "react+m", "pal+m")
    assert "Not paired, and left out: 2 only react+m has a score for, 1 only pal+m has a score for." in done.stdout


def test_a_question_in_other_words_is_not_paired(tmp_path: Path) -> None:
    write(tmp_path / "one", {"pal": {HOP: [1] * 4}})
    write(tmp_path / "two", {"pal": {HOP: [1] * 4}}, text="Question {n}!")
    done = typed(tmp_path, "one", "two")
    assert done.returncode == 2
    assert done.stderr.startswith("r-eval: nothing can be paired: the runs ask 4 questions in other words")


def test_questions_in_other_words_are_counted_beside_those_that_are_paired(tmp_path: Path) -> None:
    write(tmp_path / "one", {"pal": {KS: [1] * 4}})
    write(tmp_path / "two", {"pal": {KS: [1] * 4}})
    file = RunFolder(tmp_path / "two").questions_file(KS)
    file.write_text(file.read_text(encoding="utf-8").replace("Question 3?", "Query 3?"), encoding="utf-8")
    assert "1 question left out: asked in other words in another run." in typed(tmp_path, "one", "two").stdout


def test_fewer_than_30_questions_are_warned_of(tmp_path: Path) -> None:
    write(tmp_path / "run", {"react": {KS: [1, 0]}, "pal": {KS: [1, 1]}})
    assert "Warning: 2 questions are few" in typed(tmp_path, "run", "--systems", "react+m", "pal+m").stdout


def test_questions_of_a_template_count_as_one(tmp_path: Path) -> None:
    write(tmp_path / "run", BETTER, template=10)
    done = typed(tmp_path, "run", "--systems", "react+m", "pal+m")
    assert done.stdout.startswith("react+m and pal+m cannot be told apart")
    assert "they count as 4 clusters, too few to tell anything apart" in done.stdout


def test_a_further_metric_is_computed_and_kept(tmp_path: Path) -> None:
    write(tmp_path / "run", BETTER)
    done = typed(tmp_path, "run", "--systems", "react+m", "pal+m", "--metric", "exact_match", "--json")
    assert json.loads(done.stdout)["metric"] == "exact_match"
    scores = next((tmp_path / "run" / "scores").rglob("*.jsonl")).read_text(encoding="utf-8")
    assert "exact_match" in scores


def test_conditions_are_compared_apart(tmp_path: Path) -> None:
    write(tmp_path / "one", BETTER)
    write(tmp_path / "two", BETTER, condition="noisy")
    done = typed(tmp_path, "one", "two", "--systems", "react+m", "pal+m")
    assert [line for line in done.stdout.splitlines() if line.startswith("Cond")] == [
        "Condition clean:",
        "Condition noisy:",
    ]


def test_an_unknown_system_names_the_closest(tmp_path: Path) -> None:
    write(tmp_path / "run", BETTER)
    done = typed(tmp_path, "run", "--systems", "reakt+m", "pal+m")
    assert done.returncode == 2
    assert done.stderr.startswith("r-eval: unknown system 'reakt+m'. Did you mean react+m?")


def test_published_results_are_refused(tmp_path: Path) -> None:
    (tmp_path / "paper").mkdir()
    (tmp_path / "paper" / "scores.csv").write_text("workflow,llm,task,score\nreact,m,1-1,40\n", encoding="utf-8")
    done = typed(tmp_path, "paper")
    assert done.returncode == 2
    assert "paper holds published results: means without episodes" in done.stderr


def test_a_system_is_not_compared_with_itself(tmp_path: Path) -> None:
    write(tmp_path / "run", BETTER)
    done = typed(tmp_path, "run", "--systems", "pal+m", "pal+m")
    assert (done.returncode, done.stderr) == (
        2,
        "r-eval: pal+m is compared with itself; name another system, or a second run\n",
    )


def test_a_system_in_both_runs_is_ambiguous_beside_another(tmp_path: Path) -> None:
    write(tmp_path / "one", BETTER)
    write(tmp_path / "two", BETTER)
    done = typed(tmp_path, "one", "two", "--systems", "react+m", "pal+m")
    assert done.returncode == 2
    assert "react+m is in several of the runs (one, two) on wiki/high-freq" in done.stderr


def test_the_same_data_prints_the_same_bytes(tmp_path: Path) -> None:
    write(tmp_path / "run", BETTER)
    one, other = (in_a_process(tmp_path, "run", "--json") for _ in range(2))
    assert one.returncode == 0
    assert one.stdout == other.stdout == typed(tmp_path, "run", "--json").stdout
