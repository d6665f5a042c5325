"""Calls an environment's query APIs as a model would, repeats the calls in the same order in a second session and in
another process, and says what came of it.
"""

from __future__ import annotations

import collections
import dataclasses
import itertools
import traceback
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic_core import PydanticSerializationError

from r_eval.checking.again import in_another_process
from r_eval.checking.arguments import Known, key_of
from r_eval.checking.finding import Finding, Severity, counted, shown
from r_eval.checking.outcome import Outcome, carry_out
from r_eval.environments.base import Environment, EnvironmentFailure, NotFound
from r_eval.environments.schema import ApiSpec, clip
from r_eval.environments.session import CHARACTERS_A_TOKEN

CALLS = 20
"""Calls an API, at most, with arguments that are known."""
ROUNDS = 3
"""How often the results of calls are looked through for further arguments."""
LONGEST = 4_000
"""Tokens beyond which an observation is too much for a context."""


@dataclasses.dataclass
class Call:
    """One call, and the texts of its result when it was repeated, by where that was."""

    api: str
    arguments: dict[str, Any]
    outcome: Outcome
    repeated: dict[str, str] = dataclasses.field(default_factory=dict)

    @property
    def text(self) -> str:
        """As a person would write it."""
        written = ", ".join(f"{name}={value!r}" for name, value in self.arguments.items())
        return f"{self.api}({clip(written, 100)})"


async def check_calls(target: str, environment: Environment, known: Known, places: Mapping[str, str]) -> list[Finding]:
    """What is found by calling.

    Args:
        known: Where arguments are taken from; learns from the results.
        places: Where each API is defined.
    """
    specs = environment.specs()
    calls = await _tried(environment, specs, known)
    session = environment.open()
    again = [await carry_out(session, specs[call.api], call.arguments) for call in calls]
    session.close()
    others = in_another_process(target, [(call.api, call.arguments) for call in calls])
    for n, (call, second) in enumerate(zip(calls, again, strict=True)):
        if second is not None:
            call.repeated["in a second session"] = second.text
        if others is not None and (other := others[n]) is not None:
            call.repeated["in another process"] = other
    findings: list[Finding] = []
    for api, spec in specs.items():
        judged = _Judged(target, places.get(api, target), spec, [call for call in calls if call.api == api])
        findings += [*judged.findings(), judged.summary(known.missing(spec))]
    if others is None:
        text = "the calls could not be repeated in another process"
        todo = "see that it can be opened twice at the same time, and needs nothing but its name"
        findings.append(Finding(target, target, "warning", text, todo))
    return findings


async def _tried(environment: Environment, specs: Mapping[str, ApiSpec], known: Known) -> list[Call]:
    session = environment.open()
    calls: list[Call] = []
    seen: set[str] = set()
    made: collections.Counter[str] = collections.Counter()
    for round_ in range(ROUNDS + 1):
        odd = round_ == ROUNDS
        for api, arguments in _in_turn({api: list(known.calls(spec, odd)) for api, spec in specs.items()}):
            key = f"{api}{key_of(arguments)}"
            if key in seen or (made[api] >= CALLS and not odd):
                continue
            seen.add(key)
            outcome = await carry_out(session, specs[api], arguments)
            if outcome is not None:
                made[api] += 1
                calls.append(Call(api, arguments, outcome))
                known.add(outcome.value)
    session.close()
    return calls


