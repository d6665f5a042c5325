"""The words in which each relation is said: `phrases.tsv`, from which pages are written and by which they can be read.

A page says a relation as "<phrase> <value>", and what comes after the value is "." or ";", which no value contains.
So a program finds the value of a relation that has one value by its phrase:

    re.search(r"capital is ([^.;]+)", text).group(1)

Several values of one relation stand behind one another with ", " between them (a few titles hold a comma too).
Values are titles of pages and other names without full stops ("J R R Tolkien"), dates as "14 March 1879", large numbers
as "1,234,567"; units stand in the phrase.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

from .tables import read_table


@dataclass(frozen=True, slots=True)
class RelationPhrases:
    """How a relation is said.

    Attributes:
        name: As in triples and records.
        phrase: The fixed words before the value.
        section: The heading under which it stands; empty in the lead paragraph.
        subject: What comes before the phrase; "{title}" is the page's title.
        several: Whether it may have more than one value.
    """

    name: str
    phrase: str
    section: str
    subject: str
    several: bool


@functools.cache
def relations(kind: str) -> list[RelationPhrases]:
    """The relations of a kind of page, in the order of the page."""
    rows = [row for row in read_table("phrases.tsv") if row.pop("kind") == kind]
    return [RelationPhrases(several=bool(row.pop("several")), **row) for row in rows]
