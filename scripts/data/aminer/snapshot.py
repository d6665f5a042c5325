"""An invented world as the file that `r_eval.environments.aminer` reads."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterable
from typing import Any

from r_eval.environments.aminer.snapshot import TABLES, combine, line, prepare, seal

from .world import Paper, Scholar
from .writing import biography


def write(connection: sqlite3.Connection, world: Iterable[list[Scholar]], seed: int) -> str:
    """Fill an empty database with a world, a community at a time; returns its content hash."""
    prepare(connection)
    hashes = {table: hashlib.sha256() for table in TABLES}
    for community in world:
        for table, rows in _rows(community).items():
            marks = ", ".join("?" * TABLES[table])
            connection.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)
            hashes[table].update(b"".join(map(line, rows)))
    content = combine([value.hexdigest() for value in hashes.values()])
    seal(connection, content, {"seed": seed})
    return content


def _rows(community: list[Scholar]) -> dict[str, list[tuple[Any, ...]]]:
    """The rows of one community, each table in the order of its key."""
    papers = sorted({paper.number: paper for scholar in community for paper in scholar.papers}.items())
    return {
        "person": [_person(scholar) for scholar in community],
        "publication": [_publication(paper) for _, paper in papers],
        "authorship": [
            (number, place, author.number) for number, paper in papers for place, author in enumerate(paper.authors)
        ],
        "relation": sorted(
            row
            for scholar in community
            if scholar.advisor is not None
            for row in (
                (scholar.number, scholar.advisor.number, "advisor"),
                (scholar.advisor.number, scholar.number, "advisee"),
            )
        ),
    }


def _person(scholar: Scholar) -> tuple[Any, ...]:
    interests = scholar.interests()
    doctorate = scholar.education[-1][1] if scholar.doctorate else None
    return (
        scholar.number, scholar.person_id, scholar.name, scholar.gender, scholar.organization,
        scholar.work[-1][0], scholar.email,
        biography(scholar.name, scholar.gender, scholar.work, interests, doctorate),
        _json(interests), _json(scholar.education), _json(scholar.work), len(scholar.papers),
        sum(paper.num_citation for paper in scholar.papers), scholar.h_index(),
    )  # fmt: skip


def _publication(paper: Paper) -> tuple[Any, ...]:
    return (
        paper.number, paper.pub_id, paper.title, paper.abstract, paper.venue, paper.year, paper.num_citation,
    )  # fmt: skip


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
