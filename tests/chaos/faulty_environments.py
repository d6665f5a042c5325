"""Environments that do what environments should not: each class is one fault; `FAULTS` says what is to come of it."""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import gc
import itertools
import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable
from typing import Any

from r_eval.environments import Environment, NotFound, query_api


class Good(Environment):
    """People and where they live."""

    @query_api
    def find(self, name: str) -> str:
        """Find where somebody lives.

        Args:
            name: The person.
        """
        return f"{name} lives in Nairobi (内罗毕)."


class _Odd(BaseException):
    pass


class _Speechless(Exception):
    def __str__(self) -> str:
        raise ValueError("no text")


class _Unlucky(Exception):
    def __str__(self) -> str:
        raise SystemExit(3)


def _raising(error: BaseException, is_async: bool = False) -> Callable[[], Any]:
    def find() -> str:
        raise error

    async def find_async() -> str:
        await asyncio.sleep(0)
        raise error

    return find_async if is_async else find


def _after(action: Callable[[], object]) -> Callable[[], str]:
    def find() -> str:
        action()
        return "Nairobi"

    return find


def _doing(function: Callable[[], Any]) -> type[Environment]:
    """An environment whose query API does what a function does, sync or async."""
    if asyncio.iscoroutinefunction(function):

        async def find(self: Any, name: str) -> Any:
            return await function()

    else:

        def find(self: Any, name: str) -> Any:
            return function()

    find.__doc__ = "Find where somebody lives.\n\nArgs:\n    name: The person."
    return type("Faulty", (Environment,), {"find": query_api(find), "__doc__": "People."})


def _hooked(hook: str, error: BaseException | None) -> type[Environment]:
    """An environment one of whose hooks raises an error, or hangs."""

    def fail(self: Any, *arguments: Any) -> Any:
        if error is None:
            time.sleep(1_000_000)
        else:
            raise error

    return type("Faulty", (Good,), {hook: fail, "__doc__": "People."})


def _nested() -> Any:
    value: Any = []
    for _ in range(100_000):
        value = [value]
    return value


def _circular() -> Any:
    value: list[Any] = []
    value.append(value)
    return value


def _recursing() -> Any:
    return _recursing()


def _raised_in_thread() -> None:
    thread = threading.Thread(target=lambda: 1 / 0)
    thread.start()
    thread.join()


async def _blocking() -> str:
    time.sleep(1_000_000)
    return "never"


async def _hanging() -> str:
    await asyncio.Event().wait()
    return "never"


async def _stubborn() -> str:
    while True:
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(1_000_000)


async def _cancels_itself() -> str:
    task = asyncio.current_task()
    assert task is not None
    task.cancel()
    await asyncio.sleep(0)
    return "never"


async def _inner_cancelled() -> str:
    task = asyncio.ensure_future(asyncio.sleep(1_000))
    await asyncio.sleep(0)
    task.cancel()
    await task
    return "never"


async def _stops_loop() -> str:
    asyncio.get_running_loop().stop()
    await asyncio.sleep(1_000)
    return "never"


async def _left_task() -> str:
    asyncio.ensure_future(asyncio.sleep(1_000))  # noqa: RUF006  nobody holds on to it
    return "Nairobi"


async def _numbers() -> Any:
    yield 1


class _NotFoundSpeechless(NotFound):
    def __str__(self) -> str:
        raise ValueError("no text")


