"""Makes a snapshot of a real bibliography: a citation network (JSON), dblp.xml, or BibTeX.

`import_file` reads the file once, a record at a time. What a dump holds is rarely clean: records that cannot be used
are left out and counted, and so is what was missing in the others. Memory does not grow with the file; the disk
needs room for about twice what it holds, uncompressed (beside the snapshot, and for large sorts in SQLite's temporary
folder, see SQLITE_TMPDIR).
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from r_eval.environments.snapshots import whole
from r_eval.errors import UserError

from ..snapshot import content_hash, prepare, seal
from . import bibtex, citation_network, dblp
from .records import Affiliation, Broken, Record
from .source_file import FORMATS, SourceFile
from .staging import Staging

__all__ = ["FORMATS", "Report", "import_file"]

_READERS: dict[str, Callable[[SourceFile], Iterator[Record]]] = {
    "citation-network": citation_network.read,
    "dblp": dblp.read,
    "bibtex": bibtex.read,
}


@dataclass
class Report:
    """What became of a file.

    Attributes:
        format: One of `FORMATS`.
        publications: In the snapshot.
        scholars: In the snapshot.
        duplicates: Records left out because one of the same id came before.
        broken: Records left out, by reason.
        gaps: What was missing or unreadable in records that were kept, by kind.
        first: Of every reason and kind, the ordinal number of the first record.
        content_hash: Of the snapshot.
    """

    format: str
    publications: int = 0
    scholars: int = 0
    duplicates: int = 0
    broken: Counter[str] = field(default_factory=Counter)
    gaps: Counter[str] = field(default_factory=Counter)
    first: dict[str, int] = field(default_factory=dict)
    content_hash: str = ""

    def lines(self) -> list[str]:
        """The report as a person reads it."""
        lines = [f"{self.publications:,} publications and {self.scholars:,} scholars ({self.format})"]
        if self.duplicates:
            lines.append(f"left out: {self.duplicates:,} of an id that came before")
        for label, counts in (("left out", self.broken), ("kept", self.gaps)):
            lines += [
                f"{label}: {count:,} with: {reason} (first: record {self.first[reason]:,})"
                for reason, count in counts.most_common()
            ]
        return lines


def import_file(
    path: Path, out: Path, format: str | None = None, progress: Callable[[int], None] | None = None
) -> Report:
    """Write the snapshot of a bibliography to `out`, which appears only when it is whole.

    Args:
        path: The file, plain or compressed by gzip or bzip2.
        out: The snapshot, replaced if it is there.
        format: One of `FORMATS`; None goes by the content.
        progress: Told from time to time how many bytes of the file have been read.

    Raises:
        UserError: The file cannot be read, is in another format, or holds nothing that can be used.
        MissingExtra: A library that the format needs is not installed.
    """
    if format is not None and format not in _READERS:
        raise UserError(f"unknown format {format!r}; expected one of {', '.join(FORMATS)}")
    source = SourceFile(path, progress)
    report = Report(format or source.guess())
    scratch = out.with_name(out.name + ".scratch")
    try:
        with whole(out) as connection:
            scratch.unlink(missing_ok=True)
            prepare(connection)
            staging = Staging(connection, str(scratch))
            _take_in(source, staging, report)
            staging.finish()
            report.publications, report.scholars = staging.publications, staging.scholars
            report.content_hash = content_hash(connection)
            seal(connection, report.content_hash, {"format": report.format})
    except (sqlite3.Error, OSError) as error:
        raise UserError(f"cannot write {out}: {error}") from None
    finally:
        with suppress(OSError):
            scratch.unlink()
    return report


def _take_in(source: SourceFile, staging: Staging, report: Report) -> None:
    ordinal = 0
    for record in _READERS[report.format](source):
        if isinstance(record, Affiliation):
            staging.affiliate(record)
            continue
        ordinal += 1
        if isinstance(record, Broken):
            reasons, counts = [record.reason], report.broken
        elif staging.add(record):
            reasons, counts = record.gaps, report.gaps
        else:
            report.duplicates += 1
            continue
        for reason in dict.fromkeys(reasons):
            counts[reason] += 1
            report.first.setdefault(reason, ordinal)
    if source.torn:
        report.broken["the compressed file is damaged or ends early"] += 1
        report.first.setdefault("the compressed file is damaged or ends early", ordinal + 1)
    if not staging.publications:
        why = "; ".join(f"{count:,} with: {reason}" for reason, count in report.broken.most_common(3)) or "no records"
        raise UserError(f"{source.path} holds no publication that can be used as {report.format} ({why})")
