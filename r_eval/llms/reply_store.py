"""The replies of LLMs in one SQLite file for all runs of a user: for resume, and as the cache across runs.

The file is `replies.sqlite` in R-Eval's cache folder, or the one that the environment variable R_EVAL_REPLIES names.
Any number of processes may use it at once. What reads and writes it for an episode is in `replay`.

- `put` returns once the reply is committed: it survives the death of the process. One thread commits, in groups.
- Nothing on the event loop waits for a lock: in WAL mode no read waits for a write, and threads wait for the rest.
- The file is never a reason to refuse a run. A damaged one is moved aside; where none can be written, none is.
- Not LMDB: a little faster, but it needs a size in advance and maps the file, so that a truncated one ends the process.
"""

from __future__ import annotations

import asyncio
import collections
import contextlib
import dataclasses
import logging
import queue
import sqlite3
import threading
import time
from pathlib import Path

from r_eval.llms import reply_file
from r_eval.llms.replay import Kept
from r_eval.llms.reply_file import BUSY, DAMAGE, LOCK_SECONDS, result_code
from r_eval.llms.reply_key import ReplyKey, run_owner

logger = logging.getLogger("r_eval")

FIND = "SELECT key, owner, crc, reply FROM replies WHERE key IN (?, ?)"
PUT = "INSERT OR IGNORE INTO replies VALUES (?, ?, ?, ?, ?, ?)"
PUT_OWN = "INSERT OR REPLACE INTO replies VALUES (?, ?, ?, ?, ?, ?)"
DELETE = "DELETE FROM replies WHERE key = ?"
FORGET = "DELETE FROM replies WHERE NOT shared AND owner BETWEEN ? AND ?"
PRUNE = "DELETE FROM replies INDEXED BY own WHERE NOT shared AND made < ?"
DAYS = 30
"""How long replies that only serve the resume of their own episode are kept."""

