"""Ten thousand calls such as no sane model makes: each is an observation, and none changes what is behind it."""

from __future__ import annotations

import asyncio
import collections
import dataclasses
import enum
import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from r_eval.environments.aminer import AMiner
from r_eval.environments.base import Environment, NotFound, query_api
from r_eval.environments.sandbox import Sandbox
from r_eval.environments.schema import ApiSpec
from r_eval.environments.session import CHARACTERS_A_TOKEN, Session
from r_eval.environments.wiki import Wiki
from r_eval.records import Step
from tests.hostile import HOSTILE

TOKENS = 500
LONGEST = TOKENS * CHARACTERS_A_TOKEN + 100
BATCH = 40
KINDS = (None, "unknown_api", "bad_arguments", "not_found")
CALLS = {"wiki": 4_000, "aminer": 4_000, "typed": 2_000}


class Size(enum.Enum):
    SMALL = "small"
    LARGE = "large"


@dataclasses.dataclass
class Place:
    """Where something is."""

    city: str
    floor: int = 0


class Order(BaseModel):
    """What is ordered."""

    item: str
    count: int = Field(1, ge=1, le=9)
    notes: list[str] = []


class Typed(Environment):
    """Takes arguments of every type."""

    @query_api
    def simple(self, text: str, number: int = 1, share: float | None = None, sure: bool = False) -> list[Any]:
        """Take what is simple."""
        if not text.strip():
            raise NotFound("There is no text.")
        return [text[:50], number, share, sure]

    @query_api
    async def chosen(self, size: Size, order: Literal["up", "down"] = "up") -> str:
        """Take one of a few."""
        return f"{size.value} {order}"

    @query_api
    def many(self, names: list[Any], counts: dict[str, int] | None = None) -> list[Any]:
        """Take lists and dicts."""
        if not names:
            raise NotFound("There are no names.")
        return names + list(counts or {})

    @query_api
    def whole(self, place: Place, order: Order | None = None, anything: Any = None) -> str:
        """Take what has fields."""
        if place.floor < 0:
            raise NotFound(f"There is no floor {place.floor} in {place.city}.")
        return place.city


EMBEDDED: dict[str, type[Environment]] = {"wiki": Wiki, "aminer": AMiner, "typed": Typed}


def likely(name: str) -> dict[str, list[Any]]:
    """By parameter, arguments that a query API may find something by."""
    if name == "wiki":
        titles = [page["title"] for page in Wiki().records("country")[:40]]
        return {"entity": [*titles, "Mercury"], "keyword": ["capital", "the", "Europe"]}
    if name == "aminer":
        persons, papers = AMiner().records("person")[:40], AMiner().records("publication")[:40]
        return {
            "name": [p["name"] for p in persons],
            "organization": [None, *(p["organization"] for p in persons)],
            "interest": [None, *(p["interests"][0] for p in persons)],
            "person_id": [p["person_id"] for p in persons],
            "publication_id": [p["pub_id"] for p in papers],
            "publication_info": [p["title"] for p in papers],
        }
    return {
        "text": ["Rome", " "],
        "number": [3, "3", 2.0],
        "share": [None, 0.5, "1e-3"],
        "sure": [True, "no"],
        "size": ["small", "LARGE"],
        "order": ["up", {"item": "x"}, '{"item": "x", "count": "3"}'],
        "names": [["a"], '["a", 1]', [], "[" * 300 + "]" * 300],
        "counts": [{"a": "1"}, None],
        "place": [{"city": "Rome"}, '{"city": "Rome"}', {"city": "Rome", "floor": -1}],
        "anything": [1, [None]],
    }


def texts(known: list[str]) -> st.SearchStrategy[str]:
    """Known texts, with and without a fault, hostile ones, and any text of up to 100,000 characters."""
    some, hostile = st.sampled_from(known), st.sampled_from(HOSTILE)
    anything = st.text(st.characters(exclude_categories=()), max_size=20)
    mixed = st.tuples(some | hostile | anything, hostile | anything).map("".join)
    repeated = st.tuples(st.text(st.characters(exclude_categories=()), min_size=1, max_size=5), st.integers(1, 20_000))
    huge = repeated.map(lambda pair: (pair[0] * pair[1])[:100_000])
    return st.one_of(some, some, hostile, hostile, anything, mixed, huge)


