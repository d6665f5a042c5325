"""Rivers, and the waters that they flow into, from the table in `facts/`."""

from __future__ import annotations

from .geography import Places
from .people import FACTS
from .world import PageDraft, WikiWorld, cell, cells, clean, grouped, read_table, split_title


def add_rivers(world: WikiWorld, places: Places) -> None:
    """All rivers; the mouth of one may be another."""
    rows = read_table(FACTS / "rivers.tsv")
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
