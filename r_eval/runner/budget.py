"""Budgets: how much money, tokens or time a run, or one LLM of it, may take before no new episode is begun.

What counts is all that the run's folder has taken so far, earlier sessions included (`spent` and `seconds` in
run.json). Replies from the reply store cost nothing. Episodes under way are finished, so a little more than
the budget is spent.
"""

from __future__ import annotations

import contextlib
import dataclasses
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from r_eval.errors import UserError
from r_eval.grid import BudgetEntry
from r_eval.llms.replay import LLMUsage
from r_eval.records import Tokens
from r_eval.runner.plan import NO_LLM, Plan

UNITS = {"usd": "USD", "tokens": "tokens", "hours": "hours"}


class Clock:
    """Wall time that something took, over several sessions.

    Args:
        seconds: What it took before.
    """

    def __init__(self, seconds: float = 0.0) -> None:
        self._before = seconds
        self._since: float | None = None

    @property
    def seconds(self) -> float:
        """Until now."""
        return self._before + (time.monotonic() - self._since if self._since is not None else 0.0)

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """Let it run for a block."""
        self._since = time.monotonic()
        try:
            yield
        finally:
            self._before, self._since = self.seconds, None


@dataclasses.dataclass(frozen=True)
class Limit:
    """One number of a budget.

    Attributes:
        llm: Whose it is; None for the run's.
        unit: "usd", "tokens" or "hours".
    """

    llm: str | None
    unit: str
    amount: float

    def __str__(self) -> str:
        return f"budget of {shown(self.unit, self.amount)} for {self.llm or 'the run'}"


@dataclasses.dataclass(frozen=True)
class Reached:
    """A limit that holds episodes back, and what is spent of it by now."""

    limit: Limit
    spent: float

    def __str__(self) -> str:
        return f"{self.limit} reached: {amount(self.limit.unit, self.spent)} spent"

    def record(self) -> dict[str, Any]:
        """As run.json has it."""
        limit = self.limit
        return {"llm": limit.llm, "unit": limit.unit, "budget": limit.amount, "spent": self.spent, "text": str(self)}


def amount(unit: str, number: float) -> str:
    """An amount as a person reads it, without its unit."""
    if unit == "tokens":
        return f"{number:,.0f}"
    return f"{number:,.2f}" if number >= 1 or number == 0 else f"{number:.2g}"


def shown(unit: str, number: float) -> str:
    """An amount as it was given, with its unit."""
    text = f"{number:,.0f}" if unit == "tokens" else f"{number:g}"
    return f"{text} {UNITS[unit].removesuffix('s') if number == 1 else UNITS[unit]}"


def limits(plan: Plan) -> list[Limit]:
    """The budgets of a plan: those of the run, and those of the LLMs that it asks."""
    asked = {cell.cell.llm for cell in plan.cells}
    names = zip(plan.llms, plan.grid.llms, strict=False)
    budgets: list[tuple[str | None, BudgetEntry | None]] = [(None, plan.grid.budget)]
    budgets += [(name, entry.budget) for name, entry in names if name in asked]
    return [
        Limit(llm, unit, number)
        for llm, budget in budgets
        if budget is not None
        for unit in UNITS
        if (number := getattr(budget, unit)) is not None
    ]


def check(plan: Plan, spent: Mapping[str, LLMUsage] | None = None) -> None:
    """See that all money can be counted where there is a budget of it.

    Args:
        spent: By earlier sessions.

    Raises:
        UserError: The price of an LLM is not known, or was not known when it was asked.
    """
    asked = {cell.cell.llm for cell in plan.cells} - {NO_LLM}
    for limit in limits(plan):
        for name in (limit.llm,) if limit.llm else sorted(asked):
            if limit.unit != "usd":
                continue
            if plan.llms[name].cost(Tokens()) is None:
                raise UserError(
                    f"{limit}: the price of '{name}' is not known. Give it in the grid as "
                    "price: {prompt: P, completion: C}, in USD a million tokens (0 for what costs nothing), "
                    "or set a budget of tokens or hours"
                )
            if spent and name in spent and spent[name].cost is None:
                raise UserError(
                    f"{limit}: what the run has spent on '{name}' is not known, as it had no price before. "
                    "Use a budget of tokens or hours, or --fresh to begin again"
                )


class Gate:
    """Says whether new episodes may begin.

    Args:
        spent: What each LLM was really asked; the gate keeps its `seconds`.
        clock: That of the whole run.
        told: Called once with each limit that is reached.
    """

    def __init__(
        self, plan: Plan, spent: dict[str, LLMUsage], clock: Clock, told: Callable[[str], None] = lambda text: None
    ) -> None:
        check(plan, spent)
        self._limits, self._spent, self._clock, self._told = limits(plan), spent, clock, told
        self._clocks: dict[str, Clock] = {}
        self._held: list[Limit] = []

    @contextlib.contextmanager
    def lane(self, llm: str) -> Iterator[None]:
        """The time during which episodes of an LLM are carried out."""
        if llm == NO_LLM:
            yield
            return
        clock = self._clocks[llm] = Clock(self._spent.setdefault(llm, LLMUsage()).seconds)
        try:
            with clock.running():
                yield
        finally:
            self.settle()

    def settle(self) -> None:
        """Write down what the LLMs took until now."""
        for llm, clock in self._clocks.items():
            self._spent[llm].seconds = clock.seconds

    def open(self, llm: str) -> bool:
        """Whether a new episode of an LLM may begin; those that ask none are held back by the run's hours only."""
        for limit in self._limits:
            if limit.llm not in (None, llm) or (llm == NO_LLM and limit.unit != "hours"):
                continue
            if self._used(limit) >= limit.amount:
                if limit not in self._held:
                    self._held.append(limit)
                    self._told(str(Reached(limit, self._used(limit))))
                return False
        return True

    def reached(self) -> list[Reached]:
        """The limits that held episodes back, with what is spent by now."""
        return [Reached(limit, self._used(limit)) for limit in self._held]

    def _used(self, limit: Limit) -> float:
        if limit.unit == "hours":
            clock = self._clocks.get(limit.llm) if limit.llm else self._clock
            if clock is not None:
                return clock.seconds / 3600
        return used(limit, self._spent, self._clock.seconds)


def used(limit: Limit, spent: Mapping[str, LLMUsage], seconds: float) -> float:
    """What is spent of a budget, in its unit; money is counted where it is known.

    Args:
        seconds: Of the whole run.
    """
    counted = list(spent.values()) if limit.llm is None else [spent[limit.llm]] if limit.llm in spent else []
    if limit.unit == "usd":
        return sum(s.cost or 0.0 for s in counted)
    if limit.unit == "tokens":
        return sum(s.tokens for s in counted)
    return (seconds if limit.llm is None else sum(s.seconds for s in counted)) / 3600
