"""Checks an environment: opens it, makes calls that should find something and calls that nothing can answer, and judges
what it says of itself and what came of them.
"""

from __future__ import annotations

import contextlib
import functools
import io
import traceback
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from r_eval.analysis.warnings import counted
from r_eval.checks.calls import (
    Call,
    CallOutcome,
    Endless,
    HookFailure,
    calls_of,
    chosen,
    hook,
    known_calls,
    make_calls,
    odd_calls,
    programs_for,
)
from r_eval.checks.descriptions import Subject, check_records, described
from r_eval.checks.finding import Finding, relative_path
from r_eval.environments.base import Environment, NotFound, ToolError
from r_eval.environments.opening import open_environment
from r_eval.environments.schema import BadArguments, clip
from r_eval.environments.signatures import place_of
from r_eval.errors import UserError
from r_eval.event_loops import in_event_loop
from r_eval.isolation import describe

KNOWN = 8
"""Calls of an API with arguments that should find something, and with others."""
OF_ONE_THREAD = "can only be used in that same thread"
"""What sqlite3 says of a connection that another thread uses."""
OTHER_CONNECTION = "write sqlite3.connect(..., check_same_thread=False): query APIs run in threads"


def check_environment(name: str, settings: Mapping[str, Any] | None = None, call: bool = False) -> list[Finding]:
    """What is found in an environment that is opened by its name.

    Args:
        call: As `check` takes it.

    Raises:
        UserError: It cannot be opened.
    """
    with contextlib.redirect_stdout(io.StringIO()), contextlib.chdir(Path.cwd()):
        try:
            environment = open_environment(name, settings)
        except (UserError, KeyboardInterrupt):
            raise
        except BaseException as error:
            raise UserError(f"environment '{name}' cannot be opened: {describe(error)}") from error
    try:
        return check(environment, name=name, call=call)
    finally:
        with contextlib.suppress(Exception, SystemExit):  # which was found in a session
            environment.close()


def check(
    environment: Environment,
    calls: Sequence[Call] = (),
    *,
    nothing: Sequence[Call] = (),
    kinds: Sequence[str] = (),
    name: str = "",
    call: bool = False,
) -> list[Finding]:
    """Everything that is found in an environment.

    Args:
        calls: Calls that find something, made in this order in one session. Besides, arguments are tried that gold
            programs, records and schemas give, and some that nothing has.
        nothing: Calls that find nothing, made in a session of their own.
        kinds: Kinds of which it has records.
        name: By which it was opened; the programs of the installed tasks over it give calls.
        call: Whether what is not ours to change is called with such arguments even where it does not declare that it
            only reads.
    """
    with contextlib.redirect_stdout(io.StringIO()), contextlib.chdir(Path.cwd()):
        subject = Subject(environment, name or type(environment).__name__)
        try:
            return in_event_loop(_findings(subject, calls, nothing, kinds, name, call))
        except HookFailure as failure:
            todo = "fix this first: no query API was called"
            return [subject.at(subject.whole, "error", str(failure), todo)]


async def _findings(
    subject: Subject, calls: Sequence[Call], nothing: Sequence[Call], kinds: Sequence[str], name: str, call: bool
) -> list[Finding]:
    environment, specs = subject.environment, subject.environment.specs()
    for hook_name in ("description", "version"):
        await hook(hook_name, functools.partial(getattr, environment, hook_name))
    session = await hook("open()", environment.open)
    await hook("close()", session.close)
    findings = [*described(subject)]
    if not specs:
        return findings
    is_ours = call or not is_foreign(environment)
    allowed = set(specs if is_ours else getattr(environment, "read_only", ()))  # GET, or MCP's readOnlyHint
    found, records = await check_records(subject, kinds) if is_ours else ([], {})
    findings += [*found, *check_given(subject, calls, nothing)]
    runs_programs = not calls and allowed == set(specs)
    known = await calls_of(environment, programs_for(environment, name)) if runs_programs else []
    tried = chosen([*known, *known_calls(environment, records, [*calls, *known])], KNOWN)
    odd = chosen(odd_calls(environment, [*calls, *tried]), KNOWN)
    expected = await make_calls(environment, calls)
    lost = await make_calls(environment, nothing)
    findings += check_expected(subject, expected, lost)
    made = await make_calls(environment, [one for one in (*tried, *odd) if one[0] in allowed])
    for api in specs:
        some = [one for one in (*expected, *made, *lost) if one.api == api]
        if api in allowed or some:
            findings += judged(subject, api, some, any(one[0] == api for one in [*calls, *tried]))
    if missing := [api for api in specs if api not in allowed]:
        what = f"not called, because they are not declared read-only: {', '.join(missing)}"
        findings.append(subject.at(subject.target, "note", what, "add --call to call them"))
    return findings


