"""Files of triples: tab-separated, with a header line of column names, one triple a line.

The columns `subject`, `relation` and `object` must be there; `document` names where the triple was read, and others may
stand beside them. A triple may stand in several lines, one a document.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from pathlib import Path

from r_eval.errors import UserError
from r_eval.tasks.graphs.store import Triple

COLUMNS = ("subject", "relation", "object", "document", "raw_subject", "raw_relation", "raw_object")


@dataclasses.dataclass(frozen=True, slots=True)
class Row:
    """A line of a file.

    Attributes:
        triple: With names as they are known elsewhere.
        document: Its id; empty where it is not known.
        raw: As it was read.
    """

    triple: Triple
    document: str = ""
    raw: Triple = ("", "", "")


def read_triples(path: Path) -> Iterator[Row]:
    """The lines of a file, one after another.

    Raises:
        UserError: It is not there, lacks a column, or a line is wrong; names the line.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            header = next(file, "").rstrip("\r\n").split("\t")
            missing = [name for name in COLUMNS[:3] if name not in header]
            if missing:
                raise UserError(
                    f"{path}:1: no column {', '.join(missing)}; the first line names the columns, with tabs between:"
                    " subject, relation, object and, if known, document"
                )
            at = {name: place for place, name in enumerate(header)}
            for number, line in enumerate(file, 2):
                cells = line.rstrip("\r\n").split("\t")
                if cells == [""]:
                    continue
                if len(cells) != len(header):
                    raise UserError(f"{path}:{number}: {len(cells)} cells, and {len(header)} columns")
                subject, relation, object, *others = (cells[at[name]].strip() if name in at else "" for name in COLUMNS)
                if not (subject and relation and object):
                    raise UserError(f"{path}:{number}: an empty subject, relation or object")
                yield Row((subject, relation, object), others[0], (others[1], others[2], others[3]))
    except FileNotFoundError:
        raise UserError(f"{path}: no such file of triples") from None
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: cannot be read as UTF-8 text ({error})") from None


def write_triples(path: Path, rows: Iterable[Row]) -> None:
    """Write a file of triples; what would break a line becomes a space."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.write("\t".join(COLUMNS) + "\n")
        for row in rows:
            cells = (*row.triple, row.document, *row.raw)
            file.write("\t".join(" ".join(cell.split()) for cell in cells) + "\n")
