"""Programs that a model or a template wrote, run in a sandbox: a Python interpreter of its own (pydantic-monty) in
worker processes, without files, network, imports from the machine, clock or chance (time stands still, random numbers
begin from one seed), whose only way out is the query APIs.

Python itself never evaluates any of the text. Time, memory, recursion, the number of calls and the length of what is
printed are bounded; a worker that dies is replaced and costs only its program.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import datetime
import signal
import threading
from collections.abc import Awaitable, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, Any

from r_eval.environments.base import EnvironmentFailure, TemporaryFailure, ToolError
from r_eval.environments.prelude import Prelude, TooLarge, plain, read, read_arguments

if TYPE_CHECKING:
    from pydantic_monty import Monty, MontyComplete, MontyError, MontySession

Host = Callable[[str, Sequence[Any], dict[str, Any]], Awaitable[Any]]

PRINTED_BYTES = 20_000
PRELUDE = "<python-input-0>"
POLL_SECONDS = 0.5
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

    Programs wait in threads of the sandbox's own: in the event loop's, they would hold those that their calls need.

    Args:
        workers: Programs that run at the same time; more wait for a place.
    """

    def __init__(self, workers: int = 2, limits: ProgramLimits | None = None) -> None:
        self.limits = limits or ProgramLimits()
        self._workers = workers
        self._pool: Monty | None = None
        self._starting = threading.Lock()
        self._threads = ThreadPoolExecutor(workers, thread_name_prefix="sandbox")

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(self, *exception: object) -> None:
        if self._pool is not None:
            self._pool.__exit__(*exception)
            self._pool = None
        self._threads.shutdown(wait=False, cancel_futures=True)

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
            host: Carries out a call of one of them (name, positional, named arguments); an exception that it raises
                is raised inside the program.
            expressions: Evaluated after the program, over its variables; their values are `extra` of the result.

        Raises:
            EnvironmentFailure: A call failed in the environment's own machinery; the program is given up.
        """
        loop = asyncio.get_running_loop()
        run = _Run(code, inputs, functions, host, expressions, self.limits, loop)
        try:
            return await loop.run_in_executor(self._threads, run.carry_out, self._started())
        except asyncio.CancelledError:
            run.given_up = True
            raise

    def _started(self) -> Monty:
        with self._starting:
            if self._pool is None:
                from pydantic_monty import Monty

                pool = Monty(min_processes=self._workers, max_processes=self._workers, request_timeout=30.0)
                with _interrupts_ignored():
                    self._pool = pool.__enter__()
            return self._pool


@contextlib.contextmanager
def _interrupts_ignored() -> Iterator[None]:
    """Processes started in here inherit that Ctrl-C does nothing to them: a terminal sends it to them too, and
    programs under way are to finish. Only the main thread can see to it.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before if before is not None else signal.SIG_DFL)


class _GivenUp(Exception):
    """Nobody waits for the program any more."""


