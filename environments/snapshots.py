"""A domain's knowledge as one SQLite file, opened read-only: what every store of a snapshot has in common.

The file has a table `meta` of names and values, among them `schema` (the layout's version) and `content_hash`.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Self

from r_eval.environments.base import EnvironmentFailure


class SnapshotStore:
    """One snapshot; may be used by many threads at once. It is pickled as its path.

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
        self._lock = threading.Lock()
        self._connection = sqlite3.connect(self._address, uri=True, check_same_thread=False)
        try:
            self.meta: dict[str, str] = dict(self._connection.execute("SELECT * FROM meta"))
        except (sqlite3.Error, ValueError) as error:
            self.close()
            raise ValueError(f"{path} is no {domain} snapshot: {error}") from None
        found = self.meta.get("schema")
        if found != str(schema):
            self.close()
            raise ValueError(f"{path} has schema {found}, this version reads {schema}; build it again")

    def __reduce__(self) -> tuple[type[Self], tuple[Path]]:
        return type(self), (self.path,)

    @property
    def _address(self) -> str:
        return f"{self.path.as_uri()}?mode=ro&immutable=1"

    def close(self) -> None:
        self._connection.close()

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[Any]:
        """All rows of a query.

        Raises:
            EnvironmentFailure: The file cannot be read.
        """
        try:
            with self._lock:
                return self._connection.execute(sql, values).fetchall()
        except sqlite3.Error as error:
            raise EnvironmentFailure(f"cannot read {self.path}: {error}") from error

    def stream(self, sql: str, values: Sequence[Any] = ()) -> Iterator[Any]:
        """The rows of a query, one by one, over a connection of its own."""
        connection = sqlite3.connect(self._address, uri=True)
        try:
            yield from connection.execute(sql, values)
        finally:
            connection.close()
