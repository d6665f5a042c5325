"""Early stopping: how often is the best system stopped, and how many episodes are saved?

    python -m benchmarks.early_stopping [--grids 2000] [--alpha 0.05] [--tasks 12] [--questions 100]

Simulated grids of 3, 8 and 21 systems. "Stopped" is the share of grids in which the best system over all questions of
the grid was stopped: alpha at most. Where several are equally good, the first of the grid is the best. "Saved" is the
share of the episodes that were not run: the lower quartile, the median and the upper one. The scenarios:

    plausible  right or wrong by a logistic model, as `r-eval run --dry-run` simulates
    paper      right or wrong with the means of the paper's systems on its tasks; 3 or 8 of them are drawn for each grid
    ties       every system has exactly the same number of right answers on every task
    twins      as plausible, but the best two are equally good, so that only chance decides between them
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.measure import options
from r_eval.analysis.early_stopping import Floats, Rule

SYSTEMS = (3, 8, 21)
PAPER = Path(__file__).resolve().parents[1] / "examples" / "paper" / "scores.csv"

Scores = Callable[[int, Sequence[int], np.random.Generator], Floats]


def plausible_scores(systems: int, sizes: Sequence[int], chance: np.random.Generator) -> Floats:
    """Right or wrong of made-up systems, by system, task and question.

    A logistic model: some questions are hard for all, systems differ as those of a usual grid do (their means have a
    standard deviation of some 15 points), and a system is better on some tasks than on others.
    """
    ability = chance.normal(-0.3, 1.0, (systems, 1, 1)) + chance.normal(0.0, 0.4, (systems, len(sizes), 1))
    difficulty = chance.normal(0.0, 1.5, (len(sizes), max(sizes)))
    right = chance.random((systems, len(sizes), max(sizes))) < 1 / (1 + np.exp(difficulty - ability))
    return right.astype(float)


def paper(systems: int, sizes: Sequence[int], chance: np.random.Generator) -> Floats:
    table = pd.read_csv(PAPER)  # the same tasks for every system, in one order
    means = table["score"].to_numpy().reshape(-1, table["task"].nunique()) / 100
    system_means = means[chance.permutation(len(means))[:systems], : len(sizes)]
    is_right = chance.random((systems, len(sizes), max(sizes))) < system_means[:, :, None]
    return np.asarray(is_right, dtype=float)


def ties(systems: int, sizes: Sequence[int], chance: np.random.Generator) -> Floats:
    row = plausible_scores(1, sizes, chance)
    return chance.permuted(np.repeat(row, systems, axis=0), axis=2)


def twins(systems: int, sizes: Sequence[int], chance: np.random.Generator) -> Floats:
    scores = plausible_scores(systems, sizes, chance)
    best, worst = np.argsort(scores.mean(axis=(1, 2)))[[-1, 0]]
    swap = chance.random(scores.shape[1:]) < 0.5
    scores[worst] = np.where(swap, chance.permuted(scores[best], axis=1), scores[best])
    return scores


SCENARIOS: dict[str, Scores] = {"plausible": plausible_scores, "paper": paper, "ties": ties, "twins": twins}


def simulate(rule: Rule, name: str, systems: int, sizes: Sequence[int], grids: int) -> tuple[float, Floats]:
    """The share of grids in which a best system was stopped, and the share of episodes that each grid saved."""
    chance = np.random.default_rng([systems, *name.encode()])
    n_wrong, saved = 0, []
    for _ in range(grids):
        scores = SCENARIOS[name](systems, sizes, chance)
        stops = rule.decide(scores, scores, sizes, rule.looks(sizes))
        best = int(np.argmax(np.round(scores.mean(axis=(1, 2)), 9)))
        n_wrong += best in {stop.system for stop in stops if stop.behind is not None}
        saved.append(sum(sum(sizes) - stop.after for stop in stops) / (systems * sum(sizes)))
    return n_wrong / grids, np.array(saved)


def main() -> None:
    chosen = options(__doc__, grids=2000, alpha=0.05, tasks=12, questions=100)
    rule = Rule(chosen.alpha)
    print(f"{chosen.grids} grids of {chosen.tasks} tasks x {chosen.questions} questions; {rule}")
    for name, systems in product(SCENARIOS, SYSTEMS):
        n_wrong, saved = simulate(rule, name, systems, [chosen.questions] * chosen.tasks, chosen.grids)
        low, median, high = 100 * np.quantile(saved, [0.25, 0.5, 0.75])
        stopped = f"stopped {100 * n_wrong:.2f} %, saved {low:.0f}, {median:.0f}, {high:.0f} %"
        print(f"{name:<10} {systems:>2} systems: {stopped}", flush=True)


if __name__ == "__main__":
    main()
