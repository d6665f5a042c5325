"""What environments that find passages have in common: the bounds of a search, and how passages are shown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pydantic_core import to_jsonable_python

from r_eval.environments.base import OWN_TIMEOUT, Environment, ToolError

MOST_CHARACTERS = 10_000
"""Of a query; what is longer adds nothing but time."""
MOST_PASSAGES = 100


@dataclass(frozen=True, slots=True)
class Passage:
    """A part of a document.

    Attributes:
        id: The document's id, "#", and the passage's place in the document, from 1.
        text: The passage itself.
    """

    id: str
    text: str


class RetrievalEnvironment(Environment):
    """Base of environments whose query APIs return passages."""

    timeout = OWN_TIMEOUT

    def render(self, api: str, value: Any) -> str:
        """Passages as `[id] text`, a blank line between them."""
        return "\n\n".join(f"[{passage['id']}] {passage['text']}" for passage in to_jsonable_python(value))

    def retrieved_ids(self, api: str, value: Any) -> list[str]:
        """The passages' ids, the best first."""
        return [passage["id"] for passage in to_jsonable_python(value)]


def within_bounds(query: str, top_k: int) -> tuple[str, int]:
    """The arguments of a search, cut to what it takes.

    Raises:
        ToolError: There is no query, or no passage is wanted.
    """
    if not query.strip():
        raise ToolError("retrieve needs a query: a question, or words of what is sought.")
    if top_k < 1:
        raise ToolError(f"top_k must be from 1 to {MOST_PASSAGES}.")
    return query[:MOST_CHARACTERS], min(top_k, MOST_PASSAGES)
