"""Early stopping: how often is the best system stopped, and how many episodes are saved?

    python benchmarks/early_stopping.py [--grids 2000] [--alpha 0.05] [--tasks 12] [--questions 100]
                                        [--scenarios NAME ...]

Simulated grids of 3, 8 and 21 systems. "Stopped" is the share of grids in which the best system over all questions of
the grid was stopped: alpha at most. Where several are equally good, the first of the grid is the best. "Saved" is the
share of the episodes that were not run: the lower quartile, the median and the upper one. The scenarios:

    plausible  right or wrong by a logistic model, as `r-eval run --dry-run` simulates
    paper      right or wrong with the means of the paper's systems on its tasks; 3 or 8 of them are drawn for each grid
    ties       every system has exactly the same number of right answers on every task
    ahead      as plausible, and one system is far ahead of all others
    twins      as plausible, but the best two are equally good, so that only chance decides between them
    failures   as plausible, and one in fifty episodes has no score
"""

from __future__ import annotations

import argparse
import csv
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from r_eval.analysis.early_stopping import Floats, Rule

SYSTEMS = (3, 8, 21)
FAILING = 0.02
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


def paper_means() -> Floats:
    """The means of the paper by system and task."""
    with PAPER.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    rows_by_system: dict[tuple[str, str], list[float]] = {}
    for row in rows:
        rows_by_system.setdefault((row["workflow"], row["llm"]), []).append(float(row["score"]) / 100)
    return np.array(list(rows_by_system.values()))


def paper(systems: int, sizes: Sequence[int], chance: np.random.Generator) -> Floats:
    means = paper_means()
    system_means = means[chance.permutation(len(means))[:systems], : len(sizes)]
    is_right = chance.random((systems, len(sizes), max(sizes))) < system_means[:, :, None]
    return np.asarray(is_right, dtype=float)


def ties(systems: int, sizes: Sequence[int], chance: np.random.Generator) -> Floats:
    row = plausible_scores(1, sizes, chance)
    return chance.permuted(np.repeat(row, systems, axis=0), axis=2)


def ahead(systems: int, sizes: Sequence[int], chance: np.random.Generator) -> Floats:
    scores = plausible_scores(systems, sizes, chance)
    scores[0] = np.maximum(scores.max(axis=0), chance.random(scores.shape[1:]) < 0.5)
    return scores


def twins(systems: int, sizes: Sequence[int], chance: np.random.Generator) -> Floats:
    scores = plausible_scores(systems, sizes, chance)
    best, worst = np.argsort(scores.mean(axis=(1, 2)))[[-1, 0]]
    swap = chance.random(scores.shape[1:]) < 0.5
    scores[worst] = np.where(swap, chance.permuted(scores[best], axis=1), scores[best])
    return scores


SCENARIOS: dict[str, Scores] = {
    "plausible": plausible_scores,
    "paper": paper,
    "ties": ties,
    "ahead": ahead,
    "twins": twins,
    "failures": plausible_scores,
}


def simulate(rule: Rule, name: str, systems: int, sizes: Sequence[int], grids: int) -> tuple[float, Floats]:
    """The share of grids in which a best system was stopped, and the share of episodes that each grid saved."""
    chance = np.random.default_rng([systems, *name.encode()])
    n_wrong, saved = 0, []
    for _ in range(grids):
        scores = SCENARIOS[name](systems, sizes, chance)
        failed = chance.random(scores.shape) < (FAILING if name == "failures" else 0)
        low, high = np.where(failed, 0.0, scores), np.where(failed, 1.0, scores)
        stops = rule.decide(low, high, sizes, rule.looks(sizes))
        best = int(np.argmax(np.round(scores.mean(axis=(1, 2)), 9)))
        n_wrong += best in {stop.system for stop in stops if stop.behind is not None}
        saved.append(sum(sum(sizes) - stop.after for stop in stops) / (systems * sum(sizes)))
    return n_wrong / grids, np.array(saved)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--grids", type=int, default=2000)
    parser.add_argument("--alpha", type=float, default=0.05)
    parser.add_argument("--tasks", type=int, default=12)
    parser.add_argument("--questions", type=int, default=100)
    parser.add_argument("--scenarios", nargs="*", choices=SCENARIOS, default=list(SCENARIOS))
    options = parser.parse_args()
    rule = Rule(options.alpha)
    print(f"{options.grids} grids of {options.tasks} tasks x {options.questions} questions; {rule}")
    for name in options.scenarios:
        for systems in SYSTEMS:
            start = time.perf_counter()
            n_wrong, saved = simulate(rule, name, systems, [options.questions] * options.tasks, options.grids)
            low, median, high = 100 * np.quantile(saved, [0.25, 0.5, 0.75])
            seconds = time.perf_counter() - start
            print(
                f"{name:<10} {systems:>2} systems: stopped {100 * n_wrong:.2f} %, "
                f"saved {low:.0f}, {median:.0f}, {high:.0f} % ({seconds:.0f} s)",
                flush=True,
            )


if __name__ == "__main__":
    main()
