"""An invented world as the lines of the file that `r_eval.environments.aminer` reads."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from .world import Paper, Scholar
from .writing import biography


def lines(world: Iterable[list[Scholar]]) -> Iterator[str]:
    """A line for every scholar of a community, then one for each of its publications."""
    for community in world:
        papers = {paper.number: paper for scholar in community for paper in scholar.papers}
        for record in [*map(_scholar, community), *(_publication(papers[number]) for number in sorted(papers))]:
            yield json.dumps(record, ensure_ascii=False) + "\n"


def _scholar(scholar: Scholar) -> dict[str, Any]:
    interests = scholar.interests()
    doctorate = scholar.education[-1][1] if scholar.doctorate else None
    return {
        "name": scholar.name,
        "id": scholar.person_id,
        "organization": scholar.organization,
        "gender": scholar.gender,
        "position": scholar.work[-1][0],
        "email": scholar.email,
        "bio": biography(scholar.name, scholar.gender, scholar.work, interests, doctorate),
        "advisor": scholar.advisor.person_id if scholar.advisor else "",
        "interests": interests,
        "education": scholar.education,
        "work": scholar.work,
    }


def _publication(paper: Paper) -> dict[str, Any]:
    return {
        "title": paper.title,
        "id": paper.pub_id,
        "abstract": paper.abstract,
        "venue": paper.venue,
        "year": paper.year,
        "num_citation": paper.num_citation,
        "authors": [author.person_id for author in paper.authors],
    }
