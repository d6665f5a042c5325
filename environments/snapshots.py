"""A domain's knowledge as one SQLite file, opened read-only: what every store of a snapshot has in common.

The file has a table `meta` of names and values, among them `schema` (the layout's version) and `content_hash`.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Self

from r_eval.environments.base import EnvironmentFailure


class SnapshotStore:
    """One snapshot; may be used by many threads at once. It is pickled as its path.

    Every thread that reads takes a connection of its own from a pool, which grows to as many as ever read at once: with
    one connection for all, threads would stand in line for it.

    Args:
        path: The file.
        domain: What it is a snapshot of, for messages.
        schema: The layout that the reader understands.

    Raises:
        FileNotFoundError: There is no such file.
        ValueError: The file is not a snapshot, or of another schema.
    """

    def __init__(self, path: Path, domain: str, schema: int) -> None:
        if not path.is_file():
            raise FileNotFoundError(f"there is no {domain} snapshot at {path}")
        self.path = path.resolve()
        self._idle: list[sqlite3.Connection] = []
        try:
            with closing(self._connect()) as connection:
                self.meta: dict[str, str] = dict(connection.execute("SELECT * FROM meta"))
        except (sqlite3.Error, ValueError) as error:
            raise ValueError(f"{path} is no {domain} snapshot: {error}") from None
        found = self.meta.get("schema")
        if found != str(schema):
            raise ValueError(f"{path} has schema {found}, this version reads {schema}; build it again")

    def __reduce__(self) -> tuple[type[Self], tuple[Path]]:
        return type(self), (self.path,)

    def close(self) -> None:
        """Close the connections that nobody reads over."""
        while self._idle:
            self._idle.pop().close()

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[Any]:
        """All rows of a query.

        Raises:
            EnvironmentFailure: The file cannot be read.
        """
        try:
            with self._lent() as connection:
                return connection.execute(sql, values).fetchall()
        except sqlite3.Error as error:
            raise EnvironmentFailure(f"cannot read {self.path}: {error}") from error

    def stream(self, sql: str, values: Sequence[Any] = ()) -> Iterator[Any]:
        """The rows of a query, one by one, over a connection of its own."""
        with closing(self._connect()) as connection:
            yield from connection.execute(sql, values)

    @contextmanager
    def _lent(self) -> Iterator[sqlite3.Connection]:
        try:
            connection = self._idle.pop()
        except IndexError:
            connection = self._connect()
        try:
            yield connection
        finally:
            self._idle.append(connection)

    def _connect(self) -> sqlite3.Connection:
        return sqlite3.connect(f"{self.path.as_uri()}?mode=ro&immutable=1", uri=True, check_same_thread=False)


@contextmanager
def whole(out: Path) -> Iterator[sqlite3.Connection]:
    """A connection to a new file that appears as `out` only if the block ends well."""
    out.parent.mkdir(parents=True, exist_ok=True)
    partial = out.with_name(out.name + ".partial")
    partial.unlink(missing_ok=True)
    try:
        with closing(sqlite3.connect(partial)) as connection:
            yield connection
        partial.replace(out)
    finally:
        partial.unlink(missing_ok=True)
