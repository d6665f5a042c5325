"""How values leave the sandbox: as JSON text, written inside it by functions that run before the program.

A few lists that contain each other twice unfold into a tree of any size, and Python hashes a tuple by visiting all of
it. So the host never takes over what a program made: within the limits of the sandbox it is reduced to plain data of
bounded size and depth, and the host reads the text of that.
"""

from __future__ import annotations

import ast
import json
import secrets
import warnings
from collections.abc import Sequence
from typing import Any

from r_eval.text import clean_data

LONGEST = 4_000_000
"""Characters of the text of a value; what `LEAVE` writes is shorter."""
READABLE = 20_000
"""Characters of a program whose last expression is looked for."""

# The defaults are bound before the program runs, so that a program that defines a `len` of its own changes nothing.
LEAVE = """
def $leave(value, dict=dict, float=float, frozenset=frozenset, int=int, isinstance=isinstance, len=len, list=list,
           set=set, sorted=sorted, str=str, tuple=tuple, MemoryError=MemoryError):
    import json
    left = [50_000]
    def spend(parts):
        left[0] -= parts
        if left[0] < 0:
            raise MemoryError("a value of more than 50,000 parts")
    def text(part):
        part = part[:20_000]
        spend(len(part) // 10)
        return part
    def plain(part, depth):
        spend(1)
        if part is None or part is True or part is False or isinstance(part, float):
            return part
        if isinstance(part, int):
            return part if -(1 << 10_000) < part < 1 << 10_000 else text(f"{part:#x}")
        if isinstance(part, str):
            return text(part)
        if depth > 100:
            return "…"
        if isinstance(part, (list, tuple)):
            return [plain(one, depth + 1) for one in part]
        if isinstance(part, (set, frozenset)):
            return sorted([plain(one, depth + 1) for one in part], key=str)
        if isinstance(part, dict):
            return {key(name, depth + 1): plain(one, depth + 1) for name, one in part.items()}
        return text(f"{part}")
    def key(name, depth):
        plain(name, depth)
        return text(f"{name}")
    return json.dumps(plain(value, 0))
"""
API = """
def $api(*positional, **named):
    return $call("$api", $leave([positional, named]))
"""


class TooLarge(Exception):
    """A value is too large, or nested too deeply, to leave the sandbox."""


class Prelude:
    """The functions that run before one program, under names that the program cannot guess.

    Attributes:
        text: Their source.
        call: The name under which calls of the query APIs arrive, with the API's name and the text of its arguments.
    """

    def __init__(self, functions: Sequence[str]) -> None:
        mark = f"_{secrets.token_hex(8)}_"
        self.call, self._leave, self._last = f"{mark}call", f"{mark}leave", f"{mark}last"
        self.text = "".join([LEAVE, *(API.replace("$api", name) for name in functions)])
        self.text = self.text.replace("$call", self.call).replace("$leave", self._leave)

    def prepare(self, code: str) -> str:
        """A program that keeps the value of its last expression; the same lines, so that errors name the right one."""
        if len(code) > READABLE:
            return code
        try:
            with warnings.catch_warnings(action="ignore"):
                last = ast.parse(code).body[-1]
        except (SyntaxError, ValueError, MemoryError, RecursionError, SystemError, IndexError):
            return code
        if not isinstance(last, ast.Expr) or last.end_lineno is None or last.end_col_offset is None:
            return code
        lines = [line.encode() for line in code.split("\n")]
        if len(lines) < last.end_lineno:
            return code
        end, start = lines[last.end_lineno - 1], last.end_col_offset
        lines[last.end_lineno - 1] = end[:start] + b")" + end[start:]
        begin, start = lines[last.lineno - 1], last.col_offset
        lines[last.lineno - 1] = begin[:start] + f"{self._last} = (".encode() + begin[start:]
        return b"\n".join(lines).decode()

    @property
    def answers(self) -> tuple[str, str]:
        """Expressions that write the variable `answer`, and the value of the last expression; see `read`."""
        return f"{self._leave}(answer)", f"{self._leave}({self._last})"

    def leaving(self, expression: str) -> str:
        """An expression that writes the value of another one."""
        return f"{self._leave}({expression}\n)"


def read(text: Any) -> Any:
    """The plain data that was written as a text in the sandbox.

    Raises:
        TooLarge: The text is too long, or its data nested too deeply, for anything that `LEAVE` writes.
    """
    if not isinstance(text, str) or len(text) > LONGEST:
        raise TooLarge(f"a value of more than {LONGEST:,} characters")
    try:
        return clean_data(json.loads(text))
    except (ValueError, RecursionError):
        raise TooLarge("a value that cannot be read") from None
