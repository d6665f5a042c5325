"""What is left of a run, and what that would take; calls no LLM and writes nothing.

Missing episodes are expected to take what the recorded ones of their cell took on average, or those of their system
where the cell has none. A system without recorded episodes has an upper bound of its calls only, from the limits: its
tokens, money and time are not known. Replies in the reply store would cost nothing; that is not considered.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from r_eval.folder import Cell, RunFolder
from r_eval.llms.replay import LLMUsage
from r_eval.records import INFRASTRUCTURE_FAILURES, Tokens
from r_eval.runner.budget import Limit, Reached, check, limits, quantity
from r_eval.runner.episode import episode_id
from r_eval.runner.named import NO_LLM
from r_eval.runner.plan import Plan, PlannedCell
from r_eval.runner.store import refuse_changes
from r_eval.runner.terms import most_calls

COUNTS = ("calls", "prompt_tokens", "completion_tokens", "cached_tokens")
MEASURES = (*COUNTS, "seconds")


@dataclasses.dataclass(frozen=True)
class CellState:
    """What there is of a cell; `used` has the sum of every measure over its `recorded` episodes."""

    planned: PlannedCell
    episodes: int
    recorded: int
    used: Mapping[str, float]


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
        """How many episodes are to be run."""
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
        return _sum(s.cost for s in self.systems if s.left)

    @property
    def seconds(self) -> float | None:
        """Wall time; LLMs run at the same time, and the systems of one share its connections."""
        llms = {s.llm for s in self.systems}
        times = [_sum(s.seconds for s in self.systems if s.llm == llm and s.left) for llm in llms]
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
    cells = [_cell_state(folder, cell, plan, manifest) for cell in plan.cells]
    by_system: dict[str, list[CellState]] = {}
    for state in cells:
        by_system.setdefault(state.planned.cell.system, []).append(state)
    found = Estimate(tuple(cells), tuple(_system(plan, own, connections) for own in by_system.values()))
    seconds = float(manifest.get("seconds", 0.0))
    budgets = (_warning(limit, limit.used(spent, seconds), found) for limit in limits(plan))
    return dataclasses.replace(found, warnings=(*map(str, plan.drops), *filter(None, budgets)))


def _cell_state(folder: RunFolder | None, planned: PlannedCell, plan: Plan, manifest: Mapping[str, Any]) -> CellState:
    questions, epochs = planned.planned.questions, plan.grid.epochs
    expected = {episode_id(planned, question, epoch) for epoch in range(epochs) for question in questions}
    newest: dict[str, dict[str, Any]] = {}
    for _, line in folder.cell_lines(planned.cell) if folder is not None else ():
        record = json.loads(line)
        newest[record["episode_id"]] = record
    done = [
        record
        for key, record in newest.items()
        if key in expected and record["outcome"]["kind"] not in INFRASTRUCTURE_FAILURES
    ]
    used: dict[str, float] = {measure: sum(record["usage"][measure] for record in done) for measure in COUNTS}
    times = [record["seconds"] for record in done]
    used["seconds"] = sum(max(0.0, time["total"] - time["queue"] - time["retry"]) for time in times)
    episodes = len(questions) * epochs
    for entry in manifest.get("cells", ()) if plan.grid.stop_early is not None else ():
        # what early stopping made needless, unless the grid has other questions by now
        is_same = Cell(*(entry[key] for key in Cell._fields)) == planned.cell
        if is_same and entry["episodes"] + entry.get("skipped", 0) == episodes:
            episodes = entry["episodes"]
            break
    return CellState(planned, episodes, len(done), used)


def _system(plan: Plan, cells: Sequence[CellState], connections: int | None) -> SystemEstimate:
    key = cells[0].planned.cell
    llm = plan.llms.get(key.llm)
    episodes, recorded = sum(cell.episodes for cell in cells), sum(cell.recorded for cell in cells)
    counts = (key.system, key.llm, len(cells), episodes, recorded)
    if recorded == 0:
        tokens = 0.0 if llm is None else None
        is_free = llm is None or llm.cost(Tokens(prompt=1, completion=1)) == 0
        calls = float(sum(most_calls(plan, cell.planned) * cell.episodes for cell in cells))
        return SystemEstimate(*counts, "bounds", calls, tokens, tokens, 0.0 if is_free else None, None)
    means = {measure: sum(cell.used[measure] for cell in cells) / recorded for measure in MEASURES}
    expected = dict.fromkeys(MEASURES, 0.0)
    for cell in cells:
        for measure in MEASURES:
            mean = cell.used[measure] / cell.recorded if cell.recorded else means[measure]
            expected[measure] += mean * (cell.episodes - cell.recorded)
    calls, prompt, completion, cached, seconds = expected.values()
    tokens_left = Tokens(prompt=math.ceil(prompt), completion=math.ceil(completion), cached=int(cached))
    cost = 0.0 if llm is None else llm.cost(tokens_left)
    at_once = min(episodes - recorded, connections or (llm.connections if llm is not None else 1))
    return SystemEstimate(*counts, "episodes", calls, prompt, completion, cost, seconds / max(1, at_once))


def _warning(limit: Limit, spent: float, found: Estimate) -> str | None:
    """A budget that is reached, or that will be."""
    systems = [s for s in found.systems if s.left and s.llm != NO_LLM and limit.llm in (None, s.llm)]
    if spent >= limit.amount:
        return f"{Reached(limit, spent)}; no new episode will be started"
    if limit.unit == "hours":
        seconds = _sum(s.seconds for s in systems) if limit.llm else found.seconds
        needed = None if seconds is None else seconds / 3600
    elif limit.unit == "usd":
        needed = _sum(s.cost for s in systems)
    else:
        needed = _sum(tokens for s in systems for tokens in (s.prompt_tokens, s.completion_tokens))
    if needed is None or spent + needed <= limit.amount:
        return None
    return f"{limit} will not suffice: {quantity(limit.unit, spent)} used, {quantity(limit.unit, needed)} more expected"


def _sum(numbers: Iterable[float | None]) -> float | None:
    """The sum; None where a number is not known."""
    known = list(numbers)
    return None if None in known else sum(number for number in known if number is not None)
