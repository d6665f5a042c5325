"""The filters that need no model: a question names what it must, and nothing that it must not."""

from __future__ import annotations

import re

from rapidfuzz import fuzz

from r_eval.tasks.graphs.asking import Asking
from r_eval.tasks.graphs.store import number
from r_eval.tasks.questions import folded

CLOSE = 80
"""From which likeness (0 to 100) a text counts as naming an entity, in another inflection for example."""
SHORTEST = 4
"""Characters that a name must have to be looked for by likeness: shorter ones are like anything."""

NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
UNSPACED = re.compile(r"[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\uff66-\uff9f]")
"""Characters of scripts that put no spaces between words."""


def flaw(asking: Asking, text: str, own_words: str | None) -> str | None:
    """Why a question is no good; None where it is.

    Args:
        own_words: Text beside the triples whose numbers the question may hold; None where it may hold any.
    """
    if not all(names(text, entity) for entity in asking.named):
        return "entity not named"
    if asking.bridge and any(names(part, asking.bridge) for part in (text, *asking.answers)):
        return "bridge named"
    if asking.subgraph.type != "comparison" and any(holds(text, answer) for answer in asking.answers):
        return "answer in question"
    if own_words is not None:
        known = {part for s, r, o in asking.subgraph.triples for name in (s, r, o) for part in _numbers(name)}
        if not _numbers(text) <= known | _numbers(own_words):
            return "number from nowhere"
    return None


def names(text: str, entity: str) -> bool:
    """Whether a text names an entity, in these words or nearly; a number only in its own digits."""
    if holds(text, entity):
        return True
    long_enough = len(folded(entity)) >= SHORTEST and number(entity) is None
    return long_enough and likeness(entity, text) >= CLOSE


def holds(text: str, name: str) -> bool:
    """Whether a name stands in a text, as whole words; neither case nor width counts.

    >>> holds("Is it in Nigeria?", "Niger"), holds("the Niger's source", "niger")
    (False, True)
    """
    wanted, text = folded(name), folded(text)
    if not wanted or wanted not in text:  # most names are not: no pattern is made for those
        return False
    return re.search(f"{_edge(wanted[0], True)}{re.escape(wanted)}{_edge(wanted[-1], False)}", text) is not None


def likeness(entity: str, text: str) -> float:
    """How like an entity is the closest part of a text, 0 to 100 (partial ratio)."""
    one, other = folded(entity), folded(text)
    return float(fuzz.partial_ratio(one, other)) if one and len(one) <= len(other) else 0.0


def _edge(character: str, before: bool) -> str:
    """A pattern for where a word may begin or end."""
    if UNSPACED.match(character) or not (character.isalnum() or character == "_"):
        return ""
    if character.isdigit():
        return r"(?<!\w)(?<!\d[.,])" if before else r"(?!\w)(?![.,]\d)"
    return r"(?<!\w)" if before else r"(?!\w)"


def _numbers(text: str) -> set[str]:
    return {found.replace(",", "") for found in NUMBER.findall(folded(text))}
