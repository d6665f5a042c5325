"""Every call takes longer: latency that is added before it, for deployment figures."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Mapping
from typing import Any

from r_eval.environments.base import Environment
from r_eval.environments.conditions.base import Condition, Wrapped
from r_eval.environments.conditions.settings import number
from r_eval.records import Question
from r_eval.seeds import Seeds


class Slow(Condition):
    """Every call takes longer; the time counts as the environment's, and within the limit of an episode.

    Args:
        seconds: What is added to every call; or `{mean: M, least: L}` for times that are spread exponentially above
            the least, which is 0 where it is not given.
    """

    name = "slow"

    def __init__(self, seconds: float | Mapping[str, float] = 1.0) -> None:
        if isinstance(seconds, Mapping):
            if "mean" not in seconds or not set(seconds) <= {"mean", "least"}:
                raise ValueError(f"seconds must be a number, or have a mean and perhaps a least, not {dict(seconds)!r}")
            self.least = number("seconds.least", seconds.get("least", 0.0))
            self.mean = number("seconds.mean", seconds["mean"], self.least)
        else:
            self.mean = self.least = number("seconds", seconds)

    def identity(self) -> dict[str, Any]:
        """Mean and least of the seconds."""
        return {"mean": self.mean, "least": self.least}

    def environment(self, environment: Environment, question: Question, seeds: Seeds) -> Environment:
        """The environment with slow calls."""
        return SlowEnvironment(environment, self, seeds)

    def drawn(self, seeds: Seeds, call: int) -> float:
        """The seconds that the call of a number takes longer in an episode."""
        if self.mean == self.least:
            return self.least
        return self.least + random.Random(seeds.of(f"slow {call}")).expovariate(1 / (self.mean - self.least))


class SlowEnvironment(Wrapped):
    """An environment whose calls take longer as a `Slow` says."""

    def __init__(self, inner: Environment, slow: Slow, seeds: Seeds) -> None:
        super().__init__(inner)
        self._slow, self._seeds, self._calls = slow, seeds, 0

    async def call(self, api: str, arguments: dict[str, Any]) -> Any:
        """Wait, and carry the call out."""
        self._calls += 1
        await asyncio.sleep(self._slow.drawn(self._seeds, self._calls))
        return await self.inner.call(api, arguments)