Row = tuple[bytes, bytes, int, bytes]


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
        self.path = path or reply_file.store_path()
        self._reader: sqlite3.Connection | None = None
        self._writer: sqlite3.Connection | None = None
        self._inode = (0, 0)
        self._reading = threading.Lock()
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
        values = (key.own, key.shared or key.own)
        try:
            rows = self._read(values)
        except sqlite3.Error as error:
            busy = result_code(error) in BUSY
            rows = await asyncio.to_thread(self._read_patiently, values) if busy else None
        if rows is None:
            self._jobs.put(_Job(statement=FIND, values=values))  # the thread meets the damage too, and mends it
            return None
        rows.sort(key=lambda row: row[0] != key.own)
        for row_key, owner, crc, data in rows:
            kept = reply_file.unpack(owner, crc, data)
            if kept is not None:
                return kept
            self._jobs.put(_Job(statement=DELETE, values=(row_key,)))
        return None

    def _read(self, values: tuple[bytes, ...]) -> list[Row] | None:
        with self._reading:  # held elsewhere only for the moment of closing
            return self._reader.execute(FIND, values).fetchall() if self._reader is not None else []

    def _read_patiently(self, values: tuple[bytes, ...]) -> list[Row] | None:
        """Read on a thread, where others hold the file; None where it cannot be read."""
        end = time.monotonic() + LOCK_SECONDS
        while True:
            try:
                return self._read(values)
            except sqlite3.Error as error:
                if result_code(error) not in BUSY or time.monotonic() > end:
                    return None
            time.sleep(0.01)

    async def put(self, key: ReplyKey, kept: Kept) -> None:
        """Keep a reply under its shared key, where that is free, else under the episode's own."""
        if not self.usable:
            return
        try:
            data = kept.to_json()
        except (TypeError, ValueError, RecursionError):  # nested too deep, say: it cannot be kept
            return
        done = asyncio.get_running_loop().create_future()
        self._jobs.put(_Job(key, kept.owner, data, done=done))
        await done

    def forget(self, owner: bytes) -> None:
        """Delete, soon, what only serves the resume of an episode; or of a run, by the beginning of its owners."""
        self._jobs.put(_Job(statement=FORGET, values=(owner, owner + b"\xff" * 16)))

    def forget_run(self, run: str) -> None:
        """Delete, soon, what only serves the resume of a run."""
        self.forget(run_owner(run))

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

    def _open(self) -> None:
        """Open the file, whatever is there: sets the connections, or leaves them None."""
        for path in (self.path, self.path.with_name(f"{self.path.name}.r-eval")):
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                with reply_file.folder_lock(path.parent):
                    if reply_file.is_foreign(path):
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
            self._writer, self._reader = reply_file.open_writer(self.path), reply_file.connect(self.path, 0)
        except sqlite3.Error as error:
            if result_code(error) not in DAMAGE:
                raise
            self._move_aside(error)
            self._writer, self._reader = reply_file.open_writer(self.path), reply_file.connect(self.path, 0)
        self._inode = reply_file.inode(self.path)

    def _move_aside(self, error: sqlite3.Error) -> None:
        target = reply_file.move_aside(self.path)
        logger.warning("The reply store %s was damaged (%s); it is now %s, a new one begins", self.path, error, target)

    def _give_up(self, why: object) -> None:
        self._disconnect()
        logger.warning("Replies cannot be kept in %s (%s); a run that is interrupted repeats calls", self.path, why)

    def _disconnect(self) -> None:
        reader, writer, self._reader, self._writer = self._reader, self._writer, None, None
        with contextlib.suppress(sqlite3.Error), self._reading:
            if reader is not None:
                reader.close()
        with contextlib.suppress(sqlite3.Error):  # may write the file out, so nobody is made to wait for it
            if writer is not None:
                writer.close()

    def _recover(self, error: sqlite3.Error) -> None:
        """Go on after an error: with a new file where this one is damaged, else without writing."""
        if result_code(error) not in DAMAGE:
            self._give_up(error)
            return
        self._disconnect()
        try:
            with reply_file.folder_lock(self.path.parent):
                if self._inode == reply_file.inode(self.path):  # else another process has moved it aside already
                    self._move_aside(error)
            self._open()
        except OSError as failure:
            self._give_up(failure)

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
            except Exception as error:  # noqa: BLE001  whoever waits must never wait for good
                self._give_up(error)
            _resolve(jobs)
            last = any(job.last for job in jobs)
        self._disconnect()

    def _write(self, jobs: list[_Job]) -> None:
        """Commit jobs in one transaction; they are let go of where there is no store that can be written."""
        if self._writer is not None and self._inode != reply_file.inode(self.path):
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
            with contextlib.suppress(sqlite3.OperationalError):  # busy: another time
                self._writer.execute(PRUNE, (time.time() - DAYS * 86400,))
            self._writer.execute(f"PRAGMA busy_timeout = {LOCK_SECONDS * 1000:.0f}")
        except sqlite3.Error as error:
            self._recover(error)


def _commit(connection: sqlite3.Connection, jobs: list[_Job]) -> None:
    """Carry out jobs in one transaction."""
    rows = [(job, reply_file.pack(job.owner, job.data)) for job in jobs if job.key is not None or job.statement]
    if not rows:
        return
    connection.execute("BEGIN IMMEDIATE")
    for job, values in rows:
        if job.key is None:
            connection.execute(job.statement, job.values).fetchall()
        elif job.key.shared is None or not connection.execute(PUT, (job.key.shared, job.owner, 1, *values)).rowcount:
            connection.execute(PUT_OWN, (job.key.own, job.owner, 0, *values))
    connection.execute("COMMIT")


def _resolve(jobs: list[_Job]) -> None:
    """Tell those who wait for jobs, with one call for each event loop."""
    waiting: dict[asyncio.AbstractEventLoop, list[asyncio.Future[None]]] = collections.defaultdict(list)
    for job in jobs:
        if job.done is not None:
            waiting[job.done.get_loop()].append(job.done)
        if job.stop is not None:
            job.stop.set()
    for loop, futures in waiting.items():
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(_set_done, futures)


def _set_done(futures: list[asyncio.Future[None]]) -> None:
    for future in futures:
        if not future.done():
            future.set_result(None)
