"""What is left of a run, and what that would take; asks no LLM and writes nothing.

Where episodes of a cell are recorded, those that are left are expected to take as much each as these did; a cell
without any goes by its system's others. A system without any is given bounds from the limits instead, which it will
hardly come near. Replies that the cache holds would cost nothing, and that is not taken into account.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

from r_eval.engines.local import LLM_FREE_PLACES
from r_eval.folder import Cell, RunFolder, read_lines
from r_eval.llms.base import LLM
from r_eval.llms.replay import LLMUsage
from r_eval.records import INFRASTRUCTURE_FAILURES, Tokens
from r_eval.runner.budget import Limit, Reached, amount, check, limits, shown, used
from r_eval.runner.episode import episode_id
from r_eval.runner.plan import NO_LLM, Plan, PlannedCell
from r_eval.runner.store import refuse_changes


@dataclasses.dataclass
class Use:
    """What episodes take; the sum over `episodes` of them.

    Attributes:
        prompt: Tokens; None where there is no telling.
        seconds: Of the system's own, one episode after the other.
    """

    episodes: int = 0
    calls: float = 0
    prompt: float | None = 0
    completion: float = 0
    cached: float = 0
    seconds: float = 0

    def add(self, other: Use) -> None:
        """Count another one in."""
        self.episodes += other.episodes
        self.calls += other.calls
        self.prompt = None if self.prompt is None or other.prompt is None else self.prompt + other.prompt
        self.completion += other.completion
        self.cached += other.cached
        self.seconds += other.seconds

    def of(self, episodes: int) -> Use:
        """What so many of the same kind would take."""
        share = episodes / self.episodes
        prompt = None if self.prompt is None else self.prompt * share
        scaled = (self.calls * share, prompt, self.completion * share, self.cached * share, self.seconds * share)
        return Use(episodes, *scaled)


@dataclasses.dataclass(frozen=True)
class CellState:
    """What is there of a cell.

    Attributes:
        recorded: Episodes that need not be run again.
        seen: What those took.
    """

    planned: PlannedCell
    episodes: int
    recorded: int
    seen: Use

    @property
    def left(self) -> int:
        return self.episodes - self.recorded


@dataclasses.dataclass(frozen=True)
class SystemEstimate:
    """What is left of a system.

    Attributes:
        basis: "episodes", or "bounds" from the limits.
        sample: Recorded episodes that the estimate goes by.
        cost: USD; None where no price is known, or no number of tokens.
        seconds: Wall time, if the LLM answers no other system.
    """

    system: str
    llm: str
    cells: int
    episodes: int
    recorded: int
    basis: Literal["episodes", "bounds"]
    sample: int
    calls: float
    prompt_tokens: float | None
    completion_tokens: float
    cost: float | None
    seconds: float

    @property
    def left(self) -> int:
        return self.episodes - self.recorded


@dataclasses.dataclass(frozen=True)
class Estimate:
    """What is left of a run.

    Attributes:
        warnings: What budgets have to do with it.
    """

    cells: tuple[CellState, ...]
    systems: tuple[SystemEstimate, ...]
    warnings: tuple[str, ...]

    @property
    def cost(self) -> float | None:
        """USD in all; None where a part of it is not known."""
        known = [s.cost for s in self.systems if s.left and s.llm != NO_LLM]
        return None if None in known else sum(cost for cost in known if cost is not None)

    @property
    def seconds(self) -> float:
        """Wall time: LLMs work side by side, the systems of one share its connections."""
        llms = {s.llm for s in self.systems}
        return max(sum(s.seconds for s in self.systems if s.llm == llm) for llm in llms)


def estimate(plan: Plan, out: Path | None, connections: int | None = None) -> Estimate:
    """What a run of a plan in a folder would take from here on.

    Args:
        out: The run's folder; None for a new one.
        connections: Requests at once, for every LLM, in place of its own number.

    Raises:
        UserError: The folder holds a run that differs from the plan, or a budget cannot be kept.
    """
    folder = RunFolder(out) if out is not None and RunFolder(out).run_file.exists() else None
    manifest = folder.manifest() if folder is not None else {}
    if folder is not None:
        refuse_changes(folder, manifest, plan)
    spent = {name: LLMUsage(**entry) for name, entry in manifest.get("spent", {}).items()}
    check(plan, spent)
    cells = tuple(_cell_state(folder, cell, plan) for cell in plan.cells)
    names = dict.fromkeys(c.cell.system for c in plan.cells)
    systems = [_system(plan, [c for c in cells if c.planned.cell.system == name], connections) for name in names]
    seconds = float(manifest.get("seconds", 0.0))
    found = Estimate(cells, tuple(systems), ())
    warnings = (_warning(limit, used(limit, spent, seconds), found) for limit in limits(plan))
    return dataclasses.replace(found, warnings=(*map(str, plan.drops), *filter(None, warnings)))


def _cell_state(folder: RunFolder | None, planned: PlannedCell, plan: Plan) -> CellState:
    path = planned.cell.path(folder.episodes_root) if folder is not None else None
    newest: dict[str, Use | None] = {}
    if path is not None and path.exists():
        for _, record in read_lines(path):
            newest[str(record.get("episode_id"))] = _use(record)
    ids = (episode_id(planned, q, epoch) for epoch in range(plan.grid.epochs) for q in planned.planned.asked)
    done = [use for key in ids if (use := newest.get(key)) is not None]
    seen = Use()
    for use in done:
        seen.add(use)
    return CellState(planned, len(planned.planned.asked) * plan.grid.epochs, len(done), seen)


def _use(record: dict[str, Any]) -> Use | None:
    """What a recorded episode took; None where it will be run again."""
    if record["outcome"]["kind"] in INFRASTRUCTURE_FAILURES:
        return None
    usage, seconds = record["usage"], record["seconds"]
    own = max(0.0, seconds["total"] - seconds["queue"] - seconds["retry"])
    tokens = (usage["prompt_tokens"], usage["completion_tokens"], usage["cached_tokens"])
    return Use(1, usage["calls"], *tokens, own)


def _system(plan: Plan, cells: list[CellState], connections: int | None) -> SystemEstimate:
    cell: Cell = cells[0].planned.cell
    llm = plan.llms.get(cell.llm)
    places = (connections or llm.connections) if llm is not None else LLM_FREE_PLACES
    pooled, expected = Use(), Use()
    for state in cells:
        pooled.add(state.seen)
    for state in cells:
        if state.left:
            basis = state.seen if state.seen.episodes else pooled if pooled.episodes else _bounds(state, plan, llm)
            expected.add(basis.of(state.left))
    longest = max((state.seen.seconds / state.recorded for state in cells if state.recorded), default=0.0)
    return SystemEstimate(
        system=cell.system,
        llm=cell.llm,
        cells=len(cells),
        episodes=sum(state.episodes for state in cells),
        recorded=sum(state.recorded for state in cells),
        basis="episodes" if pooled.episodes or not expected.episodes else "bounds",
        sample=pooled.episodes,
        calls=expected.calls,
        prompt_tokens=expected.prompt,
        completion_tokens=expected.completion,
        cost=_cost(llm, expected),
        seconds=max(expected.seconds / places, longest if expected.episodes else 0.0),
    )


def _bounds(state: CellState, plan: Plan, llm: LLM | None) -> Use:
    """The most that one episode can take."""
    workflow, bound = state.planned.workflow, plan.limits
    if llm is None:
        return Use(1, seconds=bound.seconds)
    own = getattr(workflow, "max_calls", None) or bound.steps + (bound.last_chance and workflow.last_chance)
    calls = own if workflow.uses_tools else 1
    calls = min(calls, bound.calls or calls)
    completion = calls * llm.max_tokens
    if bound.tokens is None:
        return Use(1, calls, None, completion, 0, bound.seconds)
    completion = min(completion, bound.tokens)
    return Use(1, calls, bound.tokens - completion, completion, 0, bound.seconds)


def _cost(llm: LLM | None, use: Use) -> float | None:
    if llm is None:
        return 0.0
    if use.prompt is None:
        return 0.0 if llm.cost(Tokens(prompt=1, completion=1)) == 0 else None
    tokens = Tokens(prompt=math.ceil(use.prompt), completion=math.ceil(use.completion), cached=int(use.cached))
    return llm.cost(tokens)


def _warning(limit: Limit, spent: float, found: Estimate) -> str | None:
    """A word about a budget that will not do, or may not."""
    systems = [s for s in found.systems if s.left and s.llm != NO_LLM and limit.llm in (None, s.llm)]
    if spent >= limit.amount:
        return f"{Reached(limit, spent)}; no new episode will be begun"
    needed = _needed(limit, systems, found)
    if needed is None or spent + needed <= limit.amount:
        return None
    may = "may" if any(s.basis == "bounds" for s in systems) else "will"
    before = f"{amount(limit.unit, spent)} spent, " if spent else ""
    return f"{limit} {may} not do: {before}{shown(limit.unit, float(f'{needed:.2g}'))} more expected"


def _needed(limit: Limit, systems: Iterable[SystemEstimate], found: Estimate) -> float | None:
    if limit.unit == "hours":
        return (sum(s.seconds for s in systems) if limit.llm else found.seconds) / 3600
    parts = [s.cost if limit.unit == "usd" else _tokens(s) for s in systems]
    return None if None in parts else sum(part for part in parts if part is not None)


def _tokens(system: SystemEstimate) -> float | None:
    return None if system.prompt_tokens is None else system.prompt_tokens + system.completion_tokens
