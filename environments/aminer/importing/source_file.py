"""A bibliography file as bytes or text, in pieces, plain or gzip; and which format it is in."""

from __future__ import annotations

import codecs
import re
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

from r_eval.errors import UserError

FORMATS = ("citation-network", "dblp", "bibtex")
_CHUNK = 2**20
_HEAD = 2**16
_GZIP = 31
"""How zlib is told to expect gzip."""
ENTRY = re.compile(r"^[ \t]*@[ \t]*[A-Za-z]+[ \t]*[{(]", re.MULTILINE)


class SourceFile:
    """One file.

    Args:
        path: The file; its content tells whether it is compressed.
        progress: Told the number of bytes of the file that have been read so far.

    Attributes:
        torn: Whether the file, being compressed, ended too early or was damaged.

    Raises:
        UserError: The file cannot be read.
    """

    def __init__(self, path: Path, progress: Callable[[int], None] | None = None) -> None:
        self.path = path
        self.torn = False
        self._progress = progress
        self._head = self._read_head()

    def chunks(self) -> Iterator[bytes]:
        """The bytes, uncompressed, a mebibyte at a time."""
        try:
            with self.path.open("rb") as raw:
                compressed = raw.read(2) == b"\x1f\x8b"
                raw.seek(0)
                for chunk in self._inflated(raw) if compressed else iter(lambda: raw.read(_CHUNK), b""):
                    if self._progress:
                        self._progress(raw.tell())
                    yield chunk
        except OSError as error:
            raise UserError(f"cannot read {self.path}: {error.strerror or error}") from None

    def text(self) -> Iterator[str]:
        """The text of the chunks, never an empty one: UTF-8, what is none replaced."""
        decoder = codecs.getincrementaldecoder("utf-8-sig")("replace")
        for chunk in self.chunks():
            if piece := decoder.decode(chunk):
                yield piece
        if piece := decoder.decode(b"", final=True):
            yield piece

    def guess(self) -> str:
        """One of `FORMATS`, from how the file begins.

        Raises:
            UserError: It begins like none of them.
        """
        head = self._head.lstrip("\ufeff \t\r\n")
        if head.startswith(("{", "[")):
            return "citation-network"
        if head.startswith("<") and re.search(r"<dblp[\s>]|<!DOCTYPE\s+dblp\b", head):
            return "dblp"
        if not head.startswith("<") and ENTRY.search(head):
            return "bibtex"
        raise UserError(
            f"{self.path} is in no known format: expected a citation network (JSON), a dblp.xml or BibTeX; "
            f"name the format ({', '.join(FORMATS)}) if it begins otherwise"
        )

    def _inflated(self, raw: BinaryIO) -> Iterator[bytes]:
        """What gzip has packed, up to where it is damaged. (The module gzip would lose the last pieces before.)"""
        engine = zlib.decompressobj(_GZIP)
        data = b""
        try:
            while data or (data := raw.read(_CHUNK)):
                if engine.eof:  # several packings, one behind the other, are one file
                    engine = zlib.decompressobj(_GZIP)
                piece = engine.decompress(data, _CHUNK)
                data = engine.unused_data.lstrip(b"\0") if engine.eof else engine.unconsumed_tail
                if piece:
                    yield piece
            if piece := engine.flush():
                yield piece
            self.torn = not engine.eof
        except zlib.error:
            self.torn = True

    def _read_head(self) -> str:
        progress, self._progress = self._progress, None
        try:
            for chunk in self.chunks():
                return chunk[:_HEAD].decode("utf-8", "replace")
            return ""
        finally:
            self._progress = progress
