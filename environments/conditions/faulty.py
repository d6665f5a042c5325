"""Calls fail at a rate; a retry may succeed."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field
from pydantic.dataclasses import dataclass

from r_eval.environments.base import Environment, TemporaryFailure
from r_eval.environments.conditions.base import Condition, Wrapped
from r_eval.seeds import Seeds

EVENTS = ("timed out", "failed with an error of the service")


@dataclass(config={"strict": True}, frozen=True)
class Faulty(Condition):
    """Calls fail at a rate; a retry may succeed.

    Attributes:
        rate: The share of calls that fail, from 0 to 1. The model reads a message in place of the result.
    """

    name = "faulty"

    rate: Annotated[float, Field(ge=0, le=1)] = 0.1

    def environment(self, environment: Environment, notes: Mapping[str, Any], seeds: Seeds) -> Environment:
        """The environment with calls that fail."""
        return FaultyEnvironment(environment, self.rate, seeds)


class FaultyEnvironment(Wrapped):
    """An environment whose calls fail at a rate, by their number in the episode and the seeds alone."""

    def __init__(self, inner: Environment, rate: float, seeds: Seeds) -> None:
        super().__init__(inner)
        self._rate, self._seeds = rate, seeds
        self._calls = 0

    async def call(self, api: str, arguments: dict[str, Any]) -> Any:
        """Carry out a query API, or fail.

        Raises:
            TemporaryFailure: The call fails.
        """
        self._calls += 1
        draw = random.Random(self._seeds.of(f"faulty {self._calls}"))
        if draw.random() >= self._rate:
            return await super().call(api, arguments)
        event = draw.choice(EVENTS)
        raise TemporaryFailure(f"Call {self._calls}, of {api}, {event}. The same call may be made again.")
