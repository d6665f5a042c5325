"""The replies of LLMs in one SQLite file for all runs of a user: for resume, and as the cache across runs.

The file is `reply_store.sqlite` in R-Eval's cache folder, or the one that the variable R_EVAL_REPLIES names.
Any number of processes may use it at once. What reads and writes it for an episode is in `replay`.

- One thread reads and writes, in groups, so that nothing on the event loop waits for a lock.
- `put` returns once the reply is committed: it survives the death of the process.
- The file is never a reason to refuse a run. A damaged one is moved aside, and one of another program is left alone;
  where no file can be written, no reply is kept.
- Not LMDB: a little faster, but it needs a size in advance and maps the file, so that a truncated one ends the process.
"""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import fcntl
import functools
import logging
import os
import queue
import sqlite3
import threading
import time
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from pydantic import TypeAdapter

from r_eval.files import cache_folder
from r_eval.llms.base import Reply
from r_eval.llms.replay import Kept, ReplyKey

logger = logging.getLogger("r_eval")
T = TypeVar("T")
Work = Callable[[sqlite3.Connection], T]

VARIABLE = "R_EVAL_REPLIES"
LOCK_SECONDS = 60.0
"""How long the thread waits for the writes of other processes."""
DAYS = 30
"""How long replies that only serve the resume of their own episode are kept."""

APPLICATION_ID, VERSION = 0x52457661, 1
SCHEMA = f"""
BEGIN IMMEDIATE;
PRAGMA application_id = {APPLICATION_ID};
PRAGMA user_version = {VERSION};
CREATE TABLE replies (key BLOB PRIMARY KEY, owner BLOB NOT NULL, shared INTEGER NOT NULL, made REAL NOT NULL,
                      crc INTEGER NOT NULL, reply BLOB NOT NULL);
CREATE INDEX own ON replies (owner) WHERE NOT shared;
COMMIT;
"""
FIND = "SELECT key, owner, crc, reply FROM replies WHERE key IN (?, ?) ORDER BY key != ?"
PUT = "INSERT OR IGNORE INTO replies VALUES (?, ?, 1, ?, ?, ?)"
PUT_OWN = "INSERT OR REPLACE INTO replies VALUES (?, ?, 0, ?, ?, ?)"
DELETE = "DELETE FROM replies WHERE key = ?"
FORGET = "DELETE FROM replies WHERE NOT shared AND owner = ?"
PRUNE = "DELETE FROM replies INDEXED BY own WHERE NOT shared AND made < ?"
DAMAGE = {sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT}
"""Codes of a file that is damaged, or lacks a table; after any other, a new file would be no better."""
_pair: TypeAdapter[tuple[Reply, float]] = TypeAdapter(tuple[Reply, float], config={"ser_json_inf_nan": "constants"})
"""A reply and the seconds that it took, as JSON."""


def store_path() -> Path:
    """Where the store lies on this machine."""
    chosen = os.environ.get(VARIABLE)
    return Path(chosen) if chosen else cache_folder() / "reply_store.sqlite"


