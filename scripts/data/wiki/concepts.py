"""Concepts, such as noble gas or capital city, from the table in `facts/`, and what falls under each.

A page has one finest concept, and some have further ones, as people are called one thing or another: a chemist, a Nobel
laureate. What falls under which follows from the facts that the pages already hold, except which countries have no
coast or lie on islands (`gazetteer/coasts.tsv`).

A property in the table holds of everything that falls under its concept, and of no concept as a whole that is not
below it. A context is a piece of a sentence that treats its subject as an instance of just that concept.
"""

from __future__ import annotations

from collections.abc import Iterator

from .tables import cells, read_table
from .world import PageDraft, WikiWorld

_FIELDS = {
    "physics": "Physicist",
    "chemistry": "Chemist",
    "mathematics": "Mathematician",
    "astronomy": "Astronomer",
    "biology": "Biologist",
    "medicine": "Medical scientist",
    "geology": "Geologist",
    "computer science": "Computer scientist",
    "economics": "Economist",
}
_CATEGORIES = {"nonmetals": "Other nonmetal", "noble gases": "Noble gas"}
_URAL = 61
"""Degrees east beyond which a city of Russia is in Asia."""
_BETWEEN_CONTINENTS = (
    *("Atyrau", "Chelyabinsk", "Esenyurt", "Istanbul", "Magnitogorsk"),
    *("Oral", "Orenburg", "Orsk", "Ufa", "Yekaterinburg"),
)
"""Cities at a border of Europe and Asia, of which sources say one or the other."""
_SALT_LAKES = ("Caspian Sea", "Dead Sea")
_WIDEST = {
    "state": "State of the United States",
    "water": "Body of water",
    "element": "Chemical element",
    "director": "Film director",
}
"""What a page is in any case, by its kind, where that is not the kind's own name."""


def add_concepts(world: WikiWorld) -> None:
    """All concepts, and the concepts of all other pages.

    Raises:
        ValueError: The table names a broader concept that comes later or not at all.
    """
    concepts: dict[str, PageDraft] = {}
    others = list(world.drafts)
    for row in read_table("facts/concepts.tsv"):
        draft = PageDraft(row["title"], "concept", "concept", aliases=cells(row, "aliases"))
        broader = concepts.get(row["broader"])
        if row["broader"] and broader is None:
            raise ValueError(
                f"concepts.tsv: {row['title']}: the broader concept '{row['broader']}' must come before it"
            )
        draft.add("broader", broader)
        draft.add("properties", *cells(row, "properties"))
        draft.add("contexts", *cells(row, "contexts"))
        if broader is not None:
            broader.add("narrower", draft)
        concepts[row["title"]] = world.add(draft)
    coasts = {row["title"]: f"{row['coast'].capitalize()} country" for row in read_table("gazetteer/coasts.tsv")}
    for draft in sorted(others, key=lambda draft: (draft.name, draft.qualifier)):
        if draft.noun:  # a place of which nothing is known but where it is
            continue
        widest = concepts[_WIDEST.get(draft.kind, draft.kind.capitalize())]
        known = [concepts[name] for name in _names(draft, coasts) if name in concepts] or [widest]
        draft.add("instance_of", known[0])
        draft.add("also_instance_of", *[concept for concept in known if concept is not known[0]])
        for concept in known:
            concept.add("instances", draft)


def _names(draft: PageDraft, coasts: dict[str, str]) -> Iterator[str]:
    """What a page may be called, the finest concept first; not all of these are concepts of the table."""
    first = {relation: str(_text(values[0])) for relation, values in draft.facts.items() if values}
    match draft.kind:
        case "country" | "river":
            yield f"{_adjective(first.get('continent', ''))} {draft.kind}"
        case "city":
            yield from _capital(draft)
            yield f"{_adjective(_continent(draft))} city"
        case "water":
            yield "Salt lake" if draft.name in _SALT_LAKES else ""
            yield from (word for word in ("Ocean", "Gulf", "Sea") if word in draft.name.split())
        case "currency":
            yield f"{draft.name.split()[-1].capitalize()} currency"
        case "language":
            yield f"{first.get('family')} language"
        case "element" | "planet":
            name = first.get("category") or first.get("group") or ""
            yield _CATEGORIES.get(name, name.removesuffix("s").capitalize())
        case "scientist":
            yield from (_FIELDS[_text(field)] for field in draft.facts["fields"])
        case "writer":
            yield from (f"Writer in {_text(language)}" for language in draft.facts.get("languages", []))
        case "book":
            genre = first.get("genre", "")
            yield genre[:1].upper() + genre[1:]
            yield "Novel" if genre.endswith("novel") else ""
    yield from _roles(draft, coasts)


def _adjective(continent: str) -> str:
    return f"{continent}an" if continent == "Europe" else f"{continent}n"


def _continent(city: PageDraft) -> str:
    """The continent of a city; empty where two continents meet."""
    country = city.only("country")
    continent = country.only("continent") if country else None
    if country is None or continent is None or city.name in _BETWEEN_CONTINENTS:
        return ""
    east = int(first[0].partition(" ")[0]) if (first := city.values("longitude")) else 0
    return "Asia" if country.name == "Russia" and east > _URAL else continent.name


def _capital(city: PageDraft) -> Iterator[str]:
    kinds = {place.kind for place in city.facts.get("capital_of", []) if isinstance(place, PageDraft)}
    if "country" in kinds:
        yield "Capital city"
    if "state" in kinds:
        yield "State capital"


def _roles(draft: PageDraft, coasts: dict[str, str]) -> Iterator[str]:
    """What it is besides, and as what a text may treat it."""
    told = {relation for relation, values in draft.facts.items() if values}
    by_relation = {
        ("scientist", "discovered_elements"): "Element discoverer",
        ("scientist", "doctoral_students"): "Doctoral advisor",
        ("scientist", "nobel_prizes"): "Nobel laureate",
        ("writer", "nobel_prizes"): "Nobel laureate",
        ("book", "films"): "Filmed book",
        ("film", "based_on"): "Film adaptation",
        ("film", "academy_award"): "Best Picture winner",
        ("city", "rivers"): "River city",
    }
    yield from (name for (kind, relation), name in by_relation.items() if kind == draft.kind and relation in told)
    if draft.kind == "writer" and any(
        isinstance(book, PageDraft) and book.facts.get("films") for book in draft.facts.get("books", [])
    ):
        yield "Author of a filmed book"
    if draft.kind == "country":
        yield coasts.get(draft.name, "")
        yield "Euro country" if "Euro" in map(_text, draft.facts["currency"]) else ""
    if draft.kind == "river":
        mouth = draft.only("mouth")
        yield "Tributary" if mouth is not None and mouth.kind == "river" else ""
        yield "International river" if len(draft.facts.get("countries", [])) > 1 else ""


def _text(value: str | PageDraft) -> str:
    return value.name if isinstance(value, PageDraft) else value
