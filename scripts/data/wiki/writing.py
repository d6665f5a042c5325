"""The text of a page: every fact in the words of `phrases`, a lead paragraph first, then sections."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from .phrases import KINDS, Relation
from .world import Draft

_NOUNS = {
    "continent": "a continent",
    "country": "a country",
    "city": "a city",
    "state": "a state",
    "river": "a river",
    "water": "a body of water",
    "currency": "a currency",
    "language": "a language",
    "element": "a chemical element",
    "planet": "a planet of the Solar System",
    "scientist": "a scientist",
    "writer": "a writer",
    "director": "a film director",
    "book": "a book",
    "film": "a film",
    "concept": "a concept",
}
_LONG = 90
"""Characters of two facts that may still share a sentence."""


def page(draft: Draft, related: Sequence[str]) -> str:
    """A page's text; the titles of related pages make the last section."""
    told = [relation for relation in KINDS[draft.kind] if draft.facts.get(relation.name)]
    lead = [relation for relation in told if not relation.section]
    sentences = _sentences(draft, lead)
    if not (lead and lead[0].phrase.startswith("is a ")):
        tense = "was" if draft.facts.get("died") else "is"
        sentences.insert(0, f"{draft.title} {tense} {draft.noun or _NOUNS[draft.kind]}.")
    blocks = [" ".join([*sentences, draft.remark]).strip()]
    sections = groupby((relation for relation in told if relation.section), key=lambda relation: relation.section)
    for heading, relations in sections:
        blocks += [f"== {heading} ==", " ".join(_sentences(draft, list(relations)))]
    if related:
        blocks += ["== See also ==", f"Related pages: {', '.join(related)}."]
    return "\n\n".join(blocks)


def _sentences(draft: Draft, relations: list[Relation]) -> list[str]:
    """One fact to a sentence, in sections up to two short ones."""
    sentences: list[str] = []
    open_end = False
    for relation in relations:
        clause = f"{relation.subject.format(title=draft.title)} {relation.phrase} ".lstrip()
        clause += ", ".join(draft.values(relation.name))
        joins = open_end and relation.section and not relation.several and relation.subject != "{title}"
        if joins and len(sentences[-1]) + len(clause) <= _LONG:
            sentences[-1] = f"{sentences[-1]}; {clause}"
            open_end = False
        else:
            sentences.append(clause[0].upper() + clause[1:])
            open_end = not relation.several
    return [f"{sentence}." for sentence in sentences]
