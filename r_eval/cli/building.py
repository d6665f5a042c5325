"""The command that makes a snapshot of a dump: build-snapshot."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from r_eval.errors import UserError

DOMAINS = ("wiki", "aminer")
_PLAIN_SECONDS = 5.0
_MEGABYTE = 10**6


class Report(Protocol):
    """What an importer says of a file."""

    def lines(self) -> list[str]: ...


def build_command(
    domain: str, source: Path, out: Path, format: str | None, quiet: bool = False, as_json: bool = False
) -> int:
    """Write a snapshot and say what became of the records.

    Raises:
        UserError: The domain is unknown, or the file cannot be read, used or written.
    """
    if not source.is_file():
        raise UserError(f"there is no file {source}")
    if out.is_dir() or (out.exists() and out.samefile(source)):
        raise UserError(f"--out {out} is {'a folder' if out.is_dir() else 'the source'}: name the file to be written")
    importer = _importer(domain)
    with _progress(source.stat().st_size, quiet) as told:
        report: Any = importer(source, out, format, told)
    if as_json:
        found = {"out": str(out), **vars(report)}
        sys.stdout.write(json.dumps(found, ensure_ascii=False) + "\n")
        return 0
    for line in report.lines():
        sys.stdout.write(f"{line}\n")
    sys.stdout.write(f"in a grid: environment: {{environment: {domain}, snapshot: {out}}}\n")
    return 0


def _importer(domain: str) -> Callable[[Path, Path, str | None, Callable[[int], None] | None], Report]:
    if domain == "wiki":
        from r_eval.environments.wiki.importing import import_file as import_pages

        return import_pages
    if domain == "aminer":
        from r_eval.environments.aminer.importing import import_file as import_scholars

        return import_scholars
    raise UserError(f"unknown domain '{domain}'. Known: {', '.join(DOMAINS)}")


@contextmanager
def _progress(size: int, quiet: bool) -> Iterator[Callable[[int], None] | None]:
    """What is told how many bytes of the file have been read: nobody, a bar, or lines every few seconds."""
    if quiet:
        yield None
        return
    if not sys.stderr.isatty():
        yield _Lines(size)
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("reading", total=size)

        def told(read: int) -> None:
            bar.update(task, completed=read, description="reading" if read < size else "sorting and indexing")

        yield told


class _Lines:
    """Says how far it is every few seconds, and once that everything is read."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._said = time.monotonic()
        self._ended = False

    def __call__(self, read: int) -> None:
        if self._ended or (read < self._size and time.monotonic() - self._said < _PLAIN_SECONDS):
            return
        self._said = time.monotonic()
        self._ended = read >= self._size
        what = "read; sorting and indexing" if self._ended else f"of {self._size / _MEGABYTE:,.1f} MB read"
        sys.stderr.write(f"{read / _MEGABYTE:,.1f} MB {what}\n")
        sys.stderr.flush()
