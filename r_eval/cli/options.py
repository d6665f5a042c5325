"""Options and arguments that several commands take, and how they print."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import unicodedata
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from r_eval.errors import Unwritable, UserError

if TYPE_CHECKING:
    from rich.table import Table

    from r_eval.folder import RunFolder

OUT_FILE: dict[str, Any] = {"dir_okay": False, "writable": True}
OUT_FOLDER: dict[str, Any] = {"file_okay": False, "writable": True}
"""Settings of options that name a file or a folder to write: what cannot be written is refused before any work."""
Out = Annotated[
    Path | None,
    Option("--out", metavar="DIR", help="The folder of the run; by default runs/<grid name>.", **OUT_FOLDER),
]
Limit = Annotated[int | None, Option("--limit", metavar="N", min=1, help="Keep the first N questions of every task.")]
Quiet = Annotated[bool, Option("--quiet", help="Show no progress.")]
Cache = Annotated[
    bool | None,
    Option("--cache/--no-cache", help="Reuse replies of earlier runs; by default for LLMs at temperature 0."),
]
Json = Annotated[bool, Option("--json", help="Print JSON.")]
EnvironmentName = Annotated[str, Argument(metavar="ENVIRONMENT", help="A name, file.py, or module:Class.")]
Settings = Annotated[list[str] | None, Option("--set", metavar="K=V", help="A setting of the environment; repeatable.")]
MOST_COLUMNS = 1000
"""Of a table that is printed into a file."""
RunPath = Annotated[Path, Argument(metavar="RUN", help="The folder of a run.")]
RunPaths = Annotated[list[Path], Argument(metavar="RUN", help="Folders of runs.")]


def pair(word: str) -> tuple[str, str]:
    """The key and the value of `key=value`.

    Raises:
        UserError: The word has no "=" or no key.
    """
    key, equals, value = word.partition("=")
    if not (key and equals):
        raise UserError(f"'{word}': expected key=value")
    return key, value


def settings_of(words: Settings) -> dict[str, Any]:
    """The settings that `--set K=V` gave an environment: a list or a mapping as JSON, or a text, where a ~ in front is
    the home of the user.

    Raises:
        UserError: One is not written so.
    """
    return {key: _value(value) for key, value in map(pair, words or ())}


def _value(text: str) -> Any:
    with contextlib.suppress(ValueError, RecursionError):
        if isinstance(found := json.loads(text), list | dict):
            return found
    return os.path.expanduser(text)  # noqa: PTH111  not every value is a path


def open_run(path: Path) -> RunFolder:
    """The run in a folder.

    Raises:
        UserError: The path is a file.
    """
    from r_eval.folder import RunFolder

    if path.is_file():
        raise UserError(f"{path} is a file, and a run is a folder, such as runs/my-grid")
    return RunFolder(path)


def open_runs(paths: Sequence[Path]) -> list[RunFolder]:
    """The runs in some folders.

    Raises:
        UserError: A path is a file, or a run is given twice.
    """
    folders = [path.resolve() for path in paths]
    for path, folder in zip(paths, folders, strict=True):
        if folders.count(folder) > 1:
            raise UserError(f"{path} is given twice; name each run once")
    return [open_run(path) for path in paths]


class _Signs(dict[int, str | int]):
    """Translation table, filled as characters are met: what acts on a terminal becomes a visible sign."""

    def __missing__(self, code: int) -> str | int:
        acts = unicodedata.category(chr(code)) in ("Cc", "Cf", "Cs", "Zl", "Zp") and chr(code) not in "\n\t"
        self[code] = (f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}") if acts else code
        return self[code]


_SIGNS = _Signs()


def harmless(text: str) -> str:
    """Text without anything that acts on a terminal: control and direction characters become visible signs."""
    return text.translate(_SIGNS)


_json_output: IO[str] | None = None


def keep_output_for_json() -> None:
    """From now on, whatever is printed goes to standard error, by plug-ins, C code and child processes too, and only
    `print_json` writes to standard output.
    """
    global _json_output
    _json_output = sys.stdout
    with contextlib.suppress(OSError):  # in a test it has no descriptor
        _json_output = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8", errors="backslashreplace")
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    sys.stdout = sys.stderr


def flush_output() -> None:
    """Write what is buffered; a reader that went away (a pager, `head`) is no error of ours, a full disk is one."""
    for stream in filter(None, (_json_output, sys.stdout)):
        try:
            stream.flush()
        except OSError as error:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
            if not isinstance(error, BrokenPipeError):
                complain(str(Unwritable("standard output", error)))
                sys.exit(1)


def print_json(record: Any) -> None:
    """One line of JSON on standard output."""
    try:
        text = json.dumps(record, ensure_ascii=False, allow_nan=False)
    except ValueError:  # JSON has no NaN and no infinity
        from pydantic_core import from_json, to_json

        text = json.dumps(from_json(to_json(record, inf_nan_mode="null")), ensure_ascii=False)
    (_json_output or sys.stdout).write(f"{text}\n")


def print_lines(lines: Iterable[str]) -> None:
    """Lines on standard output, without anything in them that acts on a terminal."""
    sys.stdout.write("".join(f"{harmless(line)}\n" for line in lines))


def complain(line: str) -> None:
    """A message on standard error; a server or a file may have written a part of it."""
    sys.stderr.write(f"r-eval: {harmless(line)}\n")


def line_width() -> int:
    """Characters of a line of standard output; 100 where it is no terminal."""
    from rich.console import Console

    return Console().width if sys.stdout.isatty() else 100


def print_tables(tables: Iterable[Table]) -> None:
    """Tables on standard output; where it is no terminal, as wide as they need, so that no system's name is broken."""
    from rich.console import Console

    for table in tables:
        needed = None if sys.stdout.isatty() else max(line_width(), Console(width=MOST_COLUMNS).measure(table).maximum)
        Console(width=needed).print(table)
