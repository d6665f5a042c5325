"""Quality against what it costs, the fronts, and the best system within bounds."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from r_eval.analysis.columns import of_records
from r_eval.analysis.deployment import Choice, Deployed, choose, deployment, pareto, percentiles
from r_eval.analysis.rows import role_of
from r_eval.analysis.systems import System, llm_settings, systems
from r_eval.folder import Cell, RunFolder


def system(
    name: str,
    scores: Sequence[float | None],
    seconds: float | Sequence[float] = 1.0,
    cost: float | None = 0.01,
    task: str = "t",
    **settings: float,
) -> System:
    """A system with these scores on the questions of a task; None is a failure of the machinery."""
    took = [seconds] * len(scores) if isinstance(seconds, float) else seconds
    records = [
        {"question_id": f"q{place}", "epoch": 0, "score": score, "response_type": "EM", "outcome": "finished"}
        | {"outcome_cause": "", "metrics": {}, "seconds": second, "cost": cost}
        for place, (score, second) in enumerate(zip(scores, took, strict=True))
    ]
    cells = {task: of_records(Cell("w", name, "clean", task), records, len(records))}
    return System("clean", name, "w", name, role_of(name), cells, dict(settings))


def one(*found: System) -> dict[str, Deployed]:
    return {each.system: each for each in deployment(found)}


def best(*found: System, seconds: float | None = None, usd: float | None = None, **how: int) -> Choice:
    (choice,) = choose(found, seconds, usd, **how)
    return choice


# what a system takes


def test_percentiles_stand_beside_the_mean() -> None:
    found = percentiles(np.arange(1.0, 101.0))
    assert found is not None
    assert (found.mean, found.p50, round(found.p95, 2), round(found.p99, 2), found.n) == (50.5, 50.5, 95.05, 99.01, 100)


def test_one_unknown_value_leaves_the_whole_unknown() -> None:
    assert percentiles(np.array([1.0, np.nan])) is None


def test_episodes_that_the_machinery_failed_take_no_part() -> None:
    found = one(system("a", [1.0, None], [2.0, 300.0]))["a"]
    assert found.seconds is not None
    assert (found.quality, found.seconds.mean, found.episodes) == (1.0, 2.0, 1)


def test_an_unknown_price_is_not_0_and_on_no_front() -> None:
    found = one(system("a", [1.0], cost=None), system("b", [0.5]))
    assert (found["a"].cost, found["a"].front_cost, found["b"].front_cost) == (None, None, True)


def test_quality_is_the_mean_over_tasks() -> None:
    made = system("a", [1.0, 1.0, 1.0])
    made.cells |= system("a", [0.0], task="u").cells
    assert one(made)["a"].quality == 0.5


def test_the_numbers_are_those_of_the_aggregates(run: RunFolder) -> None:
    found = {each.system: each for each in deployment(systems(run))}
    assert found["oracle+none"].quality == 1.0
    assert found["react+gguf/smollm2-135m"].cost is None
    assert len(found) == 11


# replayed replies


def replayed(name: str, scores: Sequence[float | None], seconds: Sequence[float], of: Sequence[int]) -> System:
    """A system whose episodes have so many replayed replies."""
    made = system(name, scores, seconds)
    cell = Cell("w", name, "clean", "t")
    records = [
        {"question_id": f"q{place}", "epoch": 0, "score": score, "response_type": "EM", "outcome": "finished"}
        | {"outcome_cause": "", "metrics": {}, "seconds": second, "cost": 0.01, "replayed": count}
        for place, (score, second, count) in enumerate(zip(scores, seconds, of, strict=True))
    ]
    made.cells = {"t": of_records(cell, records, len(records))}
    return made


def test_episodes_with_replayed_replies_are_left_out_of_seconds_and_counted() -> None:
    found = one(replayed("a", [1.0, 0.0, 1.0], [90.0, 2.0, 4.0], [3, 0, 0]))["a"]
    assert found.seconds is not None
    assert (found.seconds.mean, found.seconds.n, found.replayed, found.episodes) == (3.0, 2, 1, 3)
    assert "a: 1 of 3 episodes have replayed replies and no seconds." in found.notes


def test_without_a_fresh_reply_there_is_no_latency_and_the_note_says_how_to_measure_it() -> None:
    found = one(replayed("a", [1.0], [9.0], [1]), system("b", [0.5]))
    assert (found["a"].seconds, found["a"].front_seconds, found["b"].front_seconds) == (None, None, True)
    assert "--no-cache --fresh" in " ".join(found["a"].notes)


def test_a_system_without_latency_is_not_judged_within_seconds_but_within_money() -> None:
    both = replayed("a", [1.0] * 4, [9.0] * 4, [1] * 4), system("b", [0.5] * 4)
    within, priced = best(*both, seconds=5.0), best(*both, usd=1.0)
    assert within.best is not None
    assert priced.best is not None
    assert (within.best.system, priced.best.system) == ("b", "a")
    assert "--no-cache --fresh" in within.left_out[0][1]


def test_resamples_take_seconds_from_fresh_episodes_alone() -> None:
    made = replayed("a", [1.0, 0.0] * 10, [1.0, 500.0] * 10, [0, 1] * 10)
    assert best(made, seconds=2.0).share > 0.99


# the baseline


def test_the_baseline_can_be_the_best_and_stand_on_the_front_and_the_reference_cannot() -> None:
    found = system("direct", [1.0] * 4, 0.5), system("a", [0.5] * 4, 2.0), system("oracle", [1.0] * 4, 0.1)
    choice = best(*found, seconds=5.0)
    assert choice.best is not None
    assert (choice.best.system, choice.share) == ("direct", 1.0)
    assert [one(*found)[name].front_seconds for name in ("direct", "a", "oracle")] == [True, False, None]


def test_a_system_that_answers_nothing_is_on_no_front() -> None:
    assert one(system("a", [0.0], 0.1), system("b", [0.5], 9.0))["a"].front_seconds is None


# connections and size


def test_times_at_one_connection_need_no_note() -> None:
    assert one(system("a", [1.0], connections=1))["a"].notes == []


def test_another_number_of_connections_is_said() -> None:
    found = one(system("a", [1.0], connections=16))["a"]
    assert found.connections == 16
    assert "at 16 connections; the paper's setting is 1" in found.notes[0]


def test_an_unknown_number_of_connections_is_said() -> None:
    assert "does not say" in one(system("a", [1.0]))["a"].notes[0]


def test_settings_are_found_by_the_name_in_the_grid() -> None:
    manifest = {"grid": {"llms": ["gguf/x", {"llm": "openai/y", "name": "mine", "connections": 4}]}}
    assert llm_settings(manifest, "mine")["connections"] == 4
    assert llm_settings(manifest, "gguf/x") == {}


# the front


def test_equal_points_are_on_the_front_together() -> None:
    assert pareto([(1, 0.5), (1, 0.5), (1, 0.4), (2, 0.5)]) == [True, True, False, False]


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=12))
def test_whatever_is_off_the_front_is_dominated_by_something_on_it(points: list[tuple[float, float]]) -> None:
    on = [point for point, is_on in zip(points, pareto(points), strict=True) if is_on]
    assert on
    for (cost, quality), is_on in zip(points, pareto(points), strict=True):
        assert is_on or any(c <= cost and q >= quality and (c, q) != (cost, quality) for c, q in on)


def test_references_and_systems_without_a_task_are_on_no_front() -> None:
    whole = system("b", [0.1], 9.0)
    whole.cells |= system("b", [0.1], 9.0, task="u").cells
    found = one(system("oracle", [1.0]), system("a", [1.0]), whole)
    assert [found[name].front_seconds for name in ("oracle", "a", "b")] == [None, None, True]


# within bounds


def test_the_best_within_the_bounds_is_named() -> None:
    slow, quick = system("slow", [1.0] * 20, 9.0), system("quick", [1.0, 0.0] * 10, 1.0)
    choice = best(slow, quick, seconds=5.0)
    assert choice.best is not None
    assert (choice.best.system, choice.share, choice.beyond) == ("quick", 1.0, [("slow", "9 s")])


def test_without_bounds_in_the_way_quality_decides() -> None:
    choice = best(system("slow", [1.0] * 20, 9.0), system("quick", [1.0, 0.0] * 10, 1.0), seconds=10.0)
    assert choice.best is not None
    assert choice.best.system == "slow"


def test_equals_share_the_resamples_and_the_quicker_is_named() -> None:
    choice = best(system("a", [1.0, 0.0], 3.0), system("b", [1.0, 0.0], 2.0), seconds=5.0)
    assert choice.best is not None
    assert (choice.best.system, choice.share, choice.rivals) == ("b", 0.5, [("a", 0.5)])


def test_a_narrow_lead_is_not_sure() -> None:
    choice = best(system("a", [1.0] * 11 + [0.0] * 9), system("b", [0.0] * 10 + [1.0] * 10), seconds=5.0)
    assert choice.best is not None
    assert choice.best.system == "a"
    assert 0.4 < choice.share < 0.75


def test_whether_a_system_fits_is_uncertain_too() -> None:
    choice = best(system("a", [1.0] * 20, [1.0] * 10 + [9.0] * 10), seconds=5.0)
    assert 0.3 < choice.none_fits < 0.7
    assert choice.share == pytest.approx(1 - choice.none_fits)


def test_no_system_within_the_bounds_is_said() -> None:
    choice = best(system("a", [1.0], 9.0), seconds=1.0)
    assert (choice.best, choice.share, choice.none_fits) == (None, 0.0, 1.0)


def test_a_system_without_a_price_is_left_out_where_money_counts() -> None:
    choice = best(system("a", [1.0], cost=None), system("b", [0.5]), usd=1.0)
    assert choice.best is not None
    assert (choice.best.system, choice.left_out) == ("b", [("a", "its price is not known")])


def test_but_not_where_only_time_counts() -> None:
    choice = best(system("a", [1.0], cost=None), seconds=2.0)
    assert choice.best is not None
    assert choice.left_out == []


def test_a_reference_is_not_recommended() -> None:
    choice = best(system("oracle", [1.0]), system("a", [0.5]), seconds=5.0)
    assert choice.best is not None
    assert (choice.best.system, choice.left_out) == ("a", [("oracle", "a reference, not ranked")])


def test_nothing_at_all_is_no_choice() -> None:
    choice = best(system("a", [None]), seconds=5.0)
    assert (choice.best, choice.left_out) == (None, [("a", "nothing was scored")])


def test_questions_of_one_cluster_are_drawn_together() -> None:
    scores = [1.0] * 12 + [0.0] * 8
    found = [system("a", scores), system("b", [0.5] * 20)]
    alone = choose(found, 5.0)[0].share
    together = choose(found, 5.0, clusters={"t": {f"q{n}": "ab"[n >= 12] for n in range(20)}})[0].share
    assert alone > together


def test_the_same_question_is_asked_of_all_systems_in_a_resample() -> None:
    rng = np.random.default_rng(0)
    scores = (rng.random(40) < 0.5).astype(float)
    worse = scores.copy()
    worse[scores.argmax()] = 0.0
    choice = best(system("a", scores.tolist()), system("b", worse.tolist()), seconds=5.0)
    assert choice.share > 0.8  # a is never behind b, though both vary much more than they differ


def test_the_same_seed_gives_the_same_share() -> None:
    found = [system("a", [1.0, 0.0, 1.0]), system("b", [0.0, 1.0, 1.0])]
    assert best(*found, seconds=5.0, seed=3) == best(*found, seconds=5.0, seed=3)


# the command


def typed(*words: str) -> subprocess.CompletedProcess[str]:
    code = "from r_eval.cli.app import main; main()"
    return subprocess.run([sys.executable, "-c", code, *words], capture_output=True, encoding="utf-8", check=False)


def test_report_names_the_best_system_and_how_sure_that_is(run: RunFolder, tmp_path: Path) -> None:
    done = typed(
        "report", str(run.path), "--out", str(tmp_path / "r"), "--no-figures", "--max-seconds", "8", "--max-usd", "0.01"
    )
    assert done.returncode == 0, done.stderr
    assert "Within 8 s and 0.01 USD per question on average: fc+openai/gpt-4o-mini\n" in done.stdout
    assert "of 2,000 resamples of the 80 questions, so the choice is uncertain" in done.stdout
    assert "left out: pal+gguf/smollm2-135m (its price is not known)\n" in done.stdout


def test_report_says_when_no_system_fits(run: RunFolder, tmp_path: Path) -> None:
    done = typed("report", str(run.path), "--out", str(tmp_path / "r"), "--no-figures", "--max-seconds", "0.01")
    assert "Within 0.01 s per question on average: no system fits\n" in done.stdout


def test_bounds_need_episodes(tmp_path: Path) -> None:
    (tmp_path / "scores.csv").write_text("workflow,llm,task,score\npal,a,1-1,4\n", encoding="utf-8")
    done = typed("report", str(tmp_path), "--max-usd", "1")
    assert done.returncode == 2
    assert "holds published means; --max-seconds and --max-usd need" in done.stderr


def test_two_runs_of_one_system_are_told_apart(
    make_run: Callable[..., RunFolder], tmp_path: Path, run: RunFolder
) -> None:
    again = make_run(tmp_path / "again", questions=3)
    names = [each.name for each in systems(run, again)]
    assert json.dumps(names).count(" (again)") == 11
    assert len(set(names)) == 22