def values(text: st.SearchStrategy[str]) -> st.SearchStrategy[Any]:
    """Texts, mostly; any other JSON, also deeper than any parser allows, and JSON as text."""
    number = st.integers() | st.floats() | st.sampled_from([0, -1, 3, 2**63, 10**4000, 1e308])
    plain = st.none() | st.booleans() | number | text
    inner = st.recursive(
        plain, lambda one: st.lists(one, max_size=3) | st.dictionaries(text, one, max_size=3), max_leaves=6
    )
    deep = st.builds(nested, st.sampled_from([50, 300, 900, 5_000]), st.booleans())
    return st.one_of(text, text, text, text, inner, deep, inner.map(json.dumps))


def nested(depth: int, as_dict: bool) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = {"a": value} if as_dict else [value]
    return value


FAULTS = ["missing", "surplus", "misspelt", "by order", "twice", "api", *["none"] * 6]


@st.composite
def batches(
    draw: Callable[..., Any], specs: dict[str, ApiSpec], known: dict[str, list[Any]], text: st.SearchStrategy[str]
) -> list[tuple[str, dict[str, Any], list[Any]]]:
    """API, named and positional arguments of calls, every second one with a fault.

    Arguments are likely ones, or out of a pool of twenty, since drawing each one takes longer than all the calls.
    """
    pool = draw(st.lists(text, min_size=12, max_size=12)) + draw(st.lists(values(text), min_size=8, max_size=8))
    dice = draw(st.randoms(use_true_random=False))

    def some(name: str) -> Any:
        return dice.choice(known[name] if name in known and dice.random() < 0.5 else pool)

    def one() -> tuple[str, dict[str, Any], list[Any]]:
        api, fault = dice.choice(list(specs)), dice.choice(FAULTS)
        parameters = [p.name for p in specs[api].parameters]
        arguments = {p.name: some(p.name) for p in specs[api].parameters if p.required or dice.random() < 0.5}
        name = dice.choice([*arguments, ""])
        if fault == "missing":
            arguments.pop(name, None)
        elif fault == "surplus":
            arguments[dice.choice([str(value) for value in pool[:12]])] = some("")
        elif fault == "misspelt":
            arguments[dice.choice([name.upper(), name[1:], f"{name} ", f"_{name}"])] = arguments.pop(name, None)
        elif fault == "api":
            wrong = [api.lower(), f"{api}s", "__class__", "open", "records", "call", "Finish", pool[0]]
            return dice.choice(wrong), arguments, []
        elif fault == "by order":
            return api, {}, [some(name) for name in [*parameters, "", ""][: dice.randrange(len(parameters) + 3)]]
        elif fault == "twice":
            return api, arguments, [some(name) for name in parameters[:2]]
        return api, arguments, []

    return [one() for _ in range(BATCH)]


def fingerprint(environment: Environment) -> str:
    """Of the file behind an environment, and of what lies beside it; empty where there is none."""
    source = getattr(environment, "_source", None)
    path = getattr(source, "path", None) or getattr(getattr(source, "_store", None), "path", None)
    if path is None:
        return ""
    files = sorted(Path(path).parent.iterdir())
    return hashlib.sha256(
        repr([(f.name, f.stat().st_mtime_ns) for f in files]).encode() + path.read_bytes()
    ).hexdigest()


@pytest.mark.parametrize("name", CALLS)
def test_every_call_is_an_observation_and_changes_nothing(name: str, sandbox: Sandbox) -> None:
    environment = EMBEDDED[name]()
    before = fingerprint(environment)
    known = likely(name)
    text = texts([value for values in known.values() for value in values if isinstance(value, str)])
    counts: collections.Counter[str | None] = collections.Counter()

    @settings(
        max_examples=CALLS[name] // BATCH, derandomize=True, database=None,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(batches(environment.specs(), known, text))
    def run_episode(batch: list[tuple[str, dict[str, Any], list[Any]]]) -> None:
        steps: list[Step] = []
        session = Session(environment, sandbox, steps.append, TOKENS)

        async def call_all() -> None:
            for api, arguments, positional in batch:
                result = await session.call(api, arguments, positional)
                assert isinstance(result.observation, str)
                assert len(result.observation) <= LONGEST
                assert result.error in KINDS
                counts[result.error] += 1

        asyncio.run(call_all())
        session.close()
        assert [step.api for step in steps] == [api for api, *_ in batch]
        json.dumps([step.model_dump() for step in steps])

    run_episode()
    assert counts.total() >= CALLS[name]
    assert min(counts[kind] for kind in KINDS) >= CALLS[name] / 100, counts
    assert (fingerprint(environment), before != "") == (before, name != "typed")