class _Run:
    """One program, run in a thread of its own: the interpreter waits there while a call is carried out on the loop.

    Attributes:
        given_up: Set where nobody waits for the program any more; it ends with its next call, or at its limits.
    """

    def __init__(
        self,
        code: str,
        inputs: dict[str, Any],
        functions: Sequence[str],
        host: Host,
        expressions: Sequence[str],
        limits: ProgramLimits,
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        self.inputs, self.host = inputs, host
        self.expressions, self.limits, self.loop = expressions, limits, loop
        self.prelude = Prelude(functions)
        self.code = self.prelude.ready(code)  # here, in one thread: Python 3.11 parses in one at a time only
        self.calls = 0
        self.returned: list[Any] = []
        self.raised: dict[str, str] = {}
        self.failure: EnvironmentFailure | None = None
        self.given_up = False

    def carry_out(self, pool: Monty) -> ProgramResult:
        from pydantic_monty import CollectString, MontyError

        printed = CollectString(max_bytes=PRINTED_BYTES)
        limits = self.limits
        try:
            with pool.checkout(
                limits={
                    "max_feed_duration_secs": limits.seconds,
                    "max_memory": limits.memory,
                    "max_recursion_depth": limits.recursion,
                    "max_suspensions": limits.calls * 2 + 20,
                    "max_total_sleep_secs": 0.0,
                },
                os_policy={"datetime": TODAY, "random_start": {"seed": 0}},
            ) as session:
                self._feed(session, self.prelude.text, {}, printed)
                self._feed(session, self.code, self.inputs, printed)
                answer = self._answer(session, printed)
                extra = [self._feed(session, text, {}, printed).output for text in self.expressions]
        except MontyError as error:
            if self.failure is not None:
                raise self.failure from None
            return self._failed(self._explain(error))
        except TooLarge as error:
            return self._failed(ProgramError("memory", f"the answer is {error}"))
        except UnicodeError as error:
            return self._failed(ProgramError("syntax", f"SyntaxError: {error}"))
        if answer is None:
            return self._failed(ProgramError("no_answer", "The program left nothing in `answer`."))
        return ProgramResult(answer, extra=extra, returned=self.returned)

    def _failed(self, error: ProgramError) -> ProgramResult:
        return ProgramResult(error=error, returned=self.returned)

    def _feed(self, session: MontySession, code: str, inputs: dict[str, Any], printed: Any) -> MontyComplete:
        """Run some code to its end. Values are only taken over where they are texts of the prelude's making."""
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
        return state

    def _call(self, name: str, arguments: str | None) -> Any:
        """Carry out a call; its arguments are not known where there is no such API."""
        self.calls += 1
        if self.failure is not None or self.calls > self.limits.calls:
            return {"exception": RuntimeError(f"more than {self.limits.calls} calls")}
        if self.given_up or self.loop.is_closed():
            raise _GivenUp
        try:
            positional, named = read_arguments(arguments) if arguments is not None else ([], {})
            call = self.host(name, plain(positional), plain(named))
        except TooLarge as error:
            return {"exception": MemoryError(f"{name} was given {error}")}
        try:
            future = asyncio.run_coroutine_threadsafe(_awaited(call), self.loop)
            while not wait([future], POLL_SECONDS).done:
                if self.given_up or self.loop.is_closed():
                    future.cancel()
                    raise _GivenUp
            value = future.result()
            self.returned.append(value)
            return {"return_value": value}
        except EnvironmentFailure as failure:
            self.failure = failure
            return {"exception": RuntimeError(str(failure))}
        except TemporaryFailure as failure:
            self.raised[str(failure)] = "temporary"
            return {"exception": OSError(str(failure))}
        except ToolError as failure:
            self.raised[str(failure)] = "tool_error"
            return {"exception": RuntimeError(str(failure))}
        except (NameError, TypeError, LookupError) as error:
            cause = {NameError: "unknown_api", TypeError: "bad_arguments"}.get(type(error), "not_found")
            self.raised[str(error)] = cause
            return {"exception": error}

    def _answer(self, session: MontySession, printed: Any) -> Any:
        from pydantic_monty import MontyRuntimeError

        if self.failure is not None:
            raise self.failure
        for text in self.prelude.answers:
            try:
                answer = plain(read(self._feed(session, text, {}, printed).output))
            except MontyRuntimeError as error:
                if not isinstance(error.exception(), NameError):
                    raise
                continue
            if answer is not None or text == self.prelude.answers[0]:
                return answer
        return printed.output.strip() or None

    def _explain(self, error: MontyError) -> ProgramError:
        from pydantic_monty import MontyCrashedError, MontySyntaxError

        frames = error.traceback() if hasattr(error, "traceback") else []
        frames = [frame for frame in frames if frame.filename != PRELUDE]
        line = frames[-1].line if frames else None
        where = f"line {line}: " if line else ""
        if isinstance(error, MontyCrashedError):
            cause = "time" if error.timed_out else "crash"
        elif isinstance(error, MontySyntaxError):
            cause = "syntax"
        elif self.calls > self.limits.calls:
            cause = "calls"
        else:
            cause = self._cause(error.exception())
        said = f"more than {PRINTED_BYTES:,} bytes were printed" if cause == "output" else str(error)
        return ProgramError(cause, f"{where}{said}"[:500], line)

    def _cause(self, raised: BaseException) -> str:
        """Why an exception ended the program."""
        if isinstance(raised, TimeoutError):
            return "time"
        if isinstance(raised, MemoryError):
            return "output" if str(raised).endswith(f" > {PRINTED_BYTES} bytes") else "memory"
        return self.raised.get(str(raised), "exception")


def _never(*positional: Any, **named: Any) -> Any:
    """Stands for a query API among the names that a program may use; its calls are carried out by the host."""
    raise AssertionError("a query API is called through the host")


async def _awaited(call: Awaitable[Any]) -> Any:
    return await call


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
