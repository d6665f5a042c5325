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

from r_eval.environments.base import EnvironmentFailure

if TYPE_CHECKING:
    from pydantic_monty import Monty, MontyError, MontySession

Host = Callable[[str, Sequence[Any], dict[str, Any]], Awaitable[Any]]

PRINTED_BYTES = 20_000
ANSWER_CHARACTERS = 20_000
ANSWER_BITS = 10_000
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
        cause: syntax, unknown_api, bad_arguments, not_found, time, memory, calls, crash, no_answer or exception.
        message: One line for the model or a person; names the line of the program where it is known.
    """

    cause: str
    message: str


@dataclasses.dataclass(frozen=True)
class ProgramResult:
    """What a program left: its answer as plain data (None where there is none), and its error if it failed."""

    answer: Any = None
    error: ProgramError | None = None
    extra: list[Any] = dataclasses.field(default_factory=list)


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
        self.code, self.inputs, self.functions, self.host = code, inputs, functions, host
        self.expressions, self.limits, self.loop = expressions, limits, loop
        self.calls = 0
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
                last = self._feed(session, self.code, self.inputs, printed)
                answer = self._answer(session, last, printed.output)
                extra = [self._feed(session, text, {}, printed) for text in self.expressions]
        except MontyError as error:
            if self.failure is not None:
                raise self.failure from None
            return ProgramResult(error=self._explain(error))
        except UnicodeError as error:
            return ProgramResult(error=ProgramError("syntax", f"SyntaxError: {error}"))
        if answer is None:
            return ProgramResult(error=ProgramError("no_answer", "The program left nothing in `answer`."))
        return ProgramResult(answer, extra=extra)

    def _feed(self, session: MontySession, code: str, inputs: dict[str, Any], printed: Any) -> Any:
        from pydantic_monty import FunctionSnapshot, MontyComplete, NameLookupSnapshot

        known = dict.fromkeys(self.functions, _never)
        state = session.feed_start(code, inputs=inputs, external_lookup=known, print_callback=printed)
        while not isinstance(state, MontyComplete):
            if isinstance(state, FunctionSnapshot) and not state.is_os_function:
                state = state.resume(self._call(str(state.function_name), state.args, state.kwargs))
            elif isinstance(state, FunctionSnapshot):
                state = state.resume_not_handled()
            elif isinstance(state, NameLookupSnapshot):
                state = state.resume_auto()
            else:
                state.resume_auto()
        return state.output

    def _call(self, name: str, positional: tuple[Any, ...], named: dict[str, Any]) -> Any:
        self.calls += 1
        if self.failure is not None or self.calls > self.limits.calls:
            return {"exception": RuntimeError(f"more than {self.limits.calls} calls")}
        if self.given_up or self.loop.is_closed():
            raise _GivenUp
        call = self.host(name, plain(positional), plain(named))
        try:
            future = asyncio.run_coroutine_threadsafe(_awaited(call), self.loop)
            while not wait([future], POLL_SECONDS).done:
                if self.given_up or self.loop.is_closed():
                    future.cancel()
                    raise _GivenUp
            return {"return_value": future.result()}
        except EnvironmentFailure as failure:
            self.failure = failure
            return {"exception": RuntimeError(str(failure))}
        except (NameError, TypeError, LookupError) as error:
            cause = {NameError: "unknown_api", TypeError: "bad_arguments"}.get(type(error), "not_found")
            self.raised[str(error)] = cause
            return {"exception": error}

    def _answer(self, session: MontySession, last: Any, printed: str) -> Any:
        from pydantic_monty import MontyRuntimeError

        if self.failure is not None:
            raise self.failure
        try:
            return plain(session.feed_run("answer"))
        except MontyRuntimeError:
            return plain(last) if last is not None else (printed.strip() or None)

    def _explain(self, error: MontyError) -> ProgramError:
        from pydantic_monty import MontyCrashedError, MontySyntaxError

        frames = error.traceback() if hasattr(error, "traceback") else []
        line = f"line {frames[-1].line}: " if frames else ""
        message = f"{line}{error}"[:500]
        if isinstance(error, MontyCrashedError):
            return ProgramError("time" if error.timed_out else "crash", message)
        if isinstance(error, MontySyntaxError):
            return ProgramError("syntax", message)
        if self.calls > self.limits.calls:
            return ProgramError("calls", message)
        raised = error.exception()
        if isinstance(raised, TimeoutError | MemoryError):
            return ProgramError("time" if isinstance(raised, TimeoutError) else "memory", message)
        return ProgramError(self.raised.get(str(raised), "exception"), message)


def _never(*positional: Any, **named: Any) -> Any:
    """Stands for a query API among the names that a program may use; its calls are carried out by the host."""
    raise AssertionError("a query API is called through the host")


async def _awaited(call: Awaitable[Any]) -> Any:
    return await call


def plain(value: Any) -> Any:
    """A value as JSON data: tuples and sets become lists, everything that is not data becomes its text.

    So does a whole number that is too long to be written in decimal; its text is hexadecimal.
    """
    if isinstance(value, int) and value.bit_length() > ANSWER_BITS:
        return f"{value:#x}"[:ANSWER_CHARACTERS]
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, str):
        return value[:ANSWER_CHARACTERS]
    if isinstance(value, dict):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    if isinstance(value, set | frozenset):
        return sorted((plain(inner) for inner in value), key=str)
    return str(value)[:ANSWER_CHARACTERS]


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
