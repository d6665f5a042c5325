"""Calls of query APIs: what they give, how they go wrong, and where their observations are cut."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from r_eval.environments.base import Environment
from r_eval.environments.sandbox import Sandbox
from r_eval.environments.schema import ApiSpec
from r_eval.environments.session import SENTENCE_ENDS, CallResult, Session
from r_eval.environments.typenames import type_name
from r_eval.records import Step

Call = tuple[str, dict[str, Any]]
"""A query API's name, and its arguments."""

UNCUT = 10**9
UNFIT: tuple[Any, ...] = ({"no": [None]}, [[{"no": None}]])
"""Values of which at least one fits no given type, except one that takes everything."""


async def transcript(
    environment: Environment,
    calls: Sequence[Call],
    tokens: int = UNCUT,
    record: Callable[[Step], None] = lambda step: None,
) -> list[CallResult]:
    """What calls give, made one after the other in a session of their own."""
    with Sandbox(workers=1) as sandbox:
        session = Session(environment, sandbox, record, tokens)
        try:
            return [await session.call(api, arguments) for api, arguments in calls]
        finally:
            session.close()


def heard(
    environment: Environment,
    calls: Sequence[Call],
    tokens: int = UNCUT,
    record: Callable[[Step], None] = lambda step: None,
) -> list[CallResult]:
    """The same, on an event loop of its own."""
    return asyncio.run(transcript(environment, calls, tokens, record))


def orders(calls: Sequence[Call], number: int) -> list[list[Call]]:
    """So many lists of the same calls, each beginning with another one."""
    starts = [i % len(calls) for i in range(number)]
    return [[*calls[start:], *calls[:start]] for start in starts]


def written(call: Call) -> str:
    """A call as a person would write it, long values shortened."""
    api, arguments = call
    return f"{api}({', '.join(f'{name}={value!r:.60}' for name, value in arguments.items())})"


def mistakes(spec: ApiSpec, good: dict[str, Any]) -> Iterator[tuple[dict[str, Any], list[str]]]:
    """Arguments with one mistake each, and what the observation must hold, one of each group of texts."""
    from jsonschema import Draft202012Validator

    names = [p.name for p in spec.parameters]
    yield {**good, "no such": 1}, ["'no such'"]
    for p in spec.parameters:
        misspelt = next(name for n in itertools.count(1) if (name := p.name + "x" * n) not in names)
        others = {name: value for name, value in good.items() if name != p.name}
        yield {**others, misspelt: good.get(p.name)}, [f"'{misspelt}'", "Did you mean '"]
        if p.required:
            yield others, [f"'{p.name}'"]
        fits = Draft202012Validator(spec.json_schema()["properties"][p.name]).is_valid
        unfit = next((value for value in UNFIT if not fits(value)), None)
        if unfit is not None:
            yield {**good, p.name: unfit}, [f"'{p.name}' must be {type_name(p.annotation)}"]


def check_cut(call: str, full: str, shown: str, characters: int) -> None:
    """Check that an observation is cut to a length, at the end of something, and says so.

    Raises:
        AssertionError: It is not; the message says of which call.
    """
    head, mark, note = shown.rpartition("[… cut: ")
    kept = head[:-1]
    assert mark, f"{call} does not say that it is cut"
    assert note.endswith(("more characters]", "more character]")), f"{call} does not say how much is cut"
    assert full.startswith(kept), f"{call}: what is kept is not the beginning"
    assert len(kept) <= characters, f"{call}: {len(kept)} characters are kept instead of {characters}"
    rest = full[len(kept) :]
    ends = rest.startswith("\n") or any(f"{kept[-1:]} "[: len(mark)] == mark for mark in SENTENCE_ENDS)
    late = kept[characters // 2 + 1 :]
    inside = "\n" in late or any(mark in late for mark in SENTENCE_ENDS)
    assert ends or not inside, f"{call} is cut within a sentence or record: …{kept[-40:]!r} {rest[:40]!r}…"
