"""Runs a user's program as a process with limits; its process group is killed at the end.

This is not a sandbox. The process has an empty folder and a clean environment, and only the end of its output is read,
but it has all permissions of its user. Its standard streams are files, so that nothing needs to be read while it runs
and children that outlive it block nothing. Threads start it and wait for it.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path
from typing import IO

from r_eval.environments.base import EnvironmentFailure, threads

TAIL = 100_000
"""Bytes at the end of standard output that are searched for the answer."""
ERROR_TAIL = 2_000
"""Bytes of standard error that a record may quote."""
MAX_OUTPUT = 16 << 20
"""Bytes that a program may write to each of the two streams."""
WATCH_SECONDS = 0.1
"""Interval between checks of their sizes."""
END_SECONDS = 1.0
"""Longest wait for the end of a killed process."""


class Program:
    """A running program.

    Args:
        streams: The files of its standard output and error.
        on_end: Called when it has ended or must end.

    Attributes:
        status: Its exit status, negative for a signal; None while it runs.
    """

    def __init__(
        self, process: subprocess.Popen[bytes], streams: Sequence[IO[bytes]], on_end: Callable[[], None]
    ) -> None:
        self.status: int | None = None
        self._process, self._streams, self._on_end = process, streams, on_end
        self._wait_task, self._watch_task = asyncio.create_task(self._wait()), asyncio.create_task(self._watch())

    @property
    def is_flooding(self) -> bool:
        """Whether it wrote more than `MAX_OUTPUT`."""
        return any(os.fstat(stream.fileno()).st_size > MAX_OUTPUT for stream in self._streams)

    def output(self) -> bytes:
        """The end of its standard output."""
        return _end_of(self._streams[0], TAIL)

    def errors(self) -> bytes:
        """The end of its standard error."""
        return _end_of(self._streams[1], ERROR_TAIL)

    async def _wait(self) -> None:
        self.status = await threads.run(self._process.wait)
        self._on_end()

    async def _watch(self) -> None:
        while not self.is_flooding:
            await asyncio.sleep(WATCH_SECONDS)
        self._on_end()

    async def end(self) -> None:
        """Kill the process and its group, including children that outlived it."""
        kill_group(self._process)
        self._watch_task.cancel()
        await asyncio.wait([self._wait_task, self._watch_task], timeout=END_SECONDS)


def _end_of(stream: IO[bytes], length: int) -> bytes:
    size = os.fstat(stream.fileno()).st_size
    return os.pread(stream.fileno(), length, max(0, size - length))


def kill_group(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and the rest of the group that it leads."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def search_path() -> str:
    """The PATH of programs: `python` is the one that runs R-Eval."""
    return os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])


@contextlib.asynccontextmanager
async def start_program(
    command: Sequence[str], variables: Mapping[str, str], stdin: bytes, on_end: Callable[[], None]
) -> AsyncIterator[Program]:
    """A program in an empty folder; killed, and its folder deleted, at the end of the context.

    Args:
        variables: Further environment variables.
        stdin: Its standard input.
        on_end: Called when it has ended or must end.

    Raises:
        EnvironmentFailure: It cannot be started.
    """
    folder = tempfile.TemporaryDirectory(prefix="agent-", ignore_cleanup_errors=True)
    base_variables = {"PATH": search_path(), "HOME": folder.name, "TMPDIR": folder.name, "LANG": "C.UTF-8"}
    program: Program | None = None
    with contextlib.ExitStack() as stack:
        standard = [stack.enter_context(tempfile.TemporaryFile()) for _ in range(3)]
        standard[0].write(stdin)
        standard[0].seek(0)
        try:
            process = await _process(command, folder.name, {**base_variables, **variables}, standard)
            program = Program(process, standard[1:], on_end)
            yield program
        finally:
            if program is not None:
                await program.end()
            await threads.run(folder.cleanup)


async def _process(
    command: Sequence[str], folder: str, variables: dict[str, str], standard: Sequence[IO[bytes]]
) -> subprocess.Popen[bytes]:
    """A process that leads a group of its own; it is killed if the caller is cancelled."""

    def start() -> subprocess.Popen[bytes]:
        stdin, output, errors = standard
        return subprocess.Popen(
            command, stdin=stdin, stdout=output, stderr=errors, cwd=folder, env=variables, start_new_session=True
        )

    starting = asyncio.create_task(threads.run(start))
    try:
        return await asyncio.shield(starting)
    except (OSError, ValueError) as error:
        raise EnvironmentFailure(f"the program cannot be started: {error}") from error
    except asyncio.CancelledError:
        with contextlib.suppress(OSError, ValueError):
            kill_group(await starting)
        raise