def is_foreign(environment: Environment) -> bool:
    """Whether calls go to what is not ours to change: a server, another library's tools, a live source."""
    from r_eval.environments.tools.langchain import LangChainTools
    from r_eval.environments.tools.mcp import MCP
    from r_eval.environments.tools.openapi import OpenAPI

    live = type(getattr(environment, "_source", None)).__module__.rpartition(".")[2] == "live"
    return live or isinstance(environment, LangChainTools | MCP | OpenAPI)


def check_given(subject: Subject, calls: Sequence[Call], nothing: Sequence[Call]) -> Iterator[Finding]:
    """Whether the calls that a person gave are of every query API, and have arguments that fit."""
    specs = subject.environment.specs()
    if calls and (missing := specs.keys() - {api for api, _ in calls}):
        text = f"none of the calls is of {', '.join(sorted(missing))}"
        yield subject.at(subject.whole, "error", text, "give a call of every query API")
    for api, arguments in (*calls, *nothing):
        try:
            specs[api].check(arguments)
        except (KeyError, BadArguments) as error:
            why = str(error) if api in specs else "there is no such query API"
            yield subject.at(subject.whole, "error", f"a call of {api} does not fit: {why}", "fix the call")


def check_expected(subject: Subject, made: Sequence[CallOutcome], nothing: Sequence[CallOutcome]) -> Iterator[Finding]:
    """Whether calls that a person gave find something (`made`), or nothing."""
    for one in made:
        if one.is_empty:
            yield subject.of(one.api, "error", f"{one} finds nothing", "fix the call, or what it looks up")
    for one in nothing:
        if one.error is None and not one.is_empty:
            todo = "fix the call, or raise NotFound where nothing is there"
            yield subject.of(one.api, "error", f"{one} finds something: {clip(one.text)}", todo)


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
        error = some[0].error
        if isinstance(error, Endless):
            what, todo = f"does not end: {error}", "set a time limit for what it waits for"
        else:
            what = f"raises {clip(describe(error), 200)}" if error else ""
            todo = (
                "return data, or raise NotFound(...) or ToolError(...) with a message that the model can act on; "
                "other exceptions end the episode"
            )
        yield _failure(subject, api, f"{some[0]} {what} ({counted(len(some), 'call')})", todo, place)
    for one in [one for one in calls if one.repeated not in (None, one.text)][:1]:
        text = f"{one} returned a different result in a second session: {_difference(one.text, one.repeated or '')}"
        todo = "sort results, seed randomness, and share no state between sessions"
        yield _failure(subject, api, text, todo)
    yield _summary(subject, api, calls, known)


def _failure(subject: Subject, api: str, what: str, todo: str, place: str = "") -> Finding:
    """An error of a query API; of a connection that belongs to one thread, at the line that makes it."""
    if OF_ONE_THREAD in what:
        todo = OTHER_CONNECTION
        place = place_of(type(subject.environment), "", r".*\bconnect\(") or place
    return subject.of(api, "error", what, todo, place)


def _summary(subject: Subject, api: str, calls: Sequence[CallOutcome], known: bool) -> Finding:
    """How often an API was called, and what came of it."""
    spec = subject.environment.specs()[api]
    answered = sum(one.error is None for one in calls)
    nothing = sum(isinstance(one.error, NotFound) for one in calls)
    if spec.parameters and not known:
        needed = ", ".join(p.name for p in spec.parameters if p.required)
        text = f"not called with existing values: none is known for {needed}"
        todo = (
            "define records(), put an example into the docstring, "
            "or a question file with programs next to the environment"
        )
        return subject.of(api, "warning", text, todo)
    if calls and nothing == len(calls):
        text = "the call found nothing" if nothing == 1 else f"none of {nothing:,} calls found anything"
        return subject.of(api, "warning", text, "try other arguments with r-eval call")
    failed = len(calls) - answered - nothing
    text = f"{counted(len(calls), 'call')}: {answered} answered, {nothing} found nothing"
    return subject.of(api, "note", text + (f", {failed} failed" if failed else ""))


def _raised_at(subject: Subject, one: CallOutcome) -> str:
    """Where in the environment's own file it was raised; the API's place where that is not known."""
    file = subject.place(one.api).rpartition(":")[0]
    frames = traceback.extract_tb(one.error.__traceback__) if one.error else []
    own = [frame for frame in frames if relative_path(Path(frame.filename)) == file]
    return f"{file}:{own[-1].lineno}" if own else subject.place(one.api)


def _difference(one: str, two: str) -> str:
    """The first line in which two results differ."""
    lines = zip([*one.split("\n"), "(end)"], [*two.split("\n"), "(end)"], strict=False)
    here, there = next(((a, b) for a, b in lines if a != b), (one, two))
    return f"{clip(here)!r}, then {clip(there)!r}"
