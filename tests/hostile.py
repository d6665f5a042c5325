"""Texts with which models, by accident or not, reach what lies behind a query API."""

from __future__ import annotations

HOSTILE: tuple[str, ...] = (
    "", "   ", "\x00", "a\x00b", "\n\r\t", "\x1b[2J", "\ud800", "\u202egnp.exe", "\ufdd0", "💧" * 50, "(" * 200,
    "x" * 100_000, "東京 " * 5_000, "[" * 5_000, "[" * 300 + "]" * 300,
    '{"a": ' * 2_000, "' OR 1=1 --", '"; DROP TABLE pages; --', "%' OR '%",
    '" OR "', "NEAR(a b, 2)", "title:x AND NOT y*", '"unclosed', "-", "*", "^", "{0.__class__}", "{}", "%s%n",
    "${HOME}", "$(id)", "`id`", "../../etc/passwd", "..\\..\\x", "/dev/zero", "file:///etc/passwd", "http://127.0.0.1:1/",
    "a&b=c", "a?b#c", "a/b", ".", "..", "%00", "%2e%2e%2f", "a\r\nX-Evil: 1", "<script>alert(1)</script>", "&amp;",
    "__import__('os')", "None", "NaN", "1e999", "-1", "9" * 5_000,
)  # fmt: skip
