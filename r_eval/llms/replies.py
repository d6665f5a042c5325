"""Replies kept on disk, so that no answered call is ever paid for twice.

One SQLite file. A reply is found by a key, the hash of everything that decides it, and belongs to an owner whose
replies can be forgotten together. Two things are made of it:

- a run's **journal**, with the episode as owner: after a crash an unfinished episode is given the replies that it had
  already, whatever the temperature, and goes on from there;
- the **cache** (see `cache`), which outlives runs.

Only whole replies are kept; an error never is.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import sqlite3
import time
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from r_eval.llms.base import Reply, Request

SCHEMA = """
CREATE TABLE IF NOT EXISTS kept (
    key TEXT PRIMARY KEY, owner TEXT NOT NULL, made REAL NOT NULL, seconds REAL NOT NULL, reply TEXT NOT NULL,
    likeness TEXT NOT NULL, parts TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS by_owner ON kept (owner);
CREATE INDEX IF NOT EXISTS by_likeness ON kept (likeness, made);
"""
WAIT_FOR_OTHERS = 30.0

_reply: TypeAdapter[Reply] = TypeAdapter(Reply)
_request: TypeAdapter[Request] = TypeAdapter(Request)


class ReplyStore:
    """The file of kept replies; for one thread, safe beside other processes.

    A reply survives the death of the process at once, that of the machine as soon as the system writes it out.

    Raises:
        sqlite3.Error: The file is damaged, or cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._connection = sqlite3.connect(path, timeout=WAIT_FOR_OTHERS, isolation_level=None)
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.execute("PRAGMA synchronous = NORMAL")
        self._connection.executescript(SCHEMA)

    def close(self) -> None:
        self._connection.close()

    def remove(self) -> None:
        """Close the file and delete it."""
        self.close()
        for ending in ("", "-wal", "-shm"):
            with contextlib.suppress(FileNotFoundError):
                self.path.with_name(self.path.name + ending).unlink()

    def get(self, key: str) -> tuple[Reply, float] | None:
        """A kept reply and the seconds that it took when it was made."""
        row = self._connection.execute("SELECT reply, seconds FROM kept WHERE key = ?", (key,)).fetchone()
        return (_reply.validate_python(json.loads(row[0])), float(row[1])) if row else None

    def put(
        self,
        key: str,
        owner: str,
        reply: Reply,
        seconds: float,
        likeness: str = "",
        parts: dict[str, Any] | None = None,
    ) -> None:
        """Keep a reply.

        Args:
            likeness: Shared by entries that are worth comparing.
            parts: What the key was made of, for telling entries apart.
        """
        text = json.dumps(_reply.dump_python(reply, mode="json"), ensure_ascii=True)
        row = (key, owner, time.time(), seconds, text, likeness, json.dumps(parts or {}, ensure_ascii=True))
        self._connection.execute("INSERT OR REPLACE INTO kept VALUES (?, ?, ?, ?, ?, ?, ?)", row)

    def forget(self, owner: str) -> None:
        """Let go of everything that belongs to an owner."""
        self._connection.execute("DELETE FROM kept WHERE owner = ?", (owner,))

    def count(self) -> int:
        """How many replies are kept."""
        return int(self._connection.execute("SELECT count(*) FROM kept").fetchone()[0])

    def rows(self, sql: str, values: tuple[Any, ...] = ()) -> list[Any]:
        """The rows of a query."""
        return self._connection.execute(sql, values).fetchall()


def digest(value: Any) -> str:
    """Hash of plain data, the same on every machine."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=True, default=str)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def plain(request: Request) -> dict[str, Any]:
    """A request as plain data."""
    data: dict[str, Any] = _request.dump_python(request, mode="python")
    return data


class Journal:
    """The replies of one episode, in the order of its calls.

    Args:
        scope: What decides the replies besides the requests: the episode and its cell's fingerprint.
    """

    def __init__(self, store: ReplyStore, episode: str, scope: str) -> None:
        self._store, self._episode, self._scope = store, episode, scope
        self._calls = 0

    def key(self, request: Request) -> str:
        """The key of the episode's next call; the same request made twice has two keys."""
        self._calls += 1
        return digest([self._episode, self._scope, self._calls, plain(request)])

    def get(self, key: str) -> tuple[Reply, float] | None:
        """The reply to a call that was answered before a crash, and its seconds."""
        return self._store.get(key)

    def put(self, key: str, reply: Reply, seconds: float) -> None:
        """Keep the reply to a call."""
        self._store.put(key, self._episode, reply, seconds)
