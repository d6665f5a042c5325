"""Makes the embedded wiki: collects facts and writes pages, as the environment `wiki` reads them.

    python -m scripts.data.wiki

The same tables give the same file.

- `phrases` has the relations and the words in which pages say them; start there.
- `geography`, `nature`, `people` turn tables (`gazetteer/`, `facts/`) into drafts of pages (`world`).
  `inverse` adds what follows, `concepts` what falls under which concept; `facts/frequency.tsv` says how often a name
  stands in English text (the logarithm to base 10 of how often in a billion words, by wordfreq).
- `titles` decides titles, redirects and disambiguation pages; `writing` writes the texts.
"""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

from r_eval.environments.wiki.environment import SNAPSHOT
from r_eval.environments.wiki.pages import Article

from .concepts import add_concepts
from .geography import Places
from .inverse import add_inverses
from .nature import add_elements, add_planets, add_rivers
from .people import add_languages, add_people, add_works
from .phrases import relations
from .tables import read_table, split_title
from .titles import Names, assign, describe, running_name
from .world import PageDraft, WikiWorld
from .writing import page

_MOST_RELATED = 6


def collect() -> tuple[WikiWorld, Names]:
    """All pages as facts, with their titles, and the other names that lead to them.

    Raises:
        ValueError: The sources contradict each other.
    """
    world = WikiWorld()
    places = Places(world)
    places.add_countries()
    places.add_languages(add_languages(world))
    add_elements(world)
    add_rivers(world, places)
    add_people(world, places)
    add_works(world, places)
    add_planets(world)
    add_inverses(world)
    add_concepts(world)
    return world, assign(world)


def build(out: Path = SNAPSHOT) -> int:
    """Write the pages, the most popular first; returns how many there are.

    A page's popularity is 100 times the Zipf frequency of its name in English text (`facts/frequency.tsv`).

    Raises:
        ValueError: See `collect`.
    """
    world, names = collect()
    zipf = {row["name"]: float(row["zipf"]) for row in read_table("facts/frequency.tsv")}
    popularity = {draft.title: round(100 * zipf[split_title(draft.title)[0]]) for draft in world.drafts}
    neighbours = _neighbours(world)
    pages = []
    for draft in sorted(world.drafts, key=lambda draft: (-popularity[draft.title], draft.title)):
        near = sorted(neighbours[draft.title], key=lambda title: (-popularity[title], title))
        pages.append(
            Article(
                title=draft.title,
                name="" if (name := running_name(draft)) == split_title(draft.title)[0] else name,
                text=page(draft, near[:_MOST_RELATED]),
                redirects=tuple(sorted(names.redirects.get(draft.title, ()))),
                description=describe(draft),
                popularity=popularity[draft.title],
                kind=draft.kind,
                facts=_facts(draft),
            )
        )
    for name, choices in sorted(names.choices.items()):
        pages.append(Article(title=name, choices=tuple(choices)))
    lines = (json.dumps(each.model_dump(exclude_defaults=True), ensure_ascii=False) + "\n" for each in pages)
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text("".join(lines), encoding="utf-8", newline="\n")
    return len(pages)


def _facts(draft: PageDraft) -> dict[str, Any]:
    """Every relation of the page's kind; None or no text where nothing is known."""
    facts: dict[str, Any] = {}
    for relation in sorted(relations(draft.kind), key=lambda relation: relation.name):
        values = sorted(set(draft.values(relation.name)))
        facts[relation.name] = values if relation.several else (values or [None])[0]
    return facts


def _neighbours(world: WikiWorld) -> dict[str, set[str]]:
    """The titles of the pages that each page names or is named by; concepts are near to concepts only, since nearly
    every page names one."""
    near: defaultdict[str, set[str]] = defaultdict(set)
    for draft in world.drafts:
        for values in draft.facts.values():
            for value in values:
                if isinstance(value, PageDraft) and (draft.kind == "concept") == (value.kind == "concept"):
                    near[draft.title].add(value.title)
                    near[value.title].add(draft.title)
    return near