HARMLESS, FAILS = "finished", "tool_failure"
ERRORS: tuple[BaseException, ...] = (
    SystemExit(3), KeyboardInterrupt(), GeneratorExit(), asyncio.CancelledError(), StopIteration(),
    StopAsyncIteration(), _Odd("odd"), _Speechless(), _Unlucky(), MemoryError(), RecursionError("deep"),
    TimeoutError("slow"), OSError(28, "No space left on device"), BrokenPipeError(),
    ExceptionGroup("several", [ValueError("a"), KeyError("b")]), BaseExceptionGroup("several", [SystemExit(1)]),
    UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid"), ValueError("\ud83d half a pair"),
    ValueError("x" * 10_000_000),
)  # fmt: skip
FAULTS: dict[str, tuple[type[Environment] | Callable[[], Any], str]] = {
    # What an API raises, sync and async
    **{
        f"raises {type(error).__name__}{' async' * is_async}": (_raising(error, is_async), FAILS)
        for is_async in (False, True)
        for error in ERRORS
    },
    "raises NotFound without a text": (_raising(_NotFoundSpeechless()), FAILS),
    "raises no exception class at all": (lambda: (_ for _ in ()).throw(TypeError("not an exception")), FAILS),
    # What its hooks do
    **{
        f"{hook} raises {type(error).__name__}": (_hooked(hook, error), FAILS)
        for hook in ("open", "close", "for_documents", "render", "retrieved_ids")
        for error in (ValueError("broken"), SystemExit(3), KeyboardInterrupt(), _Odd(), _Speechless())
    },
    "open hangs": (_hooked("open", None), FAILS),
    "close hangs": (_hooked("close", None), FAILS),
    "for_documents hangs": (_hooked("for_documents", None), FAILS),
    "retrieved_ids gives numbers": (
        type("Faulty", (Good,), {"retrieved_ids": lambda self, api, value: [1, None, {}]}),
        FAILS,
    ),
    # What hangs or blocks
    "hangs": (lambda: time.sleep(1_000_000), FAILS),
    "hangs async": (_hanging, FAILS),
    "blocks its loop": (_blocking, FAILS),
    "swallows cancellation": (_stubborn, FAILS),
    "computes for ever": (lambda: sum(1 for _ in iter(int, 1) if time.sleep(0.001)), FAILS),
    "cancels itself": (_cancels_itself, FAILS),
    "awaits what was cancelled": (_inner_cancelled, FAILS),
    "stops its loop": (_stops_loop, FAILS),
    # What it returns
    "an endless iterator": (itertools.count, FAILS),
    "an async generator": (_numbers, FAILS),
    "itself nested": (_nested, FAILS),
    "a circle": (_circular, FAILS),
    "an object": (object, FAILS),
    "a lock": (threading.Lock, FAILS),
    "100 MB of text": (lambda: "内" * 33_000_000, HARMLESS),
    "a million rows": (lambda: [{"n": n} for n in range(300_000)], HARMLESS),
    "half a surrogate pair": (lambda: "Nairobi \ud83d", HARMLESS),
    "NaN": (lambda: float("nan"), HARMLESS),
    "bytes": (lambda: b"Nairobi", HARMLESS),
    "bytes that are no text": (lambda: b"\xff\xfe", FAILS),
    "a date": (lambda: datetime.date(2024, 2, 29), HARMLESS),
    "a set": (lambda: {"a"}, HARMLESS),
    "nothing": (lambda: None, HARMLESS),
    "a generator": (lambda: (n for n in range(3)), HARMLESS),
    "a huge number": (lambda: 10**5000, FAILS),
    "keys that are no text": (lambda: {1: "a", None: "b"}, HARMLESS),
    # What it does beside
    "recurses": (_recursing, FAILS),
    "leaves a thread": (_after(lambda: threading.Thread(target=time.sleep, args=(1_000_000,)).start()), HARMLESS),
    "leaves many threads": (
        _after(lambda: [threading.Thread(target=time.sleep, args=(20,), daemon=True).start() for _ in range(50)]),
        HARMLESS,
    ),
    "leaves a task": (_left_task, HARMLESS),
    "changes the folder": (_after(lambda: os.chdir("/")), HARMLESS),
    "an exception in a thread": (_after(_raised_in_thread), HARMLESS),
    "prints": (_after(lambda: sys.stdout.write("\x1b[2Jnoise " * 1000)), HARMLESS),
    "a child that fails": (
        _after(lambda: subprocess.run([sys.executable, "-c", "raise SystemExit(3)"], check=True)),
        FAILS,
    ),
    "runs a loop of its own": (_after(lambda: asyncio.run(asyncio.sleep(0.01))), HARMLESS),
    "sets a signal handler": (_after(lambda: signal.signal(signal.SIGINT, signal.SIG_IGN)), FAILS),
    "warns": (_after(lambda: warnings.warn("this is old", stacklevel=1)), HARMLESS),
    "plays with the collector": (_after(lambda: (gc.collect(), gc.set_threshold(1))), HARMLESS),
}


class Named(Environment):
    """Stands for the class of the fault that its setting names, or for the good one."""

    def __new__(cls, fault: str) -> Any:
        faulty = Good if fault == "good" else FAULTS[fault][0]
        return faulty() if isinstance(faulty, type) and issubclass(faulty, Environment) else _doing(faulty)()
