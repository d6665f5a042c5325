"""What a MediaWiki answered, kept on disk, so that a run can be repeated without asking again.

One SQLite file for all wikis. A reply is kept under the whole request, and the first one kept is the one that everybody
gets: processes that ask the same at the same time go on with the same text. A wiki that changed is read anew by
deleting the file or naming another.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import zlib
from pathlib import Path

import tenacity

from r_eval.environments.base import EnvironmentFailure

SCHEMA = 1
_PATIENCE = 30.0
"""Seconds for which a write waits for those of other processes."""


def default_path() -> Path:
    """Where replies are kept unless a setting says otherwise: in R_EVAL_CACHE, else in the user's cache folder."""
    from platformdirs import user_cache_path

    chosen = os.environ.get("R_EVAL_CACHE")
    return (Path(chosen) if chosen else user_cache_path("r-eval")) / "wiki" / "replies.sqlite"


class Replies:
    """The file of replies; may be used by many threads and processes at once.

    Raises:
        ValueError: The file cannot be made, or is something else.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._connection = sqlite3.connect(path, timeout=_PATIENCE, check_same_thread=False, isolation_level=None)
            self._prepare()
        except (OSError, sqlite3.Error) as error:
            raise ValueError(f"cannot keep the wiki's replies in {path}: {error}") from None

    def get(self, request: str) -> bytes | None:
        """The reply that is kept for a request."""
        row = self._run("SELECT reply FROM replies WHERE request = ?", request)
        return zlib.decompress(row[0]) if row else None

    def keep(self, request: str, reply: bytes) -> bytes:
        """Keep a reply, unless there is one; returns the one that is kept."""
        self._run("INSERT OR IGNORE INTO replies VALUES (?, ?, datetime())", request, zlib.compress(reply))
        return self.get(request) or reply

    def close(self) -> None:
        self._connection.close()

    @tenacity.retry(
        retry=tenacity.retry_if_exception_message(match=".*locked"),  # a change of the journal's mode does not wait
        stop=tenacity.stop_after_delay(_PATIENCE),
        wait=tenacity.wait_random(0.01, 0.1),
        reraise=True,
    )
    def _prepare(self) -> None:
        run = self._connection.execute
        tables = [name for (name,) in run("SELECT name FROM sqlite_master WHERE type = 'table'")]
        version = run("PRAGMA user_version").fetchone()[0]
        if tables and (version != SCHEMA or tables != ["replies"]):
            raise sqlite3.DatabaseError("the file is something else; name another one")
        run("PRAGMA journal_mode = WAL")
        run("PRAGMA synchronous = NORMAL")
        run("BEGIN IMMEDIATE")
        run("CREATE TABLE IF NOT EXISTS replies (request TEXT PRIMARY KEY, reply BLOB NOT NULL, kept TEXT NOT NULL)")
        run(f"PRAGMA user_version = {SCHEMA}")
        run("COMMIT")

    def _run(self, sql: str, *values: object) -> tuple[bytes] | None:
        try:
            with self._lock:
                row: tuple[bytes] | None = self._connection.execute(sql, values).fetchone()
                return row
        except sqlite3.Error as error:
            raise EnvironmentFailure(f"the kept replies in {self.path} cannot be used: {error}") from error
