"""The text of a page: every fact in the words of `phrases`, a lead paragraph first, then sections."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from .phrases import RelationPhrases, relations
from .world import PageDraft

_NOUNS = {
    "water": "a body of water",
    "element": "a chemical element",
    "planet": "a planet of the Solar System",
    "director": "a film director",
}
"""What a page is, by its kind, where that is not the kind's own name."""
_LONG = 90
"""Characters of two facts that may still share a sentence."""


def page(draft: PageDraft, related: Sequence[str]) -> str:
    """A page's text; the titles of related pages make the last section."""
    told = [relation for relation in relations(draft.kind) if draft.facts.get(relation.name)]
    lead = [relation for relation in told if not relation.section]
    sentences = _sentences(draft, lead)
    if not (lead and lead[0].phrase.startswith("is a ")):
        tense = "was" if draft.facts.get("died") else "is"
        sentences.insert(0, f"{draft.title} {tense} {draft.noun or _NOUNS.get(draft.kind, f'a {draft.kind}')}.")
    blocks = [" ".join([*sentences, draft.remark]).strip()]
    sections = groupby((relation for relation in told if relation.section), key=lambda relation: relation.section)
    for heading, group in sections:
        blocks += [f"== {heading} ==", " ".join(_sentences(draft, list(group)))]
    if related:
        blocks += ["== See also ==", f"Related pages: {', '.join(related)}."]
    return "\n\n".join(blocks)


def _sentences(draft: PageDraft, told: list[RelationPhrases]) -> list[str]:
    """One fact to a sentence, in sections up to two short ones."""
    sentences: list[str] = []
    open_end = False
    for relation in told:
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
