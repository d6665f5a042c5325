"""Replies kept on disk, so that no answered call is ever paid for twice.

One SQLite file. A reply is found by a key, the hash of everything that decides it, and belongs to a group that can be
forgotten as a whole. A run's journal uses it with the episode as the group: after a crash an unfinished episode is
given the replies that it had already, whatever the temperature, and goes on from there. Only whole replies are kept;
an error never is.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import sqlite3
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from r_eval.llms.base import Reply, Request

SCHEMA = """
CREATE TABLE IF NOT EXISTS replies (
    key TEXT PRIMARY KEY, owner TEXT NOT NULL, seconds REAL NOT NULL, reply TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS by_owner ON replies (owner);
"""

_reply: TypeAdapter[Reply] = TypeAdapter(Reply)
_request: TypeAdapter[Request] = TypeAdapter(Request)


class ReplyStore:
    """The file of kept replies; for one thread, safe beside other processes.

    A reply survives the death of the process at once, that of the machine as soon as the system writes it out.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._connection = sqlite3.connect(path, timeout=30.0, isolation_level=None)
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
        row = self._connection.execute("SELECT reply, seconds FROM replies WHERE key = ?", (key,)).fetchone()
        return (_reply.validate_python(json.loads(row[0])), float(row[1])) if row else None

    def put(self, key: str, owner: str, reply: Reply, seconds: float) -> None:
        """Keep a reply."""
        text = json.dumps(_reply.dump_python(reply, mode="json"), ensure_ascii=True)
        self._connection.execute("INSERT OR REPLACE INTO replies VALUES (?, ?, ?, ?)", (key, owner, seconds, text))

    def forget(self, owner: str) -> None:
        """Let go of everything that belongs to a group."""
        self._connection.execute("DELETE FROM replies WHERE owner = ?", (owner,))

    def count(self) -> int:
        """How many replies are kept."""
        return int(self._connection.execute("SELECT count(*) FROM replies").fetchone()[0])


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
        data: dict[str, Any] = _request.dump_python(request, mode="python")
        text = json.dumps([self._scope, self._calls, data], sort_keys=True, ensure_ascii=True)
        return hashlib.blake2b(f"{self._episode}\0{text}".encode(), digest_size=16).hexdigest()

    def get(self, key: str) -> tuple[Reply, float] | None:
        """The reply to a call that was answered before a crash, and its seconds."""
        return self._store.get(key)

    def put(self, key: str, reply: Reply, seconds: float) -> None:
        """Keep the reply to a call."""
        self._store.put(key, self._episode, reply, seconds)
