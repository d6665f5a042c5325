"""What a cache holds is not believed: another program's file is left alone, and what is damaged is made anew."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

import pytest

from r_eval.errors import UserError
from r_eval.llms.base import Reply
from r_eval.llms.cache import ReplyCache
from r_eval.llms.journal import ReplyLog


def test_a_database_of_another_program_is_refused_and_left_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "replies.sqlite"
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE passwords (name TEXT)")
    before = path.read_bytes()
    with pytest.raises(UserError, match="it holds passwords, and no replies"):
        ReplyCache("run", path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("content", [b"no database", b"SQLite format 3\0" + b"\xff" * 5000])
def test_a_file_that_is_no_database_is_refused_and_left_as_it_was(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "replies.sqlite"
    path.write_bytes(content)
    with pytest.raises(UserError, match="cannot be used"):
        ReplyCache("run", path)
    assert path.read_bytes() == content


@pytest.mark.parametrize(
    "reply", ["", "{", "[]", '{"text": 3}', '{"text": "a", "tool_calls": "x"}', "[" * 100_000, "null"]
)
def test_a_kept_reply_that_is_none_is_asked_for_anew(reply: str, tmp_path: Path) -> None:
    with contextlib.closing(ReplyCache("run", tmp_path / "replies.sqlite")) as cache:
        cache.store.put("key", "run", Reply("before"), 1.0)
    with contextlib.closing(sqlite3.connect(tmp_path / "replies.sqlite")) as connection:
        connection.execute("UPDATE kept SET reply = ?", (reply,))
        connection.commit()
    with contextlib.closing(ReplyCache("run", tmp_path / "replies.sqlite")) as cache:
        assert cache.store.get("key") is None
        cache.store.put("key", "run", Reply("after"), 1.0)
        assert cache.store.get("key") == (Reply("after"), 1.0)


def test_a_page_of_the_cache_that_is_damaged_is_named_with_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "replies.sqlite"
    with contextlib.closing(ReplyCache("run", path)) as cache:
        for number in range(200):
            cache.store.put(f"{number}", "run", Reply("x" * 500), 1.0)
    data = bytearray(path.read_bytes())
    data[4096 * 4 :] = b"\xa5" * len(data[4096 * 4 :])
    path.write_bytes(data)
    with pytest.raises(UserError, match="delete it, or run --no-cache"):
        read_all(path)


def read_all(path: Path) -> None:
    with contextlib.closing(ReplyCache("", path)) as cache:
        for number in range(200):
            cache.store.get(f"{number}")


def test_a_reply_of_a_journal_that_is_damaged_is_asked_for_anew(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_text('{"owner": "e", "key": "k", "seconds": 1, "reply": {"text": []}}\n', encoding="utf-8")
    with contextlib.closing(ReplyLog(path)) as journal:
        assert journal.get("k") is None
        assert journal.of("e") == {}
