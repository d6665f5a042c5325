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
from typing import Any, Literal, NamedTuple

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


class Made(NamedTuple):
    """A call as a model makes it."""

    api: str
    arguments: dict[str, Any]
    positional: list[Any]


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
    """What is known, that with a fault in it, what is hostile, and any text at all, of up to 100,000 characters."""
    some = st.sampled_from(known)
    hostile = st.sampled_from(range(len(HOSTILE))).map(HOSTILE.__getitem__)
    anything = st.text(st.characters(exclude_categories=()), max_size=20)
    mixed = st.tuples(some | hostile | anything, hostile | anything).map("".join)
    repeated = st.tuples(st.text(st.characters(exclude_categories=()), min_size=1, max_size=5), st.integers(1, 20_000))
    huge = repeated.map(lambda pair: (pair[0] * pair[1])[:100_000])
    swapped = some.map(lambda text: text[1:2] + text[:1] + text[2:])
    return st.one_of(some, some, swapped, hostile, hostile, anything, mixed, huge)


def values(text: st.SearchStrategy[str]) -> st.SearchStrategy[Any]:
    """Texts, mostly; whatever else JSON has, nested, and deeper than any parser likes; that as text."""
    number = st.integers() | st.floats() | st.sampled_from([0, -1, 3, 2**63, 10**4000, 1e308])
    plain = st.none() | st.booleans() | number | text
    inner = st.recursive(
        plain, lambda one: st.lists(one, max_size=3) | st.dictionaries(text, one, max_size=3), max_leaves=6
    )
    deep = st.builds(nested, st.sampled_from([50, 200, 300, 900, 5_000]), st.booleans())
    written = (inner | deep).map(as_json)
    return st.one_of(text, text, text, text, inner, deep, written)


def as_json(value: Any) -> str:
    try:
        return json.dumps(value)
    except RecursionError:
        return "[" * 5_000 + "]" * 5_000


def nested(depth: int, as_dict: bool) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = {"a": value} if as_dict else [value]
    return value


FAULTS = ["missing", "surplus", "misspelt", "by order", "twice", "api", *["none"] * 6]


@st.composite
def batches(
    draw: Callable[..., Any], specs: dict[str, ApiSpec], known: dict[str, list[Any]], text: st.SearchStrategy[str]
) -> list[Made]:
    """Calls of mostly right names, with a fault in every second one.

    Arguments are likely ones, or out of a pool of twenty, since to draw each one takes longer than all the calls.
    """
    pool = draw(st.lists(text, min_size=12, max_size=12)) + draw(st.lists(values(text), min_size=8, max_size=8))
    apis, faults, numbers = st.sampled_from(list(specs)), st.sampled_from(FAULTS), st.integers(0, 10_000)

    def some(name: str) -> Any:
        number, likely = draw(numbers), known.get(name, [])
        return likely[number // 2 % len(likely)] if likely and number % 2 else pool[number // 2 % len(pool)]

    def one() -> Made:
        api, fault, number = draw(apis), draw(faults), draw(numbers)
        parameters = [p.name for p in specs[api].parameters]
        names = [p.name for i, p in enumerate(specs[api].parameters) if p.required or number >> i & 1]
        arguments = {name: some(name) for name in names}
        name = names[number % len(names)] if names else ""
        if fault == "missing":
            arguments.pop(name, None)
        elif fault == "surplus":
            arguments[draw(text)] = some("")
        elif fault == "misspelt":
            wrong = [name.upper(), name[1:], f"{name} ", f"{name}s", f"_{name}"][number % 5]
            arguments[wrong] = arguments.pop(name, None)
        elif fault == "api":
            wrong = [api.lower(), f"{api}s", "__class__", "open", "records", "call", "Finish", draw(text)][number % 8]
            return Made(wrong, arguments, [])
        elif fault == "by order":
            return Made(api, {}, [some(name) for name in [*parameters, "", ""][: number % (len(parameters) + 3)]])
        elif fault == "twice":
            return Made(api, arguments, [some(name) for name in parameters[: 1 + number % 2]])
        return Made(api, arguments, [])

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
    came_of: collections.Counter[str | None] = collections.Counter()

    @settings(
        max_examples=CALLS[name] // BATCH, derandomize=True, database=None,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(batches(environment.specs(), known, text))
    def an_episode(batch: list[Made]) -> None:
        steps: list[Step] = []
        session = Session(environment, sandbox, steps.append, TOKENS)

        async def carried_out() -> None:
            for api, arguments, positional in batch:
                result = await session.call(api, arguments, positional)
                assert isinstance(result.observation, str)
                assert len(result.observation) <= LONGEST
                assert result.error in KINDS
                came_of[result.error] += 1

        asyncio.run(carried_out())
        session.close()
        assert [step.api for step in steps] == [made.api for made in batch]
        json.dumps([step.model_dump() for step in steps])

    an_episode()
    assert came_of.total() >= CALLS[name]
    assert min(came_of[kind] for kind in KINDS) >= CALLS[name] / 100, came_of
    assert (fingerprint(environment), before != "") == (before, name != "typed")


def test_it_is_ten_thousand_calls() -> None:
    assert sum(CALLS.values()) >= 10_000
