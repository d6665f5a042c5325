"""What the reply store holds is not believed: what cannot be a reply is made anew, whatever its checksum says."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sqlite3
import zlib
from pathlib import Path

import pytest

from r_eval.llms.base import Reply
from r_eval.llms.replay import Kept
from r_eval.llms.reply_key import ReplyKey
from r_eval.llms.reply_store import ReplyStore

KEY = ReplyKey(b"key")
ROWS: dict[str, tuple[object, ...]] = {
    "empty": (0, b""),
    "cut": (1, b"{"),
    "no reply": (2, b"[]"),
    "null": (4, b"null"),
    "numbers": (5, b"[1,2]"),
    "text that is a number": (17, b'[{"text": 3}, 1]'),
    "calls that are a text": (40, b'[{"text": "a", "tool_calls": "x"}, 1.0]'),
    "nested deep": (1_000, b"[" * 1_000),
    "nested deep and large": (100_000, zlib.compress(b"[" * 100_000)),
    "no UTF-8": (20, b'[{"text": "\xff\xfe"}, 1]'),
    "not compressed": (5_000, b"x" * 5_000),
    "compressed, and small": (20, zlib.compress(b'[{"text": "a"}, 1.0]')),
    "larger than it says": (5_000, zlib.compress(bytes(50_000_000))),
    "a negative size": (-1, b'[{"text": "a"}, 1.0]'[:-1]),
    "a size that is a text": ("x", b'[{"text": "a"}, 1.0]'),
    "a text": (20, '[{"text": 5}, 1.0]'),
    "a number": (3, 123),
}


def insert(path: Path, owner: object, size: object, crc: object, data: object) -> None:
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("INSERT INTO replies VALUES (?, ?, 0, 4e9, ?, ?, ?)", (KEY.own, owner, size, crc, data))


def found_then_made_anew(path: Path) -> Kept | None:
    """What is found in a store; then, what is found once a reply was put there."""
    found = []

    async def use(store: ReplyStore) -> None:
        found.append(await store.find(KEY))
        await store.put(KEY, Kept(Reply("再来"), 1.0, b"o"))
        found.append(await store.find(KEY))

    with contextlib.closing(ReplyStore(path)) as store:
        asyncio.run(use(store))
    assert found[1] == Kept(Reply("再来"), 1.0, b"o")
    return found[0]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    ReplyStore(tmp_path / "reply_store.sqlite").close()
    return tmp_path / "reply_store.sqlite"


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS.keys())
def test_a_row_that_is_no_reply_is_asked_for_anew(
    row: tuple[object, object], path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    size, data = row
    crc = zlib.crc32(b"o" + data) if isinstance(data, bytes) else 0
    insert(path, b"o", size, crc, data)
    assert found_then_made_anew(path) is None
    assert not caplog.records


@pytest.mark.parametrize(("owner", "crc"), [(b"o", 1), (b"p", None), (1, None), ("o", "x")])
def test_a_reply_whose_checksum_is_another_is_asked_for_anew(owner: object, crc: object, path: Path) -> None:
    data = Kept(Reply("好"), 1.0).to_json()
    insert(path, owner, len(data), zlib.crc32(b"o" + data) if crc is None else crc, data)
    assert found_then_made_anew(path) is None


def test_a_reply_that_is_whole_is_found(path: Path) -> None:
    kept = Kept(Reply(os.urandom(90_000).hex()), 2.0, b"o")
    data = kept.to_json()
    insert(path, b"o", len(data), zlib.crc32(b"o" + zlib.compress(data)), zlib.compress(data))
    with contextlib.closing(ReplyStore(path)) as store:
        assert asyncio.run(store.find(KEY)) == kept
