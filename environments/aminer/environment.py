"""The AMiner environment: seven query APIs over a source of scholars, and the messages that a model reads."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from r_eval.environments.base import OWN_TIMEOUT, Environment, NotFound, query_api
from r_eval.environments.schema import clip
from r_eval.errors import UserError
from r_eval.files import user_path

from .shapes import ID, Coauthor, FoundPublication, Person, PersonInfo, PersonPublication, PublicationResult
from .store import ScholarStore

if TYPE_CHECKING:
    from .live import LiveScholars

Value = TypeVar("Value")
SNAPSHOT = Path(__file__).parent / "snapshot" / "scholars.jsonl"
PROFILES = SNAPSHOT.with_name("profiles.jsonl")
MOST_CHARACTERS = 2000
"""Of a search text; what is longer is no name, and the rest of a title tells nothing more."""


class AMiner(Environment):
    """AMiner, a database of scholars, their organizations, research interests, publications and co-authors.

    Scholars are found by name, organization or interest, publications by words of the title; everything else
    is asked for with the id that a search has given. Different scholars may have the same name: look at the
    organization.
    """

    timeout = OWN_TIMEOUT

    def __init__(
        self,
        scholars: str | None = None,
        *,
        source: Literal["snapshot", "live"] = "snapshot",
        base_url: str | None = None,
        api_key_env: str | None = None,
        cache: str | None = None,
        requests_per_second: float = 5.0,
    ) -> None:
        """Read scholars from a file (default: the embedded ones), or ask a server.

        Args:
            scholars: Scholars of your own: a JSON Lines file (see `store`); only with the source `snapshot`.
            source: `snapshot` (a file) or `live`; the other settings are for `live` only.
            base_url: The server; default AMiner's own.
            api_key_env: The environment variable that holds the server's key, where it wants one.
            cache: The file that keeps what the server answered; absent: one in the user's cache folder.
            requests_per_second: How often the server is asked at most, by all sessions together.

        Raises:
            UserError: The settings do not fit each other, or the file is not one of scholars.
        """
        settings = {"cache": cache, "requests_per_second": requests_per_second}
        self._source = _open(source, scholars, base_url, api_key_env, settings)
        self._has_profiles = source == "snapshot" and scholars is None

    @property
    def version(self) -> str:
        """Hash of the file of scholars; for a server, a hash of its address."""
        return self._source.version

    @query_api
    def searchPerson(
        self, name: str | None = None, organization: str | None = None, interest: str | None = None
    ) -> list[Person]:
        """Find up to 10 scholars by name, organization and research interest; all that is given must match.

        Args:
            name: The scholar's name, or a part of it.
            organization: The organization where the scholar works now.
            interest: A research interest.
        """
        arguments = {"name": name, "organization": organization, "interest": interest}
        texts = {field: text for field, text in arguments.items() if text and text.strip()}
        if not texts:
            raise NotFound("searchPerson needs a name, an organization or an interest.")
        if any(len(text) > MOST_CHARACTERS for text in texts.values()):
            return []
        return self._source.find_persons(**texts)

    @query_api
    def searchPublication(self, publication_info: str) -> list[FoundPublication]:
        """Find up to 10 publications by their title or some words of it, the best match first.

        Args:
            publication_info: The title, or words of it.
        """
        if not publication_info.strip():
            raise NotFound("searchPublication needs the title of a publication, or some words of it.")
        return self._source.find_publications(publication_info[:MOST_CHARACTERS])

    @query_api
    def getCoauthors(self, person_id: str) -> list[Coauthor]:
        """List everybody who has written a publication with a scholar, ordered by name.

        Args:
            person_id: The scholar's id, from searchPerson.
        """
        return _scholar(self._source.coauthors, person_id)

    @query_api
    def getPersonInterest(self, person_id: str) -> list[str]:
        """List a scholar's research interests, the main one first.

        Args:
            person_id: The scholar's id, from searchPerson.
        """
        return _scholar(self._source.interests, person_id)

    @query_api
    def getPublication(self, publication_id: str) -> PublicationResult:
        """Show a publication: abstract, authors, citations, year and venue.

        Args:
            publication_id: The publication's id (pub_id), from searchPublication or getPersonPubs.
        """
        found = self._source.publication(publication_id) if ID.fullmatch(publication_id) else None
        if found is None:
            raise NotFound(
                f"There is no publication with the id {clip(publication_id, 40)!r}. "
                "Ids (pub_id) come from searchPublication or getPersonPubs."
            )
        return found

    @query_api
    def getPersonBasicInfo(self, person_id: str) -> PersonInfo:
        """Show a scholar's profile: gender, organization, position, bio, education, work and email.

        Args:
            person_id: The scholar's id, from searchPerson.
        """
        return _scholar(self._source.profile, person_id)

    @query_api
    def getPersonPubs(self, person_id: str) -> list[PersonPublication]:
        """List all publications of a scholar, the most cited first.

        Args:
            person_id: The scholar's id, from searchPerson.
        """
        return _scholar(self._source.person_publications, person_id)

    def records(self, kind: str) -> list[dict[str, Any]]:
        """All records of a kind, in the order of the file.

        - `person`: person_id, name, organization, position, gender, email, interests, num_pubs, num_citation,
          h_index, popularity (share of scholars who are cited less), namesakes (others of the same name).
        - `publication`: pub_id, title, year, venue, num_citation, authors (names in order).
        - `authorship`: every author of every publication: name, organization and num_pubs of the scholar, title,
          year, venue and num_citation of the publication, place (1: the first author).
        - `coauthorship`: every pair of scholars who wrote together, once each way: name, organization,
          coauthor, coauthor_organization, relation (what the co-author is to the scholar), num_joint
          (publications together), num_common (co-authors of both).
        - `profile`: what a web search for a scholar would show: person_id, name, organization, position, since (the
          year in which the present post began), topic (the main interest), interests (the main three),
          phd_organization and phd_year ("" and 0 without a PhD), former (organizations of earlier posts, where the
          scholar had one post only), num_posts, num_namesakes (how many namesakes the results show), text (the
          results). Only of the embedded scholars; `scripts/data/aminer/profiles.py` made them.

        A server has none.

        Raises:
            KeyError: Another kind.
        """
        if kind == "profile" and self._has_profiles:
            return [json.loads(line) for line in PROFILES.read_text(encoding="utf-8").splitlines()]
        return self._source.records(kind)


def _open(
    source: str, scholars: str | None, base_url: str | None, api_key_env: str | None, settings: dict[str, Any]
) -> ScholarStore | LiveScholars:
    if source == "snapshot":
        if base_url is not None or api_key_env is not None:
            raise UserError("aminer: base_url and api_key_env go with the source live, not with snapshot")
        return ScholarStore.open(user_path(scholars or SNAPSHOT))
    if scholars is not None:
        raise UserError("aminer: a file of scholars goes with the source snapshot, not with live")
    from .live import PUBLIC, LiveScholars

    return LiveScholars(base_url or PUBLIC, api_key_env=api_key_env, **settings)


def _scholar(ask: Callable[[str], Value | None], person_id: str) -> Value:
    found = ask(person_id) if ID.fullmatch(person_id) else None
    if found is None:
        raise NotFound(
            f"There is no scholar with the id {clip(person_id, 40)!r}. "
            "Ids (person_id) come from searchPerson, getCoauthors or the author_list of getPublication."
        )
    return found
