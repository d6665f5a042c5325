"""Reads a ZIM file as `sources.zim` does; what it shows of a page is what is imported."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ..sources.base import Ambiguous
from ..sources.zim import Zim
from .records import Broken, Disambiguation, Record, Redirect, made, title


def read(path: Path) -> Iterator[tuple[float, Record]]:
    """Which part of the file has been read, and a record.

    Raises:
        FileNotFoundError, ValueError, MissingExtra: See `Zim`.
        EnvironmentFailure: The file cannot be read to its end.
    """
    for part, found in Zim(path).walk():
        if isinstance(found, Ambiguous):
            name = title(found.name)
            yield part, Disambiguation(name, found.choices, ()) if name else Broken("no usable title")
        elif isinstance(found, tuple):
            if all(names := (title(found[0]), title(found[1]))):
                yield part, Redirect(*names)
        elif found is not None:
            yield part, made(title(found.title), found.paragraphs)
