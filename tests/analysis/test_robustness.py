"""Robustness: conditions against clean, and read or remembered."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas
import pytest

from r_eval.analysis.results import Results, load
from r_eval.analysis.robustness import VERDICTS, against_clean, faithful, verdict
from r_eval.folder import Cell, RunFolder
from r_eval.records import Outcome, Question
from tests.analysis.answers import KS, write_answers
from tests.analysis.conftest import write_run


def row(frame: pandas.DataFrame, **keys: str) -> dict[str, Any]:
    """The one row with these values."""
    for name, value in keys.items():
        frame = frame[frame[name] == value]
    (found,) = frame.to_dict("records")
    return {str(name): value for name, value in found.items()}


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """Six workflows and two LLMs under two conditions."""
    return load(write_run(tmp_path_factory.mktemp("runs") / "run", 6, conditions=("clean", "slow")))


# Against clean


def conditions(folder: Path, clean: Mapping[str, str], noisy: Mapping[str, str]) -> Results:
    """A run under two conditions, from the letters of `write_answers` by workflow or (workflow, task)."""
    letters = {"clean": clean, "noisy": noisy}

    def changes(cell: Cell, number: int) -> dict[str, Any]:
        own = letters[cell.condition].get(cell.workflow, "")
        right = number < len(own) and own[number] == "r"
        kind = "llm_failure" if own[number : number + 1] in ("", "x") else "finished"
        return {"answer": "Nairobi" if right else "Mombasa", "outcome": Outcome(kind=kind)}

    return load(write_answers(folder, dict(clean), ("clean", "noisy"), changes))


def test_a_pair_rests_on_the_questions_that_both_have(tmp_path: Path) -> None:
    found = against_clean(conditions(tmp_path / "run", {"react": "rrx"}, {"react": "xwr"}))
    assert (row(found)["questions"], row(found)["score"], row(found)["clean_score"]) == (1, 0.0, 1.0)


def test_every_system_has_a_row_per_task_and_one_over_all_tasks(both: Results) -> None:
    found = against_clean(both)
    assert set(found["condition"]) == {"slow"}
    assert len(found) == 11 * 5
    assert set(found.loc[found["role"] == "baseline", "workflow"]) == {"direct"}
    oracle = row(found, workflow="oracle", task="all tasks")
    assert (oracle["difference"], oracle["p_adjusted"] == oracle["p"]) == (0.0, True)


def test_the_systems_of_a_condition_are_corrected_together(tmp_path: Path) -> None:
    clean, noisy = {"react": "r" * 20, "pal": "r" * 20}, {"react": "w" * 8 + "r" * 12, "pal": "r" * 20}
    found = against_clean(conditions(tmp_path / "run", clean, noisy))
    assert row(found, workflow="react")["p_adjusted"] == pytest.approx(2 * row(found, workflow="react")["p"])
    assert row(found, workflow="pal")["difference"] == 0.0


# Read or remembered

SAID = {"n": "Lima", "o": "Oslo", "x": "Quito", "-": "", "!": ""}
"""By letter: the new gold, the old gold, something else, nothing; ! is an infrastructure failure."""


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("Lima", "faithful"),
        ("the city of Lima", "faithful"),
        ("OSLO.", "leaked"),
        ("Quito", "other"),
        ("", "other"),
        ("Oslo or Lima", "other"),
    ],
)
def test_an_answer_matches_the_new_gold_the_old_one_or_neither(answer: str, expected: str) -> None:
    assert verdict(answer, ["Lima"], ["Oslo"]) == expected


def changed(folder: Path, tasks: dict[str, str], condition: str = "counterfactual") -> RunFolder:
    """A run of react whose answers are told by letters of SAID."""

    def changes(of: Cell, number: int) -> dict[str, Any]:
        letter = tasks[of.task][number]
        outcome = Outcome(kind="llm_failure" if letter == "!" else "finished")
        return {
            "golds": ["Lima"] if condition == "counterfactual" else ["Oslo"],
            "answer": SAID[letter],
            "outcome": outcome,
        }

    asked = {
        task: [Question(id=f"q{n}", question="Which?", answers=["Oslo"], level="KS") for n in range(len(letters))]
        for task, letters in tasks.items()
    }
    answers = {("react", task): "w" * len(letters) for task, letters in tasks.items()}
    return write_answers(folder, answers, (condition,), changes, asked)


def test_answers_are_counted_by_verdict_with_shares_and_intervals(tmp_path: Path) -> None:
    found = row(faithful(load(changed(tmp_path, {KS: "nnnnoox-"}))))
    assert [found[kind] for kind in VERDICTS] == [4, 2, 2]
    assert (found["system"], found["condition"], found["task"], found["answers"]) == (
        "react+m",
        "counterfactual",
        KS,
        8,
    )
    assert found["faithful_share_low"] < found["faithful_share"] == 0.5 < found["faithful_share_high"]
