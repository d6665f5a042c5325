"""What is left of a run, and what that would take; calls no LLM and writes nothing.

Missing episodes are expected to take what the recorded ones of their cell took on average, or those of their system
where the cell has none. A system without recorded episodes has an upper bound of its calls only, from the limits: its
tokens, money and time are not known. Replies in the reply store would cost nothing; that is not considered.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from r_eval.folder import Cell, RunFolder
from r_eval.llms.replay import LLMUsage
from r_eval.records import INFRASTRUCTURE_FAILURES, Tokens
from r_eval.runner.budget import Limit, Reached, check, limits, quantity
from r_eval.runner.episode import episode_id
from r_eval.runner.plan import NO_LLM, Plan, PlannedCell
from r_eval.runner.store import refuse_changes
from r_eval.runner.terms import most_calls

MEASURES = ("calls", "prompt_tokens", "completion_tokens", "cached_tokens", "seconds")


@dataclasses.dataclass(frozen=True)
class CellState:
    """What there is of a cell; `used` has the sum of every measure over its `recorded` episodes."""

    planned: PlannedCell
    episodes: int
    recorded: int
    used: Mapping[str, float]

    @property
    def left(self) -> int:
        return self.episodes - self.recorded


@dataclasses.dataclass(frozen=True)
class SystemEstimate:
    """What is left of a system; None where it is not known.

    Attributes:
        basis: "episodes" that are recorded, or "bounds": `calls` is the most that the limits allow.
        cost: USD.
        seconds: Wall time, if no other system shares the LLM.
    """

    system: str
    llm: str
    cells: int
    episodes: int
    recorded: int
    basis: Literal["episodes", "bounds"]
    calls: float
    prompt_tokens: float | None
    completion_tokens: float | None
    cost: float | None
    seconds: float | None

    @property
    def left(self) -> int:
        return self.episodes - self.recorded


@dataclasses.dataclass(frozen=True)
class Estimate:
    """What is left of a run; `warnings` are about budgets and dropped questions."""

    cells: tuple[CellState, ...]
    systems: tuple[SystemEstimate, ...]
    warnings: tuple[str, ...] = ()

    @property
    def cost(self) -> float | None:
        """USD in all; None where a part of it is not known."""
        return _sum([s.cost for s in self.systems if s.left])

    @property
    def seconds(self) -> float | None:
        """Wall time; LLMs run at the same time, and the systems of one share its connections."""
        llms = {s.llm for s in self.systems}
        times = [_sum([s.seconds for s in self.systems if s.llm == llm and s.left]) for llm in llms]
        return None if None in times else max((time for time in times if time is not None), default=0.0)


def estimate(plan: Plan, out: Path | None, connections: int | None = None) -> Estimate:
    """What a run of a plan in a folder would take from here on.

    Args:
        out: The run's folder; None for a new one.
        connections: Concurrent requests to every LLM, in place of its own number.

    Raises:
        UserError: The folder holds a run that differs from the plan, or a budget cannot be checked.
    """
    folder = RunFolder(out) if out is not None and RunFolder(out).run_file.exists() else None
    manifest = folder.manifest() if folder is not None else {}
    if folder is not None:
        refuse_changes(folder, manifest, plan)
    spent = {name: LLMUsage(**entry) for name, entry in manifest.get("spent", {}).items()}
    check(plan, spent)
    cells = tuple(_cell_state(folder, cell, plan) for cell in plan.cells)
    if plan.grid.stop_early is not None:
        cells = tuple(_without_skipped(cell, manifest) for cell in cells)
    names = dict.fromkeys(state.planned.cell.system for state in cells)
    systems = (_system(plan, [c for c in cells if c.planned.cell.system == name], connections) for name in names)
    found = Estimate(cells, tuple(systems))
    seconds = float(manifest.get("seconds", 0.0))
    budgets = (_warning(limit, limit.used(spent, seconds), found) for limit in limits(plan))
    return dataclasses.replace(found, warnings=(*map(str, plan.drops), *filter(None, budgets)))


def _cell_state(folder: RunFolder | None, planned: PlannedCell, plan: Plan) -> CellState:
    questions, epochs = planned.planned.asked, plan.grid.epochs
    expected = {episode_id(planned, question, epoch) for epoch in range(epochs) for question in questions}
    newest: dict[str, dict[str, float] | None] = {}
    for _, line in folder.cell_lines(planned.cell) if folder is not None else ():
        record = json.loads(line)
        newest[record["episode_id"]] = _used(record)
    done = [used for key, used in newest.items() if used is not None and key in expected]
    used = {measure: sum(one[measure] for one in done) for measure in MEASURES}
    return CellState(planned, len(questions) * epochs, len(done), used)


def _without_skipped(state: CellState, manifest: Mapping[str, Any]) -> CellState:
    """A cell without the episodes that early stopping made needless, unless the grid has other questions by now."""
    for entry in manifest.get("cells", ()):
        if Cell(*(entry[key] for key in Cell._fields)) == state.planned.cell:
            is_same = entry["episodes"] + entry.get("skipped", 0) == state.episodes
            return dataclasses.replace(state, episodes=entry["episodes"]) if is_same else state
    return state


def _used(record: dict[str, Any]) -> dict[str, float] | None:
    """Every measure of a recorded episode, its seconds without waits; None where it will be run again."""
    if record["outcome"]["kind"] in INFRASTRUCTURE_FAILURES:
        return None
    seconds = record["seconds"]
    own = max(0.0, seconds["total"] - seconds["queue"] - seconds["retry"])
    return {**{measure: record["usage"][measure] for measure in MEASURES[:-1]}, "seconds": own}


def _system(plan: Plan, cells: list[CellState], connections: int | None) -> SystemEstimate:
    planned, llm = cells[0].planned, plan.llms.get(cells[0].planned.cell.llm)
    used = {measure: sum(cell.used[measure] for cell in cells) for measure in MEASURES}
    whole = CellState(planned, sum(cell.episodes for cell in cells), sum(cell.recorded for cell in cells), used)
    counts = (planned.cell.system, planned.cell.llm, len(cells), whole.episodes, whole.recorded)
    if whole.recorded == 0:
        tokens = 0.0 if llm is None else None
        is_free = llm is None or llm.cost(Tokens(prompt=1, completion=1)) == 0
        calls = float(sum(most_calls(plan, cell.planned) * cell.episodes for cell in cells))
        return SystemEstimate(*counts, "bounds", calls, tokens, tokens, 0.0 if is_free else None, None)
    expected = dict.fromkeys(MEASURES, 0.0)
    for cell in cells:
        basis = cell if cell.recorded else whole
        for measure, total in basis.used.items():
            expected[measure] += total / basis.recorded * cell.left
    calls, prompt, completion, cached, seconds = expected.values()
    tokens_left = Tokens(prompt=math.ceil(prompt), completion=math.ceil(completion), cached=int(cached))
    cost = 0.0 if llm is None else llm.cost(tokens_left)
    at_once = min(whole.left, connections or (llm.connections if llm is not None else 1))
    return SystemEstimate(*counts, "episodes", calls, prompt, completion, cost, seconds / max(1, at_once))


def _warning(limit: Limit, spent: float, found: Estimate) -> str | None:
    """A budget that is reached, or that will be."""
    systems = [s for s in found.systems if s.left and s.llm != NO_LLM and limit.llm in (None, s.llm)]
    if spent >= limit.amount:
        return f"{Reached(limit, spent)}; no new episode will be started"
    if limit.unit == "hours":
        seconds = _sum([s.seconds for s in systems]) if limit.llm else found.seconds
        needed = None if seconds is None else seconds / 3600
    elif limit.unit == "usd":
        needed = _sum([s.cost for s in systems])
    else:
        needed = _sum([tokens for s in systems for tokens in (s.prompt_tokens, s.completion_tokens)])
    if needed is None or spent + needed <= limit.amount:
        return None
    return f"{limit} will not suffice: {quantity(limit.unit, spent)} used, {quantity(limit.unit, needed)} more expected"


def _sum(numbers: list[float | None]) -> float | None:
    """The sum; None where a number is not known."""
    return None if None in numbers else sum(number for number in numbers if number is not None)
