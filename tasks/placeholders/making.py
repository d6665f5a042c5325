"""Makes records with placeholders out of a world: things of some kinds, and sentences about their sides (`world`).

- `filter`: one fact of one thing.
- `combination_v1`: two sides of it; `_v2`: one side with several values; `_v3`: one side in two scenarios.
- `comp`: which of three things has most of something. `compare_ad`: the same, where of one of them only the kind is
  told, and what holds for the kind.
- `deductive_v1`: what holds for the kind holds for the thing, unless it has a fact of its own. `deductive_v2`: the
  thing is told by what another has to do with it.

Noise is of three levels: facts of things of other kinds, the same side of the thing's siblings, and what holds for its
kind in general. Where that is what the answer follows from, the last level tells other sides of the kind.

Each record has a `program` besides, which finds its answer through the query API of the environment `documents`. It is
no part of PRGB's form.

The values of a record's variants are made for it: none stands elsewhere in the record, and none stands twice. The same
file gives the same bytes.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from r_eval.environments.documents import MOST_PASSAGES
from r_eval.errors import UserError
from r_eval.seeds import Seeds
from r_eval.tasks.placeholders.asking import put
from r_eval.tasks.placeholders.noise import LEVELS, shuffled
from r_eval.tasks.placeholders.substitution import held
from r_eval.tasks.placeholders.topics import Topic, spread, topics
from r_eval.tasks.placeholders.world import Subtask, Values, World

WEAK = 8
"""Facts of other kinds in a record, at most."""
OTHERS = 2
"""Other sides of a kind in a record, at most."""
TRIES = 1000


def made(world: World, count: int | None = None, seed: int | None = None) -> list[dict[str, Any]]:
    """The records of a world, in the order of the sub-tasks; fewer where it has no more to ask about.

    Args:
        count: Of each sub-task that the world asks for; absent: as it says.
        seed: In place of the world's own.

    Raises:
        UserError: There are too few values of a sort.
    """
    maker = _Maker(world, world.placeholders.seed if seed is None else seed)
    found = []
    for subtask, wanted in world.placeholders.records.items():
        number = count if count and wanted else wanted
        chosen = spread(topics(subtask, world), number, Seeds(maker.seed, subtask, 0).of("topics"))
        found += [maker.record(f"{subtask}-{place}", subtask, topic) for place, topic in enumerate(chosen, 1)]
    return found


def lines(records: Iterable[Mapping[str, Any]]) -> str:
    """Records as JSON Lines."""
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)


class _Maker:
    """Makes the records of one world, whose own facts are the same in all of them."""

    def __init__(self, world: World, seed: int) -> None:
        self.world, self.seed = world, seed
        draw = random.Random(Seeds(self.seed, "world", 0).of("facts"))
        taken: dict[str, set[str]] = {}
        self._facts: dict[tuple[str, str, str], str] = {}
        for kind_name, kind in world.kinds.items():
            for side in kind.dimensions:
                for subject in (*kind.members, _general(kind_name)):
                    for scenario in self._scenarios(side):
                        given = world.facts.get(subject, {}).get(side)
                        self._facts[subject, side, scenario] = given or self._drawn(side, taken, draw)

    def _drawn(self, side: str, taken: dict[str, set[str]], draw: random.Random) -> str:
        """A value for a fact of the world; one that is there already only where there are no others."""
        sort = self.world.dimensions[side].values
        used = taken.setdefault(sort, set())
        value = next(fresh(self.world.values[sort], draw, used), "")
        value = value or next(fresh(self.world.values[sort], draw, set()))
        used.add(value)
        return value

    def record(self, id: str, subtask: Subtask, topic: Topic) -> dict[str, Any]:
        """One record.

        Raises:
            UserError: There are too few values for its variants.
        """
        asked = put(subtask, topic, self.world)
        noise = self._noise(topic, asked.golden)
        draw = random.Random(Seeds(self.seed, id, 0).of("values"))
        texts = "\n".join([asked.query, *asked.golden, *(text for level in noise for text in level)])
        used: set[str] = set()
        start = draw.randrange(len(topic.members))
        variants = []
        for number in range(self.world.placeholders.variants):
            values = {f"X{at}": self._value(id, side, texts, used, draw) for at, side in enumerate(asked.sides, 1)}
            variants.append(asked.arranged(values, start + number))
        return {
            "id": id,
            "query": asked.query,
            "golden_doc": asked.golden,
            **dict(zip(LEVELS.values(), noise, strict=True)),
            "placeholder_item": {"placeholders": variants, "answer": [asked.answer(values) for values in variants]},
            "program": asked.program(MOST_PASSAGES),
        }

    def _value(self, id: str, side: str, texts: str, used: set[str], draw: random.Random) -> str:
        """A value that stands in none of the texts."""
        sort = self.world.dimensions[side].values
        for value in fresh(self.world.values[sort], draw, used):
            used.add(value)
            if not held(texts, frozenset({value})):
                return value
        raise UserError(f"values.{sort}: too few of them for the variants of {id}")

    def _noise(self, topic: Topic, golden: Sequence[str]) -> tuple[list[str], list[str], list[str]]:
        """Documents of the three levels."""
        world, kind = self.world, self.world.kinds[topic.kind]
        seed = Seeds(self.seed, topic.key, 0).of("noise")
        far = [
            self._fact(member, side, scenario)
            for name, other in world.kinds.items()
            for member in other.members
            for side, scenario in self._sides(other.dimensions)
            if name != topic.kind
        ]
        asked = [(side, scenario) for side, scenario in self._sides(topic.sides)]
        asked = [(side, scenario) for side, scenario in asked if scenario in (topic.scenarios or (scenario,))]
        near = [self._fact(m, *side) for side in asked for m in kind.members if m not in topic.settled]
        above = [self._general(topic.kind, *side) for side in asked]
        if topic.heir is not None:
            others = [self._general(topic.kind, *side) for side in self._sides(kind.dimensions) if side not in asked]
            above = shuffled(others, seed)[:OTHERS]
        return shuffled(far, seed)[:WEAK], [text for text in near if text not in golden], above

    def _sides(self, dimensions: Iterable[str]) -> Iterator[tuple[str, str]]:
        """Dimensions, each in each of its scenarios."""
        for side in dimensions:
            for scenario in self._scenarios(side):
                yield side, scenario

    def _scenarios(self, side: str) -> Sequence[str]:
        return self.world.dimensions[side].scenarios or ("",)

    def _fact(self, member: str, side: str, scenario: str) -> str:
        value = self._facts[member, side, scenario]
        return self.world.dimensions[side].fact.format(name=member, value=value, scenario=scenario)

    def _general(self, kind: str, side: str, scenario: str) -> str:
        value = self._facts[_general(kind), side, scenario]
        return self.world.dimensions[side].general.format(kind=kind, value=value, scenario=scenario)


def _general(kind: str) -> str:
    """What a kind is called among the subjects of facts; no member can be called so."""
    return f"\0{kind}"


def fresh(values: Values, draw: random.Random, used: set[str]) -> Iterator[str]:
    """Values that are not among the used ones, by chance; it ends where there are hardly any more."""
    if values.of:
        yield from (value for value in draw.sample(values.of, len(values.of)) if value not in used)
        return
    for _ in range(TRIES):
        if values.numbers:
            value = str(draw.randint(values.from_ or 0, values.to or 0))
        else:
            value = "".join(draw.choice(part) for part in values.parts)
        if value not in used:
            yield value
