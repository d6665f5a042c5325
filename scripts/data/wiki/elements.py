"""The chemical elements, and the planets, from the tables in `gazetteer/`.

Of elements, years of discovery, categories, and places in the periodic table on which sources differ are left out.
Discoverers come from the table of scientists.
"""

from __future__ import annotations

from itertools import pairwise

from .geography import GAZETTEER
from .world import PageDraft, WikiWorld, cells, day, read_table


def add_elements(world: WikiWorld) -> None:
    """All 118; a symbol is a further name."""
    for row in read_table(GAZETTEER / "elements.tsv"):
        draft = PageDraft(row["name"], "element", "element", aliases=[row["symbol"], *cells(row, "aliases")])
        for relation in list(row)[1:-1]:
            draft.add(relation, row[relation])
        world.add(draft)


def add_planets(world: WikiWorld) -> None:
    """The eight planets."""
    drafts: list[PageDraft] = []
    for row in read_table(GAZETTEER / "planets.tsv"):
        draft = PageDraft(row["title"], "planet", "planet")
        draft.add("group", row["class"])
        for relation in ("order", "diameter_km", "orbital_period_days"):
            draft.add(relation, row[relation])
        draft.add("discovered", day(row["discovered"]))
        draft.add("discovered_by", world.find(row["discovered_by"], "scientist") or row["discovered_by"])
        drafts.append(world.add(draft))
    for inner, outer in pairwise(drafts):
        inner.add("outer_neighbour", outer)
        outer.add("inner_neighbour", inner)
