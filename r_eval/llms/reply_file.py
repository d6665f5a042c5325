"""The file behind the reply store: how it is opened, told from others, and what a row of it holds."""

from __future__ import annotations

import contextlib
import datetime
import fcntl
import os
import sqlite3
import time
import zlib
from collections.abc import Iterator
from pathlib import Path

from r_eval.files import cache_folder
from r_eval.llms.replay import Kept

VARIABLE = "R_EVAL_REPLIES"

APPLICATION_ID, VERSION = 0x52457661, 1
SCHEMA = f"""
PRAGMA application_id = {APPLICATION_ID};
PRAGMA user_version = {VERSION};
CREATE TABLE replies (key BLOB PRIMARY KEY, owner BLOB NOT NULL, shared INTEGER NOT NULL, made REAL NOT NULL,
                      crc INTEGER NOT NULL, reply BLOB NOT NULL);
CREATE INDEX own ON replies (owner) WHERE NOT shared;
"""
LOCK_SECONDS = 60.0
"""How long a write waits for those of other processes."""
COMPRESS_BYTES = 4096
"""Size from which a reply is compressed."""
BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
DAMAGE = {sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT}
"""Codes of a file that is damaged, or lacks a table; after any other, a new file would be no better."""


def store_path() -> Path:
    """Where the store lies on this machine."""
    chosen = os.environ.get(VARIABLE)
    return Path(chosen) if chosen else cache_folder() / "replies.sqlite"


def result_code(error: sqlite3.Error) -> int:
    """The primary result code of SQLite; -1 for an error of Python's own."""
    return getattr(error, "sqlite_errorcode", -1) & 0xFF


def connect(path: Path, timeout: float, query: str = "") -> sqlite3.Connection:
    """A connection that waits so many seconds for others; `query` is that of the file's URI."""
    uri = f"{path.absolute().as_uri()}{query}"
    connection = sqlite3.connect(uri, timeout=timeout, isolation_level=None, check_same_thread=False, uri=True)
    connection.text_factory = bytes  # in a damaged row, bytes that are no text may be marked as text
    return connection


def open_writer(path: Path) -> sqlite3.Connection:
    """A connection for writing; makes the tables of a new file.

    Raises:
        sqlite3.Error: The file is damaged, or cannot be written.
    """
    connection = connect(path, LOCK_SECONDS)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        if not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            connection.executescript(f"BEGIN IMMEDIATE;{SCHEMA}COMMIT;")
        connection.execute("SELECT key, owner, shared, made, crc, reply FROM replies LIMIT 1").fetchall()
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def is_foreign(path: Path) -> bool:
    """Whether a file is a sound database of another program, or of another version of this one."""
    if not path.is_file() or not path.stat().st_size:
        return False
    query = "?mode=ro" if Path(f"{path}-wal").exists() else "?immutable=1"  # leaves no files beside it
    try:
        with contextlib.closing(connect(path, 1, query)) as connection:
            tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
            marks = [connection.execute(f"PRAGMA {mark}").fetchone()[0] for mark in ("application_id", "user_version")]
    except sqlite3.DatabaseError as error:
        if result_code(error) not in DAMAGE:
            raise
        return False
    return bool(tables) and marks != [APPLICATION_ID, VERSION]


def inode(path: Path) -> tuple[int, int]:
    """What tells a file from another of the same name; zeros where there is none."""
    try:
        status = path.stat()
    except OSError:
        return (0, 0)
    return (status.st_dev, status.st_ino)


def move_aside(path: Path) -> Path:
    """Give a damaged file, with its parts, a name with the time in it; returns that name."""
    stamp = datetime.datetime.now(datetime.UTC).strftime("%Y%m%dT%H%M%S%fZ")
    target = path.with_name(f"{path.name}.damaged-{stamp}")
    for part in ("-wal", "-shm", "-journal", ""):
        with contextlib.suppress(FileNotFoundError):
            Path(f"{path}{part}").rename(f"{target}{part}")
    return target


@contextlib.contextmanager
def folder_lock(folder: Path) -> Iterator[None]:
    """Held while a store is made or moved aside, so that two processes do not do it at once."""
    with (folder / ".replies.lock").open("a") as lock:
        with contextlib.suppress(OSError):  # some network file systems know no locks
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def pack(owner: bytes, data: bytes) -> tuple[float, int, bytes]:
    """The time, a checksum, and a reply's JSON, compressed where it is long."""
    data = zlib.compress(data, 1) if len(data) >= COMPRESS_BYTES else data
    return time.time(), zlib.crc32(owner + data), data


def unpack(owner: bytes, crc: int, data: bytes) -> Kept | None:
    """A kept reply; None where it cannot be read."""
    try:
        if zlib.crc32(owner + data) != crc:
            return None
        return Kept.from_json(data if data.startswith(b"[") else zlib.decompress(data), owner)
    except (TypeError, ValueError, RecursionError, zlib.error):
        return None
