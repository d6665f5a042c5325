"""Code of other people (query APIs, hooks, conditions), run so that nothing it does reaches beyond its episode.

It may raise anything, `SystemExit` included; it may block, or never return. A sync function runs in a daemon thread:
one that hangs is abandoned, and holds up neither the event loop nor the end of the process. A coroutine runs in the
event loop of another thread, since it may block that loop.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import functools
import inspect
import itertools
import os
import queue
import sysconfig
import threading
import traceback
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")
Job = tuple[Callable[[], Any], asyncio.AbstractEventLoop, "asyncio.Future[Any]"]

TEXT_CHARACTERS = 300
"""How much of an exception's own text is repeated."""
TRACEBACK_CHARACTERS = 4_000
PING_SECONDS = 1.0
"""How long the loop of coroutines may take to answer before it counts as blocked."""

STANDARD = (f"{sysconfig.get_path('stdlib')}{os.sep}", "<frozen")
PACKAGES = (f"{sysconfig.get_path('purelib')}{os.sep}", f"{sysconfig.get_path('platlib')}{os.sep}")
OWN = tuple(
    f"{Path(__file__).parents[k] / room}{os.sep}" for k, room in ((0, ""), (1, "environments"), (1, "workflows"))
)


class ForeignExit(Exception):
    """Foreign code raised what is no `Exception`, or what no coroutine can raise (`StopIteration`): its cause."""


def describe(error: BaseException) -> str:
    """Class and text of an exception, whose `__str__` may raise as well, and where it was raised, on one line."""
    error = _innermost(error)
    try:
        text = " ".join(str(error).split())
    except BaseException:  # noqa: BLE001  it is foreign code
        text = "(its text cannot be read)"
    if len(text) > TEXT_CHARACTERS:
        text = f"{text[:TEXT_CHARACTERS]} …"
    frames = _foreign_frames(error)
    where = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}, in {frames[-1].name}" if frames else ""
    return f"{type(error).__name__}{f': {text}' if text else ''}{f' ({where})' if where else ''}"


def traceback_of(error: BaseException) -> str:
    """The traceback from where foreign code begins, "" where there is none; the end of it, where it is long."""
    frames = _foreign_frames(_innermost(error))
    text = "".join([*traceback.format_list(frames), describe(error)]) if frames else ""
    return text if len(text) <= TRACEBACK_CHARACTERS else f"… {text[-TRACEBACK_CHARACTERS:]}"


