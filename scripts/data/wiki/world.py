"""What the sources are poured into: pages that are still facts, which refer to each other before they have titles."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from r_eval.environments.wiki.base import title_key

from .phrases import relations
from .tables import split_title

PERSONS = ("scientist", "writer", "director")


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
        several = next(known.several for known in relations(self.kind) if known.name == relation)
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

    def number(self, relation: str) -> int:
        """The first value as a number; 0 where it is unknown."""
        return int((self.values(relation) or ["0"])[0].replace(",", ""))

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
        names = {title_key(name): name for name in reversed((draft.name, *draft.aliases))}
        draft.aliases = list(names.values())[::-1]
        for key in names:
            self._names[key].append(draft)
        return draft

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
