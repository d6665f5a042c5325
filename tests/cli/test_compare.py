"""`r-eval compare`: verdicts, warnings, JSON, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from r_eval.folder import Cell, CellWriter, RunFolder
from r_eval.records import Outcome, Question
from r_eval.tasks.questions import write_questions
from tests.analysis.conftest import episode, write_manifest
from tests.commands import typed_here

KS = "wiki/high-freq"
Right = Mapping[str, Mapping[str, Sequence[int | None]]]
"""By workflow and task: 1 right, 0 wrong, None the infrastructure failed."""


def write(folder: Path, right: Right, text: str = "Question {n}?", template: int = 0) -> None:
    """A run of the LLM m, with its questions."""
    run = RunFolder(folder)
    cells = {Cell(name, "m", "clean", task): scores for name, of in right.items() for task, scores in of.items()}
    for cell, scores in cells.items():
        writer = CellWriter(cell.path(run.episodes_root))
        for n, score in enumerate(scores):
            outcome = Outcome(kind="finished" if score is not None else "llm_failure")
            own = {"question": text.format(n=n), "answer": "Nairobi" if score else "Mombasa", "outcome": outcome}
            ids = {"episode_id": f"{cell.system}{cell.task}{n}", "question_id": f"q{n}", **cell._asdict()}
            writer.append(episode(**ids, **own).model_dump_json())
        writer.close()
        meta = [{"template": f"t{n // template}"} if template else {} for n in range(len(scores))]
        asked: dict[str, Any] = {"answers": ["Nairobi"], "level": "KS"}
        questions = (Question(id=f"q{n}", question=text.format(n=n), meta=of, **asked) for n, of in enumerate(meta))
        write_questions(run.questions_file(cell.task), questions)
    write_manifest(folder, list(cells), {cell: len(scores) for cell, scores in cells.items()})


def printed(folder: Path, *words: str) -> str:
    """What a comparison prints."""
    done = typed_here(["compare", *words], folder)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


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


def test_a_system_without_a_score_on_every_task_is_compared_but_not_ranked(tmp_path: Path) -> None:
    both = {name: {**cells, "wiki/hotpotqa": [0] * 10} for name, cells in BETTER.items() if name != "rag"}
    write(tmp_path / "run", {**both, "rag": BETTER["rag"]})
    found = json.loads(printed(tmp_path, "run", "--json"))["conditions"][0]
    assert [(place["system"], place["rank"]) for place in found["ranking"]] == [("react+m", 1), ("pal+m", 2)]
    assert (len(found["comparisons"]), found["unscored"]) == (3, ["rag+m"])
    assert "Not ranked without a score on every task: rag+m." in printed(tmp_path, "run")


def test_templates_are_clusters_where_asked(tmp_path: Path) -> None:
    write(tmp_path / "run", BETTER, template=10)
    assert "significantly better" in printed(tmp_path, "run", *REACT_PAL)
    text = printed(tmp_path, "run", *REACT_PAL, "--cluster", "template")
    assert "do not differ significantly" in text
    assert "40 questions in 4 clusters" in text


REFUSED: dict[str, tuple[list[str], str]] = {
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
