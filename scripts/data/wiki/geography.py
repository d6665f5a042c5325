"""Continents, countries, currencies and cities, as GeoNames has them, and states of the United States.

`gazetteer/countries.tsv` and `cities.tsv` are a selection from GeoNames, mended: a country's capital is "-" where none
is undisputed or the country is itself the city; of its languages, the first and its own. A city without coordinates is
one that GeoNames lacks or has as a small town.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from r_eval.environments.wiki.base import title_key

from .tables import cells, clean, day, read_table
from .world import PageDraft, WikiWorld


class Places:
    """The places of a world, and the way from a country and a name to a city."""

    def __init__(self, world: WikiWorld) -> None:
        self._world = world
        self._rows = {row["iso"]: row for row in read_table("gazetteer/countries.tsv")}
        self._cities: defaultdict[tuple[str, str], list[PageDraft]] = defaultdict(list)
        self.countries: dict[str, PageDraft] = {}
        self.states: dict[str, PageDraft] = {}

    def add_countries(self) -> None:
        """Continents, currencies, countries and states, and all cities."""
        currencies = {}
        for row in read_table("gazetteer/currencies.tsv"):
            currency = PageDraft(row["title"], "currency", "currency", aliases=cells(row, "aliases"))
            currency.add("currency_code", row["code"])
            currencies[row["code"]] = self._world.add(currency)
        names = sorted({row["continent"] for row in self._rows.values()})
        continents = {name: self._world.add(PageDraft(name, "continent", "continent")) for name in names}
        for code, row in self._rows.items():
            draft = PageDraft(row["name"], "country", "country", aliases=cells(row, "aliases"))
            draft.remark = f"It {'is not' if row['un'] else 'is'} a member state of the United Nations."
            draft.add("iso_code", code)
            for relation in ("population", "area_km2", "iso3_code", "numeric_code", "calling_code", "internet_domain"):
                draft.add(relation, row[relation])
            draft.add("continent", continents[row["continent"]])
            draft.add("currency", currencies[row["currency"]])
            self.countries[code] = self._world.add(draft)
        for code, row in self._rows.items():
            near = [self.countries[other] for other in cells(row, "borders")]
            self.countries[code].add("borders", *sorted(near, key=lambda draft: draft.name))
        self._add_states()
        self._add_cities()

    def add_languages(self, languages: Mapping[str, PageDraft]) -> None:
        """What is spoken in each country, as far as the languages have pages."""
        for code, country in self.countries.items():
            tags = cells(self._rows[code], "languages")
            country.add("languages", *(languages[tag] for tag in tags if tag in languages))

    def place(self, name: str) -> PageDraft | str:
        """The country or city that a name alone means, or the name, where no such place has a page.

        Of several cities the largest is meant; "Cambridge, Massachusetts" says that it is another one.
        """
        base, _, part = clean(name).partition(", ")
        exact = self._world.find(clean(name), "city")
        if part:
            is_state = any(draft.name == part for draft in self.states.values())
            return exact or (self.city(name, self.countries["US"]) if is_state else base)
        same = [city for code in self.countries for city in self._cities.get((code, title_key(base)), [])]
        return self._world.find(base, "country") or exact or max(same, key=population, default=base)

    def city_in(self, name: str, countries: Iterable[PageDraft]) -> PageDraft | str:
        """The largest city of this name in one of the countries, or the name, where there is none.

        "Toledo, Spain" says in which; a further name of a city ("Kingston, Ontario") means just that one.
        """
        base, _, part = clean(name).partition(", ")
        if part and (known := self._world.find(name, "city")):
            return known
        if any(draft.name == part for draft in self.states.values()):
            return self.city(name, self.countries["US"])
        codes = [one.values("iso_code")[0] for one in countries if not part or one.name == part]
        same = [city for code in codes for city in self._cities.get((code, title_key(base)), []) if not city.noun]
        return max(same, key=population, default=base)

    def city(self, name: str, country: PageDraft) -> PageDraft:
        """The city of this name in a country; "Cambridge, Massachusetts" says which of several.

        Raises:
            LookupError: The gazetteer has none.
        """
        base, _, part = clean(name).partition(", ")
        code = country.values("iso_code")[0]
        if self._rows[code]["capital"] == "-" and title_key(base) == title_key(country.name):
            return country
        for city in self._cities[code, title_key(base)]:
            if part in ("", city.qualifier) or not any(part == state.name for state in self.states.values()):
                return city
        raise LookupError(f"cities.tsv has no {name} in {country.name}")

    def _add_states(self) -> None:
        """The states of the United States, in the order of their admission."""
        for number, row in enumerate(read_table("gazetteer/states.tsv"), 1):
            state = PageDraft(row["title"], "state", "state")
            state.add("country", self.countries["US"])
            state.add("admitted", day(row["admitted"]))
            state.add("admission_number", str(number))
            state.add("postal_code", row["postal_code"])
            self.states[row["postal_code"]] = self._world.add(state)

    def _add_cities(self) -> None:
        """All cities; which are capitals."""
        for row in read_table("gazetteer/cities.tsv"):
            country, state = self.countries[row["iso"]], self.states.get(row["state"])
            qualifier = state.name if state else row["state"] or country.name
            noun = "" if row["latitude"] else "a place"
            city = PageDraft(row["name"], "city", qualifier, aliases=cells(row, "aliases"), noun=noun)
            city.add("country", country)
            city.add("state", state)
            for relation in ("population", "latitude", "longitude", "time_zone"):
                city.add(relation, row[relation])
            self._world.add(city)
            for key in {title_key(known_as) for known_as in city.aliases}:
                self._cities[row["iso"], key].append(city)
        for cities in self._cities.values():
            cities.sort(key=population, reverse=True)
        for code, row in self._rows.items():
            if row["capital"] != "-":
                self.countries[code].add("capital", self.city(row["capital"], self.countries[code]))
        for row in read_table("gazetteer/states.tsv"):
            state = self.states[row["postal_code"]]
            state.add("capital", self.city(f"{row['capital']}, {state.name}", self.countries["US"]))


def population(city: PageDraft) -> int:
    """How many live in a city; 0 where that is unknown, and for everything else."""
    return city.number("population") if city.kind == "city" else 0
