"""The budget of a run: the money, tokens or hours after which no new episode is started.

Everything counts that the run's folder has used so far, earlier sessions included (`spent` and `seconds` in run.json).
Replies from the reply store cost nothing. Episodes in progress finish, so slightly more than the budget is used.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from r_eval.errors import UserError
from r_eval.llms.replay import LLMUsage
from r_eval.records import Tokens
from r_eval.runner.grid_entries import NO_LLM

if TYPE_CHECKING:
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


def check(plan: Plan, spent: Mapping[str, LLMUsage] | None = None) -> None:
    """Check that all money can be counted where there is a budget of it, given what earlier sessions spent.

    Raises:
        UserError: The price of an LLM is not known, or was not known when it was used.
    """
    amount = plan.grid.budget.usd if plan.grid.budget is not None else None
    if amount is None:
        return
    budget = f"budget of {quantity('usd', amount)}"
    for name in sorted({cell.cell.llm for cell in plan.cells} - {NO_LLM}):
        if plan.llms[name].cost(Tokens(prompt=1, completion=1)) is None:
            raise UserError(
                f"{budget}: the price of '{name}' is not known. Give it in the grid as price: {{prompt: P, "
                "completion: C}, in USD per million tokens (0 if it is free), or set a budget of tokens or hours"
            )
        if spent and name in spent and spent[name].cost is None:
            raise UserError(
                f"{budget}: what the run has spent on '{name}' is not known, as it had no price before. "
                "Use a budget of tokens or hours, or --fresh to start over"
            )


class BudgetGuard:
    """Decides whether new episodes may start.

    Args:
        spent: What was requested of each LLM so far.
        clock: That of the whole run.
        on_exhausted: Called once with the text of each limit that is reached.

    Raises:
        UserError: See `check`.
    """

    def __init__(
        self,
        plan: Plan,
        spent: Mapping[str, LLMUsage],
        clock: Stopwatch,
        on_exhausted: Callable[[str], None] = lambda _: None,
    ) -> None:
        check(plan, spent)
        self._spent, self._clock, self._on_exhausted = spent, clock, on_exhausted
        amounts = {unit: getattr(plan.grid.budget, unit, None) for unit in UNITS}
        self._amounts = {unit: amount for unit, amount in amounts.items() if amount is not None}
        self._exhausted: list[str] = []

    def allows(self, llm: str) -> bool:
        """Whether a new episode of an LLM may start; only hours stop those that use none."""
        for unit, amount in self._amounts.items():
            if self._used(unit) < amount or (llm == NO_LLM and unit != "hours"):
                continue
            if unit not in self._exhausted:
                self._exhausted.append(unit)
                self._on_exhausted(self._text(unit))
            return False
        return True

    def exhausted(self) -> list[str]:
        """The limits that kept episodes from starting, in words, with what is used by now."""
        return [self._text(unit) for unit in self._exhausted]

    def _used(self, unit: str) -> float:
        if unit == "hours":
            return self._clock.seconds / 3600
        return sum((one.cost or 0.0) if unit == "usd" else one.tokens for one in self._spent.values())

    def _text(self, unit: str) -> str:
        used = quantity(unit, self._used(unit))
        return f"budget of {quantity(unit, self._amounts[unit])} reached: {used} used"
