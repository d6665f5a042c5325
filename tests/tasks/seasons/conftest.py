"""A library whose snapshot is a file that can change, and a way to type commands over it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.commands import typed_here

MODULE = '''
import hashlib, json
from pathlib import Path
from r_eval.environments.base import Environment, NotFound, query_api

FILE = Path(__file__).with_name("library.json")

class Library(Environment):
    """Books and their authors."""

    def __init__(self) -> None:
        self._books = json.loads(FILE.read_text(encoding="utf-8"))

    @property
    def version(self) -> str:
        return hashlib.blake2b(FILE.read_bytes(), digest_size=4).hexdigest()

    @query_api
    def author_of(self, title: str) -> str:
        """Tell who wrote a book.

        Args:
            title: Its title.
        """
        if title not in self._books:
            raise NotFound(f"no book is called {title}")
        return self._books[title]

    def records(self, kind):
        if kind != "book":
            raise KeyError(kind)
        return [{"title": title} for title in self._books]
'''
TEMPLATES = """
environment: "library.py:Library"
templates:
  - id: author-of-book
    level: KS
    from: book
    question: Who wrote {{ book.title }}?
    program: |
      answer = author_of(title=book["title"])
"""

Shelve = Callable[..., None]
Typed = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def library(tmp_path: Path) -> Path:
    """A folder with the environment, its templates and a snapshot of 30 books."""
    (tmp_path / "library.py").write_text(MODULE, encoding="utf-8")
    (tmp_path / "templates.yaml").write_text(TEMPLATES, encoding="utf-8")
    _write(tmp_path, {f"Book {n}": f"Author {n}" for n in range(30)})
    return tmp_path


@pytest.fixture
def shelve(library: Path) -> Shelve:
    """Changes the snapshot: a book with an author is added or rewritten, one with None is taken away."""

    def change(**books: str | None) -> None:
        found = json.loads((library / "library.json").read_text(encoding="utf-8"))
        found.update({name.replace("_", " "): author for name, author in books.items()})
        _write(library, {name: author for name, author in found.items() if author is not None})

    return change


@pytest.fixture
def typed(library: Path) -> Typed:
    """Types a command in the library's folder; what it says is asserted by the test."""

    def run(*words: object) -> subprocess.CompletedProcess[str]:
        return typed_here([*map(str, words)], library)

    return run


def _write(folder: Path, books: dict[str, str]) -> None:
    (folder / "library.json").write_text(json.dumps(books), encoding="utf-8")
