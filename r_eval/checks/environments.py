"""Checks an environment: opens it, makes calls that should find something and calls that nothing can answer, and judges
what it says of itself and what came of them.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from r_eval.checks.arguments import calls_of, chosen, known_calls, odd_calls, programs_for
from r_eval.checks.calls import Call, HookFailure, hook, make_calls
from r_eval.checks.descriptions import Subject, check_records, described
from r_eval.checks.finding import Finding
from r_eval.checks.results import check_expected, check_given, judged
from r_eval.environments.base import Environment
from r_eval.environments.opening import open_environment
from r_eval.errors import UserError
from r_eval.isolation import describe

KNOWN = 8
"""Calls of an API with arguments that should find something, and with others."""


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
            return asyncio.run(_findings(subject, calls, nothing, kinds, name, call))
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
