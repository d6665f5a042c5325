"""Drafts of questions for a sub-task, each with the facts that support its answer.

- `filter`: one fact of one thing.
- `combination_v1`: the same dimension of two named things. `_v2`: several values of one thing. `_v3`: the values of
  several things of a kind.
- `comp`: which of three things has the highest value. `compare_ad`: what two things have in common, where one of them
  is known only by its kind.
- `deductive_v1`: a thing has the value of its kind unless it has a fact of its own. `deductive_v2`: by a rule, a thing
  has the value of a thing that it is related to.
"""

from __future__ import annotations

import collections
import dataclasses
import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from r_eval.tasks.placeholders.expressions import escaped
from r_eval.tasks.placeholders.variants import shuffled
from r_eval.tasks.placeholders.world import Subtask, World

COMPARED = SEVERAL = 3
"""Number of compared things, and of values or things in an answer."""


@dataclasses.dataclass(frozen=True, slots=True)
class Fact:
    """The sentence of one document.

    Attributes:
        subject: The thing or kind that it is about.
        value: The value or placeholder in it; "" for none.
        general: Whether it is about a kind.
    """

    subject: str
    text: str
    value: str = ""
    general: bool = False


@dataclasses.dataclass(frozen=True)
class Draft:
    """A question with the facts that support its answer.

    Attributes:
        side: The dimension in question.
        golden: The facts of the golden documents, with placeholders X1, X2, ...
        answer_numbers: Numbers of the placeholders whose values the answer must contain.
        settled: Members whose value in this dimension must not occur in noise.
        names: Names of the compared things; the answer is the one with the highest value.
        premise: Whether noise about this dimension of the kind would change the answer.
    """

    kind: str
    side: str
    query: str
    golden: tuple[Fact, ...]
    settled: tuple[str, ...]
    answer_numbers: tuple[int, ...] = (1,)
    names: tuple[str, ...] = ()
    premise: bool = False

    @property
    def placeholders(self) -> list[str]:
        return sorted({fact.value for fact in self.golden if fact.value})

    @property
    def key(self) -> str:
        """A unique key among the drafts of a sub-task."""
        return "\0".join([self.query, *(fact.text for fact in self.golden)])

    def arranged(self, values: dict[str, str], winner: int) -> dict[str, str]:
        """The values in an order in which the thing at position `winner` (modulo) wins the comparison."""
        if not self.names:
            return values
        others = sorted(values.values(), key=int)
        highest = others.pop()
        others.insert(winner % len(self.names), highest)
        return dict(zip(values, others, strict=True))

    def answer(self, values: Mapping[str, str]) -> str:
        """The answer with these values, an expression."""
        if self.names:
            numbers = [int(value) for value in values.values()]
            return escaped(self.names[numbers.index(max(numbers))])
        return " & ".join(escaped(values[f"X{number}"]) for number in self.answer_numbers)

    def program(self, top_k: int) -> str:
        """A program that finds the answer through `retrieve`; the same under all values."""
        valued = [fact for fact in self.golden if fact.value]
        shared = len(valued) > len(self.placeholders)  # the answer is the common value of two facts
        answer_tokens = {f"X{number}" for number in self.answer_numbers}
        asked_facts = valued if self.names or shared else [fact for fact in valued if fact.value in answer_tokens]
        lines = [
            "import re",
            f"found = retrieve(query={self.query!r}, top_k={top_k})",
            "text = '\\n\\n'.join([passage['text'] for passage in found])",
            "values = []",
            f"for pattern in {list(dict.fromkeys(map(_pattern, asked_facts)))!r}:",
            "    values = values + re.findall(pattern, text)",
        ]
        if self.names:
            lines += [f"names = {list(self.names)!r}", "numbers = [int(value) for value in values]"]
            return "\n".join([*lines, "answer = names[numbers.index(max(numbers))]"])
        if shared:
            lines.append("shared = [value for value in values if values.count(value) > 1]")
            return "\n".join([*lines, "answer = '; '.join(shared[:1])"])
        return "\n".join([*lines, "answer = '; '.join(values)"])


def _pattern(fact: Fact) -> str:
    """A regular expression for a fact whose group matches the value of its placeholder."""
    prefix, _, after = (re.sub(r"[\\.^$*+?{}()|\[\]]", r"\\\g<0>", part) for part in fact.text.partition(fact.value))
    return f"{prefix}([^\\n]+?){after}"


def drafts(subtask: Subtask, world: World) -> list[Draft]:
    """All drafts of a sub-task in a world."""
    return [draft for kind in world.kinds for draft in _DRAFTS[subtask](KindFacts(world, kind))]


def spread(candidates: Sequence[Draft], count: int, seed: int) -> list[Draft]:
    """A random sample of drafts that is balanced over forms, things and dimensions."""
    place = {key: at for at, key in enumerate(shuffled([draft.key for draft in candidates], seed))}
    remaining = sorted(candidates, key=lambda draft: place[draft.key])
    selection: list[Draft] = []
    had = collections.Counter[object]()
    while remaining and len(selection) < count:
        draft = min(remaining, key=lambda draft: [had[trait] for trait in _traits(draft)])
        remaining.remove(draft)
        had.update(_traits(draft))
        selection.append(draft)
    return selection


def _traits(draft: Draft) -> tuple[object, ...]:
    return (len(draft.golden), draft.answer_numbers), draft.settled[0], draft.side


