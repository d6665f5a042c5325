"""Programs that a model or a template wrote, run in a sandbox: a Python interpreter of its own (pydantic-monty) in
worker processes, without files, network, imports from the machine, clock or chance (time stands still, random numbers
begin from one seed), whose only way out is the query APIs.

Python itself never evaluates any of the text. Time, memory, recursion, the number of calls and the length of what is
printed are bounded; a worker that dies is replaced and costs only its program.
"""

from __future__ import annotations

import asyncio
import dataclasses
import datetime
import os
import signal
import threading
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import wait
from typing import TYPE_CHECKING, Any

from r_eval.environments.base import EnvironmentFailure
from r_eval.environments.prelude import Prelude, TooLarge, read
from r_eval.environments.schema import clip
from r_eval.errors import UserError
from r_eval.isolation import DaemonThreads

if TYPE_CHECKING:
    from pydantic_monty import Monty, MontyError, MontySession

    from r_eval.environments.session import CallResult

Host = Callable[[str, Sequence[Any], dict[str, Any]], Coroutine[Any, Any, "CallResult"]]
EXCEPTIONS: dict[str, type[Exception]] = {
    "unknown_api": NameError,
    "bad_arguments": TypeError,
    "not_found": LookupError,
    "temporary": OSError,
    "tool_error": RuntimeError,
}
"""What a call that fails raises in a program, by the kind of error."""

NOT_IN_BUILTINS = "map, filter, sorted, min and max cannot call a query API: call it in a loop or a comprehension"
PRINTED_BYTES = 20_000
PRELUDE = "<python-input-0>"
POLL_SECONDS = 0.5
MOST_PROCESSES = 64
"""Programs that may be under way, most of them waiting for a call."""
FORKED = 'this process was forked from one that has run programs; start it with multiprocessing\'s "spawn" instead'
_used: set[int] = set()
"""The processes that have used the sandbox, whose threads a fork does not have."""
TODAY = datetime.datetime(2025, 1, 1, tzinfo=datetime.UTC)


@dataclasses.dataclass(frozen=True)
class ProgramLimits:
    """Bounds of one program: seconds of its own execution (calls not counted), bytes of memory, calls."""

    seconds: float = 5.0
    memory: int = 64 * 1024 * 1024
    calls: int = 100
    recursion: int = 200


@dataclasses.dataclass(frozen=True)
class ProgramError:
    """Why a program ended early.

    Attributes:
        cause: syntax, unknown_api, bad_arguments, not_found, temporary, tool_error, exception, time, memory, output
            (printed too much), calls, crash, or no_answer.
        message: One line for the model or a person; names the line of the program where it is known.
        line: That line's number, from 1. Where a limit ended the program, it is not known where it was.
    """

    cause: str
    message: str
    line: int | None = None


@dataclasses.dataclass(frozen=True)
class ProgramResult:
    """What a program left.

    Attributes:
        answer: As plain data; None where there is none.
        error: Why it failed, if it did.
        extra: Values of the expressions that were evaluated after it.
        returned: What its calls returned, in their order; those that failed are not among them.
    """

    answer: Any = None
    error: ProgramError | None = None
    extra: list[Any] = dataclasses.field(default_factory=list)
    returned: list[Any] = dataclasses.field(default_factory=list, compare=False)


