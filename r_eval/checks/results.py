"""Judges what came of calls of query APIs."""

from __future__ import annotations

import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path

from r_eval.analysis.warnings import counted
from r_eval.checks.calls import Call, CallOutcome, Endless
from r_eval.checks.descriptions import Subject
from r_eval.checks.finding import Finding, relative_path
from r_eval.environments.base import EnvironmentFailure, NotFound, ToolError
from r_eval.environments.schema import BadArguments, clip
from r_eval.environments.session import CHARACTERS_A_TOKEN
from r_eval.environments.signatures import place_of
from r_eval.isolation import describe

LONGEST = 4_000
"""Tokens beyond which an observation is too much for a context."""
OF_ONE_THREAD = "can only be used in that same thread"
HINTS = {
    OF_ONE_THREAD: "write sqlite3.connect(..., check_same_thread=False): query APIs run in threads",
    "no running event loop": "write it as async def: only then does it run on an event loop",
    "cannot be called from a running event loop": "await the call in place of asyncio.run",
}
"""Parts of exceptions' messages, and what to do about them."""
NO_DATA = ("Unable to serialize", "not JSON compliant", "invalid utf-8", "surrogates not allowed", "Circular reference")
"""Parts of the messages of what cannot be written as JSON."""


def check_given(
    subject: Subject,
    calls: Sequence[Call],
    nothing: Sequence[Call],
    made: Sequence[CallOutcome],
    lost: Sequence[CallOutcome],
) -> Iterator[Finding]:
    """Whether the calls that a person gave fit, and find something (among `made`) or nothing (among `lost`)."""
    specs = subject.environment.specs()
    if calls and (missing := specs.keys() - {api for api, _ in calls}):
        text = f"none of the calls is of {', '.join(sorted(missing))}"
        yield subject.at(subject.whole, "error", text, "give a call of every query API")
    fitting = len(calls)
    for number, (api, arguments) in enumerate((*calls, *nothing)):
        try:
            specs[api].check(arguments)
        except (KeyError, BadArguments) as error:
            fitting -= number < len(calls)
            why = str(error) if api in specs else "there is no such query API"
            yield subject.at(subject.whole, "error", f"a call of {api} does not fit: {why}", "fix the call")
    for one in made[:fitting]:
        if _is_empty(one):
            yield subject.of(one.api, "error", f"{one.call} finds nothing", "fix the call, or what it looks up")
    for one in lost:
        if one.error is None and not _is_empty(one):
            what = f"{one.call} finds something: {clip(one.text)}"
            yield subject.of(one.api, "error", what, "fix the call, or raise NotFound where nothing is there")


def _is_empty(one: CallOutcome) -> bool:
    return isinstance(one.error, NotFound) or (one.error is None and one.value in (None, "", [], {}))


def judged(subject: Subject, api: str, calls: Sequence[CallOutcome], known: bool) -> Iterator[Finding]:
    """What is found in the calls of one query API, each kind of thing once.

    Args:
        known: Whether some of them should have found something.
    """
    groups: dict[tuple[str, str], list[CallOutcome]] = {}
    for one in calls:
        if one.error is not None and not isinstance(one.error, ToolError):
            groups.setdefault((type(one.error).__name__, _raised_at(subject, one)), []).append(one)
    for (_, place), some in groups.items():
        what, todo = _failure(some[0].error)
        text = f"{some[0].call} {what} ({counted(len(some), 'call')})"
        yield subject.of(api, "error", text, todo, _connection(subject, what) or place)
    repeated = ((one, place, text) for one in calls for place, text in one.others.items() if text != one.text)
    for one, place, other in [*repeated][:1]:
        text = f"{one.call} gave another result {place}: {_difference(one.text, other)}"
        todo = "order results by a fixed key, seed what is random, keep no state on what sessions share"
        yield subject.of(api, "error", text, _hint(other, todo), _connection(subject, other))
    longest = max((len(one.observation) for one in calls), default=0) // CHARACTERS_A_TOKEN
    if longest > LONGEST:
        text = f"an observation has {longest:,} tokens (at {CHARACTERS_A_TOKEN} characters each)"
        todo = "return fewer records or fields; beyond a grid's limits.observation (1,000) a model does not see it"
        yield subject.of(api, "warning", text, todo)
    yield _summary(subject, api, calls, known)


def _summary(subject: Subject, api: str, calls: Sequence[CallOutcome], known: bool) -> Finding:
    """How often an API was called, and what came of it."""
    spec = subject.environment.specs()[api]
    answered = sum(one.error is None for one in calls)
    nothing = sum(isinstance(one.error, NotFound) for one in calls)
    if spec.parameters and not known:
        needed = ", ".join(p.name for p in spec.parameters if p.required)
        text = f"not tried with what is there: no value is known for {needed}"
        todo = "give the environment records(), a question file beside it with programs, or an example in the docstring"
        return subject.of(api, "warning", text, todo)
    if calls and nothing == len(calls):
        text = f"{counted(nothing, 'call')}, and none found anything"
        return subject.of(api, "warning", text, "see with r-eval call whether it ever does")
    failed = len(calls) - answered - nothing
    text = f"{counted(len(calls), 'call')}: {answered} answered, {nothing} found nothing"
    return subject.of(api, "note", text + (f", {failed} failed" if failed else ""))


def _failure(error: BaseException | None) -> tuple[str, str]:
    """What an exception means, after the call that raised it, and what to do about it."""
    if isinstance(error, Endless):
        return f"does not end: {error}", "give whatever it waits for a time limit"
    if isinstance(error, EnvironmentFailure):
        return f"failed: {clip(str(error), 200)}", "see to what it depends on"
    text = describe(error) if error is not None else ""
    if any(part in text for part in NO_DATA):
        return f"returns what is no data: {text}", "return text, numbers, lists, dicts, dataclasses or pydantic models"
    todo = "raise NotFound(...) or ToolError(...), whose message a model can act on; anything else ends the episode"
    return f"raises {clip(text, 200)}", _hint(text, todo)


def _hint(text: str, otherwise: str) -> str:
    return next((HINTS[part] for part in HINTS if part in text), otherwise)


def _raised_at(subject: Subject, one: CallOutcome) -> str:
    """Where in the environment's own file it was raised; the API's place where that is not known."""
    file = subject.place(one.api).rpartition(":")[0]
    frames = traceback.extract_tb(one.error.__traceback__) if one.error else []
    own = [frame for frame in frames if relative_path(Path(frame.filename)) == file]
    return f"{file}:{own[-1].lineno}" if own else subject.place(one.api)


def _connection(subject: Subject, text: str) -> str:
    """Where a connection is made that belongs to one thread, if that is what a text says; else ""."""
    return place_of(type(subject.environment), "", r".*\bconnect\(") if OF_ONE_THREAD in text else ""


def _difference(one: str, two: str) -> str:
    """The first line in which two results differ, one beside the other."""
    lines = zip([*one.split("\n"), "(end)"], [*two.split("\n"), "(end)"], strict=False)
    here, there = next(((a, b) for a, b in lines if a != b), (one, two))
    return f"{clip(here)!r}, then {clip(there)!r}"
