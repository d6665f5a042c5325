"""The words in which each relation is said: the one table from which pages are written and by which they can be read.

A page says a relation as "<phrase> <value>", and what comes after the value is "." or ";", which no value contains.
So a program finds the value of a relation that has one value by its phrase:

    re.search(r"capital is ([^.;]+)", text).group(1)

Several values of one relation stand behind one another with ", " between them (a few titles hold a comma too).
Values are titles of pages and other names without full stops ("J R R Tolkien"), dates as "14 March 1879", large numbers
as "1,234,567"; units stand in the phrase.

`KINDS` is the table. For each kind of page: its relations in the order of the page, each with its phrase, the heading
of its section ("" is the lead paragraph) and whether it may have several values.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Relation:
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
    section: str = ""
    subject: str = "its"
    several: bool = False


_TITLE, _IT = "{title}", "it"

_PERSON = (
    Relation("born", "was born on", "", _TITLE),
    Relation("birth_city", "place of birth is", "Life", "the"),
    Relation("birth_country", "birthplace lies today in", "Life", "the"),
    Relation("died", "died on", "Life", _TITLE),
)

_RELATIONS: Mapping[str, tuple[Relation, ...]] = {
    "continent": (
        Relation("number_of_countries", "number of countries in this wiki is"),
        Relation("largest_country", "largest country by area is"),
        Relation("most_populous_country", "most populous country is", "Countries"),
        Relation("countries", "countries are", "Countries", several=True),
        Relation("rivers", "rivers include", "Rivers", several=True),
    ),
    "country": (
        Relation("continent", "is a country in", "", _TITLE),
        Relation("capital", "capital is"),
        Relation("population", "population in the GeoNames database is"),
        Relation("area_km2", "area in square kilometres is", "Geography"),
        Relation("borders", "shares land borders with", "Geography", _IT, several=True),
        Relation("rivers", "rivers include", "Geography", several=True),
        Relation("cities", "cities include", "Geography", several=True),
        Relation("currency", "currency is", "Economy and language"),
        Relation("languages", "languages include", "Economy and language", several=True),
        Relation("scientists", "scientists born there include", "People", "the", several=True),
        Relation("writers", "writers born there include", "People", "the", several=True),
        Relation("directors", "film directors born there include", "People", "the", several=True),
        Relation("books", "books set there include", "Culture", "the", several=True),
        Relation("iso_code", "two-letter country code is", "Codes"),
        Relation("iso3_code", "three-letter country code is", "Codes"),
        Relation("numeric_code", "numeric country code is", "Codes"),
        Relation("calling_code", "telephone calling code is", "Codes"),
        Relation("internet_domain", "Internet domain ends in", "Codes"),
    ),
    "state": (
        Relation("country", "is a state of the", "", _TITLE),
        Relation("capital", "capital is"),
        Relation("admitted", "was admitted to the union on", "History", _IT),
        Relation("admission_number", "number in the order of admission is", "History"),
        Relation("cities", "cities include", "Cities", several=True),
        Relation("postal_code", "postal abbreviation is", "Codes"),
    ),
    "city": (
        Relation("country", "lies in", "", _IT),
        Relation("capital_of", "is the capital of", "", _IT, several=True),
        Relation("population", "population in the GeoNames database is"),
        Relation("state", "is part of the state of", "Geography", _IT),
        Relation("latitude", "latitude is", "Geography"),
        Relation("longitude", "longitude is", "Geography"),
        Relation("time_zone", "time zone is", "Geography"),
        Relation("rivers", "rivers include", "Geography", several=True),
        Relation("scientists", "scientists born there include", "People", "the", several=True),
        Relation("writers", "writers born there include", "People", "the", several=True),
        Relation("directors", "film directors born there include", "People", "the", several=True),
        Relation("books", "books set there include", "Culture", "the", several=True),
    ),
    "river": (
        Relation("continent", "is a river in", "", _TITLE),
        Relation("mouth", "flows into the", "", _IT),
        Relation("length_km", "length in kilometres is", "Course"),
        Relation("source_country", "source lies in", "Course"),
        Relation("mouth_country", "mouth lies in", "Course"),
        Relation("countries", "flows through or along", "Course", _IT, several=True),
        Relation("cities", "cities on its banks include", "Course", "the", several=True),
        Relation("tributaries", "tributaries include", "Tributaries", several=True),
    ),
    "water": (
        Relation("number_of_rivers", "number of rivers in this wiki that end there is", "", "the"),
        Relation("rivers", "receives", "Rivers", _IT, several=True),
    ),
    "currency": (
        Relation("currency_code", "currency code is"),
        Relation("number_of_countries", "number of user countries in this wiki is"),
        Relation("used_in", "is the currency of", "Use", _IT, several=True),
    ),
    "language": (
        Relation("family", "language family is"),
        Relation("script", "writing system is", several=True),
        Relation("spoken_in", "is among the languages of", "Speakers", _IT, several=True),
        Relation("language_code", "two-letter language code is", "Codes"),
        Relation("writers", "writers in this language include", "Literature", "the", several=True),
    ),
    "element": (
        Relation("symbol", "symbol is"),
        Relation("atomic_number", "atomic number is"),
        Relation("category", "belongs to the", "", _IT),
        Relation("period", "period is", "Periodic table"),
        Relation("group", "group is", "Periodic table"),
        Relation("block", "block is", "Periodic table"),
        Relation("melting_point_k", "melting point in kelvins is", "Properties"),
        Relation("electron_configuration", "measured or predicted electron configuration is", "Properties"),
        Relation("discovery_year", "year of discovery is", "History"),
        Relation("discovered_by", "discoverers include", "History", several=True),
    ),
    "planet": (
        Relation("order", "place in the order from the Sun is"),
        Relation("group", "is one of the", "", _IT),
        Relation("diameter_km", "equatorial diameter in kilometres is", "Size and orbit"),
        Relation("orbital_period_days", "orbital period in days is", "Size and orbit"),
        Relation("inner_neighbour", "next planet towards the Sun is", "Neighbours"),
        Relation("outer_neighbour", "next planet away from the Sun is", "Neighbours"),
        Relation("discovered", "was discovered on", "Discovery", _IT),
        Relation("discovered_by", "discoverer is", "Discovery"),
    ),
    "scientist": (
        Relation("fields", "field of study is", "", "the", several=True),
        *_PERSON,
        Relation("known_for", "is known for", "Work", _TITLE),
        Relation("worked_in", "places of work include", "Work", "the", several=True),
        Relation("doctoral_advisor", "doctoral advisor was", "Work", "the"),
        Relation("doctoral_students", "doctoral students include", "Work", "the", several=True),
        Relation(
            "discovered_elements", "elements discovered alone or with others include", "Work", "the", several=True
        ),
        Relation("nobel_prizes", "received the Nobel Prize in", "Honours", _TITLE, several=True),
    ),
    "writer": (
        Relation("languages", "language of writing is", "", "the", several=True),
        *_PERSON,
        Relation("known_for", "is known for", "Work", _TITLE),
        Relation("books", "books include", "Work", "the", several=True),
        Relation("nobel_prizes", "received the Nobel Prize in", "Honours", _TITLE, several=True),
    ),
    "director": (
        Relation("known_for", "is known for", "", _TITLE),
        *_PERSON,
        Relation("films", "films include", "Work", "the", several=True),
    ),
    "book": (
        Relation("author", "is a book by", "", _TITLE),
        Relation("year", "year of publication is"),
        Relation("genre", "genre is", "Content"),
        Relation("setting", "story is set in", "Content"),
        Relation("main_character", "main character is", "Content"),
        Relation("language", "original language is", "Publication"),
        Relation("films", "films based on it include", "Adaptations", "the", several=True),
    ),
    "film": (
        Relation("director", "is a film directed by", "", _TITLE),
        Relation("starring", "cast includes", several=True),
        Relation("based_on", "is based on the book", "Production", _IT),
        Relation("year", "year of release is", "Production"),
        Relation("composers", "music is by", "Production", several=True),
        Relation("academy_award", "won the Academy Award for", "Reception", _IT),
    ),
}

_CONCEPT = (
    Relation("broader", "is a kind of", "", _TITLE),
    Relation("properties", "every instance", "Properties", "without exception", several=True),
    Relation("narrower", "narrower concepts include", "Kinds", several=True),
    Relation("instances", "instances in this wiki include", "Instances", several=True),
    Relation("contexts", "a sentence about one may say that it", "Use", "in a text", several=True),
)
MEMBERSHIP = frozenset(["instance_of", "also_instance_of", "instances"])
"""The relations that say which pages fall under which concepts."""


def _classified(kind: str, relations: tuple[Relation, ...]) -> tuple[Relation, ...]:
    """A kind's relations, and those that say which concepts its pages fall under."""
    subject = "the" if kind in ("scientist", "writer", "director") else "its"
    return (
        *relations,
        Relation("instance_of", "finest concept is", "Classification", subject),
        Relation("also_instance_of", "further concepts include", "Classification", subject, several=True),
    )


KINDS: Mapping[str, tuple[Relation, ...]] = {
    **{kind: _classified(kind, relations) for kind, relations in _RELATIONS.items()},
    "concept": _CONCEPT,
}
