"""A run's journal: the replies of episodes that are not recorded yet, so that no answered call is ever paid for twice.

JSON Lines, one writer. A line is a reply, or says that an episode's replies are not needed any more. A reply survives
the death of the process at once, that of the machine after the next `unsynced`; a torn last line is cut off. Once most
of the file is not needed any more it is written anew, so it stays small however long a run is.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from r_eval.errors import Unwritable, UserError
from r_eval.folder import CellWriter, read_lines, write_whole
from r_eval.llms.base import Reply
from r_eval.llms.replies import read_reply, reply_text

LARGEST = 8 << 20
"""Bytes from which on what is not needed any more is left out."""


class ReplyLog:
    """The journal's file, opened.

    Raises:
        UserError: It is damaged, or cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._at: dict[str, tuple[int, int]] = {}
        self._keys: dict[str, list[str]] = {}
        self._size = self._live = 0
        try:
            self._writer = CellWriter(path)
        except OSError as error:
            raise Unwritable(path, error) from error
        try:
            self._read()
        except (UserError, KeyError, TypeError) as error:
            self._writer.close()
            raise UserError(f"{path} is damaged ({error}); delete it, and its replies are asked for again") from None

    def _read(self) -> None:
        with self.path.open("rb") as file:
            ends = [len(line) for line in file]
        for (_, record), length in zip(read_lines(self.path), ends, strict=True):
            if "key" in record:
                self._add(record["key"], record["owner"], length)
            else:
                self._drop(record["owner"])
                self._size += length

    def close(self) -> None:
        self._writer.close()

    def remove(self) -> None:
        """Close the file and delete it."""
        self.close()
        self.path.unlink(missing_ok=True)

    def unsynced(self) -> list[int]:
        """See `CellWriter.unsynced`."""
        return self._writer.unsynced()

    def holds(self, owner: str) -> bool:
        """Whether there are replies of an episode."""
        return owner in self._keys

    def get(self, key: str) -> tuple[Reply, float] | None:
        """A kept reply and the seconds that it took when it was made."""
        if key not in self._at:
            return None
        try:
            record = json.loads(next(self._lines([key])))
            return read_reply(record["reply"]), float(record["seconds"])
        except (ValueError, TypeError, KeyError, RecursionError):  # damaged: as if it were not there
            return None

    def of(self, owner: str) -> dict[str, tuple[Reply, float]]:
        """Everything that belongs to an episode, by key."""
        found = {key: self.get(key) for key in self._keys.get(owner, ())}
        return {key: kept for key, kept in found.items() if kept is not None}

    def count(self) -> int:
        """How many replies are kept."""
        return len(self._at)

    def put(self, key: str, owner: str, reply: Reply, seconds: float) -> None:
        """Keep a reply.

        Raises:
            Unwritable: It could not be written.
        """
        head = json.dumps({"owner": owner, "key": key, "seconds": seconds})
        self._add(key, owner, self._append(f'{head[:-1]}, "reply": {reply_text(reply)}}}'))

    def forget(self, owner: str) -> None:
        """Let go of everything that belongs to an episode.

        Raises:
            Unwritable: The file cannot be written.
        """
        if owner not in self._keys:
            return
        self._drop(owner)
        self._size += self._append(json.dumps({"owner": owner}))
        if self._size > LARGEST and self._live < self._size // 2:
            self._compact()

    def _append(self, line: str) -> int:
        try:
            self._writer.append(line)
        except OSError as error:
            raise Unwritable(self.path, error) from error
        return len(line.encode()) + 1  # places in the file are counted in bytes

    def _add(self, key: str, owner: str, length: int) -> None:
        if key in self._at:
            self._live -= self._at[key][1]
        else:
            self._keys.setdefault(owner, []).append(key)
        self._at[key] = (self._size, length)
        self._size += length
        self._live += length

    def _drop(self, owner: str) -> None:
        for key in self._keys.pop(owner, ()):
            self._live -= self._at.pop(key)[1]

    def _lines(self, keys: list[str]) -> Iterator[bytes]:
        with self.path.open("rb") as file:
            for key in keys:
                start, length = self._at[key]
                file.seek(start)
                yield file.read(length)

    def _compact(self) -> None:
        """Write the file anew, with what is needed."""
        owners = {key: owner for owner, keys in self._keys.items() for key in keys}
        try:
            self._writer.close()
            write_whole(self.path, self._lines(list(owners)))
            self._writer = CellWriter(self.path)
        except OSError as error:
            raise Unwritable(self.path, error) from error
        lengths = {key: self._at[key][1] for key in owners}
        self._at, self._keys, self._size, self._live = {}, {}, 0, 0
        for key, owner in owners.items():
            self._add(key, owner, lengths[key])
