"""The replies of LLMs in one SQLite file for all runs of a user: for resume, and as the cache across runs.

The file is `replies.sqlite` in R-Eval's cache folder, or the one that the environment variable R_EVAL_REPLIES names.
Any number of processes may use it at once. What reads and writes it for an episode is in `replay`.

- `put` returns once the reply is committed: it survives the death of the process. One thread commits, in groups.
- Nothing on the event loop waits for a lock: in WAL mode reads meet none of a writer, and the thread waits for others.
- The file is never a reason to refuse a run. A damaged one is moved aside; where none can be written, none is.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import datetime
import fcntl
import logging
import os
import queue
import sqlite3
import threading
import time
import zlib
from collections.abc import Iterator
from pathlib import Path

from r_eval.files import cache_folder
from r_eval.llms.replay import Kept, ReplyKey

logger = logging.getLogger("r_eval")

VARIABLE = "R_EVAL_REPLIES"
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
FIND = "SELECT key, owner, crc, reply FROM replies WHERE key IN (?, ?)"
PUT_SHARED = "INSERT OR IGNORE INTO replies (key, owner, shared, made, crc, reply) VALUES (?, ?, 1, ?, ?, ?)"
PUT_OWN = "INSERT OR REPLACE INTO replies (key, owner, shared, made, crc, reply) VALUES (?, ?, 0, ?, ?, ?)"
DELETE = "DELETE FROM replies WHERE key = ?"
FORGET = "DELETE FROM replies WHERE NOT shared AND owner = ?"
PRUNE = "DELETE FROM replies INDEXED BY own WHERE NOT shared AND made < ?"
DAYS = 30
"""How long replies that only serve the resume of their own episode are kept."""
LOCK_SECONDS = 60.0
"""How long a write waits for those of other processes."""
ATTEMPTS = 3
"""How many files a group of replies may meet damage in."""
FIND_ATTEMPTS, FIND_WAIT = 200, 0.01
"""How often a read that meets a lock is tried, and the seconds between."""
COMPRESS_BYTES = 4096
"""Size from which a reply is compressed."""
BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
UNWRITABLE = BUSY | {sqlite3.SQLITE_FULL, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM}
"""Causes for which a new file would be no better."""


def store_path() -> Path:
    """Where the store lies on this machine."""
    chosen = os.environ.get(VARIABLE)
    return Path(chosen) if chosen else cache_folder() / "replies.sqlite"


@dataclasses.dataclass(slots=True)
class _Job:
    """What the thread is to do: keep a reply, or carry out a statement; then resolve `done`, and set `written`.

    Attributes:
        failed: A connection that met damage, and how.
        last: Whether the thread ends.
    """

    key: ReplyKey | None = None
    owner: bytes = b""
    data: bytes = b""
    statement: str = ""
    values: tuple[bytes, ...] = ()
    done: asyncio.Future[None] | None = None
    written: threading.Event | None = None
    failed: tuple[sqlite3.Connection, sqlite3.Error] | None = None
    last: bool = False


class ReplyStore:
    """The store, opened; it never fails, but may keep nothing (see `usable`)."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path or store_path()
        self._reader: sqlite3.Connection | None = None
        self._writer: sqlite3.Connection | None = None
        self._reading = threading.Lock()  # a connection that is closed while it reads ends the process
        self._inode = (0, 0)
        self._jobs: queue.SimpleQueue[_Job] = queue.SimpleQueue()
        self._closed = self._gave_up = False
        self._open()
        self._thread = threading.Thread(target=self._work, name="reply-store", daemon=True)
        self._thread.start()

    @property
    def usable(self) -> bool:
        """Whether replies are kept."""
        return not (self._gave_up or self._closed)

    async def find(self, key: ReplyKey) -> Kept | None:
        """The reply of a key: the episode's own, else a shared one; None where there is none that can be read."""
        for _ in range(FIND_ATTEMPTS):
            try:
                rows = self._rows(key)
            except sqlite3.Error as error:
                if _code(error) not in BUSY:
                    return None
                await asyncio.sleep(FIND_WAIT)  # another process is repairing the file after a crash
                continue
            rows.sort(key=lambda row: row[0] != key.own)
            for row_key, owner, crc, data in rows:
                kept = _unpack(owner, crc, data)
                if kept is not None:
                    return kept
                self._jobs.put(_Job(statement=DELETE, values=(row_key,)))
            return None
        return None

    def _rows(self, key: ReplyKey) -> list[tuple[bytes, bytes, int, bytes]]:
        """The rows of a key; has the thread look into an error that tells of damage.

        Raises:
            sqlite3.Error: The file is locked, or damaged.
        """
        with self._reading:
            if self._reader is None:
                return []
            try:
                return self._reader.execute(FIND, (key.own, key.shared or key.own)).fetchall()
            except sqlite3.Error as error:
                if _code(error) not in BUSY:
                    self._jobs.put(_Job(failed=(self._reader, error)))
                raise

    async def put(self, key: ReplyKey, kept: Kept) -> None:
        """Keep a reply under its shared key where it has one that is free, else under the episode's own."""
        if self.usable:
            done = asyncio.get_running_loop().create_future()
            self._jobs.put(_Job(key, kept.owner, kept.to_json(), done=done))
            await done

    def forget(self, owner: bytes) -> None:
        """Delete, soon, the replies that only serve the resume of an episode."""
        if self.usable:
            self._jobs.put(_Job(statement=FORGET, values=(owner,)))

    def flush(self, timeout: float = LOCK_SECONDS) -> None:
        """Wait until all that was handed over is committed; not for the event loop."""
        if not self._closed:
            written = threading.Event()
            self._jobs.put(_Job(written=written))
            written.wait(timeout)

    def close(self) -> None:
        """Commit what was handed over, and close the file; may be called more than once."""
        if not self._closed:
            self._closed = True
            self._jobs.put(_Job(last=True))
            self._thread.join(LOCK_SECONDS)

    # Opening

    def _open(self) -> None:
        """Open the file, whatever is there: sets the connections, or leaves them None."""
        for path in (self.path, self.path.with_name(f"{self.path.name}.r-eval")):
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                with _folder_lock(path.parent):
                    if _is_foreign(path):
                        logger.warning("%s is not a reply store and is left alone", path)
                        continue
                    self.path = path
                    self._connect()
                    return
            except (OSError, sqlite3.Error, ValueError) as error:
                self._give_up(error)
                return
        self._give_up("both names are taken")

    def _connect(self) -> None:
        try:
            self._writer, self._reader = _writer(self.path), _connection(self.path, 0)
        except sqlite3.Error as error:
            if _code(error) in UNWRITABLE:
                raise
            self._move_aside(error)
            self._writer, self._reader = _writer(self.path), _connection(self.path, 0)
        self._inode = _inode(self.path)

    def _move_aside(self, error: sqlite3.Error) -> None:
        """Rename a damaged file, with its parts."""
        stamp = datetime.datetime.now(datetime.UTC).strftime("%Y%m%dT%H%M%S%fZ")
        target = self.path.with_name(f"{self.path.name}.damaged-{stamp}")
        for part in ("-wal", "-shm", "-journal", ""):
            with contextlib.suppress(FileNotFoundError):
                Path(f"{self.path}{part}").rename(f"{target}{part}")
        logger.warning(
            "The reply store %s is damaged (%s); it is moved to %s, and a new one begins", self.path, error, target
        )

    def _give_up(self, why: object) -> None:
        """Write no more; what can be read, as on a full disk, is still read."""
        self._gave_up = True
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.close()
        logger.warning("Replies cannot be kept in %s (%s); a run that is interrupted repeats calls", self.path, why)

    def _disconnect(self) -> None:
        with self._reading:
            connections, self._reader, self._writer = (self._reader, self._writer), None, None
            for connection in connections:
                if connection is not None:
                    with contextlib.suppress(sqlite3.Error):
                        connection.close()

    def _recover(self, error: sqlite3.Error) -> None:
        """Go on after an error: with a new file where this one is damaged, else without writing."""
        if _code(error) in UNWRITABLE:
            self._give_up(error)
            return
        self._disconnect()
        try:
            with _folder_lock(self.path.parent):
                if self._inode == _inode(self.path):  # else another process has moved it aside already
                    self._move_aside(error)
            self._open()
        except OSError as failure:
            self._give_up(failure)

    # The thread

    def _work(self) -> None:
        """Commit what is handed over, until the store is closed."""
        self._prune()
        last = False
        while not last:
            jobs = [self._jobs.get()]
            with contextlib.suppress(queue.Empty):
                while True:
                    jobs.append(self._jobs.get_nowait())
            try:
                self._write(jobs)
            finally:
                _resolve(jobs)
            last = any(job.last for job in jobs)
        self._disconnect()

    def _write(self, jobs: list[_Job]) -> None:
        """Commit jobs in one transaction; they are let go of where there is no store that can be written."""
        if self._writer is not None and self._inode != _inode(self.path):
            self._disconnect()  # the file was deleted, or moved aside by another process
            self._open()
        for job in jobs:
            if job.failed is not None and job.failed[0] is self._reader:
                self._recover(job.failed[1])
        for _ in range(ATTEMPTS):
            if self._writer is None:
                return
            try:
                _commit(self._writer, jobs)
                return
            except sqlite3.Error as error:
                with contextlib.suppress(sqlite3.Error):
                    self._writer.rollback()
                self._recover(error)

    def _prune(self) -> None:
        """Delete the old replies that only serve resume, unless another process is writing."""
        if self._writer is None:
            return
        try:
            with contextlib.closing(_connection(self.path, 0)) as connection:
                connection.execute(PRUNE, (time.time() - DAYS * 86400,))
        except sqlite3.Error as error:
            if _code(error) not in BUSY:
                self._recover(error)


