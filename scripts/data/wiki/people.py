"""Scientists, writers, directors, books and films, from the tables in `facts/`."""

from __future__ import annotations

import re

from .geography import Places
from .tables import cell, cells, clean, day, read_table, split_title
from .world import PERSONS, PageDraft, WikiWorld


def add_languages(world: WikiWorld) -> dict[str, PageDraft]:
    """The languages of the table; returns those with an ISO 639-1 code by it."""
    coded = {}
    for row in read_table("facts/languages.tsv"):
        name = clean(row["short"] or row["title"])
        draft = PageDraft(name, "language", "language", aliases=[row["title"], f"{name} language"])
        draft.add("family", cell(row, "family"))
        draft.add("script", *cells(row, "script"))
        draft.add("language_code", cell(row, "iso639_1"))
        world.add(draft)
        if row["iso639_1"]:
            coded[row["iso639_1"]] = draft
    return coded


def add_people(world: WikiWorld, places: Places) -> None:
    """All persons; where one stands in several tables, the first says what kind of page it is."""
    for kind in PERSONS:
        for row in read_table(f"facts/{kind}s.tsv"):
            if world.find(row["title"], *PERSONS) is None:
                world.add(_person(row, kind, world, places))
    for row in read_table("facts/scientists.tsv"):
        draft = world.find(row["title"], "scientist")
        if draft is None:
            continue
        for name in cells(row, "discovered_elements"):
            draft.add("discovered_elements", world.find(name, "element") or name)
        advisor = cell(row, "doctoral_advisor")
        draft.add("doctoral_advisor", world.find(advisor, "scientist") or advisor)
        draft.add("worked_in", *(places.place(name) for name in row["worked_in"].split("|")))


def add_works(world: WikiWorld, places: Places) -> None:
    """All books and films."""
    for row in read_table("facts/books.tsv"):
        draft = _work(row, "book")
        author, language = cell(row, "author"), cell(row, "language")
        draft.add("author", world.find(author, "writer", "scientist") or author)
        for relation in ("year", "genre", "main_character"):
            draft.add(relation, cell(row, relation))
        draft.add("setting", places.place(cell(row, "setting")))
        draft.add("language", world.find(language, "language") or language)
        world.add(draft)
    for row in read_table("facts/films.tsv"):
        draft = _work(row, "film")
        director, book = cell(row, "director"), cell(row, "based_on")
        draft.add("director", world.find(director, "director") or director)
        draft.add("year", cell(row, "year"))
        draft.add("based_on", world.find(book, "book") or book)
        for relation, column in (("composers", "composer"), ("starring", "starring")):
            draft.add(relation, *(world.find(name, "director") or name for name in cells(row, column)))
        draft.add("academy_award", "Best Picture" if row["best_picture"] == "yes" else None)
        world.add(draft)


def _person(row: dict[str, str], kind: str, world: WikiWorld, places: Places) -> PageDraft:
    name = clean(row["title"])
    draft = PageDraft(name, kind, kind, aliases=[re.sub(r"\. (?=\w\.)", ".", row["title"])])
    draft.add("born", day(row["born"]))
    draft.add("died", day(row["died"]))
    country, city = world.find(cell(row, "birth_country"), "country"), row["birth_city"]
    draft.add("birth_country", country or cell(row, "birth_country"))
    draft.add("birth_city", places.city(city, country) if city and country else clean(city).partition(", ")[0])
    draft.add("known_for", clean(row["known_for"]))
    if kind == "scientist":
        draft.add("fields", *cells(row, "field"))
    if kind == "writer":
        draft.add("languages", *(world.find(each, "language") or each for each in cells(row, "language")))
    if kind != "director":
        draft.add("nobel_prizes", *cells(row, "nobel"))
    return draft


def _work(row: dict[str, str], kind: str) -> PageDraft:
    """The draft of a work; its title has a qualifier in any case if the table's has."""
    base, given = split_title(row["title"])
    return PageDraft(clean(base), kind, given or kind, qualified=bool(given))
