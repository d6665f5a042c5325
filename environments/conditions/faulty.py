"""Calls fail at a rate; a retry may succeed."""

from __future__ import annotations

import random
from typing import Annotated, Any, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from r_eval.environments.base import Environment, TemporaryFailure, ToolError
from r_eval.environments.conditions.base import Condition, ConditionInput, Wrapped, rerendered
from r_eval.environments.observation import Observation
from r_eval.records import Step
from r_eval.seeds import Seeds

Kind = Literal["error", "timeout", "truncated"]
KINDS: tuple[Kind, ...] = ("error", "timeout", "truncated")
CUT = "The result was cut off on its way; the same call may be made again for the whole."
"""Stands above the observation of a truncated result."""
LEAST_KEPT, MOST_KEPT = 0.1, 0.9


@dataclass(config={"strict": True}, frozen=True)
class Faulty(Condition):
    """Calls fail at a rate; a retry may succeed.

    Attributes:
        rate: The share of calls that fail, from 0 to 1.
        kinds: What a failure looks like, drawn evenly: "error" and "timeout" give the model a message in place of the
            result, "truncated" gives the first part of the result.
    """

    name = "faulty"

    rate: Annotated[float, Field(ge=0, le=1)] = 0.1
    kinds: Annotated[tuple[Kind, ...], Field(min_length=1, strict=False)] = KINDS

    def environment(self, environment: Environment, about: ConditionInput, seeds: Seeds) -> Environment:
        """The environment with calls that fail."""
        return FaultyEnvironment(environment, self, seeds)


class FaultyEnvironment(Wrapped):
    """An environment whose calls fail as a `Faulty` says, by their number in the episode and the seeds alone."""

    def __init__(self, inner: Environment, faulty: Faulty, seeds: Seeds) -> None:
        super().__init__(inner)
        self._faulty, self._seeds = faulty, seeds
        self._calls = 0

    async def call(self, api: str, arguments: dict[str, Any]) -> Any:
        """Carry out a query API, or fail.

        Raises:
            TemporaryFailure: The call fails, or its result was to be truncated and cannot be.
        """
        self._calls += 1
        number, draw = self._calls, random.Random(self._seeds.of(f"faulty {self._calls}"))
        if draw.random() >= self._faulty.rate:
            return await super().call(api, arguments)
        kind, share = draw.choice(self._faulty.kinds), draw.uniform(LEAST_KEPT, MOST_KEPT)
        part = await self._truncated(api, arguments, share) if kind == "truncated" else None
        if part is not None:
            return part
        event = "timed out" if kind == "timeout" else "failed with an error of the service"
        raise TemporaryFailure(f"Call {number}, of {api}, {event}. The same call may be made again.")

    async def _truncated(self, api: str, arguments: dict[str, Any], share: float) -> Observation[Any] | None:
        """The first part of a result; None where there is nothing to cut."""
        try:
            whole: Observation[Any] = await super().call(api, arguments)
        except ToolError:
            return None
        part = _part(whole.value, share)
        if part is None:
            return None
        text = f"{CUT}\n{await rerendered(self.inner, api, whole, part)}"
        return Observation(part, text, whole.retrieved_ids[: len(part)] if isinstance(part, list) else ())


def failed(step: Step) -> bool:
    """Whether a step is a call that failed for the moment, or whose result was truncated."""
    if step.kind != "call":
        return False
    return step.error == "temporary" or (step.error is None and CUT in (step.observation or ""))


def _part(value: Any, share: float) -> Any:
    """The first part of a text or a list; of a record, the longest of its texts and lists is cut. None for the rest."""
    if isinstance(value, str | list) and len(value) > 1:
        return value[: max(1, int(len(value) * share))]
    parts = [key for key, one in value.items() if isinstance(one, str | list)] if isinstance(value, dict) else []
    longest = max(parts, key=lambda key: len(value[key]), default=None)
    part = None if longest is None else _part(value[longest], share)
    return None if part is None else {**value, longest: part}