def _innermost(error: BaseException) -> BaseException:
    """What foreign code raised itself, where Python or R-Eval raised something else for it; the first of a group."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    cause = error.__cause__
    is_pythons = isinstance(error, RuntimeError) and isinstance(cause, StopIteration | StopAsyncIteration)
    return cause if cause is not None and (is_pythons or isinstance(error, ForeignExit)) else error


def _foreign_frames(error: BaseException) -> list[traceback.FrameSummary]:
    """The frames that are neither R-Eval's nor the standard library's; those of installed packages only where no
    others are left.
    """
    frames = [f for f in traceback.extract_tb(error.__traceback__) if not f.filename.startswith((*STANDARD, *OWN))]
    return [frame for frame in frames if not frame.filename.startswith(PACKAGES)] or frames


class DaemonThreads:
    """Threads that are made as they are needed, used again, and never waited for at the end of the process."""

    def __init__(self, name: str) -> None:
        self._name, self._numbers, self._process = name, itertools.count(1), os.getpid()
        self._idle: queue.LifoQueue[queue.SimpleQueue[Job]] = queue.LifoQueue()

    async def run(self, function: Callable[..., T], *arguments: Any, **keywords: Any) -> T:
        """What a function returns, or the exception that it raises; a cancelled caller does not wait for it.

        Raises:
            ForeignExit: It raised what is no `Exception`.
        """
        loop = asyncio.get_running_loop()
        context = contextvars.copy_context()
        done: asyncio.Future[T] = loop.create_future()
        if self._process != os.getpid():  # threads do not live on in a process that was forked
            self._process, self._idle = os.getpid(), queue.LifoQueue()
        try:
            jobs = self._idle.get_nowait()
        except queue.Empty:
            jobs = queue.SimpleQueue()
            name = f"{self._name}-{next(self._numbers)}"
            threading.Thread(target=self._work, args=(jobs,), name=name, daemon=True).start()
        jobs.put((functools.partial(context.run, function, *arguments, **keywords), loop, done))
        return await done

    def _work(self, jobs: queue.SimpleQueue[Job]) -> None:
        while True:
            function, loop, done = jobs.get()
            value, error = None, None
            try:
                value = function()
            except BaseException as raised:  # noqa: BLE001  it is foreign code
                error = _passable(raised)
            self._idle.put(jobs)
            try:
                loop.call_soon_threadsafe(_settle, done, value, error)
            except RuntimeError:  # the loop is closed: no one is waiting
                pass
            del function, loop, done, value, error


class ForeignLoop:
    """An event loop for foreign coroutines, in a daemon thread; one that is blocked is abandoned for a new one."""

    def __init__(self, name: str) -> None:
        self._name, self._process = name, os.getpid()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._abandoned: list[asyncio.AbstractEventLoop] = []

    async def run(self, work: Awaitable[T]) -> T:
        """What a coroutine returns, or the exception that it raises; it is cancelled where its caller is, unless it
        refuses, and is waited for no longer then.

        Raises:
            ForeignExit: It raised what is no `Exception`.
        """
        if self._loop is None or self._process != os.getpid():
            self._abandoned += filter(None, [self._loop])
            self._loop, self._process = asyncio.new_event_loop(), os.getpid()
            threading.Thread(target=_run_forever, args=(self._loop,), name=self._name, daemon=True).start()
        loop = self._loop
        try:
            done = asyncio.run_coroutine_threadsafe(contained(work), loop)
            value, error = await asyncio.wrap_future(done)
        except asyncio.CancelledError:
            loop.call_soon_threadsafe(_forget, work)
            if self._loop is loop and not await _answers(loop) and self._loop is loop:  # no other call was faster
                self._abandoned.append(loop)  # what hangs in it would complain if it were collected
                self._loop = None
            raise
        if error is not None:
            raise error
        return value  # type: ignore[return-value]  # there is one where there is no error


def _run_forever(loop: asyncio.AbstractEventLoop) -> None:
    """Run a loop on, whatever ends it: a task of foreign code that raises SystemExit, or its call of `stop`."""
    while not loop.is_closed():
        with contextlib.suppress(BaseException):
            loop.run_forever()


async def contained(work: Awaitable[T]) -> tuple[T | None, BaseException | None]:
    """What a coroutine returns or raises: an exception raised in a task might end the loop, and would lose its
    traceback on the way to another loop.
    """
    try:
        return await work, None
    except BaseException as error:
        task = asyncio.current_task()
        if isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling():
            raise
        return None, _passable(error)


async def _answers(loop: asyncio.AbstractEventLoop) -> bool:
    """Whether a loop in another thread still does anything."""
    ping = asyncio.run_coroutine_threadsafe(asyncio.sleep(0), loop)
    done, _ = await asyncio.wait([asyncio.wrap_future(ping)], timeout=PING_SECONDS)
    return bool(done)


def _passable(error: BaseException) -> BaseException:
    """An exception that may be raised in a coroutine without ending the event loop."""
    error = _innermost(error)
    if isinstance(error, Exception) and not isinstance(error, StopIteration | StopAsyncIteration):
        return error
    passable = ForeignExit(type(error).__name__)
    passable.__cause__ = error
    return passable


def _forget(work: Any) -> None:
    """Close a coroutine that has not begun, since no one is waiting for it; otherwise Python warns."""
    if inspect.iscoroutine(work) and inspect.getcoroutinestate(work) == inspect.CORO_CREATED:
        work.close()


def _settle(done: asyncio.Future[Any], value: Any, error: BaseException | None) -> None:
    if done.done():
        _forget(value)
    elif error is None:
        done.set_result(value)
    else:
        done.set_exception(error)
