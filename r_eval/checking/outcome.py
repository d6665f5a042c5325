"""One call of a query API, with whatever came of it; unlike a session's, the exception itself is kept."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from typing import Any

from pydantic_core import to_jsonable_python

from r_eval.environments.base import Environment
from r_eval.environments.schema import ApiSpec, BadArguments


@dataclasses.dataclass
class Outcome:
    """What came of a call.

    Attributes:
        observation: As a model would read it; "" where an exception was raised.
        value: As plain data.
        holds_set: A set of several elements was somewhere in the value.
    """

    observation: str = ""
    value: Any = None
    error: Exception | None = None
    holds_set: bool = False

    @property
    def text(self) -> str:
        """The observation, or the exception without the places of objects in memory, which are never the same."""
        if self.error is None:
            return self.observation
        return f"{type(self.error).__name__}: {re.sub('0x[0-9a-f]+', '0x', str(self.error))}"


async def carry_out(session: Environment, spec: ApiSpec, arguments: dict[str, Any]) -> Outcome | None:
    """Make a call; None where the arguments do not fit the signature, so that it is never made."""
    try:
        checked = spec.check(arguments)
    except BadArguments:
        return None
    outcome = Outcome()
    try:
        value = await session.call(spec.name, checked)
        outcome.holds_set = any(isinstance(inner, set | frozenset) and len(inner) > 1 for inner in _inside(value))
        outcome.value = to_jsonable_python(value)
        outcome.observation = session.render(spec.name, outcome.value)
    except Exception as error:  # noqa: BLE001 - whatever a query API raises is what is looked for
        outcome.error = error
    return outcome


def _inside(value: Any) -> Iterator[Any]:
    """A value and everything in it, as far as the usual containers go."""
    yield value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = [getattr(value, field.name) for field in dataclasses.fields(value)]
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        for inner in value:
            yield from _inside(inner)
