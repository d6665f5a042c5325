"""The replies of LLMs in one SQLite file for all runs of a user: for resume, and as the cache across runs.

The file is `replies.sqlite` in R-Eval's cache folder, or the one that the environment variable R_EVAL_REPLIES names. Any
number of processes may use it at once. What reads and writes it for an episode is in `replay`.

- `put` returns once the reply is committed: it survives the death of the process. One thread commits, in groups.
- Nothing on the event loop waits for a lock: in WAL mode a read meets none of a writer, and the thread waits for others.
- The file is never a reason to refuse a run. A damaged one is moved aside; where none can be written, none is.
- Not LMDB: a little faster, but it needs a size in advance and maps the file, so that a truncated one ends the process.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import datetime
import logging
import os
import queue
import sqlite3
import threading
import time
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
PUT = "INSERT OR IGNORE INTO replies VALUES (?, ?, ?, ?, ?, ?)"
PUT_OWN = "INSERT OR REPLACE INTO replies VALUES (?, ?, ?, ?, ?, ?)"
DELETE = "DELETE FROM replies WHERE key = ?"
FORGET = "DELETE FROM replies WHERE NOT shared AND owner BETWEEN ? AND ?"
PRUNE = "DELETE FROM replies INDEXED BY own WHERE NOT shared AND made < ?"
DAYS = 30
"""How long replies that only serve the resume of their own episode are kept."""
LOCK_SECONDS = 60.0
"""How long a write waits for those of other processes."""
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
    """A write: of a reply, or a statement of its own; `done` is resolved once it is committed."""

    key: ReplyKey | None = None
    owner: bytes = b""
    data: bytes = b""
    statement: str = ""
    values: tuple[bytes, ...] = ()
    done: asyncio.Future[None] | None = None
    stop: threading.Event | None = None
    last: bool = False


class ReplyStore:
    """The store, opened; it never fails, but may keep nothing (see `usable`)."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path or store_path()
        self._reader: sqlite3.Connection | None = None
        self._writer: sqlite3.Connection | None = None
        self._inode = (0, 0)
        self._jobs: queue.SimpleQueue[_Job] = queue.SimpleQueue()
        self._closed = False
        self._open()
        self._thread = threading.Thread(target=self._work, name="reply-store", daemon=True)
        self._thread.start()

    @property
    def usable(self) -> bool:
        """Whether replies are kept."""
        return self._writer is not None and not self._closed

    async def find(self, key: ReplyKey) -> Kept | None:
        """The reply of a key: the episode's own, else a shared one; None where there is none that can be read."""
        while self._reader is not None:
            try:
                rows = self._reader.execute(FIND, (key.own, key.shared or key.own)).fetchall()
            except sqlite3.Error as error:
                if _code(error) not in BUSY:
                    self._jobs.put(_Job(statement=FIND, values=(key.own, key.own)))  # the thread will see the damage
                    return None
                await asyncio.sleep(0.01)
                continue
            rows.sort(key=lambda row: row[0] != key.own)
            for row_key, owner, crc, data in rows:
                kept = _unpack(owner, crc, data)
                if kept is not None:
                    return kept
                self._jobs.put(_Job(statement=DELETE, values=(row_key,)))
            return None
        return None

    async def put(self, key: ReplyKey, kept: Kept) -> None:
        """Keep a reply under its shared key, where it has one and no other reply has it, else under the episode's own."""
        if self.usable:
            done = asyncio.get_running_loop().create_future()
            self._jobs.put(_Job(key, kept.owner, kept.to_json(), done=done))
            await done

    def forget(self, owner: bytes) -> None:
        """Delete, soon, what only serves the resume of an episode; or of a run, by the beginning of its owners."""
        self._jobs.put(_Job(statement=FORGET, values=(owner, owner + b"\xff" * 16)))

    def flush(self, timeout: float = LOCK_SECONDS) -> None:
        """Wait until all that was handed over is committed; not for the event loop."""
        stop = threading.Event()
        if self._thread.is_alive():
            self._jobs.put(_Job(stop=stop))
            stop.wait(timeout)

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
        time_now = datetime.datetime.now(datetime.UTC).strftime("%Y%m%dT%H%M%S%fZ")
        target = self.path.with_name(f"{self.path.name}.damaged-{time_now}")
        for part in ("-wal", "-shm", "-journal", ""):
            with contextlib.suppress(FileNotFoundError):
                os.rename(f"{self.path}{part}", f"{target}{part}")
        logger.warning(
            "The reply store %s was damaged (%s); it is now %s, and a new one begins", self.path, error, target
        )

    def _give_up(self, why: object) -> None:
        self._disconnect()
        logger.warning("Replies cannot be kept in %s (%s); a run that is interrupted repeats calls", self.path, why)

    def _disconnect(self) -> None:
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
        for _ in range(3):
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
            self._writer.execute("PRAGMA busy_timeout = 0")
            self._writer.execute(PRUNE, (time.time() - DAYS * 86400,))
            self._writer.execute(f"PRAGMA busy_timeout = {LOCK_SECONDS * 1000:.0f}")
        except sqlite3.Error as error:
            if _code(error) not in BUSY:
                self._recover(error)
