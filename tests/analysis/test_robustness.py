"""Robustness: conditions against clean, read or remembered, variants of a question, several tries at it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas
import pytest

from r_eval.analysis.results import Results, load
from r_eval.analysis.robustness import (
    VERDICTS,
    against_clean,
    faithful,
    placeholder_scores,
    repeats,
    stability,
    verdict,
)
from r_eval.folder import Cell
from r_eval.records import Outcome, Question
from tests.analysis.answers import HOP, KS, write_answers
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


SAID = {"n": "Lima", "o": "Oslo", "x": "Quito", "-": "", "!": ""}
"""By letter: the new gold, the old gold, something else, nothing; ! is an infrastructure failure."""


@pytest.mark.parametrize(
    ("answer", "expected"),
    [("the city of Lima", "faithful"), ("OSLO.", "leaked"), *((one, "other") for one in ("Quito", "", "Oslo or Lima"))],
)
def test_an_answer_matches_the_new_gold_the_old_one_or_neither(answer: str, expected: str) -> None:
    assert verdict(answer, ["Lima"], ["Oslo"]) == expected


def test_answers_are_counted_by_verdict_with_shares_and_intervals(tmp_path: Path) -> None:
    def changes(of: Cell, number: int) -> dict[str, Any]:
        letter = "nnnnoox-!"[number]
        outcome = Outcome(kind="llm_failure" if letter == "!" else "finished")
        return {"golds": ["Lima"], "answer": SAID[letter], "outcome": outcome}

    asked = {KS: [Question(id=f"q{n}", question="Which?", answers=["Oslo"], level="KS") for n in range(9)]}
    found = row(faithful(load(write_answers(tmp_path, {"react": "w" * 9}, ("counterfactual",), changes, asked))))
    assert [found[kind] for kind in (*VERDICTS, "incomplete")] == [4, 2, 2, 1]
    assert [found[name] for name in ("system", "condition", "answers")] == ["react+m", "counterfactual", 8]
    assert found["faithful_share_low"] < found["faithful_share"] == 0.5 < found["faithful_share_high"]


Samples = dict[str, str]
"""By sample, a letter per variant, as of `write_answers`; a sample's part is what its name has before the hyphen."""
TASKS: dict[str, Samples] = {KS: {"filter-1": "rrr"}, HOP: {"v1-1": "rww", "v1-2": "www", "v2-1": "rrw"}}
MIXED = {"a": "rrr", "b": "www", "c": "rrw", "d": "rww"}


def sampled(folder: Path, tasks: dict[str, Samples]) -> Results:
    """A run of rag over the variants of some samples."""
    answers = {("rag", task): "".join(samples.values()) for task, samples in tasks.items()}
    questions = {
        task: [
            Question(id=f"q{place}", question="?", answers=["Nairobi"], level="KS", meta=meta)
            for place, meta in enumerate(
                {"document": name, "variant": number, "subtask": name.partition("-")[0] if "-" in name else ""}
                for name, letters in samples.items()
                for number in range(len(letters))
            )
        ]
        for task, samples in tasks.items()
    }
    return load(write_answers(folder, answers, questions=questions))


def test_a_sample_scores_the_mean_of_its_variants_and_samples_weigh_alike_everywhere(
    tmp_path: Path,
) -> None:
    found = placeholder_scores(sampled(tmp_path, TASKS))
    places = [(KS, ""), (HOP, ""), (HOP, "v1"), (HOP, "v2"), ("all tasks", "")]
    assert list(found[["task", "part"]].itertuples(index=False, name=None)) == places
    assert found["samples"].tolist() == [1, 3, 2, 1, 4]
    assert found["score"].tolist() == pytest.approx([1, 1 / 3, 1 / 6, 2 / 3, (1 + 1 / 3 + 0 + 2 / 3) / 4])


def test_variants_without_a_score_are_counted_and_bound_it(tmp_path: Path) -> None:
    found = row(placeholder_scores(sampled(tmp_path, {KS: {"a-1": "rx", "a-2": "xx"}})))
    assert (found["samples"], found["episodes"], found["incomplete"]) == (1, 1, 3)
    assert (found["score"], found["score_worst"], found["score_best"]) == (1.0, 0.25, 1.0)


def test_samples_are_all_right_all_wrong_or_partly_right(tmp_path: Path) -> None:
    found = row(stability(sampled(tmp_path, {KS: MIXED})))
    assert [found[f"{name}_share"] for name in ("all_right", "all_wrong", "partly_right")] == [0.25, 0.25, 0.5]
    assert (found["samples"], found["left_out"]) == (4, 0)
    assert found["right_of_partly_share"] == pytest.approx((2 / 3 + 1 / 3) / 2)


def test_a_sample_with_one_variant_or_one_without_a_verdict_is_left_out(tmp_path: Path) -> None:
    found = row(stability(sampled(tmp_path, {KS: {"a": "rrr", "b": "rrx", "c": "r"}})))
    assert (found["samples"], found["left_out"], found["all_right_share"]) == (1, 2, 1.0)


def test_every_choice_of_tries_counts_alike(tmp_path: Path) -> None:
    found = repeats(load(write_answers(tmp_path, {"react": "rr\nwr\nwr\nwr"}))).set_index("k")
    assert found["pass_at_k"].tolist() == pytest.approx([0.625, 0.75, 1.0])
    assert found["pass_hat_k"].tolist() == pytest.approx([0.625, 0.5, 0.5])


def test_repeats_need_several_epochs(results: Results) -> None:
    assert repeats(results).empty
    first, second = results.episodes, results.episodes.assign(epoch=1)
    found = repeats(replace(results, episodes=pandas.concat([first, second], ignore_index=True)))
    assert set(found["k"]) == {1, 2}
    own = found[(found["system"] == "react+openai/gpt-4o-mini") & (found["task"] == "wiki/hotpotqa")]
    scored = first[(first["system"] == "react+openai/gpt-4o-mini") & (first["task"] == "wiki/hotpotqa")]["score"]
    assert own["pass_at_k"].tolist() == pytest.approx([(scored.dropna() >= 0.5).mean()] * 2)
    assert (own["pass_at_k_low"] < own["pass_at_k"]).all()
