"""Eight thousand calls such as no sane model makes: each is an observation, and none changes what is behind it."""

from __future__ import annotations

import asyncio
import collections
import hashlib
import json
import random
from pathlib import Path
from typing import Any

import pytest

from r_eval.environments.aminer import AMiner
from r_eval.environments.base import Environment
from r_eval.environments.sandbox import Sandbox
from r_eval.environments.session import CHARACTERS_A_TOKEN, Session
from r_eval.environments.wiki import Wiki
from r_eval.records import Step
from tests.hostile import HOSTILE

TOKENS = 500
LONGEST = TOKENS * CHARACTERS_A_TOKEN + 100
KINDS = (None, "unknown_api", "bad_arguments", "not_found")
CALLS = 4_000


def likely(name: str) -> dict[str, list[Any]]:
    """By parameter, arguments that a query API may find something by."""
    if name == "wiki":
        titles = [page["title"] for page in Wiki().records("country")[:40]]
        return {"entity": [*titles, "Mercury"], "keyword": ["capital", "the", "Europe"]}
    persons, papers = AMiner().records("person")[:40], AMiner().records("publication")[:40]
    return {
        "name": [p["name"] for p in persons],
        "organization": [None, *(p["organization"] for p in persons)],
        "interest": [None, *(p["interests"][0] for p in persons)],
        "person_id": [p["person_id"] for p in persons],
        "publication_id": [p["pub_id"] for p in papers],
        "publication_info": [p["title"] for p in papers],
    }


class Caller:
    """Makes calls: arguments are likely ones or hostile ones, and every second call has a fault of its own."""

    def __init__(self, environment: Environment, known: dict[str, list[Any]]) -> None:
        self.specs, self.known, self.dice = environment.specs(), known, random.Random(0)
        self.texts = [text for values in known.values() for text in values if isinstance(text, str)]

    def text(self) -> str:
        """A known text with or without a fault, a hostile one, or any of up to 100,000 characters."""
        dice = self.dice
        anything = "".join(chr(dice.choice([dice.randrange(128), dice.randrange(0x110000)])) for _ in range(9))
        one, other = dice.choice([*self.texts, anything]), dice.choice([*HOSTILE, anything])
        return dice.choice([one, other, one + other, (other[:5] * dice.randrange(20_000))[:100_000]])

    def value(self, name: str) -> Any:
        """A likely argument, a text, or JSON of any kind and depth, perhaps as text."""
        dice = self.dice
        if name in self.known and dice.random() < 0.5:
            return dice.choice(self.known[name])
        nested: Any = 1
        for _ in range(dice.choice([1, 50, 300, 5_000])):
            nested = dice.choice([[nested], {"a": nested}])
        odd = [None, True, 0, -1, 2**63, 10**4000, 1e308, float("nan"), [], {}, [self.text()], {self.text(): [None]}]
        return dice.choice([self.text(), self.text(), dice.choice([*odd, nested]), json.dumps(odd[dice.randrange(4)])])

    def call(self) -> tuple[str, dict[str, Any], list[Any]]:
        """An API, named and positional arguments."""
        dice = self.dice
        api = dice.choice(list(self.specs))
        parameters = self.specs[api].parameters
        arguments = {p.name: self.value(p.name) for p in parameters if p.required or dice.random() < 0.5}
        match dice.randrange(8):
            case 0 if arguments:
                name, value = arguments.popitem()
                arguments |= dice.choice([{}, {name.upper(): value}, {f"_{name}": value}])
            case 1:
                arguments[self.text()] = self.value("")
            case 2:
                api = dice.choice([api.lower(), f"{api}s", "__class__", "open", "records", "Finish", self.text()])
            case 3:
                return api, {}, list(arguments.values())
            case 4:
                return api, arguments, list(arguments.values())[:2]
        return api, arguments, []


def fingerprint(environment: Environment) -> str:
    """Of the file behind an environment, and of what lies beside it."""
    path: Path = environment._source.path  # type: ignore[attr-defined]
    files = [(file.name, file.stat().st_mtime_ns) for file in sorted(path.parent.iterdir())]
    return hashlib.sha256(repr(files).encode() + path.read_bytes()).hexdigest()


@pytest.mark.parametrize("name", ["wiki", "aminer"])
def test_every_call_is_an_observation_and_changes_nothing(name: str, sandbox: Sandbox) -> None:
    environment: Environment = {"wiki": Wiki, "aminer": AMiner}[name]()
    before, caller = fingerprint(environment), Caller(environment, likely(name))
    counts: collections.Counter[str | None] = collections.Counter()
    steps: list[Step] = []

    async def call_all() -> None:
        for _ in range(CALLS // 40):
            session = Session(environment, sandbox, steps.append, TOKENS)
            for _ in range(40):
                api, arguments, positional = caller.call()
                result = await session.call(api, arguments, positional)
                assert len(result.observation) <= LONGEST
                assert steps[-1].api == api
                counts[result.error] += 1
            session.close()

    asyncio.run(call_all())
    json.dumps([step.model_dump() for step in steps])
    assert len(steps) == counts.total() == CALLS
    assert counts.keys() <= set(KINDS)
    assert min(counts[kind] for kind in KINDS) >= CALLS / 100, counts
    assert fingerprint(environment) == before
