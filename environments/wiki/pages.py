"""A wiki of one's own: a file of pages, one JSON object a line, with `title` and `text`.

A line with `choices`, titles of other pages, is a disambiguation page. `redirects` are further titles, `description` is
what disambiguation pages say of a page, and `popularity` a number: of similar titles the more popular comes first. The
file becomes a snapshot in the cache folder, made again when the file changes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from r_eval.environments.snapshots import whole
from r_eval.errors import UserError, describe_invalid
from r_eval.files import cache_folder
from r_eval.text import clean

from .folding import title_key
from .snapshot import Article, Choice, prepare, seal
from .staging import Staging

KIND = "page"


class _Page(BaseModel):
    """A line of the file; blank lines in the text part its paragraphs, a line "== Heading ==" begins a section."""

    model_config = ConfigDict(extra="forbid")
    title: str = Field(min_length=1)
    text: str = ""
    redirects: list[str] = []
    choices: list[str] = []
    description: str = ""
    popularity: int = Field(default=0, ge=0, lt=2**62)


def snapshot_of(path: Path) -> Path:
    """The snapshot of a file of pages.

    Raises:
        UserError: The file cannot be read, a line is no page, or two lines have one title; names the line.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}") from None
    out = cache_folder() / "wiki" / f"pages-{hashlib.blake2b(data, digest_size=12).hexdigest()}.sqlite"
    if out.exists():
        return out
    with whole(out) as connection:
        prepare(connection)
        staging = Staging(connection)
        for number, page in _pages(path, data):
            if not _added(staging, page):
                raise UserError(f"{path}:{number}: another page has the title '{page.title}'")
        if not staging.pages:
            raise UserError(f'{path}: holds no page; expected lines such as {{"title": ..., "text": ...}}')
        staging.finish()
        seal(connection, {KIND: {}}, {"format": "pages"})
    return out


def _added(staging: Staging, page: _Page) -> bool:
    """Keep a page; False if there is one of its title already."""
    title, redirects = _line(page.title), tuple(map(_line, page.redirects))
    if page.choices:
        return staging.offer(title, [Choice(_line(choice), "") for choice in page.choices], redirects)
    paragraphs = [_line(part) for part in _parts(clean(page.text))]
    text = "\n\n".join(filter(None, paragraphs))
    return staging.add(Article(title, KIND, text, page.popularity, redirects), _line(page.description))


def _pages(path: Path, data: bytes) -> Iterator[tuple[int, _Page]]:
    for number, line in enumerate(data.split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            page = _Page.model_validate(json.loads(line.decode("utf-8-sig")))
        except ValidationError as error:
            first = min(error.errors(), key=lambda found: found["type"] != "extra_forbidden")  # a key misspelt
            where = ".".join(map(str, first["loc"])) or "the line"
            raise UserError(f"{path}:{number}: {where}: {describe_invalid(first)}") from None
        except (ValueError, RecursionError) as error:
            raise UserError(f"{path}:{number}: not a JSON object in UTF-8 ({error})") from None
        if not title_key(page.title):
            raise UserError(f"{path}:{number}: the title {page.title!r} has no letter and no digit")
        if not page.text.strip() and not page.choices:
            raise UserError(f"{path}:{number}: a page needs text, or choices if its title is ambiguous")
        yield number, page


def _line(text: str) -> str:
    return " ".join(clean(text).split())


def _parts(text: str) -> list[str]:
    """The paragraphs of a text: what stands apart by blank lines or, where there are none, its lines."""
    lines = text.replace("\r\n", "\n").strip().split("\n")
    if all(line.strip() for line in lines):
        return lines
    return "\n".join(line.strip() for line in lines).split("\n\n")
