"""Runs a user's program as a process with limits; its process group is killed at the end.

This is not a sandbox. The process has an empty folder and a clean environment, and only the end of its output is read,
but it has all permissions of its user. Its standard streams are files, so that nothing needs to be read while it runs
and children that outlive it block nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import os
import signal
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path

from r_eval.environments.base import EnvironmentFailure, threads

TAIL = 100_000
"""Bytes at the end of standard output and of standard error that are read."""
MAX_OUTPUT = 16 << 20
"""Bytes that a program may write to each of the two."""
WATCH_SECONDS = 0.1
"""Interval between checks of their sizes."""
END_SECONDS = 1.0
"""Longest wait for the end of a killed process."""


@dataclasses.dataclass(frozen=True)
class Program:
    """A running program; `streams` are the file descriptors of its standard output and error."""

    process: asyncio.subprocess.Process
    streams: Sequence[int]

    @property
    def is_flooding(self) -> bool:
        """Whether it wrote more than `MAX_OUTPUT`."""
        return any(os.fstat(stream).st_size > MAX_OUTPUT for stream in self.streams)

    def output(self) -> list[str]:
        """The ends of its standard output and of its standard error."""
        return [
            os.pread(stream, TAIL, max(0, os.fstat(stream).st_size - TAIL)).decode("utf-8", "replace")
            for stream in self.streams
        ]

    async def wait(self) -> None:
        """Wait until it has ended or has written too much."""
        while self.process.returncode is None and not self.is_flooding:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.process.wait(), WATCH_SECONDS)


def search_path() -> str:
    """The PATH of programs: `python` is the one that runs R-Eval."""
    return os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])


@contextlib.asynccontextmanager
async def start_program(command: Sequence[str], variables: Mapping[str, str], stdin: bytes) -> AsyncIterator[Program]:
    """A program in an empty folder; at the end of the context its group is killed and the folder deleted.

    Args:
        variables: Further environment variables.
        stdin: Its standard input.

    Raises:
        EnvironmentFailure: It cannot be started.
    """
    folder = tempfile.TemporaryDirectory(prefix="agent-", ignore_cleanup_errors=True)
    variables = {"PATH": search_path(), "HOME": folder.name, "TMPDIR": folder.name, "LANG": "C.UTF-8", **variables}
    with contextlib.ExitStack() as stack:
        source, output, errors = (stack.enter_context(tempfile.TemporaryFile()) for _ in range(3))
        source.write(stdin)
        source.seek(0)
        try:
            process = await asyncio.create_subprocess_exec(
                *command,
                stdin=source,
                stdout=output,
                stderr=errors,
                cwd=folder.name,
                env=variables,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            folder.cleanup()
            raise EnvironmentFailure(f"the program cannot be started: {error}") from error
        try:
            yield Program(process, (output.fileno(), errors.fileno()))
        finally:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(process.wait(), END_SECONDS)
            await threads.run(folder.cleanup)
