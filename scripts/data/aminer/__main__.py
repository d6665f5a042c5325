"""Invent a scholar world and write it to a folder: `scholars.jsonl`, and `profiles.jsonl` (see `profiles`).

    python -m scripts.data.aminer FOLDER

The files are the same on any machine. Nobody in a world is a real person (see `names`).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from r_eval.environments.aminer.store import read_scholars

from .profiles import profiles
from .world import Paper, WorldScholar, communities
from .writing import biography


def generate(out: Path) -> None:
    """Write the embedded world to a folder."""
    path = out / "scholars.jsonl"
    records = (record for community in communities() for record in _records(community))
    _write(path, records)
    _write(path.with_name("profiles.jsonl"), profiles(read_scholars(path)[0]))


def _write(path: Path, records: Iterable[dict[str, Any]]) -> None:
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(json.dumps(record, ensure_ascii=False) + "\n" for record in records)


def _records(community: list[WorldScholar]) -> list[dict[str, Any]]:
    """A line for every scholar of a community, then one for each of its publications."""
    papers = {paper.number: paper for scholar in community for paper in scholar.papers}
    return [*map(_scholar, community), *(_publication(papers[number]) for number in sorted(papers))]


def _scholar(scholar: WorldScholar) -> dict[str, Any]:
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
    names = ("title", "id", "abstract", "venue", "year", "num_citation")
    return {**{name: getattr(paper, name) for name in names}, "authors": [one.person_id for one in paper.authors]}


if __name__ == "__main__":
    generate(Path(sys.argv[1]))
