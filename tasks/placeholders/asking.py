"""Puts a topic into words: the question, the right documents with placeholders in them, and what the answer is."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping

from r_eval.tasks.placeholders.expressions import And, Expression, Literal, written
from r_eval.tasks.placeholders.substitution import held
from r_eval.tasks.placeholders.topics import Topic
from r_eval.tasks.placeholders.world import Dimension, Subtask, World

SEVERAL = 3
"""Values of a side that has several."""


@dataclasses.dataclass(frozen=True)
class Put:
    """A topic in words.

    Attributes:
        query: The question.
        golden: The right documents.
        sides: For each placeholder, X1 the first, the dimension whose value it is.
        answered_by: Of the placeholders whose values the answer must hold, the numbers.
        names: Of what is compared; then the answer is the one with the highest value.
    """

    query: str
    golden: list[str]
    sides: tuple[str, ...]
    answered_by: tuple[int, ...] = (1,)
    names: tuple[str, ...] = ()

    def arranged(self, values: dict[str, str], winner: int) -> dict[str, str]:
        """The values in the order in which a thing that is compared wins; as they stand where none is.

        Args:
            winner: Counted round and round.
        """
        if not self.names:
            return values
        others = sorted(values.values(), key=int)
        highest = others.pop()
        others.insert(winner % len(self.names), highest)
        return dict(zip(values, others, strict=True))

    def program(self, top_k: int) -> str:
        """A program that finds the answer through `retrieve`; the same under all values."""
        numbers = range(1, len(self.sides) + 1) if self.names else self.answered_by
        documents = [next(text for text in self.golden if held(text, frozenset({f"X{n}"}))) for n in numbers]
        patterns = [_pattern(text, f"X{n}") for text, n in zip(documents, numbers, strict=True)]
        lines = [
            "import re",
            f"found = retrieve(query={self.query!r}, top_k={top_k})",
            "text = '\\n' + '\\n\\n'.join([passage['text'] for passage in found]) + '\\n'",
            "values = []",
            f"for pattern in {list(dict.fromkeys(patterns))!r}:",
            "    values = values + re.findall(pattern, text)",
        ]
        if self.names:
            lines += [f"names = {list(self.names)!r}", "numbers = [int(value) for value in values]"]
            return "\n".join([*lines, "answer = names[numbers.index(max(numbers))]"])
        return "\n".join([*lines, "answer = '; '.join(values)"])

    def answer(self, values: Mapping[str, str]) -> str:
        """The answer under these values: an expression."""
        if self.names:
            highest = max(range(len(self.names)), key=[int(value) for value in values.values()].__getitem__)
            return written(Literal(self.names[highest]))
        parts: list[Expression] = [Literal(values[f"X{number}"]) for number in self.answered_by]
        return written(And(tuple(parts)) if len(parts) > 1 else parts[0])


def _pattern(text: str, token: str) -> str:
    """What finds a document whatever stands in place of its placeholder, which is its group."""
    before, _, after = (re.sub(r"[\\.^$*+?{}()|\[\]]", r"\\\g<0>", part) for part in text.partition(token))
    return f"\\n{before}([^\\n]+?){after}\\n"


def put(subtask: Subtask, topic: Topic, world: World) -> Put:
    """A topic of a sub-task in words."""
    return _PUT[subtask](topic, world)


def _filter(topic: Topic, world: World) -> Put:
    (side,), (name,) = topic.sides, topic.members
    dimension = world.dimensions[side]
    return Put(dimension.ask.format(name=name), [dimension.fact.format(name=name, value="X1")], topic.sides)


def _sides(topic: Topic, world: World) -> Put:
    (name,), dimensions = topic.members, [world.dimensions[side] for side in topic.sides]
    facts = [dimension.fact.format(name=name, value=f"X{at}") for at, dimension in enumerate(dimensions, 1)]
    query = world.placeholders.gap.join(dimension.ask.format(name=name) for dimension in dimensions)
    return Put(query, facts, topic.sides, tuple(range(1, len(facts) + 1)))


def _several(topic: Topic, world: World) -> Put:
    (side,), (name,) = topic.sides, topic.members
    dimension, numbers = world.dimensions[side], tuple(range(1, SEVERAL + 1))
    patterns = [dimension.fact, *[dimension.also or ""] * (SEVERAL - 1)]
    facts = [pattern.format(name=name, value=f"X{at}") for at, pattern in zip(numbers, patterns, strict=True)]
    return Put((dimension.ask_all or "").format(name=name), facts, (side,) * SEVERAL, numbers)


def _scenarios(topic: Topic, world: World) -> Put:
    (side,), (name,), dimension = topic.sides, topic.members, world.dimensions[topic.sides[0]]
    numbers = tuple(range(1, len(topic.scenarios) + 1))
    pairs = list(zip(numbers, topic.scenarios, strict=True))
    facts = [dimension.fact.format(name=name, value=f"X{at}", scenario=scenario) for at, scenario in pairs]
    query = world.placeholders.gap.join(dimension.ask.format(name=name, scenario=scenario) for _, scenario in pairs)
    return Put(query, facts, (side,) * len(facts), numbers)


def _compared(topic: Topic, world: World) -> Put:
    side = topic.sides[0]
    dimension, names = world.dimensions[side], topic.members
    golden: list[str] = []
    for at, name in enumerate(names):
        if at == topic.heir:
            golden += _of_the_kind(topic, world, name, f"X{at + 1}")
        else:
            golden.append(dimension.fact.format(name=name, value=f"X{at + 1}"))
    query = (dimension.most or "").format(names=world.placeholders.comma.join(names))
    return Put(query, golden, (side,) * len(names), names=names)


def _inherited(topic: Topic, world: World) -> Put:
    (side,), (name,) = topic.sides, topic.members
    dimension = world.dimensions[side]
    golden = _of_the_kind(topic, world, name, "X1")
    if topic.own:
        golden.append(dimension.fact.format(name=name, value="X2"))
    number = 2 if topic.own else 1
    return Put(dimension.ask.format(name=name), golden, (side,) * number, (number,))


def _related(topic: Topic, world: World) -> Put:
    (side,), (name, other), relation = topic.sides, topic.members, topic.relation
    assert relation is not None
    dimension: Dimension = world.dimensions[side]
    golden = [relation.fact.format(name=name, other=other), dimension.fact.format(name=other, value="X1")]
    return Put(dimension.ask.format(name=relation.other.format(name=name, kind=topic.kind)), golden, topic.sides)


def _of_the_kind(topic: Topic, world: World, name: str, value: str) -> list[str]:
    """That a thing is of its kind, and what holds for the kind."""
    kind = world.kinds[topic.kind]
    general = world.dimensions[topic.sides[0]].general
    return [(kind.member or "").format(name=name, kind=topic.kind), general.format(kind=topic.kind, value=value)]


_PUT: Mapping[Subtask, Callable[[Topic, World], Put]] = {
    "filter": _filter,
    "combination_v1": _sides,
    "combination_v2": _several,
    "combination_v3": _scenarios,
    "comp": _compared,
    "compare_ad": _compared,
    "deductive_v1": _inherited,
    "deductive_v2": _related,
}
