"""A session: an environment opened for one episode, with its call log.

Whatever a model asks for comes back as an observation that it can act on: an unknown API, arguments that do not fit,
a `ToolError` of the query API. Only a failure of the infrastructure leaves the session as an exception
(`EnvironmentFailure`), since the system under test is then not to blame.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import difflib
import re
import time
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from pydantic_core import to_jsonable_python

from r_eval.environments.base import Environment, EnvironmentFailure, ToolError, observe
from r_eval.environments.sandbox import ProgramResult, Sandbox
from r_eval.environments.schema import ApiSpec, BadArguments, clip
from r_eval.isolation import describe
from r_eval.records import Step

OBSERVATION_TOKENS = 1000
CHARACTERS_A_TOKEN = 4
RECORDS = re.compile(r"\d+ results?\.(?=\n)")
"""How a list of records begins (see `Environment.render`); each of them is a line."""
RECORDED_CHARACTERS = 100_000
"""How much of what a call in a program returns is recorded."""
REMEDY = "if the arguments are to blame, raise NotFound(...) or ToolError(...) there: the model reads its message"
"""What to do about an exception that a query API may have meant for the model."""
BLAMED = (LookupError, ValueError, AssertionError)
"""Such exceptions, besides the `StopIteration` of a `next` without a default."""
SENTENCE_ENDS = (". ", "! ", "? ", "。", "！", "？")


@dataclasses.dataclass(frozen=True, slots=True)
class CallResult:
    """What came of a call.

    Attributes:
        value: The API's value as plain JSON data; None where there is an error.
        observation: The same as text, as a model reads it; with an error, the message.
        error: None, or the kind of error: unknown_api, bad_arguments, not_found, temporary, tool_error.
        retrieved_ids: Of what a search found, the best first.
    """

    value: Any
    observation: str
    error: str | None = None
    retrieved_ids: list[str] = dataclasses.field(default_factory=list)


class SessionClock(Protocol):
    """Whatever bounds the seconds of an episode; it is stopped during calls, and counts those that came back."""

    def stopped(self) -> contextlib.AbstractContextManager[None]: ...

    def charge(self, seconds: float) -> None: ...


class Session:
    """An environment opened for one episode.

    Args:
        environment: Opened here; the session works on its own copy.
        sandbox: Runs programs over the session's query APIs.
        record: Receives a `Step` for every call, in order, as it happens.
        tokens: Observations longer than this, at four characters a token, are cut between records, lines or sentences,
            and say so.
        clock: Is stopped for the time of a call or a program, and charged with the calls that came back.
    """

    def __init__(
        self,
        environment: Environment,
        sandbox: Sandbox,
        record: Callable[[Step], None] = lambda step: None,
        tokens: int = OBSERVATION_TOKENS,
        clock: SessionClock | None = None,
    ) -> None:
        self._environment = environment.open()
        self._sandbox = sandbox
        self._record = record
        self._clock = clock
        self._stopped = clock.stopped if clock else contextlib.nullcontext
        self._characters = tokens * CHARACTERS_A_TOKEN
        self.description = environment.description
        self.specs: dict[str, ApiSpec] = environment.specs()
        self.timeout = self._environment.timeout
        self.seconds = 0.0

    def close(self) -> None:
        """Let go of what the environment holds for this session, such as a connection."""
        self._environment.close()

    def state(self) -> Environment:
        """A copy of the environment as the calls so far have left it, to come back to with `restore`."""
        return self._environment.copy_state()

    def restore(self, state: Environment) -> None:
        """Let the next calls find the environment as it was when `state` was taken; any number of times."""
        self._environment = state.copy_state()

    async def call(self, api: str, arguments: dict[str, Any], positional: Sequence[Any] = ()) -> CallResult:
        """Call a query API with what a model wrote.

        Raises:
            EnvironmentFailure: The environment itself failed.
        """
        return await self._call(api, arguments, positional, self._characters)

    async def run_program(
        self, code: str, inputs: dict[str, Any] | None = None, expressions: Sequence[str] = ()
    ) -> ProgramResult:
        """Run a program in the sandbox with the query APIs as its functions; every call of them is recorded.

        Inside the program a call that fails raises TypeError (arguments), NameError (no such API), LookupError
        (nothing found), OSError (failed this once) or RuntimeError (any other `ToolError`), and values are plain data:
        text, numbers, lists, dicts. `expressions` are evaluated after it.

        Raises:
            EnvironmentFailure: The environment itself failed.
        """

        async def host(api: str, positional: Sequence[Any], named: dict[str, Any]) -> CallResult:
            return await self._call(api, named, positional, RECORDED_CHARACTERS)

        with self._stopped():
            return await self._sandbox.run(code, inputs or {}, list(self.specs), host, expressions)

    async def _call(
        self, api: str, arguments: dict[str, Any], positional: Sequence[Any], characters: int
    ) -> CallResult:
        started = time.perf_counter()
        names = [p.name for p in self.specs[api].parameters] if api in self.specs else []
        named = {(names[i] if i < len(names) else f"#{i + 1}"): value for i, value in enumerate(positional)}
        written: dict[str, Any] = {}
        failure: EnvironmentFailure | None = None
        try:
            written = to_jsonable_python({**named, **arguments}, fallback=str)
            with self._stopped():
                result = await self._carry_out(api, arguments, positional)
        except EnvironmentFailure as error:
            failure, result = error, CallResult(None, str(error), "environment")
        except ValueError as error:  # of `to_jsonable_python`, or of pydantic for numbers of thousands of digits
            result = CallResult(None, f"The arguments of {clip(api)} cannot be read: {error}.", "bad_arguments")
        seconds = time.perf_counter() - started
        self.seconds += seconds
        is_cut = len(result.observation) > characters
        if is_cut:
            result = dataclasses.replace(result, observation=cut(result.observation, characters))
        seen: dict[str, Any] = {"observation": result.observation, "cut": is_cut, "retrieved_ids": result.retrieved_ids}
        step = Step.of(kind="call", api=api, arguments=written, error=result.error, seconds=seconds, **seen)
        self._record(step)
        if failure is not None:
            raise failure
        if self._clock:
            self._clock.charge(seconds)
        return result

    async def _carry_out(self, api: str, arguments: dict[str, Any], positional: Sequence[Any]) -> CallResult:
        spec = self.specs.get(api)
        if spec is None:
            close = difflib.get_close_matches(api, self.specs, 1, 0.5)
            hint = f" Did you mean {close[0]}?" if close else ""
            known = f"The APIs: {', '.join(self.specs)}."
            return CallResult(None, f"There is no API named {clip(repr(api))}.{hint} {known}", "unknown_api")
        try:
            checked = spec.check(spec.bind(positional, arguments))
            to_jsonable_python(checked, fallback=str)  # a list in JSON text may be nested deeper than results can be
        except BadArguments as error:
            return CallResult(None, str(error), "bad_arguments")
        limit = asyncio.timeout(self._environment.timeout)
        try:
            async with limit:
                seen = await observe(self._environment, api, checked)
            return CallResult(seen.value, seen.text or "", None, list(seen.retrieved_ids))
        except ToolError as error:
            try:
                return CallResult(None, str(error), error.kind)
            except BaseException:  # noqa: BLE001  it is foreign code
                raise EnvironmentFailure(f"{api} failed: {describe(error)}") from error
        except EnvironmentFailure:
            raise
        except BaseException as error:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            if limit.expired():
                seconds = self._environment.timeout
                raise EnvironmentFailure(f"{api} gave nothing within {seconds:g} s, and was given up") from None
            remedy = f"; {REMEDY}" if isinstance(error, BLAMED) or isinstance(error.__cause__, StopIteration) else ""
            raise EnvironmentFailure(f"{api} failed: {describe(error)}{remedy}") from error


def cut(text: str, characters: int) -> str:
    """An observation shortened to a length, saying how much is left out.

    A list of records keeps whole records, unless not even the first one fits. Any other text ends with a line or a
    sentence, or else with a word, if one of these ends in the second half of what is kept.
    """
    if len(text) <= characters:
        return text
    line = text.rfind("\n", 0, characters + 1)
    counted = RECORDS.match(text)
    if counted and line > counted.end():
        end = line
    else:
        sentence = max(text.rfind(mark, 0, characters) + len(mark.rstrip()) for mark in SENTENCE_ENDS)
        ends = (max(line, sentence), text.rfind(" ", 0, characters + 1))
        end = next((each for each in ends if each > characters // 2), characters)
    lines, rest = text.count("\n", end), len(text) - end
    whole = f"{lines:,} more line{'' if lines == 1 else 's'}, " if lines else ""
    note = f"[… cut: {whole}{rest:,} more character{'' if rest == 1 else 's'}]"
    return text[:end].rstrip() + ("\n" if text[end] == "\n" else " ") + note
