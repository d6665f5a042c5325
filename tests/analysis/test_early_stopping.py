"""When a system is asked no further: right in nearly every order of the questions, from what was asked alone."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.early_stopping import plausible_scores
from r_eval import UserError
from r_eval.analysis.early_stopping import Floats, Rule, Stop
from r_eval.analysis.results import load
from r_eval.analysis.run_summary import saved
from r_eval.analysis.warnings import run_warnings
from tests.analysis.answers import write_answers


def decided(scores: Any, sizes: list[int] | None = None, looks: list[int] | None = None, **rule: Any) -> list[Stop]:
    """The decisions on scores by system, task and place, by default after every question of every task."""
    scores = np.asarray(scores, dtype=float)
    sizes = sizes or [scores.shape[2]] * scores.shape[1]
    return Rule(**rule).decide(scores, scores, sizes, looks or list(range(1, max(sizes) + 1)))


def losers(stops: list[Stop]) -> set[int]:
    return {stop.system for stop in stops if stop.behind is not None}


@pytest.fixture(scope="module")
def grid() -> Floats:
    return plausible_scores(6, [40, 40, 40], np.random.default_rng(3))


@pytest.mark.parametrize("alpha", [0.7, 0.2])
@pytest.mark.parametrize(
    "tasks",
    [
        ([1, 1, -1, -1], [0, 1, 0, -1]),  # two systems that are equally good on each task
        ([1, 1, 0.5, -0.5, -1, -1],),
        ([1, 1, 1, 0], [-1, -1, -1, 0]),  # each is better on one of the tasks
        ([1, 0.5, 0, 0.5], [-1, 0, -0.5]),  # tasks of different sizes
    ],
)
def test_in_all_orders_of_the_questions_one_of_the_best_is_stopped_as_rarely_as_promised(
    tasks: tuple[list[float], ...], alpha: float
) -> None:
    sizes = [len(task) for task in tasks]
    wrong = orders = 0
    for order in itertools.product(*(set(itertools.permutations(task)) for task in tasks)):
        difference = np.array([[*task, *[0.0] * (max(sizes) - len(task))] for task in order])
        scores = np.stack([np.maximum(difference, 0), np.maximum(-difference, 0)])
        wrong += 1 in losers(decided(scores, sizes, alpha=alpha))
        orders += 1
    assert wrong / orders <= alpha


def test_a_decision_reads_nothing_after_its_look_and_nothing_of_a_system_after_its_stop(grid: Floats) -> None:
    looks = [4, 8, 12, 16, 20]
    whole = decided(grid, looks=looks)
    assert losers(whole)
    for number in range(1, len(looks) + 1):
        until = looks[number - 1]
        cut = grid.copy()
        cut[:, :, until:] = np.random.default_rng(number).random(cut[:, :, until:].shape)
        assert decided(cut, looks=looks[:number]) == [stop for stop in whole if stop.after <= 3 * until]
    blind = grid.copy()
    for stop in whole:
        blind[stop.system, :, stop.after // 3 :] = 1.0
    assert decided(blind, looks=looks) == whole


def test_a_missing_episode_never_speaks_for_stopping() -> None:
    scores = np.array([[[0.9] * 60], [[0.1] * 60]])
    low, high, rule, looks = scores.copy(), scores.copy(), Rule(), list(range(1, 61))
    before = rule.decide(low, high, [60], looks)[0]
    for system in (0, 1):
        low, high = scores.copy(), scores.copy()
        low[system, 0, :3], high[system, 0, :3] = 0.0, 1.0
        after = rule.decide(low, high, [60], looks)[0]
        assert (after.system, after.behind) == (1, 0)
        assert after.after > before.after
    low, high = np.zeros_like(scores), np.ones_like(scores)
    low[0] = high[0] = scores[0]
    assert rule.decide(low, high, [60], looks) == []


def test_margins_do_not_add_up_along_a_chain() -> None:
    for seed in range(20):
        chance = np.random.default_rng(seed)
        right = chance.random((5, 1, 300)) < np.array([0.5, 0.45, 0.4, 0.35, 0.3])[:, None, None]
        stopped = losers(decided(right, looks=list(range(10, 300, 10)), margin=0.1))
        means = right.mean(axis=(1, 2))
        assert max(means[one] for one in range(5) if one not in stopped) >= means.max() - 0.1


@pytest.mark.parametrize("metric", ["judge@openai/gpt-4o", "judge_six@m", "quest_eval@m", "quest_eval_recall@m"])
def test_a_metric_that_calls_an_llm_is_refused(metric: str) -> None:
    with pytest.raises(UserError, match=f"stop_early: the metric {metric.partition('@')[0]}.* calls an LLM"):
        Rule().check(["token_f1", metric])
    Rule().check(["token_f1", "rouge_l@ru"])


def test_the_warnings_name_who_was_stopped_and_the_summary_what_that_saved(tmp_path: Path) -> None:
    why = "stopped after 3 of 10 questions: certainly behind react+m"
    known = {"condition": "clean", "after": 3, "of": 10, "behind": "react+m"}
    stopped = [{**known, "system": name, "text": f"{name} {why}"} for name in ("päl+m", "fc+m")]
    more: dict[str, Any] = {"stopped": stopped, "spent": {"m": {"calls": 16, "cost": 1.6}}}
    run = write_answers(tmp_path / "run", {"react": "r" * 10, "päl": "rrr", "fc": "www"}, **more)
    record = json.loads(run.run_file.read_text(encoding="utf-8"))
    for entry in record["cells"][1:]:
        entry["skipped"] = 7
    run.run_file.write_text(json.dumps(record), encoding="utf-8")
    assert run_warnings(load(run))[0] == f"päl+m, fc+m {why}"
    assert saved(run.manifest()) == "14 of 30 episodes (47 %) were not needed, about 1.40 USD"
    assert saved(run.manifest() | {"cells": record["cells"][:1]}) == ""