def _commit(writer: sqlite3.Connection, jobs: list[_Job]) -> None:
    """Write jobs in their order, all or none.

    Raises:
        sqlite3.Error: They are not written.
    """
    if not any(job.key or job.statement for job in jobs):
        return
    now = time.time()
    writer.execute("BEGIN IMMEDIATE")
    for job in jobs:
        if job.statement:
            writer.execute(job.statement, job.values)
        elif job.key is not None:
            data = job.data if len(job.data) < COMPRESS_BYTES else zlib.compress(job.data, 1)
            row = (job.owner, now, zlib.crc32(data), data)
            # Two episodes may make one request at once: each must find its own reply when it is resumed.
            if not (job.key.shared and writer.execute(PUT_SHARED, (job.key.shared, *row)).rowcount):
                writer.execute(PUT_OWN, (job.key.own, *row))
    writer.execute("COMMIT")


def _resolve(jobs: list[_Job]) -> None:
    """Wake those who wait, with one call into each event loop."""
    waiting: dict[asyncio.AbstractEventLoop, list[asyncio.Future[None]]] = {}
    for job in jobs:
        if job.done is not None:
            waiting.setdefault(job.done.get_loop(), []).append(job.done)
        if job.written is not None:
            job.written.set()
    for loop, futures in waiting.items():
        with contextlib.suppress(RuntimeError):  # the loop is closed, so nobody waits
            loop.call_soon_threadsafe(_set_done, futures)


