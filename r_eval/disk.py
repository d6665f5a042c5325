"""Files of a run on the disk: only regular files are read, and nothing is written where a link in a run's folder leads.

A folder is a run's if it holds a run.json; a run may come from a stranger, and hold links, pipes and files without end.
Lines of episodes end with a checksum over their bytes, by which bits that the disk has changed are found.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO

from r_eval.errors import UserError

LONGEST = 1 << 28
"""Bytes that are read of one line, and of one file that is no list of lines; no run has as many."""
DRAFTS = ".*.part"
"""The names of files that `write_whole` is at work on."""
BLOCK = 1 << 16
SEAL = b',"checksum":"'
SEAL_LENGTH = len(SEAL) + 8 + len(b'"}\n')


def open_regular(path: Path) -> IO[bytes]:
    """Open a file for reading.

    Raises:
        FileNotFoundError: There is none.
        UserError: It is no regular file, or cannot be read.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}") from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise UserError(f"{path}: not a regular file")
    return os.fdopen(descriptor, "rb")


def read_regular(path: Path) -> bytes:
    """The content of a file, without a byte order mark.

    Raises:
        FileNotFoundError: There is none.
        UserError: It is no regular file, cannot be read, or is longer than any that R-Eval writes.
    """
    with open_regular(path) as file:
        content = file.read(LONGEST)
    if len(content) == LONGEST:
        raise UserError(f"{path}: longer than {LONGEST >> 20} MiB")
    return content.removeprefix(b"\xef\xbb\xbf")


def open_to_write(path: Path, flags: int) -> int:
    """A descriptor of a file that is written to, which is made if it is not there, its folder as well.

    Args:
        flags: Of `os.open`, besides those for the above.

    Raises:
        UserError: It is a link or lies behind one, has a second name, or is no regular file.
        OSError: It cannot be opened.
    """
    refuse_links(path)
    _make_folder(path.parent)
    try:
        descriptor = os.open(path, flags | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o666)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENXIO, errno.EISDIR):
            raise UserError(f"{path}: not a regular file, so nothing is written to it") from None
        raise
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1:
        os.close(descriptor)
        why = "not a regular file, or one with a second name (a hard link) that would change with it"
        raise UserError(f"{path}: {why}; put a copy in its place")
    return descriptor


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        file = next((one for one in (folder, *folder.parents) if os.path.lexists(one) and not one.is_dir()), folder)
        raise UserError(f"{file}: a file is in the way of a folder; move it") from None


def refuse_links(path: Path) -> None:
    """See that no part of a path that lies within a run's folder is a link.

    Raises:
        UserError: One is; names it.
    """
    path = path.absolute()
    for part in (path, *path.parents):
        if part.is_symlink() and any(os.path.lexists(parent / "run.json") for parent in part.parents):
            why = "a link in a run's folder, which may lead anywhere: nothing is written through it; delete it"
            raise UserError(f"{part}: {why}")


def write_whole(path: Path, text: str | Iterable[bytes]) -> None:
    """Replace a file in one step: a reader sees the old text or the new one, never half of either.

    Args:
        text: Or its pieces as UTF-8, which are written as they come.

    Raises:
        UserError: A link in a run's folder is in the way, or a file or folder of another kind.
        OSError: It cannot be written; the file is as it was.
    """
    refuse_links(path)
    _make_folder(path.parent)
    draft = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        draft.unlink(missing_ok=True)
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666), "wb") as file:
            file.writelines([text.encode("utf-8")] if isinstance(text, str) else text)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except IsADirectoryError:
        raise UserError(f"{path}: a folder is in the way of a file; move it") from None
    except OSError as error:
        error.filename = str(path)  # rather than the draft
        raise
    finally:
        with contextlib.suppress(OSError):
            draft.unlink(missing_ok=True)


def whole_lines(source: Path | IO[bytes]) -> Iterator[tuple[int, bytes]]:
    """The lines of a file with their numbers; of one that is too long only the beginning, and no torn last line.

    Args:
        source: Its path, or the open file, which is read from its position.
    """
    with open_regular(source) if isinstance(source, Path) else contextlib.nullcontext(source) as file:
        number = 0
        while line := file.readline(LONGEST):
            number += 1
            end = line
            while len(end) == LONGEST and not end.endswith(b"\n"):
                end = file.readline(LONGEST)
            if end.endswith(b"\n"):
                yield number, line


def seal(record: str) -> str:
    """A record's JSON with the checksum of the bytes before it as its last field."""
    return f'{record[:-1]}{SEAL.decode()}{zlib.crc32(record[:-1].encode()):08x}"}}'


def is_sealed(line: bytes) -> bool:
    """Whether a line carries its checksum; lines of earlier versions, and what people wrote themselves, have none.

    Raises:
        ValueError: It carries another one.
    """
    body, end = line[:-SEAL_LENGTH], line[-SEAL_LENGTH:]
    if not (end.startswith(SEAL) and end.endswith(b'"}\n')):
        return False
    if end[len(SEAL) : -3] != b"%08x" % zlib.crc32(body):
        raise ValueError("its checksum is wrong: bytes of it have changed")
    return True


class CellWriter:
    """Appends records to a cell's file, durably, from a single thread; a torn last line is cut off first.

    A line survives the death of the process at once, that of the machine after the next `sync_all`.

    Raises:
        UserError: The file is a link or lies behind one in a run's folder, or is no regular file.
        OSError: It cannot be opened.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: IO[bytes] = os.fdopen(open_to_write(path, os.O_RDWR | os.O_APPEND), "ab", buffering=0)
        self._unsynced = False
        self._cut_torn_line()

    def append(self, line: str) -> None:
        """Write one record.

        Raises:
            OSError: It could not be written whole, and nothing of it is left; or the file was deleted.
        """
        data, end = line.encode("utf-8") + b"\n", self._end()
        try:
            while data:
                data = data[self._file.write(data) or 0 :]
        except OSError:
            self._file.truncate(end)
            raise
        self._unsynced = True

    def unsynced(self) -> list[int]:
        """A descriptor of the file, for `sync_all`, where it has lines that may not be on the disk yet."""
        if not self._unsynced:
            return []
        self._unsynced = False
        return [os.dup(self._file.fileno())]

    def close(self) -> None:
        """Close the file, synced.

        Raises:
            OSError: The disk refuses it, or the file was deleted.
        """
        if not self._file.closed:
            try:
                self._end()
                sync_all(self.unsynced())
            finally:
                self._file.close()

    def _end(self) -> int:
        """The size of the file.

        Raises:
            FileNotFoundError: It was deleted, so what is written to it is lost.
        """
        found = os.fstat(self._file.fileno())
        if not found.st_nlink:
            raise FileNotFoundError(errno.ENOENT, "it was deleted", str(self.path))
        return found.st_size

    def _cut_torn_line(self) -> None:
        size = end = self._end()
        while end > 0:
            start = max(0, end - BLOCK)
            newline = os.pread(self._file.fileno(), end - start, start).rfind(b"\n")
            if newline >= 0:
                end = start + newline + 1
                break
            end = start
        if end != size:
            self._file.truncate(end)


def sync_all(descriptors: Iterable[int]) -> None:
    """See that files are on the disk, and close the descriptors; may be called from another thread."""
    for descriptor in descriptors:
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
