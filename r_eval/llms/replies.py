"""Replies kept on disk, so that no answered call is ever paid for twice.

A reply is found by a key, the hash of everything that decides it, and belongs to an owner. There are two places:

- a run's **journal** (see `journal`), with the episode as owner: after a crash an unfinished episode is given the
  replies that it had already, whatever the temperature, and goes on from there;
- the **cache** (see `cache`), which outlives runs: one SQLite file, with the run that made a reply as owner.

Only whole replies are kept; an error never is.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from pydantic import TypeAdapter
from pydantic_core import PydanticSerializationError, to_json

from r_eval.errors import Unwritable, UserError
from r_eval.llms.base import Message, Reply, Request, ToolCall, ToolSpec

SCHEMA = """
CREATE TABLE IF NOT EXISTS kept (
    key TEXT PRIMARY KEY, owner TEXT NOT NULL, made REAL NOT NULL, seconds REAL NOT NULL, reply TEXT NOT NULL,
    likeness TEXT NOT NULL, parts TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS by_owner ON kept (owner);
CREATE INDEX IF NOT EXISTS by_likeness ON kept (likeness, made);
"""
PUT = "INSERT OR REPLACE INTO kept VALUES (?, ?, ?, ?, ?, ?, ?)"
WAIT_FOR_OTHERS = 30.0

_sorted = json.JSONEncoder(sort_keys=True, default=str)
_reply: TypeAdapter[Reply] = TypeAdapter(Reply)
_calls: TypeAdapter[tuple[ToolCall, ...]] = TypeAdapter(tuple[ToolCall, ...])
_tools: TypeAdapter[tuple[ToolSpec, ...]] = TypeAdapter(tuple[ToolSpec, ...])


class ReplyStore:
    """The file of kept replies; for one thread, safe beside other processes.

    A reply survives the death of the process at once, that of the machine as soon as the system writes it out.

    Args:
        gather: Seconds for which replies may be held back, while an event loop runs, to be written together. Those that
            are held back die with the process.

    Raises:
        sqlite3.Error: The file is damaged, is of another program, or cannot be written.
    """

    def __init__(self, path: Path, gather: float = 0.0) -> None:
        self.path, self._gather = path, gather
        self._held: dict[str, tuple[Any, ...]] = {}
        self._failure: Unwritable | None = None
        self._connection = sqlite3.connect(path, timeout=WAIT_FOR_OTHERS, isolation_level=None)
        self._refuse_strangers()
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.execute("PRAGMA synchronous = NORMAL")
        self._connection.executescript(SCHEMA)

    def _refuse_strangers(self) -> None:
        there = {name for (name,) in self._connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if there and "kept" not in there:
            self._connection.close()
            raise sqlite3.DatabaseError(f"it holds {', '.join(sorted(there))[:80]}, and no replies")

    def close(self) -> None:
        try:
            self.write()
        finally:
            self._connection.close()

    def write(self) -> None:
        """Write what is held back.

        Raises:
            Unwritable: It could not be written.
        """
        held, self._held = self._held, {}
        if not held:
            return
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            self._connection.executemany(PUT, held.values())
            self._connection.execute("COMMIT")
        except sqlite3.Error as error:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise Unwritable(self.path, error) from error

    def get(self, key: str) -> tuple[Reply, float] | None:
        """A kept reply and the seconds that it took when it was made.

        Raises:
            UserError: The file is damaged.
        """
        row: Any = None
        if key in self._held:
            *_, seconds, reply, _, _ = self._held[key]
            row = (reply, seconds)
        else:
            row = self._row(key)
        try:
            return (read_reply(json.loads(row[0])), float(row[1])) if row else None
        except (ValueError, TypeError, RecursionError):  # damaged: as if it were not there, so it is asked for anew
            return None

    def _row(self, key: str) -> Any:
        try:
            return self._connection.execute("SELECT reply, seconds FROM kept WHERE key = ?", (key,)).fetchone()
        except (sqlite3.Error, UnicodeError) as error:
            raise UserError(f"{self.path} is damaged ({error}): delete it, or run --no-cache") from None

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
        row = (key, owner, time.time(), seconds, reply_text(reply), likeness, as_json(parts or {}))
        if self._gather and self._later():
            self._held[key] = row
        else:
            self._held[key] = row
            self.write()

    def _later(self) -> bool:
        """See that what is held back is written soon; False where there is no event loop to do it.

        Raises:
            Unwritable: The last time it could not be written.
        """
        if self._failure is not None:
            raise self._failure
        if not self._held:
            try:
                asyncio.get_running_loop().call_later(self._gather, self._write_held)
            except RuntimeError:
                return False
        return True

    def _write_held(self) -> None:
        try:
            self.write()
        except Unwritable as failure:
            self._failure = failure

    def count(self) -> int:
        """How many replies are kept."""
        self.write()
        return int(self._connection.execute("SELECT count(*) FROM kept").fetchone()[0])

    def rows(self, sql: str, values: tuple[Any, ...] = ()) -> list[Any]:
        """The rows of a query."""
        self.write()
        return self._connection.execute(sql, values).fetchall()


def read_reply(data: Any) -> Reply:
    """A reply from plain data."""
    return _reply.validate_python(data)


def reply_text(reply: Reply) -> str:
    """A reply as JSON; in ASCII where it cannot be written otherwise (half a surrogate pair)."""
    try:
        return _reply.dump_json(reply).decode()
    except PydanticSerializationError:
        return json.dumps(_reply.dump_python(reply, mode="python"))


def as_json(value: Any) -> str:
    """Plain data as JSON; in ASCII where it cannot be written otherwise."""
    try:
        return to_json(value).decode()
    except PydanticSerializationError:
        return json.dumps(value)


def digest(value: Any) -> str:
    """Hash of plain data, the same on every machine."""
    return hashed(_sorted.encode(value))


def hashed(*texts: str) -> str:
    """Hash of several texts; where one ends and the next begins counts."""
    made = hashlib.blake2b(digest_size=16)
    for text in texts:
        data = text.encode("utf-8", "surrogatepass")
        made.update(b"%d:%b" % (len(data), data))
    return made.hexdigest()


class Digests:
    """Hashes of what the requests of one episode are made of; each part is hashed once, however often it is sent."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[object, str]] = {}

    def messages(self, messages: tuple[Message, ...]) -> list[str]:
        return [self._of(message, _message) for message in messages]

    def tools(self, tools: tuple[ToolSpec, ...]) -> str:
        return self._of(tools, _offered) if tools else ""

    def _of(self, part: Any, hash_of: Callable[[Any], str]) -> str:
        known = self._known.get(id(part))
        if known is not None and known[0] is part:
            return known[1]
        made = hash_of(part)
        self._known[id(part)] = (part, made)
        return made


def _message(message: Message) -> str:
    calls = _sorted.encode(_calls.dump_python(message.tool_calls)) if message.tool_calls else ""
    return hashed(message.role, message.content, calls, message.call_id, message.name)


def _offered(tools: tuple[ToolSpec, ...]) -> str:
    return digest(_tools.dump_python(tools))


class Keeper(Protocol):
    """Where a journal's replies are: a `ReplyLog`, or what stands for it on another machine."""

    def holds(self, owner: str) -> bool: ...

    def get(self, key: str) -> tuple[Reply, float] | None: ...

    def put(self, key: str, owner: str, reply: Reply, seconds: float) -> None: ...


class Journal:
    """The replies of one episode, in the order of its calls.

    Args:
        scope: What decides the replies besides the requests: the episode and its cell's fingerprint.
    """

    def __init__(self, store: Keeper, episode: str, scope: str) -> None:
        self._store, self._episode, self._scope = store, episode, scope
        self._broken_off = store.holds(episode)
        self._calls = 0
        self.digests = Digests()

    def key(self, request: Request) -> str:
        """The key of the episode's next call; the same request made twice has two keys."""
        self._calls += 1
        messages, tools = self.digests.messages(request.messages), self.digests.tools(request.tools)
        rest = (tools, request.tool_choice, repr(request.stop), str(request.max_tokens))
        return hashed(self._episode, self._scope, str(self._calls), *rest, *messages)

    def get(self, key: str) -> tuple[Reply, float] | None:
        """The reply to a call that was answered before a crash, and its seconds."""
        return self._store.get(key) if self._broken_off else None

    def put(self, key: str, reply: Reply, seconds: float) -> None:
        """Keep the reply to a call."""
        self._store.put(key, self._episode, reply, seconds)
