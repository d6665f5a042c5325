"""A file of wiki pages, one JSON object a line: the embedded one, and those of users.

Every line has a `title`, and `text` or `choices`. Of equally similar titles the more popular comes first.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from r_eval.environments.json_lines import read_file, read_records
from r_eval.errors import UserError

from .folding import title_key
from .sources.base import spoken


class Article(BaseModel):
    """A line of the file.

    Attributes:
        title: The page's title.
        text: Blank lines part its paragraphs; a line "== Heading ==" begins a section.
        redirects: Further titles that lead to the page.
        choices: Titles of other pages: this is a disambiguation page, and has no text.
        description: What disambiguation pages say of the page.
        popularity: How well known it is, in any unit.
        kind: What sort of thing it is about; templates fill questions with the records of one kind.
        facts: What it says, by relation: a text, None, or a list of texts where there may be several.
    """

    model_config = ConfigDict(extra="forbid")
    title: str = Field(min_length=1)
    text: str = ""
    redirects: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()
    description: str = ""
    popularity: int = Field(default=0, ge=0, lt=2**62)
    kind: str = "page"
    facts: dict[str, str | list[str] | None] = {}


@dataclass(frozen=True, slots=True)
class Pages:
    """What a file holds.

    Attributes:
        articles: The most popular first.
        ambiguous: Disambiguation pages, in the order of the file.
        version: Hash of the file.
    """

    articles: list[Article]
    ambiguous: list[Article]
    version: str


def read_pages(path: Path) -> Pages:
    """The pages of a file.

    Raises:
        UserError: The file cannot be read, a line is no page, or two lines have one title; names the line.
    """
    data, version = read_file(path)
    titles: dict[str, int] = {}
    pages: list[Article] = []
    for number, page in read_records(path, data, lambda _: Article):
        if not title_key(page.title):
            raise UserError(f"{path}:{number}: the title {page.title!r} has no letter and no digit")
        if not page.text.strip() and not page.choices:
            raise UserError(f"{path}:{number}: a page needs text, or choices if its title is ambiguous")
        page.title, page.description = spoken(page.title), spoken(page.description)
        page.text = "\n\n".join(filter(None, map(spoken, _parts(page.text))))
        page.choices = tuple(map(spoken, page.choices))
        if titles.setdefault(page.title, number) != number:
            raise UserError(f"{path}:{number}: another page has the title '{page.title}'")
        pages.append(page)
    if not pages:
        raise UserError(f'{path}: holds no page; expected lines such as {{"title": ..., "text": ...}}')
    articles = sorted((page for page in pages if not page.choices), key=lambda page: (-page.popularity, page.title))
    return Pages(articles, [page for page in pages if page.choices], version)


def _parts(text: str) -> list[str]:
    """The paragraphs of a text: what stands apart by blank lines or, where there are none, its lines."""
    lines = text.replace("\r\n", "\n").strip().split("\n")
    if all(line.strip() for line in lines):
        return lines
    return "\n".join(line.strip() for line in lines).split("\n\n")
