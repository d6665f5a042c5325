"""What one page says, said on the page that it speaks of: a country's currency on the currency's page."""

from __future__ import annotations

from .world import PERSONS, PageDraft, WikiWorld

_INVERSES: dict[tuple[str, str, str], str] = {
    ("country", "continent", "continent"): "countries",
    ("country", "currency", "currency"): "used_in",
    ("country", "languages", "language"): "spoken_in",
    ("country", "capital", "city"): "capital_of",
    ("state", "capital", "city"): "capital_of",
    ("city", "state", "state"): "cities",
    ("river", "continent", "continent"): "rivers",
    ("river", "countries", "country"): "rivers",
    ("river", "cities", "city"): "rivers",
    ("river", "mouth", "river"): "tributaries",
    ("river", "mouth", "water"): "rivers",
    **{(kind, f"birth_{place}", place): f"{kind}s" for kind in PERSONS for place in ("country", "city")},
    ("scientist", "doctoral_advisor", "scientist"): "doctoral_students",
    ("scientist", "discovered_elements", "element"): "discovered_by",
    ("writer", "languages", "language"): "writers",
    ("book", "author", "writer"): "books",
    ("book", "setting", "city"): "books",
    ("book", "setting", "country"): "books",
    ("film", "director", "director"): "films",
    ("film", "based_on", "book"): "films",
}
_MOST_CITIES = 10


def add_inverses(world: WikiWorld) -> None:
    """Fill every relation that follows from others, in the order of names."""
    for draft in sorted(world.drafts, key=lambda draft: (draft.name, draft.qualifier)):
        for relation, values in list(draft.facts.items()):
            for value in values:
                inverse = _INVERSES.get((draft.kind, relation, value.kind)) if isinstance(value, PageDraft) else None
                if isinstance(value, PageDraft) and inverse:
                    value.add(inverse, draft)
    for country in world.of_kind("country"):
        cities = [city for city in world.of_kind("city") if city.only("country") is country]
        large = sorted(cities, key=lambda city: (-city.number("population"), city.name))
        country.add("cities", *[city for city in large if city.facts.get("population")][:_MOST_CITIES])
    for currency in world.of_kind("currency"):
        currency.add("number_of_countries", str(len(currency.facts.get("used_in", []))))
    for water in world.of_kind("water"):
        water.add("number_of_rivers", str(len(water.facts.get("rivers", []))))
    for continent in world.of_kind("continent"):
        countries = [value for value in continent.facts.get("countries", []) if isinstance(value, PageDraft)]
        continent.add("number_of_countries", str(len(countries)))
        if countries:
            continent.add("largest_country", max(countries, key=lambda country: country.number("area_km2")))
            continent.add("most_populous_country", max(countries, key=lambda country: country.number("population")))
