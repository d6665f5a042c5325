"""A program of the user's as a process of its own, bounded and gone at the end: its group is killed.

It is not a sandbox. The process has an empty folder and a clean environment, and no more than the end of what it writes
is read, but it may read and do whatever its user may. Its standard streams are files, so that nothing needs to be read
while it runs, and children that outlive it hold nothing up. It is started and waited for in threads.
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
"""Bytes of standard output, from its end, in which the answer is looked for."""
ERROR_TAIL = 2_000
"""Bytes of standard error that a record may quote."""
MAX_OUTPUT = 16 << 20
"""Bytes that a program may write to each of the two."""
WATCH_SECONDS = 0.1
"""How often their sizes are looked at."""
END_SECONDS = 1.0
"""How long the end of a process that was killed is waited for."""


class Program:
    """A running program.

    Args:
        streams: The files of its standard output and error.
        on_end: Called when it has ended, or has to.

    Attributes:
        status: Its exit status, negative for a signal; None while it runs.
    """

    def __init__(
        self, process: subprocess.Popen[bytes], streams: Sequence[IO[bytes]], on_end: Callable[[], None]
    ) -> None:
        self.status: int | None = None
        self._process, self._streams, self._on_end = process, streams, on_end
        self._waiting, self._watching = asyncio.create_task(self._wait()), asyncio.create_task(self._watch())

    @property
    def is_flooding(self) -> bool:
        """Whether it wrote more than it may."""
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
        """Kill the process and its group, children that outlived it included."""
        kill_group(self._process)
        self._watching.cancel()
        await asyncio.wait([self._waiting, self._watching], timeout=END_SECONDS)


def _end_of(stream: IO[bytes], length: int) -> bytes:
    size = os.fstat(stream.fileno()).st_size
    return os.pread(stream.fileno(), length, max(0, size - length))


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
    own = {"PATH": search_path(), "HOME": folder.name, "TMPDIR": folder.name, "LANG": "C.UTF-8"}
    program: Program | None = None
    with contextlib.ExitStack() as stack:
        standard = [stack.enter_context(tempfile.TemporaryFile()) for _ in range(3)]
        standard[0].write(given)
        standard[0].seek(0)
        try:
            process = await _process(command, folder.name, {**own, **variables}, standard)
            program = Program(process, standard[1:], on_end)
            yield program
        finally:
            if program is not None:
                await program.end()
            await threads.run(folder.cleanup)


async def _process(
    command: Sequence[str], folder: str, variables: dict[str, str], standard: Sequence[IO[bytes]]
) -> subprocess.Popen[bytes]:
    """A process that leads a group of its own; it is killed where nobody waits for it any more."""

    def start() -> subprocess.Popen[bytes]:
        given, output, errors = standard
        return subprocess.Popen(
            command, stdin=given, stdout=output, stderr=errors, cwd=folder, env=variables, start_new_session=True
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
