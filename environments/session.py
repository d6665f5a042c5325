"""A session: an environment opened for one episode, with its call log.

Whatever a model asks for comes back as an observation that it can act on: an unknown API, arguments that do not fit,
nothing found, a failure that may pass. Only a failure of the environment's own machinery leaves the session as an
exception (`EnvironmentFailure`), since the system under test is then not to blame.
"""

from __future__ import annotations

import dataclasses
import difflib
import re
import time
from collections.abc import Callable, Sequence
from typing import Any

from pydantic_core import to_jsonable_python

from r_eval.environments.base import Environment, EnvironmentFailure, NotFound, TemporaryFailure
from r_eval.environments.sandbox import ProgramResult, Sandbox
from r_eval.environments.schema import ApiSpec, BadArguments, clip
from r_eval.records import Step

OBSERVATION_TOKENS = 1000
CHARACTERS_A_TOKEN = 4
RECORDS = re.compile(r"\d+ results?\.(?=\n)")
"""How a list of records begins (see `Environment.render`); each of them is a line."""
SENTENCE_ENDS = (". ", "! ", "? ", "。", "！", "？")


@dataclasses.dataclass(frozen=True, slots=True)
class CallResult:
    """What came of a call.

    Attributes:
        value: The API's value as plain JSON data; None where there is an error.
        observation: The same as text, as a model reads it; with an error, the message.
        error: None, or the kind of error: unknown_api, bad_arguments, not_found, temporary.
        found: Ids of what a search found.
    """

    value: Any
    observation: str
    error: str | None = None
    found: list[str] = dataclasses.field(default_factory=list)


class Session:
    """An environment opened for one episode.

    Args:
        environment: Opened here; the session works on its own copy.
        sandbox: Runs programs over the session's query APIs.
        record: Receives a `Step` for every call, in order, as it happens.
        tokens: Observations longer than this, at four characters a token, are cut between records, lines or sentences,
            and say so.
    """

    def __init__(
        self,
        environment: Environment,
        sandbox: Sandbox,
        record: Callable[[Step], None] = lambda step: None,
        tokens: int = OBSERVATION_TOKENS,
    ) -> None:
        self._environment = environment.open()
        self._sandbox = sandbox
        self._record = record
        self._characters = tokens * CHARACTERS_A_TOKEN
        self.description = environment.description
        self.specs: dict[str, ApiSpec] = environment.specs()
        self.seconds = 0.0

    def close(self) -> None:
        """Let go of what the environment holds for this session, such as a connection."""
        self._environment.close()

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
        (nothing found) or OSError (failed this once), and values are plain data: text, numbers, lists, dicts.
        `expressions` are evaluated after it.

        Raises:
            EnvironmentFailure: The environment itself failed.
        """

        async def host(api: str, positional: Sequence[Any], named: dict[str, Any]) -> Any:
            result = await self._call(api, named, positional, None)
            if result.error == "unknown_api":
                raise NameError(f"name '{clip(api)}' is not defined")
            if result.error == "bad_arguments":
                raise TypeError(result.observation)
            if result.error == "not_found":
                raise LookupError(result.observation)
            if result.error == "temporary":
                raise TemporaryFailure(result.observation)
            return result.value

        return await self._sandbox.run(code, inputs or {}, list(self.specs), host, expressions)

    async def _call(
        self, api: str, arguments: dict[str, Any], positional: Sequence[Any], characters: int | None
    ) -> CallResult:
        started = time.perf_counter()
        spec = self.specs.get(api)
        names = [p.name for p in spec.parameters] if spec else []
        named = {(names[i] if i < len(names) else f"#{i + 1}"): value for i, value in enumerate(positional)}
        written: dict[str, Any] = {}
        try:
            written = to_jsonable_python({**named, **arguments}, fallback=str)
            result = await self._carry_out(api, arguments, positional)
        except EnvironmentFailure as failure:
            result = CallResult(None, str(failure), "environment")
        except ValueError as error:
            result = CallResult(None, f"The arguments of {clip(api)} cannot be read: {error}.", "bad_arguments")
        seconds = time.perf_counter() - started
        self.seconds += seconds
        if characters is not None:
            result = dataclasses.replace(result, observation=cut(result.observation, characters))
        step = Step.model_construct(
            kind="call",
            api=api,
            arguments=written,
            observation=result.observation,
            found=result.found,
            error=result.error,
            seconds=seconds,
        )
        self._record(step)
        if result.error == "environment":
            raise EnvironmentFailure(result.observation)
        return result

    async def _carry_out(self, api: str, arguments: dict[str, Any], positional: Sequence[Any]) -> CallResult:
        spec = self.specs.get(api)
        if spec is None:
            return CallResult(None, self._unknown(api), "unknown_api")
        try:
            checked = spec.check(spec.bind(positional, arguments))
            to_jsonable_python(checked, fallback=str)  # a list in JSON text may be nested deeper than results can be
        except BadArguments as error:
            return CallResult(None, str(error), "bad_arguments")
        try:
            value = await self._environment.call(api, checked)
            plain = to_jsonable_python(value)
            environment = self._environment
            return CallResult(plain, environment.render(api, plain), None, environment.found(api, plain))
        except NotFound as nothing:
            return CallResult(None, str(nothing), "not_found")
        except TemporaryFailure as failure:
            return CallResult(None, str(failure), "temporary")
        except EnvironmentFailure:
            raise
        except Exception as error:
            raise EnvironmentFailure(f"{api} failed: {type(error).__name__}: {clip(str(error), 200)}") from error

    def _unknown(self, api: str) -> str:
        close = difflib.get_close_matches(api, self.specs, 1, 0.5)
        hint = f" Did you mean {close[0]}?" if close else ""
        return f"There is no API named {clip(repr(api))}.{hint} The APIs: {', '.join(self.specs)}."


def cut(text: str, characters: int) -> str:
    """An observation shortened to a length, saying how much is left out.

    A list of records keeps whole records, unless not even the first one fits. Any other text ends with a line or a
    sentence, or else with a word, if one of these ends in the second half of what is kept.
    """
    if len(text) <= characters:
        return text
    end = _end(text, characters)
    lines = text.count("\n", end)
    whole = f"{lines:,} more line{'' if lines == 1 else 's'}, " if lines else ""
    rest = len(text) - end
    note = f"[… cut: {whole}{rest:,} more character{'' if rest == 1 else 's'}]"
    gap = "\n" if text[end] == "\n" else " "
    return text[:end].rstrip() + gap + note


def _end(text: str, characters: int) -> int:
    """Where a text that is too long ends best."""
    line = text.rfind("\n", 0, characters + 1)
    counted = RECORDS.match(text)
    if counted and line > counted.end():
        return line
    sentence = max(text.rfind(mark, 0, characters) + len(mark.rstrip()) for mark in SENTENCE_ENDS)
    for end in (max(line, sentence), text.rfind(" ", 0, characters + 1)):
        if end > characters // 2:
            return end
    return characters
