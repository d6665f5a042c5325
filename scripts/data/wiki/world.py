"""What the sources are poured into: pages that are still facts, which refer to each other before they have titles."""

from __future__ import annotations

import csv
import re
from calendar import month_name
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

from r_eval.environments.wiki.base import title_key

from .phrases import KINDS


@dataclass(eq=False)
class PageDraft:
    """A page without its text.

    Attributes:
        name: The name that it would like as its title.
        qualifier: What its title adds in brackets where another page has the same name.
        facts: Values by relation; a value that has a page of its own is that page's draft.
        aliases: Further names by which it is found, as far as no other page needs them.
        qualified: The title has its qualifier in any case.
        noun: What it is, where the kind's own word would say too much.
        remark: A sentence at the end of the lead paragraph.
        title: Given by `titles.assign`.
    """

    name: str
    kind: str
    qualifier: str
    facts: dict[str, list[str | PageDraft]] = field(default_factory=dict)
    aliases: list[str] = field(default_factory=list)
    qualified: bool = False
    noun: str = ""
    remark: str = ""
    title: str = ""

    def add(self, relation: str, *values: str | PageDraft | None) -> None:
        """Note values of a relation; None and empty ones say nothing, repeated ones nothing new.

        Raises:
            ValueError: A second value of a relation that has only one, or one with a full stop or semicolon.
        """
        several = next(known.several for known in KINDS[self.kind] if known.name == relation)
        kept = self.facts.setdefault(relation, [])
        for value in values:
            if not value or value in kept:
                continue
            if isinstance(value, str) and re.search("[.;]", value):
                raise ValueError(f"{self.name}: {relation}: '{value}' would end its sentence")
            kept.append(value)
        if len(kept) > 1 and not several:
            raise ValueError(f"{self.name}: {relation} has one value, not {len(kept)}")

    def values(self, relation: str) -> list[str]:
        """The values as texts: a draft by its title."""
        return [value.title if isinstance(value, PageDraft) else value for value in self.facts.get(relation, [])]

    def only(self, relation: str) -> PageDraft | None:
        """The first value, where it is a page."""
        values = self.facts.get(relation, [])
        return values[0] if values and isinstance(values[0], PageDraft) else None


class WikiWorld:
    """All drafts, found by name and kind."""

    def __init__(self) -> None:
        self.drafts: list[PageDraft] = []
        self._names: defaultdict[str, list[PageDraft]] = defaultdict(list)

    def add(self, draft: PageDraft) -> PageDraft:
        """Take a draft in; its name and aliases are known from now on."""
        self.drafts.append(draft)
        aliases, draft.aliases = draft.aliases, []
        self.name(draft, draft.name, *aliases)
        return draft

    def name(self, draft: PageDraft, *names: str) -> None:
        """Note further names of a draft."""
        for name in names:
            known = self._names[title_key(name)]
            if draft not in known:
                known.append(draft)
                draft.aliases.append(name)

    def find(self, name: str, *kinds: str) -> PageDraft | None:
        """The draft of one of these kinds that has this name, if there is exactly one.

        A name with brackets, "Solaris (film)", means the draft with that qualifier.
        """
        base, qualifier = split_title(name)
        known = [draft for draft in self._names[title_key(base)] if draft.kind in kinds]
        if qualifier:
            known = [draft for draft in known if draft.qualifier == qualifier] or known
        return known[0] if len(known) == 1 else None

    def of_kind(self, *kinds: str) -> Iterator[PageDraft]:
        """The drafts of these kinds, in the order in which they came."""
        return (draft for draft in self.drafts if draft.kind in kinds)


def split_title(title: str) -> tuple[str, str]:
    """A title without the words in brackets at its end, and these words.

    >>> split_title("Solaris (film)"), split_title("Solaris")
    (('Solaris', 'film'), ('Solaris', ''))
    """
    match = re.fullmatch(r"(.+) \((.+)\)", title)
    return (match[1], match[2]) if match else (title, "")


def read_table(path: Path) -> list[dict[str, str]]:
    """The rows of a table of tab-separated columns; a cell that a row lacks is empty."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE, restval=""))
    return [{column: (cell or "").strip() for column, cell in row.items() if column} for row in rows]


def cells(row: dict[str, str], column: str) -> list[str]:
    """The values of a cell, without the characters that end a sentence."""
    return [clean(value) for value in row.get(column, "").split("|") if value.strip()]


def cell(row: dict[str, str], column: str) -> str:
    """The only value of a cell; empty where there is none, or not just one."""
    values = cells(row, column)
    return values[0] if len(values) == 1 else ""


def clean(text: str) -> str:
    """A text as it may be a value: without full stops, semicolons and double spaces.

    >>> clean("J. R. R. Tolkien")
    'J R R Tolkien'

    Raises:
        ValueError: It holds a decimal fraction, which would become another number.
    """
    if re.search(r"\d\.\d", text):
        raise ValueError(f"'{text}' holds a decimal fraction")
    return " ".join(text.replace(".", "").replace(";", ",").split())


def day(text: str) -> str:
    """A date as pages write it.

    >>> day("1879-03-14"), day("")
    ('14 March 1879', '')
    """
    if not text:
        return ""
    when = date.fromisoformat(text)
    return f"{when.day} {month_name[when.month]} {when.year}"


def grouped(number: int | str) -> str:
    """A number with separators, or nothing where it is unknown.

    >>> grouped(357021), grouped("6650"), grouped("")
    ('357,021', '6,650', '')
    """
    return f"{int(number):,}" if number else ""