def _in_turn(wanted: Mapping[str, list[dict[str, Any]]]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The first call of every API, then the second: one may need what another did, as a page must be open to read."""
    for calls in itertools.zip_longest(*([(api, arguments) for arguments in every] for api, every in wanted.items())):
        yield from (call for call in calls if call is not None)


class _Judged:
    """The calls of one API, each with what came of it the second time."""

    def __init__(self, target: str, place: str, spec: ApiSpec, calls: list[Call]) -> None:
        self.target, self.place, self.spec, self.calls = target, place, spec, calls

    def findings(self) -> Iterator[Finding]:
        yield from self._raised()
        yield from self._changing()
        longest = max(self.calls, key=lambda c: len(c.outcome.observation), default=None)
        tokens = len(longest.outcome.observation) // CHARACTERS_A_TOKEN if longest else 0
        if longest and tokens > LONGEST:
            text = f"{longest.text} gives {tokens:,} tokens (at {CHARACTERS_A_TOKEN} characters each)"
            todo = "return fewer records or fields; beyond a grid's limits.observation (1,000) a model does not see it"
            yield self._finding("warning", text, todo)

    def _changing(self) -> Iterator[Finding]:
        """The first call whose result has no order; where there is none, the first that gave another result."""
        for call in self.calls:
            if call.outcome.holds_set:
                text = f"{call.text} returns a set, whose order is another in every process"
                yield self._finding("error", text, "return a sorted list")
                return
        other = [(call, where, text) for call in self.calls for where, text in call.repeated.items()]
        for call, where, text in other:
            if text != call.outcome.text:
                what = f"{call.text} gave another result {where}: {_difference(call.outcome.text, text)}"
                todo = "order results by a fixed key, seed what is random, keep no state on what sessions share"
                yield self._finding("error", what, todo)
                return

    def summary(self, missing: list[str]) -> Finding:
        """How often it was called, and what came of it."""
        answered = sum(call.outcome.error is None for call in self.calls)
        nothing = sum(isinstance(call.outcome.error, NotFound) for call in self.calls)
        if not answered and missing:
            todo = "give the environment records(), or a template or question file beside it with programs that call it"
            text = f"not tried with anything that is there: no value is known for {', '.join(missing)}"
            return self._finding("warning", text, todo)
        if self.calls and nothing == len(self.calls):
            text = f"{counted(nothing, 'call')}, and none found anything"
            return self._finding("warning", text, "see with r-eval call whether it ever does")
        failed = len(self.calls) - answered - nothing
        text = f"{counted(len(self.calls), 'call')}: {answered} answered, {nothing} found nothing"
        return self._finding("note", text + (f", {failed} failed" if failed else ""))

    def _finding(self, severity: Severity, what: str, todo: str = "", place: str = "") -> Finding:
        return Finding(self.target, place or self.place, severity, f"query API {self.spec.name}: {what}", todo)

    def _raised(self) -> Iterator[Finding]:
        groups: dict[tuple[str, str], list[Call]] = {}
        for call in self.calls:
            error = call.outcome.error
            if error is not None and not isinstance(error, NotFound):
                groups.setdefault((type(error).__name__, self._raised_at(error)), []).append(call)
        for (kind, place), calls in groups.items():
            error = calls[0].outcome.error
            often = f" ({counted(len(calls), 'call')})"
            if isinstance(error, PydanticSerializationError):
                text = f"{calls[0].text} returns what is no data: {error}{often}"
                todo = "return text, numbers, lists, dicts, dataclasses or pydantic models"
                yield self._finding("error", text, todo)
            elif isinstance(error, EnvironmentFailure):
                text = f"{calls[0].text} failed: {error}{often}"
                yield self._finding("error", text, "see to what it depends on", place)
            else:
                text = f"{calls[0].text} raises {kind}: {clip(str(error), 200)}{often}"
                todo = "raise NotFound with a message that a model can act on; anything else ends the episode"
                yield self._finding("error", text, todo, place)

    def _raised_at(self, error: BaseException) -> str:
        """Where in the environment's own file it was raised; the API's place where that is not known."""
        file = self.place.rpartition(":")[0]
        frames = [f for f in traceback.extract_tb(error.__traceback__) if shown(Path(f.filename)) == file]
        return f"{file}:{frames[-1].lineno}" if frames else self.place


def _difference(one: str, two: str) -> str:
    """The first line in which two results differ, one beside the other."""
    lines = zip([*one.split("\n"), "(end)"], [*two.split("\n"), "(end)"], strict=False)
    here, there = next((a, b) for a, b in lines if a != b)
    return f"{clip(here)!r}, then {clip(there)!r}"
