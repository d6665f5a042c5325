"""Makes a snapshot of a real wiki: JSON Lines of pages, a CirrusSearch dump, or a ZIM file.

`import_file` reads the file once, a record at a time. What cannot be used is left out and counted. Memory does not grow
with the file; the disk needs room for about twice what it holds, uncompressed (beside the snapshot, and for large sorts
in SQLite's temporary folder, see SQLITE_TMPDIR).

The content hash depends on the pages, their popularity, redirects and choices, and not on the order in which the file
has them, unless a title stands twice in it: then the first counts.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from r_eval.environments.base import EnvironmentFailure
from r_eval.environments.dumps import Dump
from r_eval.environments.snapshots import whole
from r_eval.errors import UserError

from ..snapshot import prepare, seal
from ..staging import Staging
from . import cirrus, json_lines, zim
from .guessing import FORMATS, guess
from .records import KIND, Broken, Disambiguation, Record, Redirect

__all__ = ["FORMATS", "Report", "import_file"]

_READERS: dict[str, Callable[[Dump], Iterator[Record]]] = {"json-lines": json_lines.read, "cirrus": cirrus.read}
_TORN = "the compressed file is damaged or ends early"
_ALIKE = """
SELECT count(*) FROM pages INDEXED BY page_key WHERE key >= '=' AND key < '>' AND key = own_key(title)"""


@dataclass
class Report:
    """What became of a file.

    Attributes:
        format: One of `FORMATS`.
        pages: In the snapshot.
        redirects: Further titles that lead to them.
        disambiguations: Titles with several meanings, in the snapshot.
        duplicates: Records left out because one of the same title came before.
        alike: Pages whose titles differ from a more popular page's only in case, accents or punctuation; they are
            found where they are written exactly so.
        broken: Records left out, by reason.
        first: Of every reason, the ordinal number of the first record.
        content_hash: Of the snapshot.
    """

    format: str
    pages: int = 0
    redirects: int = 0
    disambiguations: int = 0
    duplicates: int = 0
    alike: int = 0
    broken: Counter[str] = field(default_factory=Counter)
    first: dict[str, int] = field(default_factory=dict)
    content_hash: str = ""

    def lines(self) -> list[str]:
        """The report as a person reads it."""
        what = f"{self.pages:,} pages, {self.redirects:,} redirects, {self.disambiguations:,} disambiguation pages"
        lines = [f"{what} ({self.format})"]
        if self.duplicates:
            lines.append(f"left out: {self.duplicates:,} of a title that came before")
        for reason, count in self.broken.most_common():
            where = f" (first: record {self.first[reason]:,})" if reason in self.first else ""
            lines.append(f"left out: {count:,} with: {reason}{where}")
        if self.alike:
            lines.append(f"kept: {self.alike:,} with: a title that only case, accents or punctuation tell from another")
        return lines


def import_file(
    path: Path, out: Path, format: str | None = None, progress: Callable[[int], None] | None = None
) -> Report:
    """Write the snapshot of a wiki to `out`, which appears only when it is whole.

    Args:
        path: The file; JSON may be compressed by gzip or bzip2.
        out: The snapshot, replaced if it is there.
        format: One of `FORMATS`; None goes by the content.
        progress: Told from time to time how many bytes of the file have been read.

    Raises:
        UserError: The file cannot be read, is in another format, or holds nothing that can be used.
        MissingExtra: A library that the format needs is not installed.
    """
    if format is not None and format not in FORMATS:
        raise UserError(f"unknown format {format!r}; expected one of {', '.join(FORMATS)}")
    dump = Dump(path, progress)
    report = Report(format or guess(dump))
    records = _zim(path, progress) if report.format == "zim" else _READERS[report.format](dump)
    scratch = out.with_name(out.name + ".scratch")
    try:
        with whole(out) as connection:
            scratch.unlink(missing_ok=True)
            prepare(connection)
            staging = Staging(connection, str(scratch))
            _take_in(records, staging, report)
            if dump.torn:
                report.broken[_TORN] += 1
            if not staging.pages:
                raise UserError(f"{path} holds no page that can be used as {report.format} ({_why(report)})")
            staging.finish()
            report.content_hash = seal(connection, {KIND: {}}, {"format": report.format})
            _count(connection, staging, report)
    except (sqlite3.Error, OSError) as error:
        raise UserError(f"cannot write {out}: {error}") from None
    finally:
        with suppress(OSError):
            scratch.unlink()
    return report


def _take_in(records: Iterator[Record], staging: Staging, report: Report) -> None:
    for ordinal, record in enumerate(records, 1):
        if isinstance(record, Broken):
            report.broken[record.reason] += 1
            report.first.setdefault(record.reason, ordinal)
        elif isinstance(record, Redirect):
            staging.point(record.name, record.target)
        elif isinstance(record, Disambiguation):
            report.duplicates += not staging.offer(record.name, record.choices, record.redirects)
        else:
            report.duplicates += not staging.add(record.article, record.description)


def _count(connection: sqlite3.Connection, staging: Staging, report: Report) -> None:
    def one(sql: str) -> int:
        return int(connection.execute(sql).fetchone()[0])

    report.pages = staging.pages
    report.redirects = one("SELECT count(*) FROM redirects")
    report.disambiguations = one("SELECT count(DISTINCT name) FROM choices")
    report.alike = one(_ALIKE)
    if lost := staging.disambiguations - report.disambiguations:
        report.broken["a disambiguation page that leads to no page, or whose title a page has"] = lost


def _zim(path: Path, progress: Callable[[int], None] | None) -> Iterator[Record]:
    try:
        size = path.stat().st_size
        for part, record in zim.read(path):
            if progress:
                progress(int(part * size))
            yield record
        if progress:
            progress(size)
    except (OSError, ValueError, EnvironmentFailure) as error:
        raise UserError(str(error)) from None


def _why(report: Report) -> str:
    return "; ".join(f"{count:,} with: {reason}" for reason, count in report.broken.most_common(3)) or "no records"
