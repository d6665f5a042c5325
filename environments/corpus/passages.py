"""Passages, and what environments that find them have in common: the bounds of a search, and how passages are shown."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from r_eval.environments.base import OWN_TIMEOUT, Environment, NotFound

MOST_CHARACTERS = 10_000
"""Of a query; what is longer adds nothing but time."""

MOST_PASSAGES = 100


@dataclass(frozen=True, slots=True)
class Passage:
    """A part of a document.

    Attributes:
        id: The document's id, "#", and the passage's place in the document, from 1.
        text: What stands there.
    """

    id: str
    text: str


class OfPassages(Environment):
    """Base of environments whose query APIs return passages."""

    timeout = OWN_TIMEOUT

    def render(self, api: str, value: Any) -> str:
        """Passages as `[id] text`, a blank line between them."""
        return "\n\n".join(f"[{passage['id']}] {passage['text']}" for passage in plain(value))

    def retrieved_ids(self, api: str, value: Any) -> list[str]:
        """The passages' ids, the best first."""
        return [passage["id"] for passage in plain(value)]


def plain(passages: Iterable[Passage | dict[str, Any]]) -> list[dict[str, Any]]:
    """Passages as plain data; those that are it already stay as they are."""
    return [{"id": item.id, "text": item.text} if isinstance(item, Passage) else item for item in passages]


def within_bounds(query: str, top_k: int) -> tuple[str, int]:
    """What is asked of a search, cut to what it takes.

    Raises:
        NotFound: There is no query, or no passage is wanted.
    """
    if not query.strip():
        raise NotFound("retrieve needs a query: a question, or words of what is sought.")
    if top_k < 1:
        raise NotFound(f"top_k must be from 1 to {MOST_PASSAGES}.")
    return query[:MOST_CHARACTERS], min(top_k, MOST_PASSAGES)
