"""A bibliography file, plain or compressed, and which format it is in."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from r_eval.environments.dumps import Dump
from r_eval.errors import UserError

FORMATS = ("citation-network", "dblp", "bibtex")
_CHUNK = 2**20
_HEAD = 2**16
ENTRY = re.compile(r"^[ \t]*@[ \t]*[A-Za-z]+[ \t]*[{(]", re.MULTILINE)


class SourceFile(Dump):
    """One file; see `Dump`."""

    def __init__(self, path: Path, progress: Callable[[int], None] | None = None) -> None:
        super().__init__(path, progress, _CHUNK)

    def guess(self) -> str:
        """One of `FORMATS`, from how the file begins.

        Raises:
            UserError: It begins like none of them.
        """
        head = self.head[:_HEAD].decode("utf-8", "replace").lstrip("\ufeff \t\r\n")
        if head.startswith(("{", "[")):
            return "citation-network"
        if head.startswith("<") and re.search(r"<dblp[\s>]|<!DOCTYPE\s+dblp\b", head):
            return "dblp"
        if not head.startswith("<") and ENTRY.search(head):
            return "bibtex"
        raise UserError(
            f"{self.path} is in no known format: expected a citation network (JSON), a dblp.xml or BibTeX; "
            f"name the format ({', '.join(FORMATS)}) if it begins otherwise"
        )
