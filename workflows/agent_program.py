"""A program of the user's as a process of its own, bounded and gone at the end: its group is killed.

It is not a sandbox. The process has an empty folder and a clean environment, and what it writes is read up to a bound,
but it may read and do whatever its user may. Processes are started, fed and waited for in threads: starting one takes
tens of milliseconds on a busy machine, and an event loop does not go on meanwhile, whose own way of it that is.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
import signal
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path
from typing import IO

from r_eval.environments.base import EnvironmentFailure, threads

TAIL = 100_000
"""Bytes of standard output, from its end, in which the answer is looked for."""
ERROR_TAIL = 2_000
"""Bytes of standard error that a record may quote."""
MAX_OUTPUT = 16 << 20
"""Bytes that a program may write to each of the two."""
POLL_MILLISECONDS = 200
"""How often a thread that reads looks whether its program is over."""
END_SECONDS = 1.0
"""How long the last output of a process that has ended, and the end of one that was killed, are waited for."""


class Output:
    """What a program writes to one of its streams: so many bytes of it as `most`, from the end."""

    def __init__(self, most: int) -> None:
        self.tail = bytearray()
        self.written = 0
        self._most = most

    def add(self, data: bytes) -> None:
        """Take in what was written next."""
        self.written += len(data)
        self.tail += data
        del self.tail[: -self._most]


class Program:
    """A running program.

    Args:
        given: Its standard input.
        on_end: Called when it has ended, or has to.

    Attributes:
        status: Its exit status, negative for a signal; None while it runs.
    """

    def __init__(self, process: subprocess.Popen[bytes], given: bytes, on_end: Callable[[], None]) -> None:
        self.output, self.errors = Output(TAIL), Output(ERROR_TAIL)
        self.status: int | None = None
        self._process, self._on_end, self._is_over = process, on_end, False
        self._reading = asyncio.create_task(self._read_until_closed())
        feeding = threads.run(_feed, process.stdin, given)
        self._tasks = [self._reading, asyncio.create_task(self._wait()), asyncio.create_task(feeding)]

    @property
    def is_flooding(self) -> bool:
        """Whether it wrote more than it may."""
        return max(self.output.written, self.errors.written) > MAX_OUTPUT

    async def _wait(self) -> None:
        self.status = await threads.run(self._process.wait)
        self._on_end()

    async def _read_until_closed(self) -> None:
        await threads.run(self._read)
        if self.is_flooding:
            self._on_end()

    def _read(self) -> None:
        """Read what it writes, in a thread, until it closes its streams, writes too much, or is over."""
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        streams = {self._process.stdout.fileno(): self.output, self._process.stderr.fileno(): self.errors}
        poll = select.poll()
        for descriptor in streams:
            poll.register(descriptor, select.POLLIN)
        while streams and not self._is_over and not self.is_flooding:
            for descriptor, _ in poll.poll(POLL_MILLISECONDS):
                if data := os.read(descriptor, 1 << 16):
                    streams[descriptor].add(data)
                else:
                    poll.unregister(descriptor)
                    del streams[descriptor]

    async def drain(self) -> None:
        """Wait for the last output; children that hold it open are killed, those that left the group may stay."""
        kill_group(self._process)
        await asyncio.wait([self._reading], timeout=END_SECONDS)

    async def end(self) -> None:
        """Kill the process and its group, children that outlived it included."""
        self._is_over = True
        kill_group(self._process)
        await asyncio.wait(self._tasks, timeout=END_SECONDS)
        if self._reading.done():
            for pipe in (self._process.stdout, self._process.stderr):
                assert pipe is not None
                pipe.close()


def _feed(pipe: IO[bytes], given: bytes) -> None:
    """Write a program's standard input, which it need not read."""
    with contextlib.suppress(OSError), pipe:
        pipe.write(given)


def kill_group(process: subprocess.Popen[bytes]) -> None:
    """Kill what is left of a process and of the group that it leads."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def search_path() -> str:
    """The PATH of programs: `python` is the one that runs R-Eval."""
    return os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])


@contextlib.asynccontextmanager
async def started(
    command: Sequence[str], variables: Mapping[str, str], given: bytes, on_end: Callable[[], None]
) -> AsyncIterator[Program]:
    """A program in an empty folder; killed, and its folder deleted, at the end of the context.

    Args:
        variables: Further environment variables.
        given: Its standard input.
        on_end: Called when it has ended, or has to.

    Raises:
        EnvironmentFailure: It cannot be started.
    """
    folder = tempfile.TemporaryDirectory(prefix="agent-", ignore_cleanup_errors=True)
    program: Program | None = None
    try:
        own = {"PATH": search_path(), "HOME": folder.name, "TMPDIR": folder.name, "LANG": "C.UTF-8"}
        program = Program(await _process(command, folder.name, {**own, **variables}), given, on_end)
        yield program
    finally:
        if program is not None:
            await program.end()
        await threads.run(folder.cleanup)


async def _process(command: Sequence[str], folder: str, variables: dict[str, str]) -> subprocess.Popen[bytes]:
    """A process that leads a group of its own; it is killed where nobody waits for it any more."""
    starting = asyncio.create_task(threads.run(_started, command, folder, variables))
    try:
        return await asyncio.shield(starting)
    except (OSError, ValueError) as error:
        raise EnvironmentFailure(f"the program cannot be started: {error}") from error
    except asyncio.CancelledError:
        with contextlib.suppress(OSError, ValueError):
            kill_group(await starting)
        raise


def _started(command: Sequence[str], folder: str, variables: dict[str, str]) -> subprocess.Popen[bytes]:
    pipe = subprocess.PIPE
    return subprocess.Popen(
        command, stdin=pipe, stdout=pipe, stderr=pipe, cwd=folder, env=variables, start_new_session=True
    )