class ReplyStore:
    """The store; it never fails, but keeps nothing once it is closed, or where its file is of no use."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path or store_path()
        self._connection: sqlite3.Connection | None = None
        self._inode: tuple[int, int] | None = None
        self._jobs: queue.SimpleQueue[tuple[Work[Any], asyncio.Future[Any] | None] | None] = queue.SimpleQueue()
        self._closed = self._given_up = False
        self._thread = threading.Thread(target=self._work, name="reply-store", daemon=True)
        self._thread.start()

    async def find(self, key: ReplyKey) -> Kept | None:
        """The reply of a key: the episode's own, else a shared one; None where there is none that can be read."""
        return await self._hand_over(functools.partial(_find, key=key))

    async def put(self, key: ReplyKey, kept: Kept) -> None:
        """Keep a reply under its shared key, where that is free, else under the episode's own."""
        await self._hand_over(functools.partial(_put, key=key, kept=kept))

    def forget(self, owner: bytes) -> None:
        """Delete what only serves the resume of an episode, without waiting for it."""
        if not self._closed:
            self._jobs.put((lambda connection: connection.execute(FORGET, (owner,)), None))

    def close(self) -> None:
        """Commit what was handed over, and close the file; may be called more than once."""
        self._closed = True
        self._jobs.put(None)
        self._thread.join(LOCK_SECONDS)

    async def _hand_over(self, work: Work[T]) -> T | None:
        """What the thread returns for a piece of work, once it is committed; None where there is no file for it."""
        if self._closed or self._given_up:
            return None
        done: asyncio.Future[T | None] = asyncio.get_running_loop().create_future()
        self._jobs.put((work, done))
        return await done

    def _work(self) -> None:
        """Carry out what is handed over, in groups, until the store is closed."""
        is_last = False
        while not is_last:
            taken = [self._jobs.get()]
            while not self._jobs.empty():
                taken.append(self._jobs.get())
            is_last = None in taken
            jobs = [job for job in taken if job is not None]
            results = self._carry_out([work for work, _ in jobs])
            pairs = [(done, result) for (_, done), result in zip(jobs, results, strict=True) if done is not None]
            for loop in {done.get_loop() for done, _ in pairs}:  # each is woken once
                with contextlib.suppress(RuntimeError):  # it is closed: nobody waits any more
                    loop.call_soon_threadsafe(_set_results, [pair for pair in pairs if pair[0].get_loop() is loop])
        self._disconnect()

    def _carry_out(self, group: Sequence[Work[Any]]) -> list[Any]:
        """What a group returns, in one transaction; in a new file, where this one is damaged; Nones without a file."""
        error: Exception | None = None
        for _ in range(3 if group and not self._given_up else 0):
            try:
                connection = self._connection or self._connect(error)
                connection.execute("BEGIN IMMEDIATE")
                results = [work(connection) for work in group]
                connection.execute("COMMIT")
                return results
            except Exception as failure:  # noqa: BLE001  whoever waits must never wait for good
                error = failure
                self._disconnect()
                if getattr(error, "sqlite_errorcode", -1) & 0xFF not in DAMAGE:
                    break
        if error is not None:
            self._given_up = True
            text = "Replies cannot be kept in %s (%s): an interrupted run repeats its calls; %s may name another file"
            logger.warning(text, self.path, error, VARIABLE)
        return [None] * len(group)

    def _connect(self, damage: Exception | None) -> sqlite3.Connection:
        """Open the file, or make one.

        Args:
            damage: What was found wrong with the file, which is moved aside then.

        Raises:
            OSError, sqlite3.Error, ValueError: The file is damaged, or another program's, or cannot be written.
        """
        if self.path.exists() and not self.path.is_file():
            raise OSError("it is not a file")
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.with_name(f".{self.path.name}.lock").open("a") as lock:
            with contextlib.suppress(OSError):  # some network file systems know no locks
                fcntl.flock(lock, fcntl.LOCK_EX)  # so that two processes do not make or move a file at once
            self.path.touch()
            if damage is not None and self._inode == _inode(self.path):  # else another process has moved it already
                text = "The reply store %s was damaged (%s); it is now %s, and a new one begins"
                logger.warning(text, self.path, damage, _move_aside(self.path))
                self.path.touch()
            self._inode = _inode(self.path)
            self._connection = connection = sqlite3.connect(self.path, timeout=LOCK_SECONDS, isolation_level=None)
            connection.text_factory = bytes  # in a damaged row, bytes that are no text may be marked as text
            marks = [connection.execute(f"PRAGMA {mark}").fetchone()[0] for mark in ("application_id", "user_version")]
            if not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                connection.executescript(SCHEMA)  # before WAL: the file itself says whose it is
            elif marks != [APPLICATION_ID, VERSION]:
                raise OSError("it is a database of another program or version, and is left alone")
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute(PRUNE, (time.time() - DAYS * 86400,))
        return connection

    def _disconnect(self) -> None:
        if self._connection is not None:
            with contextlib.suppress(sqlite3.Error):
                self._connection.close()
        self._connection = None


def _set_results(pairs: Sequence[tuple[asyncio.Future[Any], Any]]) -> None:
    for future, result in pairs:
        if not future.done():
            future.set_result(result)


def _find(connection: sqlite3.Connection, key: ReplyKey) -> Kept | None:
    """The reply of a key; rows that cannot be read are deleted."""
    for row_key, owner, crc, data in connection.execute(FIND, (key.own, key.shared, key.own)).fetchall():
        with contextlib.suppress(TypeError, ValueError, RecursionError):  # a damaged row may hold anything
            if zlib.crc32(owner + data) == crc:
                return Kept(*_pair.validate_json(data), owner)
        connection.execute(DELETE, (row_key,))
    return None


def _put(connection: sqlite3.Connection, key: ReplyKey, kept: Kept) -> None:
    try:
        data = _pair.dump_json((kept.reply, kept.seconds))
    except (TypeError, ValueError, RecursionError):  # half a surrogate pair, nesting without end: it cannot be kept
        return
    values = (kept.owner, time.time(), zlib.crc32(kept.owner + data), data)
    if key.shared is None or not connection.execute(PUT, (key.shared, *values)).rowcount:
        connection.execute(PUT_OWN, (key.own, *values))


def _inode(path: Path) -> tuple[int, int]:
    """What tells a file from another of the same name."""
    status = path.stat()
    return (status.st_dev, status.st_ino)


def _move_aside(path: Path) -> Path:
    """Give a damaged file, with its parts, a name with the time in it; returns that name."""
    stamp = datetime.datetime.now(datetime.UTC).strftime("%Y%m%dT%H%M%S%fZ")
    target = path.with_name(f"{path.name}.damaged-{stamp}")
    for part in ("-wal", "-shm", "-journal", ""):
        with contextlib.suppress(FileNotFoundError):
            Path(f"{path}{part}").rename(f"{target}{part}")
    return target
