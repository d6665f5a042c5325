"""Every call takes longer: latency added before it, for deployment figures."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field
from pydantic.dataclasses import dataclass

from r_eval.environments.base import Environment
from r_eval.environments.conditions.base import Condition, Wrapped
from r_eval.seeds import Seeds


@dataclass(config={"strict": True}, frozen=True)
class Slow(Condition):
    """Every call takes longer; the time counts as the environment's, and towards the limit of an episode.

    Attributes:
        seconds: Added to every call.
    """

    name = "slow"

    seconds: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 1.0

    def environment(self, environment: Environment, notes: Mapping[str, Any], seeds: Seeds) -> Environment:
        """The environment with slow calls."""
        return SlowEnvironment(environment, self.seconds)


class SlowEnvironment(Wrapped):
    """An environment whose calls take some seconds longer."""

    def __init__(self, inner: Environment, seconds: float) -> None:
        super().__init__(inner)
        self._seconds = seconds

    async def call(self, api: str, arguments: dict[str, Any]) -> Any:
        """Wait, and carry the call out."""
        await asyncio.sleep(self._seconds)
        return await super().call(api, arguments)
