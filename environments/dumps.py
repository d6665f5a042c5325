"""A file that knowledge is imported from, plain or compressed, as bytes, text or lines, in pieces."""

from __future__ import annotations

import bz2
import codecs
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

from r_eval.errors import UserError

_CHUNK = 2**20
_GZIP = 31
"""How zlib is told to expect gzip."""
_LONGEST_LINE = 2**26


class Dump:
    """One file; its content tells whether it is compressed, by gzip or by bzip2.

    Args:
        path: The file.
        progress: Told the number of bytes of the file that have been read so far.
        chunk: Bytes of a piece.

    Attributes:
        torn: Whether the file, being compressed, ended too early or was damaged.
        head: What it begins with, uncompressed.

    Raises:
        UserError: The file cannot be read.
    """

    def __init__(self, path: Path, progress: Callable[[int], None] | None = None, chunk: int = _CHUNK) -> None:
        self.path = path
        self.torn = False
        self._chunk = chunk
        self._progress: Callable[[int], None] | None = None
        self.head = next(self.chunks(), b"")
        self._progress = progress

    def chunks(self) -> Iterator[bytes]:
        """The bytes, uncompressed, a piece at a time."""
        try:
            with self.path.open("rb") as raw:
                magic = raw.read(3)
                raw.seek(0)
                for piece in self._unpacked(raw, magic):
                    if self._progress:
                        self._progress(raw.tell())
                    yield piece
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

    def lines(self) -> Iterator[str | None]:
        """The lines, without those of nothing but spaces; None for one of more than 64 MiB."""
        begun: list[str] = []
        size = 0
        for piece in self.text():
            first, *others = piece.split("\n")
            size += len(first)
            begun.append(first if size <= _LONGEST_LINE else "")
            for other in others:
                line = "".join(begun).strip()
                if line:
                    yield line if size <= _LONGEST_LINE else None
                begun, size = [other], len(other)
        line = "".join(begun).strip()
        if line:
            yield line if size <= _LONGEST_LINE else None

    def _unpacked(self, raw: BinaryIO, magic: bytes) -> Iterator[bytes]:
        if magic.startswith(b"\x1f\x8b"):
            return self._inflated(raw)
        return self._unzipped(raw) if magic == b"BZh" else iter(lambda: raw.read(self._chunk), b"")

    def _inflated(self, raw: BinaryIO) -> Iterator[bytes]:
        """What gzip has packed, up to where it is damaged. (The module gzip would lose the last pieces before.)"""
        engine = zlib.decompressobj(_GZIP)
        data = b""
        try:
            while data or (data := raw.read(self._chunk)):
                if engine.eof:  # several packings, one behind the other, are one file
                    engine = zlib.decompressobj(_GZIP)
                piece = engine.decompress(data, self._chunk)
                data = engine.unused_data.lstrip(b"\0") if engine.eof else engine.unconsumed_tail
                if piece:
                    yield piece
            if piece := engine.flush():
                yield piece
            self.torn = not engine.eof
        except zlib.error:
            self.torn = True

    def _unzipped(self, raw: BinaryIO) -> Iterator[bytes]:
        """What bzip2 has packed, up to where it is damaged."""
        engine = bz2.BZ2Decompressor()
        try:
            while True:
                data = b""
                if engine.eof or engine.needs_input:
                    data = engine.unused_data or raw.read(self._chunk)
                    if not data:
                        break
                if engine.eof:  # as with gzip
                    engine = bz2.BZ2Decompressor()
                if piece := engine.decompress(data, self._chunk):
                    yield piece
            self.torn = not engine.eof
        except OSError:
            self.torn = True
