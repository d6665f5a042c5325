"""Budgets: how much money, tokens or time a run, or one of its LLMs, may use before no new episode is started.

Everything counts that the run's folder has used so far, earlier sessions included (`spent` and `seconds` in run.json).
Replies from the reply store cost nothing. Episodes in progress finish, so slightly more than the budget is used.
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
from r_eval.runner.named import NO_LLM
from r_eval.runner.plan import Plan

UNITS = {"usd": "USD", "tokens": "tokens", "hours": "hours"}


class Stopwatch:
    """Wall time in seconds over several sessions, starting from what earlier ones took."""

    def __init__(self, seconds: float = 0.0) -> None:
        self._before = seconds
        self._since: float | None = None

    @property
    def seconds(self) -> float:
        """Until now."""
        return self._before + (time.monotonic() - self._since if self._since is not None else 0.0)

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """Count the time of a block."""
        self._since = time.monotonic()
        try:
            yield
        finally:
            self._before, self._since = self.seconds, None


def quantity(unit: str, number: float) -> str:
    """A number with its unit, for messages.

    >>> quantity("usd", 0.00123), quantity("usd", 12345.678), quantity("hours", 1), quantity("tokens", 4000)
    ('0.00123 USD', '12,345.68 USD', '1 hour', '4,000 tokens')
    """
    if unit == "tokens" or number >= 1:
        text = f"{number:,.0f}" if unit == "tokens" else f"{number:,.2f}".rstrip("0").rstrip(".")
    else:
        text = f"{number:.3g}"
    return f"{text} {UNITS[unit].removesuffix('s') if text == '1' else UNITS[unit]}"


@dataclasses.dataclass(frozen=True)
class Limit:
    """One number of a budget: of an LLM, or of the whole run where `llm` is None."""

    llm: str | None
    unit: str
    amount: float

    def __str__(self) -> str:
        return f"budget of {quantity(self.unit, self.amount)} for {self.llm or 'the run'}"

    def used(self, spent: Mapping[str, LLMUsage], seconds: float) -> float:
        """What is used of it, in its unit, by a run that took so many seconds; money counts where it is known."""
        usage = [one for name, one in spent.items() if self.llm in (None, name)]
        if self.unit == "usd":
            return sum(one.cost or 0.0 for one in usage)
        if self.unit == "tokens":
            return sum(one.tokens for one in usage)
        return (seconds if self.llm is None else sum(one.seconds for one in usage)) / 3600


@dataclasses.dataclass(frozen=True)
class Reached:
    """A limit that keeps episodes from starting, and what is used of it by now."""

    limit: Limit
    spent: float

    def __str__(self) -> str:
        return f"{self.limit} reached: {quantity(self.limit.unit, self.spent)} used"

    def record(self) -> dict[str, Any]:
        """The form of it in run.json."""
        limit = self.limit
        return {"llm": limit.llm, "unit": limit.unit, "budget": limit.amount, "spent": self.spent, "text": str(self)}


def limits(plan: Plan) -> list[Limit]:
    """The budgets of the run, and of the LLMs that its cells use."""
    used = {cell.cell.llm for cell in plan.cells}
    budgets: dict[str | None, BudgetEntry | None] = {None: plan.grid.budget}
    budgets |= {name: entry.budget for name, entry in zip(plan.llms, plan.grid.llms, strict=False) if name in used}
    numbers = ((llm, unit, getattr(budget, unit, None)) for llm, budget in budgets.items() for unit in UNITS)
    return [Limit(llm, unit, number) for llm, unit, number in numbers if number is not None]


def check(plan: Plan, spent: Mapping[str, LLMUsage] | None = None) -> None:
    """Check that all money can be counted where there is a budget of it, given what earlier sessions spent.

    Raises:
        UserError: The price of an LLM is not known, or was not known when it was used.
    """
    used = sorted({cell.cell.llm for cell in plan.cells} - {NO_LLM})
    for limit in limits(plan):
        for name in used if limit.unit == "usd" else ():
            if limit.llm not in (None, name):
                continue
            if plan.llms[name].cost(Tokens()) is None:
                raise UserError(
                    f"{limit}: the price of '{name}' is not known. Give it in the grid as "
                    "price: {prompt: P, completion: C}, in USD per million tokens (0 if it is free), "
                    "or set a budget of tokens or hours"
                )
            if spent and name in spent and spent[name].cost is None:
                raise UserError(
                    f"{limit}: what the run has spent on '{name}' is not known, as it had no price before. "
                    "Use a budget of tokens or hours, or --fresh to start over"
                )


class BudgetGuard:
    """Decides whether new episodes may start.

    Args:
        spent: What was requested of each LLM so far; the guard keeps its `seconds`.
        clock: That of the whole run.
        on_exhausted: Called once with the text of each limit that is reached.
    """

    def __init__(
        self,
        plan: Plan,
        spent: dict[str, LLMUsage],
        clock: Stopwatch,
        on_exhausted: Callable[[str], None] = lambda _: None,
    ) -> None:
        check(plan, spent)
        self._limits, self._spent, self._clock, self._on_exhausted = limits(plan), spent, clock, on_exhausted
        self._clocks: dict[str, Stopwatch] = {}
        self._exhausted: list[Limit] = []

    @contextlib.contextmanager
    def running(self, llm: str) -> Iterator[None]:
        """Count the time during which episodes of an LLM run."""
        if llm == NO_LLM:
            yield
            return
        clock = self._clocks[llm] = Stopwatch(self._spent.setdefault(llm, LLMUsage()).seconds)
        try:
            with clock.running():
                yield
        finally:
            self.flush()

    def flush(self) -> None:
        """Enter the time of each LLM until now into what was spent."""
        for llm, clock in self._clocks.items():
            self._spent[llm].seconds = clock.seconds

    def allows(self, llm: str) -> bool:
        """Whether a new episode of an LLM may start; only the run's hours stop those that use none."""
        for limit in self._limits:
            if limit.llm not in (None, llm) or (llm == NO_LLM and limit.unit != "hours"):
                continue
            if self._reached(limit).spent >= limit.amount:
                if limit not in self._exhausted:
                    self._exhausted.append(limit)
                    self._on_exhausted(str(self._reached(limit)))
                return False
        return True

    def exhausted(self) -> list[Reached]:
        """The limits that kept episodes from starting, with what is used by now."""
        return [self._reached(limit) for limit in self._exhausted]

    def _reached(self, limit: Limit) -> Reached:
        self.flush()
        return Reached(limit, limit.used(self._spent, self._clock.seconds))
