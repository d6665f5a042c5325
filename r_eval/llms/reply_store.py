"""The replies of LLMs in one SQLite file for all runs of a user: for resume, and as the cache across runs.

The file is `reply_store.sqlite` in R-Eval's cache folder, or the one that the variable R_EVAL_REPLIES names.
Any number of processes may use it at once. What reads and writes it for an episode is in `replay`.

- `put` returns once the reply is committed: it survives the death of the process. One thread commits, in groups.
- Nothing on the event loop waits for a lock. The loop reads small replies, which in WAL mode waits for no write;
  whatever cannot be had at once, is large, or writes is left to the thread, which waits for other processes.
- The file is never a reason to refuse a run. A damaged one is moved aside, and one of another program is left alone;
  where no file can be written, no reply is kept.
- Not LMDB: a little faster, but it needs a size in advance and maps the file, so that a truncated one ends the process.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import datetime
import fcntl
import functools
import logging
import os
import queue
import sqlite3
import sys
import threading
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from r_eval.files import cache_folder
from r_eval.llms.reply_key import Kept, ReplyKey, run_owner

logger = logging.getLogger("r_eval")
T = TypeVar("T")

VARIABLE = "R_EVAL_REPLIES"
LOCK_SECONDS = 60.0
"""How long the thread waits for the writes of other processes."""
DAYS = 30
"""How long replies that only serve the resume of their own episode are kept."""
COMPRESS_BYTES = 4096
"""Size from which a reply is compressed."""
LARGE_BYTES = 65_536
"""Size from which a reply is read on the thread."""

APPLICATION_ID, VERSION = 0x52457661, 1
SCHEMA = f"""
PRAGMA application_id = {APPLICATION_ID};
PRAGMA user_version = {VERSION};
CREATE TABLE replies (key BLOB PRIMARY KEY, owner BLOB NOT NULL, shared INTEGER NOT NULL, made REAL NOT NULL,
                      size INTEGER NOT NULL, crc INTEGER NOT NULL, reply BLOB NOT NULL);