class Sandbox:
    """A pool of interpreter processes, started with the first program; use it as a context manager.

    A program that waits for a call has a process and a thread of its own and holds up no other, however long the call
    takes.

    Args:
        workers: Programs that compute at the same time.

    Raises:
        UserError: When it is entered: a process forked from one that has run programs would wait for ever.
    """

    def __init__(self, workers: int = 2, limits: ProgramLimits | None = None) -> None:
        self.limits = limits or ProgramLimits()
        self._workers = workers
        self.computing = threading.Semaphore(workers)
        self._pool: Monty | None = None
        self._starting = threading.Lock()
        self._threads = DaemonThreads("sandbox")

    def __enter__(self) -> Sandbox:
        if _used and os.getpid() not in _used:
            raise UserError(FORKED)
        return self

    def __exit__(self, *exception: object) -> None:
        if self._pool is not None:
            self._pool.__exit__(*exception)
            self._pool = None

    async def run(
        self,
        code: str,
        inputs: dict[str, Any],
        functions: Sequence[str],
        host: Host,
        expressions: Sequence[str] = (),
    ) -> ProgramResult:
        """Run a program.

        The answer is the variable `answer`, else the value of the last expression, else what was printed.

        Args:
            code: The program.
            inputs: Variables that it finds set.
            functions: Names of the query APIs.
            host: Carries out a call of one of them (name, positional, named arguments); an error that it reports is
                raised inside the program (see `EXCEPTIONS`).
            expressions: Evaluated after the program, over its variables; their values are `extra` of the result.

        Raises:
            EnvironmentFailure: A call failed in the environment's own infrastructure; the program is given up.
        """
        run = _Run(self, code, functions, host)
        try:
            return await self._threads.run(run.carry_out, self._started(), inputs, expressions)
        except asyncio.CancelledError:
            run.given_up = True
            raise

    def _started(self) -> Monty:
        with self._starting:
            if self._pool is None:
                from pydantic_monty import Monty

                _used.add(os.getpid())
                most = max(self._workers, MOST_PROCESSES)
                pool = Monty(min_processes=self._workers, max_processes=most, request_timeout=30.0)
                # A terminal sends Ctrl-C to the processes too, and programs under way are to finish: they inherit that
                # nothing comes of it, for which only the main thread can see.
                is_main = threading.current_thread() is threading.main_thread()
                before = signal.signal(signal.SIGINT, signal.SIG_IGN) if is_main else None
                try:
                    self._pool = pool.__enter__()
                finally:
                    if is_main:
                        signal.signal(signal.SIGINT, before if before is not None else signal.SIG_DFL)
            return self._pool


class _GivenUp(Exception):
    """The result of the program is no longer awaited."""


