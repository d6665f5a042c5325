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
    section: str = ""
    subject: str = "its"
    several: bool = False


_TITLE, _IT = "{title}", "it"

_PERSON = (
    RelationPhrases("born", "was born on", "", _TITLE),
    RelationPhrases("birth_city", "place of birth is", "Life", "the"),
    RelationPhrases("birth_country", "birthplace lies today in", "Life", "the"),
    RelationPhrases("died", "died on", "Life", _TITLE),
)

_RELATIONS: Mapping[str, tuple[RelationPhrases, ...]] = {
    "continent": (
        RelationPhrases("number_of_countries", "number of countries in this wiki is"),
        RelationPhrases("largest_country", "largest country by area is"),
        RelationPhrases("most_populous_country", "most populous country is", "Countries"),
        RelationPhrases("countries", "countries are", "Countries", several=True),
        RelationPhrases("rivers", "rivers include", "Rivers", several=True),
    ),
    "country": (
        RelationPhrases("continent", "is a country in", "", _TITLE),
        RelationPhrases("capital", "capital is"),
        RelationPhrases("population", "population in the GeoNames database is"),
        RelationPhrases("area_km2", "area in square kilometres is", "Geography"),
        RelationPhrases("borders", "shares land borders with", "Geography", _IT, several=True),
        RelationPhrases("rivers", "rivers include", "Geography", several=True),
        RelationPhrases("cities", "cities include", "Geography", several=True),
        RelationPhrases("currency", "currency is", "Economy and language"),
        RelationPhrases("languages", "languages include", "Economy and language", several=True),
        RelationPhrases("scientists", "scientists born there include", "People", "the", several=True),
        RelationPhrases("writers", "writers born there include", "People", "the", several=True),
        RelationPhrases("directors", "film directors born there include", "People", "the", several=True),
        RelationPhrases("books", "books set there include", "Culture", "the", several=True),
        RelationPhrases("iso_code", "two-letter country code is", "Codes"),
        RelationPhrases("iso3_code", "three-letter country code is", "Codes"),
        RelationPhrases("numeric_code", "numeric country code is", "Codes"),
        RelationPhrases("calling_code", "telephone calling code is", "Codes"),
        RelationPhrases("internet_domain", "Internet domain ends in", "Codes"),
    ),
    "state": (
        RelationPhrases("country", "is a state of the", "", _TITLE),
        RelationPhrases("capital", "capital is"),
        RelationPhrases("admitted", "was admitted to the union on", "History", _IT),
        RelationPhrases("admission_number", "number in the order of admission is", "History"),
        RelationPhrases("cities", "cities include", "Cities", several=True),
        RelationPhrases("postal_code", "postal abbreviation is", "Codes"),
    ),
    "city": (
        RelationPhrases("country", "lies in", "", _IT),
        RelationPhrases("capital_of", "is the capital of", "", _IT, several=True),
        RelationPhrases("population", "population in the GeoNames database is"),
        RelationPhrases("state", "is part of the state of", "Geography", _IT),
        RelationPhrases("latitude", "latitude is", "Geography"),
        RelationPhrases("longitude", "longitude is", "Geography"),
        RelationPhrases("time_zone", "time zone is", "Geography"),
        RelationPhrases("rivers", "rivers include", "Geography", several=True),
        RelationPhrases("scientists", "scientists born there include", "People", "the", several=True),
        RelationPhrases("writers", "writers born there include", "People", "the", several=True),
        RelationPhrases("directors", "film directors born there include", "People", "the", several=True),
        RelationPhrases("books", "books set there include", "Culture", "the", several=True),
    ),
    "river": (
        RelationPhrases("continent", "is a river in", "", _TITLE),
        RelationPhrases("mouth", "flows into the", "", _IT),
        RelationPhrases("length_km", "length in kilometres is", "Course"),
        RelationPhrases("source_country", "source lies in", "Course"),
        RelationPhrases("mouth_country", "mouth lies in", "Course"),
        RelationPhrases("countries", "flows through or along", "Course", _IT, several=True),
        RelationPhrases("cities", "cities on its banks include", "Course", "the", several=True),
        RelationPhrases("tributaries", "tributaries include", "Tributaries", several=True),
    ),
    "water": (
        RelationPhrases("number_of_rivers", "number of rivers in this wiki that end there is", "", "the"),
        RelationPhrases("rivers", "receives", "Rivers", _IT, several=True),
    ),
    "currency": (
        RelationPhrases("currency_code", "currency code is"),
        RelationPhrases("number_of_countries", "number of user countries in this wiki is"),
        RelationPhrases("used_in", "is the currency of", "Use", _IT, several=True),
    ),
    "language": (
        RelationPhrases("family", "language family is"),
        RelationPhrases("script", "writing system is", several=True),
        RelationPhrases("spoken_in", "is among the languages of", "Speakers", _IT, several=True),
        RelationPhrases("language_code", "two-letter language code is", "Codes"),
        RelationPhrases("writers", "writers in this language include", "Literature", "the", several=True),
    ),
    "element": (
        RelationPhrases("symbol", "symbol is"),
        RelationPhrases("atomic_number", "atomic number is"),
        RelationPhrases("category", "belongs to the", "", _IT),
        RelationPhrases("period", "period is", "Periodic table"),
        RelationPhrases("group", "group is", "Periodic table"),
        RelationPhrases("block", "block is", "Periodic table"),
        RelationPhrases("melting_point_k", "melting point in kelvins is", "Properties"),
        RelationPhrases("electron_configuration", "measured or predicted electron configuration is", "Properties"),
        RelationPhrases("discovery_year", "year of discovery is", "History"),
        RelationPhrases("discovered_by", "discoverers include", "History", several=True),
    ),
    "planet": (
        RelationPhrases("order", "place in the order from the Sun is"),
        RelationPhrases("group", "is one of the", "", _IT),
        RelationPhrases("diameter_km", "equatorial diameter in kilometres is", "Size and orbit"),
        RelationPhrases("orbital_period_days", "orbital period in days is", "Size and orbit"),
        RelationPhrases("inner_neighbour", "next planet towards the Sun is", "Neighbours"),
        RelationPhrases("outer_neighbour", "next planet away from the Sun is", "Neighbours"),
        RelationPhrases("discovered", "was discovered on", "Discovery", _IT),
        RelationPhrases("discovered_by", "discoverer is", "Discovery"),
    ),
    "scientist": (
        RelationPhrases("fields", "field of study is", "", "the", several=True),
        *_PERSON,
        RelationPhrases("known_for", "is known for", "Work", _TITLE),
        RelationPhrases("worked_in", "places of work include", "Work", "the", several=True),
        RelationPhrases("doctoral_advisor", "doctoral advisor was", "Work", "the"),
        RelationPhrases("doctoral_students", "doctoral students include", "Work", "the", several=True),
        RelationPhrases(
            "discovered_elements", "elements discovered alone or with others include", "Work", "the", several=True
        ),
        RelationPhrases("nobel_prizes", "received the Nobel Prize in", "Honours", _TITLE, several=True),
    ),
    "writer": (
        RelationPhrases("languages", "language of writing is", "", "the", several=True),
        *_PERSON,
        RelationPhrases("known_for", "is known for", "Work", _TITLE),
        RelationPhrases("books", "books include", "Work", "the", several=True),
        RelationPhrases("nobel_prizes", "received the Nobel Prize in", "Honours", _TITLE, several=True),
    ),
    "director": (
        RelationPhrases("known_for", "is known for", "", _TITLE),
        *_PERSON,
        RelationPhrases("films", "films include", "Work", "the", several=True),
    ),
    "book": (
        RelationPhrases("author", "is a book by", "", _TITLE),
        RelationPhrases("year", "year of publication is"),
        RelationPhrases("genre", "genre is", "Content"),
        RelationPhrases("setting", "story is set in", "Content"),
        RelationPhrases("main_character", "main character is", "Content"),
        RelationPhrases("language", "original language is", "Publication"),
        RelationPhrases("films", "films based on it include", "Adaptations", "the", several=True),
    ),
    "film": (
        RelationPhrases("director", "is a film directed by", "", _TITLE),
        RelationPhrases("starring", "cast includes", several=True),
        RelationPhrases("based_on", "is based on the book", "Production", _IT),
        RelationPhrases("year", "year of release is", "Production"),
        RelationPhrases("composers", "music is by", "Production", several=True),
        RelationPhrases("academy_award", "won the Academy Award for", "Reception", _IT),
    ),
}

_CONCEPT = (
    RelationPhrases("broader", "is a kind of", "", _TITLE),
    RelationPhrases("properties", "every instance", "Properties", "without exception", several=True),
    RelationPhrases("narrower", "narrower concepts include", "Kinds", several=True),
    RelationPhrases("instances", "instances in this wiki include", "Instances", several=True),
    RelationPhrases("contexts", "a sentence about one may say that it", "Use", "in a text", several=True),
)


def _classified(kind: str, relations: tuple[RelationPhrases, ...]) -> tuple[RelationPhrases, ...]:
    """A kind's relations, and those that say which concepts its pages fall under."""
    subject = "the" if kind in ("scientist", "writer", "director") else "its"
    return (
        *relations,
        RelationPhrases("instance_of", "finest concept is", "Classification", subject),
        RelationPhrases("also_instance_of", "further concepts include", "Classification", subject, several=True),
    )


KINDS: Mapping[str, tuple[RelationPhrases, ...]] = {
    **{kind: _classified(kind, relations) for kind, relations in _RELATIONS.items()},
    "concept": _CONCEPT,
}
