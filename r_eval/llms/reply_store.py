"""The replies of LLMs in one SQLite file for all runs of a user: for resume, and as the cache across runs.

The file is `reply_store.sqlite` in R-Eval's cache folder, or the one that the variable R_EVAL_REPLIES names. Any number
of processes may use it at once. `replay` reads and writes it on behalf of an episode.

- One thread reads and writes, in groups, so that nothing on the event loop waits for a lock.
- `put` returns once the reply is committed: it survives the death of the process.
- The file is never a reason to refuse a run. A damaged one is moved aside, and one of another program is left alone;
  if no file can be written, replies are not stored.
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
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from r_eval.files import cache_folder, user_path
from r_eval.llms.base import Reply
from r_eval.llms.replay import ReplyKey, StoredReply

logger = logging.getLogger("r_eval")
Work = Callable[[sqlite3.Connection], Any]

VARIABLE = "R_EVAL_REPLIES"
LOCK_SECONDS = 60.0
"""How long the thread waits for the writes of other processes."""
DAYS = 30
"""How long replies are stored that only serve the resume of their own episode."""

APPLICATION_ID = 0x52457661
SCHEMA = f"""
BEGIN IMMEDIATE;
PRAGMA application_id = {APPLICATION_ID};
CREATE TABLE replies (key BLOB PRIMARY KEY, owner BLOB NOT NULL, shared INTEGER NOT NULL, made REAL NOT NULL,
                      reply BLOB NOT NULL);