CREATE INDEX own ON replies (owner) WHERE NOT shared;
"""
FIND = "SELECT key, owner, size, crc, iif(size < ?, reply, NULL) FROM replies WHERE key IN (?, ?)"
PUT = "INSERT OR IGNORE INTO replies VALUES (?, ?, ?, ?, ?, ?, ?)"
PUT_OWN = "INSERT OR REPLACE INTO replies VALUES (?, ?, ?, ?, ?, ?, ?)"
DELETE = "DELETE FROM replies WHERE key = ?"
FORGET = "DELETE FROM replies WHERE NOT shared AND owner BETWEEN ? AND ?"
PRUNE = "DELETE FROM replies INDEXED BY own WHERE NOT shared AND made < ?"
DAMAGE = {sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT}
"""Codes of a file that is damaged, or lacks a table; after any other, a new file would be no better."""


def store_path() -> Path:
    """Where the store lies on this machine."""
    chosen = os.environ.get(VARIABLE)
    return Path(chosen) if chosen else cache_folder() / "reply_store.sqlite"


@dataclasses.dataclass(slots=True, eq=False)
class _Job:
    """Work for the thread; once it is committed, `done` is resolved with what it returned, None where it failed."""

    work: Callable[[sqlite3.Connection], Any]
    done: asyncio.Future[Any] | threading.Event | None = None
    result: Any = None


class ReplyStore:
    """The store; it never fails, but may keep nothing (see `usable`). Its file is opened on the thread."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path or store_path()
        self._reader: sqlite3.Connection | None = None
        self._writer: sqlite3.Connection | None = None
        self._reading = threading.Lock()
        self._inode = (0, 0)
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._closed = self._given_up = False
        self._thread = threading.Thread(target=self._work, name="reply-store", daemon=True)
        self._thread.start()

    @property
    def usable(self) -> bool:
        """Whether replies are kept; False once the store is closed, or its file has turned out to be of no use."""
        return not (self._closed or self._given_up)

    async def find(self, key: ReplyKey) -> Kept | None:
        """The reply of a key: the episode's own, else a shared one; None where there is none that can be read."""
        if self._reading.acquire(blocking=False):  # it is held elsewhere while the file is closed
            try:
                if self._reader is not None:
                    kept, unread = _find(self._reader, key, LARGE_BYTES)
                    if not unread:
                        return kept
            except sqlite3.Error:
                pass  # locked for a moment, or damaged: the thread waits, or begins a new file
            finally:
                self._reading.release()
        return await self._hand_over(functools.partial(_find_or_delete, key=key))

    async def put(self, key: ReplyKey, kept: Kept) -> None:
        """Keep a reply under its shared key, where that is free, else under the episode's own."""
        await self._hand_over(functools.partial(_put, key=key, kept=kept))

    def forget(self, owner: bytes) -> None:
        """Delete, soon, what only serves the resume of an episode; or of a run, by the beginning of its owners."""
        self._jobs.put(_Job(lambda connection: connection.execute(FORGET, (owner, owner + b"\xff" * 16))))

    def forget_run(self, run: str) -> None:
        """Delete, soon, what only serves the resume of a run."""
        self.forget(run_owner(run))

    def flush(self, timeout: float = LOCK_SECONDS) -> None:
        """Wait until all that was handed over is committed; not for the event loop."""
        committed = threading.Event()
        if self._thread.is_alive():
            self._jobs.put(_Job(lambda _: None, committed))
            committed.wait(timeout)

    def close(self) -> None:
        """Commit what was handed over, and close the file; may be called more than once."""
        self._closed = True
        self._jobs.put(None)
        self._thread.join(LOCK_SECONDS)

    async def _hand_over(self, work: Callable[[sqlite3.Connection], T]) -> T | None:
        """What the thread returns for a piece of work; None where there is no file for it."""
        if not self.usable:
            return None
        done: asyncio.Future[T | None] = asyncio.get_running_loop().create_future()
        self._jobs.put(_Job(work, done))
        return await done

    def _work(self) -> None:
        """Carry out what is handed over, until the store is closed."""
        self._carry_out([])
        is_last = False
        while not is_last:
            taken = [self._jobs.get()]
            with contextlib.suppress(queue.Empty):
                while True:
                    taken.append(self._jobs.get_nowait())
            is_last = None in taken
            jobs = [job for job in taken if job is not None]
            self._carry_out(jobs)
            _resolve(jobs)
        self._disconnect()

    def _carry_out(self, jobs: Sequence[_Job]) -> None:
        """Carry out jobs in one transaction; in a new file, where this one is damaged; not at all without a file."""
        error: Exception | None = None
        for _ in range(0 if self._given_up else 3):
            try:
                connection = self._connected(error)
                if jobs:
                    connection.execute("BEGIN IMMEDIATE")
                    for job in jobs:
                        job.result = job.work(connection)
                    connection.execute("COMMIT")
                return
            except Exception as failure:  # noqa: BLE001  whoever waits for a job must never wait for good
                error = failure
                if getattr(error, "sqlite_errorcode", -1) & 0xFF not in DAMAGE:
                    break
        if error is not None:
            self._given_up = True
            self._disconnect()
            text = "Replies cannot be kept in %s (%s): an interrupted run repeats its calls; %s may name another file"
            logger.warning(text, self.path, error, VARIABLE)

    def _connected(self, damage: Exception | None) -> sqlite3.Connection:
        """The connection for writing, to the file that lies there now.

        Args:
            damage: What was found wrong with the file, which is moved aside then.

        Raises:
            OSError, sqlite3.Error, ValueError: The file is damaged, or another program's, or cannot be written.
        """
        if self._writer is not None and damage is None and self._inode == _inode(self.path):
            return self._writer
        self._disconnect()
        if self.path.exists() and not self.path.is_file():
            raise OSError("it is not a file")
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with _locked(self.path):
            if damage is not None and self._inode == _inode(self.path):  # else another process has moved it already
                aside = _move_aside(self.path)
                text = "The reply store %s was damaged (%s); it is now %s, and a new one begins"
                logger.warning(text, self.path, damage, aside)
            if _is_foreign(self.path):
                raise OSError("it is a database of another program or version, and is left alone")
            if not self.path.exists():
                self.path.touch()
            self._writer, self._inode = _connect(self.path, LOCK_SECONDS), _inode(self.path)
            _prepare(self._writer)
        self._reader = _connect(self.path, 0)
        return self._writer

    def _disconnect(self) -> None:
        with contextlib.suppress(sqlite3.Error), self._reading:
            reader, self._reader = self._reader, None
            if reader is not None:
                reader.close()
        with contextlib.suppress(sqlite3.Error):  # after the reader, since closing the last one writes the file out
            writer, self._writer = self._writer, None
            if writer is not None:
                writer.close()


