"""Calls fail at a rate, one by one or in bursts; a retry may succeed."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from typing import Any

from pydantic_core import to_jsonable_python

from r_eval.environments.base import Environment, NotFound, TemporaryFailure
from r_eval.environments.conditions.base import Condition, Wrapped
from r_eval.environments.conditions.settings import choices, number, whole
from r_eval.environments.observation import Observation, as_observation
from r_eval.records import Question, Step
from r_eval.seeds import Seeds

KINDS = ("error", "timeout", "truncated")
CUT = "The result was cut off on its way; the same call may be made again for the whole."
"""Stands above the observation of a truncated result."""
LEAST_KEPT, MOST_KEPT = 0.1, 0.9


class Faulty(Condition):
    """Calls fail at a rate, one by one or in bursts; a retry may succeed.

    Args:
        rate: The share of calls that fail, from 0 to 1, whatever the length of bursts.
        burst: How many calls fail in a row.
        kinds: What a failure looks like, drawn evenly: "error" and "timeout" give the model a message in place of the
            result, "truncated" gives the first part of the result.
    """

    name = "faulty"

    def __init__(self, rate: float = 0.1, burst: int = 1, kinds: str | Sequence[str] = KINDS) -> None:
        self.rate = number("rate", rate, 0, 1)
        self.burst = whole("burst", burst)
        self.kinds = choices("kinds", kinds, KINDS)

    def identity(self) -> dict[str, Any]:
        """Rate, burst and kinds."""
        return {"rate": self.rate, "burst": self.burst, "kinds": list(self.kinds)}

    def environment(self, environment: Environment, question: Question, seeds: Seeds) -> Environment:
        """The environment with calls that fail."""
        return FaultyEnvironment(environment, self, seeds)


class FaultyEnvironment(Wrapped):
    """An environment whose calls fail as a `Faulty` says.

    What happens to a call depends on its number in the episode and on the seeds, not on what is asked.
    """

    def __init__(self, inner: Environment, faulty: Faulty, seeds: Seeds) -> None:
        super().__init__(inner)
        self._faulty, self._seeds = faulty, seeds
        self._calls = self._left = 0
        self._is_cut = False

    async def call(self, api: str, arguments: dict[str, Any]) -> Any:
        """Carry out a query API, or fail.

        Raises:
            TemporaryFailure: The call fails; or its result was to be truncated, and it has none that can be.
        """
        self._calls += 1
        number = self._calls
        drawn = random.Random(self._seeds.of(f"faulty {number}"))
        fails = self._fails(drawn)
        kind, share = drawn.choice(self._faulty.kinds), drawn.uniform(LEAST_KEPT, MOST_KEPT)
        part = await self._truncated(api, arguments, share) if fails and kind == "truncated" else None
        value = part if fails else await self.inner.call(api, arguments)
        self._is_cut = part is not None  # read by `render`, before anything else is awaited
        if self._is_cut or not fails:
            return value
        happened = "timed out" if kind == "timeout" else "failed with an error of the service"
        raise TemporaryFailure(f"Call {number}, of {api}, {happened}. The same call may be made again.")

    async def _truncated(self, api: str, arguments: dict[str, Any], share: float) -> Any:
        """The first part of a result; None where there is nothing to cut."""
        try:
            whole = as_observation(await self.inner.call(api, arguments))
        except NotFound:
            return None
        part = _part(to_jsonable_python(whole.value), share)
        if isinstance(part, list) and whole.retrieved_ids:
            return Observation(part, None, whole.retrieved_ids[: len(part)])
        return part

    def render(self, api: str, value: Any) -> str:
        """The observation text; that of a truncated result says so."""
        text = self.inner.render(api, value)
        return f"{CUT}\n{text}" if self._is_cut else text

    def _fails(self, drawn: random.Random) -> bool:
        """Whether the next call fails.

        An episode begins at a random moment of an endless row of calls, perhaps within a burst, so that the rate holds
        for short episodes too.
        """
        rate, burst = self._faulty.rate, self._faulty.burst
        begins = rate / (rate + burst * (1 - rate))
        if self._calls == 1:
            self._left = drawn.randint(1, burst) if drawn.random() < rate else 0
        elif not self._left and drawn.random() < begins:
            self._left = burst
        if not self._left:
            return False
        self._left -= 1
        return True


def failed(step: Step) -> bool:
    """Whether a step is a call that failed for the moment, or whose result was truncated."""
    if step.kind != "call":
        return False
    return step.error == "temporary" or (step.error is None and (step.observation or "").startswith(CUT))


def _part(value: Any, share: float) -> Any:
    """The first part of a value; of a record, the longest of its values is cut. None for what has no parts."""
    if isinstance(value, str | list) and len(value) > 1:
        return value[: max(1, int(len(value) * share))]
    if isinstance(value, list) and value:
        part = _part(value[0], share)
        return None if part is None else [part]
    if isinstance(value, dict) and value:
        longest = max(value, key=lambda key: len(json.dumps(value[key], ensure_ascii=False)))
        part = _part(value[longest], share)
        return None if part is None else {**value, longest: part}
    return None
