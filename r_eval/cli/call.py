"""`r-eval call`: what an environment offers, what an LLM is shown of it, and what its query APIs return."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import json as json_module
import shlex
from collections.abc import Sequence
from typing import Annotated, Any

from typer import Argument, Exit, Option

from r_eval.cli.options import EnvironmentName, Json, Settings, pair, print_json, print_lines, settings_of
from r_eval.environments.base import Environment, EnvironmentFailure
from r_eval.environments.opening import open_environment
from r_eval.environments.sandbox import Sandbox
from r_eval.environments.schema import unpacked
from r_eval.environments.session import CallResult, Session
from r_eval.errors import UserError
from r_eval.llms.base import Reply, Request
from r_eval.plugins import load, unknown
from r_eval.tasks.base import SHORT
from r_eval.workflows.base import LimitReached, Limits, TaskInput, Workflow, make


class Recorder:
    """An LLM that ends a workflow at its first call, whose request it keeps."""

    chat = True
    request: Request | None = None

    async def generate(self, request: Request, depth: int | None = None) -> Reply:
        """Keep the request."""
        self.request = request
        raise LimitReached("calls", "the first request is all that is wanted")

    def note(self, text: str) -> None: ...


def call(
    environment: EnvironmentName,
    words: Annotated[
        list[str] | None,
        Argument(metavar="API [key=value]...", help="A call; further ones after -- are made in the same session."),
    ] = None,
    settings: Settings = None,
    prompt: Annotated[
        str | None, Option(metavar="WORKFLOW", help="Print what this workflow sends to an LLM first.")
    ] = None,
    json: Json = False,
) -> None:
    """List the query APIs of an environment, or call them.

    Prints what a model would see. Options go before the first "--".
    """
    opened = open_environment(environment, settings_of(settings))
    if prompt is not None:
        request = asyncio.run(_first_request(opened, prompt))
        if json:
            print_json(dataclasses.asdict(request))
        else:
            _print_request(request)
    elif not words:
        _print_apis(environment, opened, json)
    else:
        results = asyncio.run(_carry_out(opened, _calls(words, opened)))
        if json:
            records = [{"observation": r.observation, "value": r.value, "error": r.error} for r in results]
            print_json(records if len(records) > 1 else records[0])
        else:
            print_lines(["\n\n".join(result.observation for result in results)])
        raise Exit(1 if any(result.error for result in results) else 0)


def _calls(words: Sequence[str], environment: Environment) -> list[tuple[str, dict[str, Any]]]:
    """The calls that were typed: a word without "=" is a query API, those behind it are its arguments.

    `null` is no value for what may be left out, and JSON is read where a parameter may be anything.

    Raises:
        UserError: A word is neither, or an argument comes first.
    """
    calls: list[tuple[str, dict[str, Any]]] = []
    for word in words:
        if word == "--":
            continue
        if "=" in word and calls:
            (api, arguments), (key, value) = calls[-1], pair(word)
            known = {p.name: p for p in environment.specs()[api].parameters}
            is_json = key in known and (known[key].type() == "Any" or (value == "null" and not known[key].required))
            arguments[key] = unpacked(value) if is_json else value
        elif word.startswith("-"):
            raise UserError(f"'{word}': options go before the first --")
        elif word in environment.specs():
            calls.append((word, {}))
        else:
            raise UserError(f"{unknown('query API', word, environment.specs())}; arguments are written key=value")
    return calls


async def _carry_out(environment: Environment, calls: Sequence[tuple[str, dict[str, Any]]]) -> list[CallResult]:
    results = []
    with Sandbox() as sandbox, contextlib.closing(Session(environment, sandbox)) as session:
        for api, arguments in calls:
            try:
                results.append(await session.call(api, arguments))
            except EnvironmentFailure as failure:
                results.append(CallResult(None, str(failure), "environment"))
    return results


def _print_apis(name: str, environment: Environment, json: bool) -> None:
    specs = list(environment.specs().values())
    if json:
        print_json([{"name": s.name, "summary": s.summary, "parameters": s.json_schema()} for s in specs])
        return
    lines = [" ".join(environment.description.partition("\n\n")[0].split()) or name]
    for spec in specs:
        lines.append(f"  {spec.name}({', '.join(p.signature() for p in spec.parameters)}) -> {spec.returns}")
        lines.append(f"      {spec.summary or '(no docstring: models see no description)'}")
    if specs:
        needed = "".join(f" {p.name}=..." for p in specs[0].parameters if p.required)
        command = f"r-eval call {shlex.quote(name)}"
        lines.append(f"next: {command} {specs[0].name}{needed}, or {command} --prompt react")
    print_lines(lines)


async def _first_request(environment: Environment, workflow: str) -> Request:
    """What a workflow sends first about a question of this environment, without demonstrations.

    Raises:
        UserError: It is unknown, or sends nothing.
    """
    made, llm = make(load("workflows", workflow, Workflow), workflow, {}), Recorder()
    with Sandbox() as sandbox, contextlib.closing(Session(environment, sandbox)) as session:
        try:
            with contextlib.suppress(LimitReached):
                await made.run(TaskInput("<question>", SHORT), session, llm, Limits())
        except EnvironmentFailure as failure:
            raise UserError(f"{workflow} calls the environment before the LLM, and that fails: {failure}") from failure
    if llm.request is None:
        raise UserError(f"the workflow '{workflow}' sends nothing to an LLM")
    return llm.request


def _print_request(request: Request) -> None:
    lines = [line for message in request.messages for line in (f"[{message.role}]", message.content, "")]
    for tool in request.tools:
        lines += [f"[tool {tool.name}]", tool.description, json_module.dumps(tool.parameters, ensure_ascii=False), ""]
    if request.stop:
        lines += [f"[stop] {', '.join(map(repr, request.stop))}", ""]
    print_lines(lines)