class _Run:
    """One program, run in a thread of its own: the interpreter waits there while a call is carried out on the loop.

    Attributes:
        given_up: Set when the result is no longer awaited; the program ends with its next call, or at its limits.
    """

    def __init__(self, sandbox: Sandbox, code: str, functions: Sequence[str], host: Host) -> None:
        self.limits, self.computing = sandbox.limits, sandbox.computing
        self.host, self.loop = host, asyncio.get_running_loop()
        self.prelude = Prelude(functions)
        self.code = self.prelude.prepare(code)  # here, in one thread: Python 3.11 parses in one at a time only
        self.given_up, self.calls = False, 0
        self.returned: list[Any] = []
        self.raised: dict[str, str] = {}
        self.failure: EnvironmentFailure | None = None

    def carry_out(self, pool: Monty, inputs: dict[str, Any], expressions: Sequence[str]) -> ProgramResult:
        from pydantic_monty import CollectString, MontyError

        printed = CollectString(max_bytes=PRINTED_BYTES)
        limits = self.limits
        checkout = pool.checkout(
            limits={
                "max_feed_duration_secs": limits.seconds,
                "max_memory": limits.memory,
                "max_recursion_depth": limits.recursion,
                "max_suspensions": limits.calls * 2 + 20,
                "max_total_sleep_secs": 0.0,
            },
            os_policy={"datetime": TODAY, "random_start": {"seed": 0}},
        )
        try:
            with checkout as session, self.computing:
                self._feed(session, self.prelude.text, {}, printed)
                self._feed(session, self.code, inputs, printed)
                answer = self._answer(session, printed)
                texts = map(self.prelude.leaving, expressions)
                extra = [read(self._feed(session, text, {}, printed)) for text in texts]
        except MontyError as error:
            if self.failure is not None:
                raise self.failure from None
            failed = self._explain(error)
        except TooLarge as error:
            failed = ProgramError("memory", f"the answer is {error}")
        except UnicodeError as error:
            failed = ProgramError("syntax", f"SyntaxError: {error}")
        else:
            if answer is not None:
                return ProgramResult(answer, extra=extra, returned=self.returned)
            failed = ProgramError("no_answer", "The program left nothing in `answer`.")
        return ProgramResult(error=failed, returned=self.returned)

    def _feed(self, session: MontySession, code: str, inputs: dict[str, Any], printed: Any) -> Any:
        """The value of some code that is run to its end; to be used only where it is a text of the prelude's making."""
        from pydantic_monty import FunctionSnapshot, MontyComplete, NameLookupSnapshot

        known = {self.prelude.call: _never}
        state = session.feed_start(code, inputs=inputs, external_lookup=known, print_callback=printed)
        while not isinstance(state, MontyComplete):
            if isinstance(state, FunctionSnapshot) and not state.is_os_function:
                name = str(state.function_name)
                api, text = state.args if name == self.prelude.call else (name, None)
                state = state.resume(self._call(api, text))
            elif isinstance(state, FunctionSnapshot):
                state = state.resume_not_handled()
            elif isinstance(state, NameLookupSnapshot):
                state = state.resume_auto()
            else:
                state.resume_auto()
        return state.output

    def _call(self, api: str, arguments: str | None) -> Any:
        """Carry out a call; its arguments are not known where there is no such API."""
        self.calls += 1
        if self.failure is not None or self.calls > self.limits.calls:
            return {"exception": RuntimeError(f"more than {self.limits.calls} calls")}
        try:
            positional, named = read(arguments) if arguments is not None else ([], {})
        except TooLarge as error:
            return {"exception": MemoryError(f"{api} was given {error}")}
        self.computing.release()  # another program computes while this one waits
        try:
            result = self._result(api, positional, named)
        except EnvironmentFailure as failure:
            self.failure = failure
            return {"exception": RuntimeError(str(failure))}
        finally:
            self.computing.acquire()
        if result.error is None:
            self.returned.append(result.value)
            return {"return_value": result.value}
        message = f"name '{clip(api)}' is not defined" if result.error == "unknown_api" else result.observation
        self.raised[message] = result.error
        return {"exception": EXCEPTIONS[result.error](message)}

    def _result(self, api: str, positional: list[Any], named: dict[str, Any]) -> CallResult:
        """What comes of a call.

        Raises:
            EnvironmentFailure: The environment itself failed.
            _GivenUp: The result of the program is no longer awaited.
        """
        if self.given_up or self.loop.is_closed():
            raise _GivenUp
        future = asyncio.run_coroutine_threadsafe(self.host(api, positional, named), self.loop)
        while not wait([future], POLL_SECONDS).done:
            if self.given_up or self.loop.is_closed():
                future.cancel()
                raise _GivenUp
        return future.result()

    def _answer(self, session: MontySession, printed: Any) -> Any:
        from pydantic_monty import MontyRuntimeError

        if self.failure is not None:
            raise self.failure
        for text in self.prelude.answers:
            try:
                answer = read(self._feed(session, text, {}, printed))
            except MontyRuntimeError as error:
                if not isinstance(error.exception(), NameError):
                    raise
                continue
            if answer is not None or text == self.prelude.answers[0]:
                return answer
        return printed.output.strip() or None

    def _explain(self, error: MontyError) -> ProgramError:
        """Why an exception ended the program."""
        from pydantic_monty import MontyCrashedError, MontySyntaxError

        frames = error.traceback() if hasattr(error, "traceback") else []
        line = next((frame.line for frame in reversed(frames) if frame.filename != PRELUDE), None)
        message = str(error)
        if isinstance(error, MontyCrashedError):
            cause = "time" if error.timed_out else "crash"
        elif isinstance(error, MontySyntaxError):
            cause = "syntax"
        elif self.calls > self.limits.calls:
            cause = "calls"
        elif isinstance(raised := error.exception(), TimeoutError):
            cause = "time"
        elif isinstance(raised, NotImplementedError) and self.prelude.call in message:
            cause, message = "exception", f"NotImplementedError: {NOT_IN_BUILTINS}"
        elif isinstance(raised, MemoryError) and str(raised).endswith(f" > {PRINTED_BYTES} bytes"):
            cause, message = "output", f"more than {PRINTED_BYTES:,} bytes were printed"
        else:
            cause = "memory" if isinstance(raised, MemoryError) else self.raised.get(str(raised), "exception")
        return ProgramError(cause, f"{f'line {line}: ' if line else ''}{message}"[:500], line)


def _never(*positional: Any, **named: Any) -> Any:
    """Stands for a query API among the names that a program may use; its calls are carried out by the host."""
    raise AssertionError("a query API is called through the host")


def answer_text(value: Any) -> str:
    """A program's answer as the text that is scored, the same for gold programs and for a model's.

    Several values are joined by ";", as the published datasets write them; a truth value becomes yes or no.
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.10g}"
    if isinstance(value, list):
        return "; ".join(answer_text(item) for item in value)
    if isinstance(value, dict):
        return "; ".join(f"{key}: {answer_text(item)}" for key, item in value.items())
    return str(value)
