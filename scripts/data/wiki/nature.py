"""The chemical elements, the planets, and rivers with the waters that they flow into.

Of elements, years of discovery, categories, and places in the periodic table on which sources differ are left out.
Discoverers come from the table of scientists.
"""

from __future__ import annotations

from itertools import pairwise

from .geography import Places
from .tables import cell, cells, clean, day, grouped, read_table, split_title
from .world import PageDraft, WikiWorld


def add_elements(world: WikiWorld) -> None:
    """All 118; a symbol is a further name."""
    for row in read_table("gazetteer/elements.tsv"):
        draft = PageDraft(row["name"], "element", "element", aliases=[row["symbol"], *cells(row, "aliases")])
        for relation in list(row)[1:-1]:
            draft.add(relation, row[relation])
        world.add(draft)


def add_planets(world: WikiWorld) -> None:
    """The eight planets."""
    drafts: list[PageDraft] = []
    for row in read_table("gazetteer/planets.tsv"):
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


def add_rivers(world: WikiWorld, places: Places) -> None:
    """All rivers; the mouth of one may be another."""
    rows = read_table("facts/rivers.tsv")
    drafts = []
    for row in rows:
        base, given = split_title(row["title"])
        plain = clean(base).removesuffix(" River").removeprefix("River ")
        draft = PageDraft(clean(base), "river", "river", aliases=[plain], qualified=bool(given))
        drafts.append(world.add(draft))
    for row, draft in zip(rows, drafts, strict=True):
        countries = [world.find(name, "country") or name for name in cells(row, "countries")]
        known = [country for country in countries if isinstance(country, PageDraft)]
        mouth = row["mouth"]
        continent = cell(row, "continent")
        draft.add("continent", world.find(continent, "continent") or continent)
        if mouth and world.find(mouth, "river", "water") is None:
            world.add(PageDraft(clean(mouth), "water", "water"))
        draft.add("mouth", world.find(mouth, "river", "water"))
        draft.add("length_km", grouped(cell(row, "length_km").replace(",", "")))
        for relation in ("source_country", "mouth_country"):
            name = cell(row, relation)
            draft.add(relation, world.find(name, "country") or name)
        draft.add("countries", *countries)
        draft.add("cities", *(places.city_in(name, known) for name in cells(row, "cities")))
