"""Where an `AMiner` gets its scholars from: a file (`offline`) or a server (`live`).

A source answers in the environment's own shapes. An id that it does not know is None: only the environment
writes messages for a model.
"""

from __future__ import annotations

import re
from typing import Any, Protocol

from .shapes import Coauthor, FoundPublication, Person, PersonInfo, PersonPublication, Publication

MOST_HITS = 10
"""A search gives at most this many."""
ID = re.compile(r"[^\s\x00-\x1f\x7f-\x9f\ud800-\udfff]{1,200}")
"""What a database may use as an id; nothing else is asked for, or imported."""


class Source(Protocol):
    """What the query APIs ask; every method may be called by many threads at once.

    Raises:
        EnvironmentFailure: From any method: the server does not answer as it should.
    """

    @property
    def version(self) -> str:
        """Hash of the knowledge, or of where it is asked for."""

    def find_persons(self, name: str | None, organization: str | None, interest: str | None) -> list[Person]:
        """Scholars who match all that is given (one at least is), the best first, at most `MOST_HITS`."""

    def find_publications(self, text: str) -> list[FoundPublication]:
        """Publications whose titles match, the best first, at most `MOST_HITS`."""

    def coauthors(self, person_id: str) -> list[Coauthor] | None:
        """Everybody who wrote with a scholar, ordered by name and id."""

    def interests(self, person_id: str) -> list[str] | None:
        """A scholar's interests, the main one first."""

    def profile(self, person_id: str) -> PersonInfo | None:
        """A scholar's profile."""

    def person_publications(self, person_id: str) -> list[PersonPublication] | None:
        """All publications of a scholar, ordered by citations, the most first, and id."""

    def publication(self, publication_id: str) -> Publication | None:
        """A publication in full."""

    def records(self, kind: str) -> list[dict[str, Any]]:
        """See `AMiner.records`.

        Raises:
            KeyError: There are no such records.
        """
