"""A small environment of people for the tests of templates, and how they make questions of it."""

from __future__ import annotations

import asyncio
from typing import Any

from r_eval.environments.base import Environment, NotFound, query_api
from r_eval.environments.sandbox import Sandbox
from r_eval.tasks.templates import Generated, TemplateFile, generate

LISTED = [
    ("Ada", "Oslo", 36, ["engines", "flying"]),
    ("Grace", "Rome", 85, ["compilers"]),
    ("Alan", "Oslo", 41, ["machines", "running", "chess"]),
    ("Ada", "Lima", 29, ["tennis"]),
]


class Town(Environment):
    """People and where they live."""

    def __init__(self, people: list[tuple[str, str, int, list[str]]] = LISTED) -> None:
        self.people = [dict(zip(("name", "city", "age", "likes"), person, strict=True)) for person in people]

    @query_api
    def find(self, name: str) -> list[dict[str, Any]]:
        """Find people by their exact name."""
        found = [person for person in self.people if person["name"] == name]
        if not found:
            raise NotFound(f"Nobody is called {name}.")
        return found

    @query_api
    def living_in(self, city: str) -> list[str]:
        """Name those who live in a city."""
        return [person["name"] for person in self.people if person["city"] == city]

    def records(self, kind: str) -> list[dict[str, Any]]:
        cities = sorted({person["city"] for person in self.people})
        kinds = {"person": self.people, "city": [{"name": city} for city in cities], "ghost": []}
        return [dict(record) for record in kinds[kind]]


BASE: dict[str, Any] = {
    "id": "age",
    "level": "KS",
    "from": "person",
    "question": "How old is {{ person.name }} of {{ person.city }}?",
    "program": """
found = [p for p in find(name=person["name"]) if p["city"] == person["city"]]
answer = found[0]["age"]
""",
}


def made(
    sandbox: Sandbox, *templates: dict[str, Any], count: int = 100, seed: int = 0, town: Environment | None = None
) -> Generated:
    """The questions of templates over a town; what a template leaves out is that of `BASE`."""
    every = [{**BASE, **template} for template in templates or ({},)]
    file = TemplateFile.model_validate({"environment": "town", "templates": every})
    return asyncio.run(generate(file, town or Town(), sandbox, count, seed))