def _set_done(futures: list[asyncio.Future[None]]) -> None:
    for future in futures:
        if not future.done():
            future.set_result(None)


def _unpack(owner: bytes, crc: int, data: bytes) -> Kept | None:
    """A row's reply; None where it is damaged."""
    try:
        if zlib.crc32(data) != crc:
            return None
        return Kept.from_json(data if data.startswith(b"{") else zlib.decompress(data), owner)
    except (TypeError, ValueError, AttributeError, RecursionError, zlib.error):
        return None


def _connection(path: Path, timeout: float) -> sqlite3.Connection:
    return sqlite3.connect(path, timeout=timeout, isolation_level=None, check_same_thread=False)


def _writer(path: Path) -> sqlite3.Connection:
    """A connection that writes; the file is made where there is none.

    Raises:
        sqlite3.Error: The file is damaged, or cannot be written.
    """
    connection = _connection(path, LOCK_SECONDS)
    try:
        if not connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchall():
            connection.executescript(SCHEMA)
        [(version,)] = connection.execute("PRAGMA user_version").fetchall()
        if version != VERSION:
            raise sqlite3.DatabaseError(f"its schema has the version {version}, not {VERSION}")
        connection.execute("PRAGMA journal_mode = WAL").fetchall()
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("SELECT key, owner, shared, made, crc, reply FROM replies LIMIT 1").fetchall()
    except BaseException:
        connection.close()
        raise
    return connection


def _is_foreign(path: Path) -> bool:
    """Whether a folder or another program's database is in the way; found out without changing it."""
    if path.is_dir():
        return True
    if not path.exists() or path.stat().st_size == 0:
        return False
    try:
        with contextlib.closing(sqlite3.connect(f"{path.absolute().as_uri()}?immutable=1", uri=True)) as connection:
            [(application,)] = connection.execute("PRAGMA application_id").fetchall()
            tables = connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchall()
    except sqlite3.Error:
        return False
    log = path.with_name(f"{path.name}-wal")
    return application != APPLICATION_ID and (bool(tables) or (log.exists() and log.stat().st_size > 0))


def _inode(path: Path) -> tuple[int, int]:
    """Which file a path names."""
    try:
        found = path.stat()
    except OSError:
        return (0, 0)
    return (found.st_dev, found.st_ino)


@contextlib.contextmanager
def _folder_lock(folder: Path) -> Iterator[None]:
    """Let one process at a time make or move a store in a folder."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):  # some network file systems have no such locks
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _code(error: sqlite3.Error) -> int:
    """The primary result code of SQLite; 0 where there is none."""
    return int(getattr(error, "sqlite_errorcode", 0) or 0) & 0xFF
