"""Runs a user's program as a process with limits; its process group is killed at the end.

This is not a sandbox. The process has an empty folder and a clean environment, and only the end of its output is read,
but it has all permissions of its user. Its standard streams are files, so that nothing needs to be read while it runs
and children that outlive it block nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import IO

from r_eval.environments.base import EnvironmentFailure, threads

OUTPUT_TAIL, ERROR_TAIL = 100_000, 2_000
"""Bytes at the end of standard output, which are searched for the answer, and of standard error."""
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
    """

    def __init__(self, process: asyncio.subprocess.Process, streams: Sequence[IO[bytes]]) -> None:
        self._process, self._streams = process, streams

    @property
    def status(self) -> int | None:
        """Its exit status, negative for a signal; None while it runs."""
        return self._process.returncode

    @property
    def is_flooding(self) -> bool:
        """Whether it wrote more than `MAX_OUTPUT`."""
        return any(os.fstat(stream.fileno()).st_size > MAX_OUTPUT for stream in self._streams)

    def output(self) -> tuple[bytes, bytes]:
        """The ends of its standard output and of its standard error."""
        ends = []
        for stream, length in zip(self._streams, (OUTPUT_TAIL, ERROR_TAIL), strict=True):
            start = max(0, os.fstat(stream.fileno()).st_size - length)
            ends.append(os.pread(stream.fileno(), length, start))
        return ends[0], ends[1]

    async def wait(self) -> None:
        """Wait until it has ended or has written too much."""
        while self.status is None and not self.is_flooding:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._process.wait(), WATCH_SECONDS)

    async def kill(self) -> None:
        """Kill the process and its group, including children that outlived it."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._process.wait(), END_SECONDS)


def search_path() -> str:
    """The PATH of programs: `python` is the one that runs R-Eval."""
    return os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])


@contextlib.asynccontextmanager
async def start_program(command: Sequence[str], variables: Mapping[str, str], stdin: bytes) -> AsyncIterator[Program]:
    """A program in an empty folder; killed, and its folder deleted, at the end of the context.

    Args:
        variables: Further environment variables.
        stdin: Its standard input.

    Raises:
        EnvironmentFailure: It cannot be started.
    """
    folder = tempfile.TemporaryDirectory(prefix="agent-", ignore_cleanup_errors=True)
    variables = {"PATH": search_path(), "HOME": folder.name, "TMPDIR": folder.name, "LANG": "C.UTF-8", **variables}
    with contextlib.ExitStack() as stack:
        source, *streams = (stack.enter_context(tempfile.TemporaryFile()) for _ in range(3))
        source.write(stdin)
        source.seek(0)
        try:
            process = await asyncio.create_subprocess_exec(
                *command,
                stdin=source,
                stdout=streams[0],
                stderr=streams[1],
                cwd=folder.name,
                env=variables,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            folder.cleanup()
            raise EnvironmentFailure(f"the program cannot be started: {error}") from error
        program = Program(process, streams)
        try:
            yield program
        finally:
            await program.kill()
            await threads.run(folder.cleanup)