CREATE INDEX own ON replies (owner) WHERE NOT shared;
COMMIT;
"""
FIND = "SELECT key, owner, reply FROM replies WHERE key IN (?, ?) ORDER BY key != ?"
PUT = "INSERT OR IGNORE INTO replies VALUES (?, ?, 1, ?, ?)"
PUT_OWN = "INSERT OR REPLACE INTO replies VALUES (?, ?, 0, ?, ?)"
DELETE = "DELETE FROM replies WHERE key = ?"
FORGET = "DELETE FROM replies WHERE NOT shared AND owner = ?"
PRUNE = "DELETE FROM replies INDEXED BY own WHERE NOT shared AND made < ?"
DAMAGE = {sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT}
"""Codes of a file that is damaged or has another schema; after any other, a new file would be no better."""
_pair: TypeAdapter[tuple[Reply, float]] = TypeAdapter(tuple[Reply, float], config={"ser_json_inf_nan": "constants"})
"""A reply and the seconds that it took, as JSON."""


def store_path() -> Path:
    """The path of the store on this machine."""
    chosen = os.environ.get(VARIABLE)
    return user_path(chosen) if chosen else cache_folder() / "reply_store.sqlite"


class ReplyStore:
    """The store. It never fails: once it is closed, or if its file cannot be used, it finds and stores nothing."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path or store_path()
        self._connection: sqlite3.Connection | None = None
        self._inode: tuple[int, int] | None = None
        self._jobs: queue.SimpleQueue[tuple[Work, asyncio.Future[Any] | None] | None] = queue.SimpleQueue()
        self._is_closed = self._is_unusable = False
        self._thread = threading.Thread(target=self._work, name="reply-store", daemon=True)
        self._thread.start()

    async def find(self, key: ReplyKey) -> StoredReply | None:
        """The reply of a key: the episode's own, else a shared one; None if there is none that can be read."""
        stored: StoredReply | None = await self._result_of(functools.partial(_find, key=key))
        return stored

    async def put(self, key: ReplyKey, stored: StoredReply) -> None:
        """Store a reply under its shared key if that is free, else under the episode's own."""
        await self._result_of(functools.partial(_put, key=key, stored=stored))

    def forget(self, owner: bytes) -> None:
        """Delete what only serves the resume of an episode, without waiting for it."""
        self._jobs.put((lambda connection: connection.execute(FORGET, (owner,)), None))

    def close(self) -> None:
        """Finish what was begun, and close the file; may be called more than once."""
        self._is_closed = True
        self._jobs.put(None)
        self._thread.join(LOCK_SECONDS)

    async def _result_of(self, work: Work) -> Any:
        """What the thread returns for a piece of work, once it is committed; None without a file."""
        if self._is_closed or self._is_unusable:
            return None
        result: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._jobs.put((work, result))
        return await result

    def _work(self) -> None:
        """Carry out what is submitted, in groups, until the store is closed."""
        is_last = False
        while not is_last:
            group = [self._jobs.get()]
            while not self._jobs.empty():
                group.append(self._jobs.get())
            is_last = None in group
            jobs = [job for job in group if job is not None]
            by_loop: dict[asyncio.AbstractEventLoop, list[tuple[asyncio.Future[Any], Any]]] = {}
            for (_, future), result in zip(jobs, self._carry_out([work for work, _ in jobs]), strict=True):
                if future is not None:
                    by_loop.setdefault(future.get_loop(), []).append((future, result))
            for loop, results in by_loop.items():
                with contextlib.suppress(RuntimeError):  # the loop is closed: no one is waiting
                    loop.call_soon_threadsafe(_settle, results)
        self._disconnect()

    def _carry_out(self, group: Sequence[Work]) -> list[Any]:
        """What a group returns, in one transaction, with a new file if this one is damaged; Nones without a file."""
        error: Exception | None = None
        for _ in range(3 if group and not self._is_unusable else 0):
            try:
                connection = self._connection or self._connect(error)
                connection.execute("BEGIN IMMEDIATE")
                results = [work(connection) for work in group]
                connection.execute("COMMIT")
                return results
            except Exception as failure:  # noqa: BLE001  an episode goes on, whatever happens to the store
                error = failure
                self._disconnect()
                if getattr(error, "sqlite_errorcode", -1) & 0xFF not in DAMAGE:
                    break
        if error is not None:
            self._is_unusable = True
            text = "Replies cannot be stored in %s (%s): an interrupted run repeats its calls; %s may name another file"
            logger.warning(text, self.path, error, VARIABLE)
        return [None] * len(group)

    def _connect(self, damage: Exception | None) -> sqlite3.Connection:
        """Open the file, or make one.

        Args:
            damage: What was found wrong with the file, which is then moved aside.

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
                text = "The reply store %s was damaged (%s); it was renamed to %s, and a new one begins"
                logger.warning(text, self.path, damage, _move_aside(self.path))
                self.path.touch()
            self._inode = _inode(self.path)
            self._connection = connection = sqlite3.connect(self.path, timeout=LOCK_SECONDS, isolation_level=None)
            connection.text_factory = bytes  # in a damaged row, bytes that are no text may be marked as text
            if not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                connection.executescript(SCHEMA)  # before WAL: the file itself says whose it is
            elif connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
                raise OSError("it is a database of another program, and is left alone")
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute(PRUNE, (time.time() - DAYS * 86400,))
        return connection

    def _disconnect(self) -> None:
        if self._connection is not None:
            with contextlib.suppress(sqlite3.Error):
                self._connection.close()
        self._connection = None


def _settle(results: Iterable[tuple[asyncio.Future[Any], Any]]) -> None:
    for future, result in results:
        if not future.done():  # else it was cancelled
            future.set_result(result)


def _find(connection: sqlite3.Connection, key: ReplyKey) -> StoredReply | None:
    """The reply of a key; rows that cannot be read are deleted."""
    for row_key, owner, data in connection.execute(FIND, (key.own, key.shared, key.own)).fetchall():
        with contextlib.suppress(TypeError, ValueError, RecursionError):  # a damaged row may hold anything
            return StoredReply(*_pair.validate_json(data), bytes(owner))
        connection.execute(DELETE, (row_key,))
    return None


def _put(connection: sqlite3.Connection, key: ReplyKey, stored: StoredReply) -> None:
    try:
        data = _pair.dump_json((stored.reply, stored.seconds))
    except (TypeError, ValueError, RecursionError):  # half a surrogate pair, nesting without end: no JSON holds it
        return
    values = (stored.owner, time.time(), data)
    if key.shared is None or not connection.execute(PUT, (key.shared, *values)).rowcount:
        connection.execute(PUT_OWN, (key.own, *values))


def _inode(path: Path) -> tuple[int, int]:
    """What distinguishes a file from another of the same name."""
    status = path.stat()
    return status.st_dev, status.st_ino


def _move_aside(path: Path) -> Path:
    """Rename a damaged file, with its parts, to a name with the time in it; returns that name."""
    stamp = datetime.datetime.now(datetime.UTC).strftime("%Y%m%dT%H%M%S%fZ")
    target = path.with_name(f"{path.name}.damaged-{stamp}")
    for part in ("-wal", "-shm", "-journal", ""):
        with contextlib.suppress(FileNotFoundError):
            Path(f"{path}{part}").rename(f"{target}{part}")
    return target
