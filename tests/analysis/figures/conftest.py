"""The paper's 21 systems with made-up episodes behind them, and figures ready to be measured."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest

from r_eval.analysis.deployment import Deployed, Percentiles
from r_eval.analysis.estimate import average, published
from r_eval.analysis.published import read_published
from r_eval.analysis.responses import TYPES
from r_eval.analysis.rows import Aggregates

PAPER = Path(__file__).parents[3] / "examples" / "paper"


def of_21_systems() -> Aggregates:
    """The paper's table with intervals, as of 100 questions a cell, and response types."""
    found, rng = read_published(PAPER), random.Random(0)
    for row in found.rows:
        row.tasks = {name: published(cell.mean or 0.0, 100) for name, cell in row.tasks.items()}
        row.averages["all"] = average(list(row.tasks.values()), 12)
        row.recorded = 1200
        row.types = Counter(rng.choices(TYPES, weights=[8, 2, 3, 6, 1, 4], k=1200))
    found.has_episodes = True
    return found


def taken(aggregates: Aggregates) -> list[Deployed]:
    """What the systems took: seconds and money over four orders of magnitude."""
    rng = random.Random(1)
    made = []
    for row in aggregates.rows:
        slow = {"react": 9.0, "pal": 3.0, "dfsdt": 400.0, "fc": 6.0}[row.workflow] * rng.uniform(0.6, 1.6)
        tokens, cost = ends(slow * 400), ends(slow * 0.0004) if "gpt" in row.llm else None
        size = float(row.llm.split("-")[1].removesuffix("b")) if row.llm.endswith("b") else None
        numbers = ends(slow), None, None, ends(5.0), tokens, ends(slow * 30), cost
        fields = row.condition, row.system, row.workflow, row.llm, False, row.overall.mean, True, 1200, *numbers
        made.append(Deployed(*fields, connections=1, parameters=size))
    return made


def ends(mean: float) -> Percentiles:
    return Percentiles(mean, 0.8 * mean, 1.6 * mean, 1.9 * mean, 2.4 * mean, 1200)


@pytest.fixture(scope="session")
def paper_systems() -> Aggregates:
    return of_21_systems()


@pytest.fixture(scope="session")
def paper_deployed(paper_systems: Aggregates) -> list[Deployed]:
    return taken(paper_systems)
