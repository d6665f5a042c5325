"""Runs an MCP server's command and passes its standard output on, of a line that is too long only the beginning.

    python -I relay.py BYTES COMMAND [ARGUMENT]...

The SDK reads a line however long it is, so that a server without line ends would fill the memory.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence


def relay(longest: int, command: Sequence[str]) -> int:
    """Returns the exit status of the command."""
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        while line := process.stdout.readline(longest):
            is_cut = len(line) == longest and not line.endswith(b"\n")
            sys.stdout.buffer.write(line + b"\n" if is_cut else line)
            sys.stdout.buffer.flush()
            while is_cut and line and not line.endswith(b"\n"):
                line = process.stdout.readline(longest)
    return process.returncode


if __name__ == "__main__":
    sys.exit(relay(int(sys.argv[1]), sys.argv[2:]))