def _find(connection: sqlite3.Connection, key: ReplyKey, below: int) -> tuple[Kept | None, list[bytes]]:
    """The reply of a key, and the keys of the rows that could not be read, or are not below a size."""
    unread: list[bytes] = []
    rows = connection.execute(FIND, (below, key.own, key.shared or key.own)).fetchall()
    rows.sort(key=lambda row: row[0] != key.own)
    for row_key, owner, size, crc, data in rows:
        try:
            if zlib.crc32(owner + data) == crc:
                data = data if size < COMPRESS_BYTES else zlib.decompressobj().decompress(data, size)
                return Kept.from_json(data, owner), unread
        except (TypeError, ValueError, RecursionError, zlib.error):
            pass  # a damaged row may hold anything
        unread.append(row_key)
    return None, unread


def _find_or_delete(connection: sqlite3.Connection, key: ReplyKey) -> Kept | None:
    """The reply of a key; rows that cannot be read are deleted."""
    kept, unread = _find(connection, key, sys.maxsize)
    for row_key in unread:
        connection.execute(DELETE, (row_key,))
    return kept


def _put(connection: sqlite3.Connection, key: ReplyKey, kept: Kept) -> None:
    try:
        data = kept.to_json()
    except (TypeError, ValueError, RecursionError):  # nested too deep, say: it cannot be kept
        return
    size = len(data)
    data = data if size < COMPRESS_BYTES else zlib.compress(data, 1)
    values = (time.time(), size, zlib.crc32(kept.owner + data), data)
    if key.shared is None or not connection.execute(PUT, (key.shared, kept.owner, 1, *values)).rowcount:
        connection.execute(PUT_OWN, (key.own, kept.owner, 0, *values))


def _resolve(jobs: Sequence[_Job]) -> None:
    """Tell those who wait for jobs, with one call for each event loop."""
    for job in jobs:
        if isinstance(job.done, threading.Event):
            job.done.set()
    waiting = [(job.done, job.result) for job in jobs if isinstance(job.done, asyncio.Future)]
    for loop in {done.get_loop() for done, _ in waiting}:
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(_set_results, [pair for pair in waiting if pair[0].get_loop() is loop])


def _set_results(pairs: Sequence[tuple[asyncio.Future[Any], Any]]) -> None:
    for future, result in pairs:
        if not future.done():
            future.set_result(result)


def _connect(path: Path, timeout: float) -> sqlite3.Connection:
    """A connection that waits so many seconds for others."""
    connection = sqlite3.connect(path, timeout=timeout, isolation_level=None, check_same_thread=False)
    connection.text_factory = bytes  # in a damaged row, bytes that are no text may be marked as text
    return connection


def _prepare(connection: sqlite3.Connection) -> None:
    """Make the tables of a new file, and delete the old replies that only serve resume."""
    if not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
        connection.executescript(f"BEGIN IMMEDIATE;{SCHEMA}COMMIT;")  # before WAL: the file itself says whose it is
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute(PRUNE, (time.time() - DAYS * 86400,))


def _is_foreign(path: Path) -> bool:
    """Whether a file has the head of a database of another program, or of another version of this one."""
    if not path.exists() or not path.stat().st_size:
        return False
    uri = f"{path.absolute().as_uri()}?immutable=1"  # changes nothing, and makes no files beside it
    with contextlib.closing(sqlite3.connect(uri, uri=True)) as connection:
        try:
            marks = [connection.execute(f"PRAGMA {mark}").fetchone()[0] for mark in ("application_id", "user_version")]
        except sqlite3.DatabaseError:
            return False
    return marks != [APPLICATION_ID, VERSION]


def _inode(path: Path) -> tuple[int, int]:
    """What tells a file from another of the same name; zeros where there is none."""
    try:
        status = path.stat()
    except OSError:
        return (0, 0)
    return (status.st_dev, status.st_ino)


def _move_aside(path: Path) -> Path:
    """Give a damaged file, with its parts, a name with the time in it; returns that name."""
    stamp = datetime.datetime.now(datetime.UTC).strftime("%Y%m%dT%H%M%S%fZ")
    target = path.with_name(f"{path.name}.damaged-{stamp}")
    for part in ("-wal", "-shm", "-journal", ""):
        with contextlib.suppress(FileNotFoundError):
            Path(f"{path}{part}").rename(f"{target}{part}")
    return target


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Held while a store is made or moved aside, so that two processes do not do it at once."""
    with path.with_name(f".{path.name}.lock").open("a") as lock:
        with contextlib.suppress(OSError):  # some network file systems know no locks
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