class KindFacts:
    """Words the facts of one kind of a world."""

    def __init__(self, world: World, name: str) -> None:
        self.world, self.name, self.kind = world, name, world.kinds[name]
        self.members = self.kind.members

    def fact(self, key: str, subject: str, side: str, value: str) -> Fact:
        """A sentence of a dimension: `fact` or `also` of a thing, or `general` of the kind."""
        text = str(getattr(self.world.dimensions[side], key))
        return Fact(subject, text.format(name=subject, kind=subject, value=value), value, general=key == "general")

    def general(self, side: str, value: str) -> Fact:
        """The kind has a value in general."""
        return self.fact("general", self.name, side, value)

    def numbered_facts(self, side: str, members: Iterable[str]) -> tuple[Fact, ...]:
        """Things have the values X1, X2, ..."""
        return tuple(self.fact("fact", member, side, f"X{number}") for number, member in enumerate(members, 1))

    def membership(self, member: str) -> Fact:
        """A thing belongs to the kind."""
        return Fact(member, (self.kind.member or "").format(name=member, kind=self.name))

    def ask(self, key: str, side: str, **values: str) -> str:
        """A question about a dimension."""
        return str(getattr(self.world.dimensions[side], key)).format(**values)

    def sides(self, *keys: str) -> list[str]:
        """The dimensions that have these sentences."""
        dimensions = self.world.dimensions
        return [side for side in self.kind.dimensions if all(getattr(dimensions[side], key) for key in keys)]


def _filter(of: KindFacts) -> Iterator[Draft]:
    for member, side in itertools.product(of.members, of.sides()):
        yield Draft(of.name, side, of.ask("ask", side, name=member), of.numbered_facts(side, [member]), (member,))


def _two_things(of: KindFacts) -> Iterator[Draft]:
    for pair, side in itertools.product(itertools.combinations(of.members, 2), of.sides()):
        query = of.world.placeholders.gap.join(of.ask("ask", side, name=name) for name in pair)
        yield Draft(of.name, side, query, of.numbered_facts(side, pair), pair, (1, 2))


def _several_values(of: KindFacts) -> Iterator[Draft]:
    numbers = tuple(range(1, SEVERAL + 1))
    for member, side in itertools.product(of.members, of.sides("also")):
        golden = (of.fact("fact" if n == 1 else "also", member, side, f"X{n}") for n in numbers)
        yield Draft(of.name, side, of.ask("ask_all", side, name=member), tuple(golden), (member,), numbers)


def _things_of_a_kind(of: KindFacts) -> Iterator[Draft]:
    numbers = tuple(range(1, SEVERAL + 1))
    for some, side in itertools.product(itertools.combinations(of.members, SEVERAL), of.sides("ask_kind")):
        settled = (*some, *(member for member in of.members if member not in some))
        query = of.ask("ask_kind", side, kind=of.name)
        yield Draft(of.name, side, query, of.numbered_facts(side, some), settled, numbers, premise=True)


def _comparisons(of: KindFacts) -> Iterator[Draft]:
    for names, side in itertools.product(itertools.combinations(of.members, COMPARED), of.sides("most")):
        query = of.ask("most", side, names=of.world.placeholders.comma.join(names))
        yield Draft(of.name, side, query, of.numbered_facts(side, names), names, names=names)


def _in_common(of: KindFacts) -> Iterator[Draft]:
    pairs = itertools.permutations(of.members, 2) if of.kind.member else ()
    for (member, other), side, shared in itertools.product(pairs, of.sides("common"), (1, 2)):
        values = of.fact("fact", member, side, "X1"), of.fact("also", member, side, "X2")
        golden = (*values, of.membership(other), of.general(side, f"X{shared}"))
        query = of.ask("common", side, first=member, second=other)
        yield Draft(of.name, side, query, golden, (member, other), (shared,), premise=True)


def _inherited(of: KindFacts) -> Iterator[Draft]:
    members = of.members if of.kind.member else ()
    for member, side, has_own_fact in itertools.product(members, of.sides(), (False, True)):
        golden = [of.membership(member), of.general(side, "X1")]
        golden += [of.fact("fact", member, side, "X2")] if has_own_fact else []
        query = of.ask("ask", side, name=member)
        yield Draft(of.name, side, query, tuple(golden), (member,), (2 if has_own_fact else 1,), premise=True)


def _related(of: KindFacts) -> Iterator[Draft]:
    pairs = itertools.permutations(of.members, 2)
    for (name, other), relation, side in itertools.product(pairs, of.kind.relations, of.sides("feature")):
        rule = relation.rule.format(kind=of.name, feature=of.world.dimensions[side].feature)
        fact = Fact(name, relation.fact.format(name=name, other=other))
        golden = (fact, Fact(of.name, rule, general=True), of.fact("fact", other, side, "X1"))
        yield Draft(of.name, side, of.ask("ask", side, name=name), golden, (name, other), premise=True)


_DRAFTS: Mapping[Subtask, Callable[[KindFacts], Iterator[Draft]]] = {
    "filter": _filter,
    "combination_v1": _two_things,
    "combination_v2": _several_values,
    "combination_v3": _things_of_a_kind,
    "comp": _comparisons,
    "compare_ad": _in_common,
    "deductive_v1": _inherited,
    "deductive_v2": _related,
}
