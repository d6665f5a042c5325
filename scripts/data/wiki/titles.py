"""Who gets which title, which other names lead there, and which names are ambiguous.

Pages that want the same title all add their qualifier to it, and the name becomes a disambiguation page; only a page
that is far better known (a country, else a capital, a state, a city ten times as large, anything rather than a book
or film) keeps the plain title, and the disambiguation page adds "(disambiguation)". A further name is a redirect if
one page alone claims it and no page has it as its title; otherwise it makes, or joins, a disambiguation page.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from r_eval.environments.wiki.base import title_key

from .geography import population
from .world import PERSONS, PageDraft, WikiWorld

_NOBODYS = frozenset(["georgia", "victoria"])
"""Names that no page keeps for itself."""
_PROPER = frozenset(["African", "Asian", "Best", "European", "Gothic", "Nobel", "North", "Oceanian", "South"])
"""First words of concepts that keep their capital."""
_WITH_ARTICLE = (
    *("Bahamas", "Comoros", "Congo", "Emirates", "Islands", "Kingdom", "Maldives", "Netherlands", "Philippines"),
    *("Republic", "States"),
)
"""Ends of the names of countries that have an article."""
_MUCH_LARGER = 10
"""So many times as many people as the next city of its name has a city that keeps the plain title."""


@dataclass
class Names:
    """What leads to pages besides their titles.

    Attributes:
        redirects: The names that lead to a page, by its title.
        choices: The titles on disambiguation pages, by the pages' names.
    """

    redirects: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    choices: dict[str, list[str]] = field(default_factory=dict)


def assign(world: WikiWorld) -> Names:
    """Give every draft its title; returns the other names.

    Raises:
        ValueError: Two pages have the same name and qualifier.
    """
    same: defaultdict[str, list[PageDraft]] = defaultdict(list)
    for draft in world.drafts:
        same[title_key(draft.name)].append(draft)
    for key, drafts in same.items():
        keeper = _keeper(key, drafts)
        for draft in drafts:
            full = draft.qualified or draft is not keeper
            draft.title = f"{draft.name} ({draft.qualifier})" if full else draft.name
    titles = {title_key(draft.title): draft for draft in world.drafts}
    if len(titles) < len(world.drafts):
        twice = sorted({draft.title for draft in world.drafts if titles[title_key(draft.title)] is not draft})
        raise ValueError(f"several pages are called {', '.join(twice)}")
    claims: defaultdict[str, dict[int, PageDraft]] = defaultdict(dict)
    wording: dict[str, str] = {}
    for draft in world.drafts:
        for name in (draft.name, *draft.aliases, *_surname(draft)):
            claims[title_key(name)][id(draft)] = draft
            wording.setdefault(title_key(name), name)
    names = Names()
    for key, claimants in sorted(claims.items()):
        drafts, keeper = list(claimants.values()), titles.get(key)
        if len(drafts) == 1:
            if keeper is None:
                names.redirects[drafts[0].title].append(wording[key])
        else:
            name = wording[key] if keeper is None else f"{wording[key]} (disambiguation)"
            names.choices[name] = [draft.title for draft in sorted(drafts, key=_rank)]
    return names


def running_name(draft: PageDraft) -> str:
    """How a name stands within a sentence: "the Netherlands", "oxygen", "Gothic novel", "dinar"."""
    name = draft.name.removesuffix(" currency")
    if draft.kind == "country" and (name == "Gambia" or name.endswith(_WITH_ARTICLE)):
        return f"the {name}"
    is_common = draft.kind == "concept" and name.split()[0] not in _PROPER and not name.endswith(" language")
    if draft.kind == "element" or is_common or name in ("Euro", "Pound sterling", "Renminbi"):
        return name[0].lower() + name[1:]
    return name


def describe(draft: PageDraft) -> str:
    """What a page is about, in a few words that tell it from others of the same name."""

    def first(relation: str) -> str:
        return (draft.values(relation) or [""])[0]

    match draft.kind:
        case "country" | "river":
            return f"{draft.kind} in {first('continent')}".removesuffix(" in ")
        case "city":
            place = f"{first('state')}, {first('country')}" if first("state") else first("country")
            return f"{draft.noun.removeprefix('a ') or draft.kind} in {place}"
        case "scientist" | "writer" | "director":
            trade = "film director" if draft.kind == "director" else draft.kind
            return f"{trade} born in {first('born').rpartition(' ')[2]}" if first("born") else trade
    return {
        "state": f"state of the {first('country')}",
        "element": "chemical element",
        "water": "body of water",
        "book": f"book by {first('author')}",
        "film": f"film directed by {first('director')}",
    }.get(draft.kind, draft.kind)


def _keeper(key: str, drafts: list[PageDraft]) -> PageDraft | None:
    ranked = sorted(drafts, key=_rank)
    if len(ranked) == 1:
        return ranked[0]
    above = _rank(ranked[0])[0] < _rank(ranked[1])[0] or population(ranked[0]) > _MUCH_LARGER * population(ranked[1])
    return ranked[0] if above and key not in _NOBODYS else None


def _rank(draft: PageDraft) -> tuple[int, int, str]:
    """The better known first, the larger first, then by title."""
    rank = {"country": 0, "state": 2, "book": 4, "film": 4}.get(draft.kind, 3)
    if any(isinstance(of, PageDraft) and of.kind == "country" for of in draft.facts.get("capital_of", [])):
        rank = 1
    return rank, -population(draft), draft.title


def _surname(draft: PageDraft) -> list[str]:
    """The last word of a person's name, as people may search for it."""
    last = draft.name.rpartition(" ")[2]
    return [last] if draft.kind in PERSONS and len(last) > 3 else []
