"""What the records of a sub-task can ask: a question in words, and the facts that its answer follows from.

- `filter`: one fact of one thing.
- `combination_v1`: the same side of two things, both named. `_v2`: a side of one thing with several values. `_v3`: a
  side of a kind, of which several things of that kind tell.
- `comp`: which of three things has most of something. `compare_ad`: what two things have in common, where of one of
  them only the kind is told, and what holds for the kind.
- `deductive_v1`: what holds for the kind holds for the thing, unless it has a fact of its own. `deductive_v2`: a rule
  by which a thing has what another has that it is related to.
"""

from __future__ import annotations

import collections
import dataclasses
import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from r_eval.tasks.placeholders.expressions import And, Expression, Literal, written
from r_eval.tasks.placeholders.variants import shuffled
from r_eval.tasks.placeholders.world import Subtask, World

COMPARED = SEVERAL = 3
"""Things that are compared, and values or things that answer together."""


@dataclasses.dataclass(frozen=True, slots=True)
class Fact:
    """A sentence that one document tells.

    Attributes:
        subject: The thing or kind that it is about.
        value: What stands in it for a value, or a placeholder; "" where nothing does.
        general: Whether it is about a kind.
    """

    subject: str
    text: str
    value: str = ""
    general: bool = False


@dataclasses.dataclass(frozen=True)
class Draft:
    """A question in words, and what its answer follows from.

    Attributes:
        side: The dimension that is asked for.
        golden: The facts of the right documents, with placeholders X1, X2, ...
        answered_by: Numbers of the placeholders whose values the answer must hold.
        settled: Members of whose side nothing else may be told.
        names: Of what is compared; then the answer is the one with the highest value.
        premise: Whether another statement about the kind's side would disturb.
    """

    kind: str
    side: str
    query: str
    golden: tuple[Fact, ...]
    settled: tuple[str, ...]
    answered_by: tuple[int, ...] = (1,)
    names: tuple[str, ...] = ()
    premise: bool = False

    @property
    def placeholders(self) -> list[str]:
        return sorted({fact.value for fact in self.golden if fact.value})

    @property
    def key(self) -> str:
        """A name of its own among the drafts of a sub-task."""
        return "\0".join([self.query, *(fact.text for fact in self.golden)])

    def arranged(self, values: dict[str, str], winner: int) -> dict[str, str]:
        """The values in an order in which the thing at a place, counted round and round, wins the comparison."""
        if not self.names:
            return values
        others = sorted(values.values(), key=int)
        highest = others.pop()
        others.insert(winner % len(self.names), highest)
        return dict(zip(values, others, strict=True))

    def answer(self, values: Mapping[str, str]) -> str:
        """The answer under these values: an expression."""
        if self.names:
            numbers = [int(value) for value in values.values()]
            return written(Literal(self.names[numbers.index(max(numbers))]))
        parts: list[Expression] = [Literal(values[f"X{number}"]) for number in self.answered_by]
        return written(And(tuple(parts)) if len(parts) > 1 else parts[0])

    def program(self, top_k: int) -> str:
        """A program that finds the answer through `retrieve`; the same under all values."""
        valued = [fact for fact in self.golden if fact.value]
        shared = len(valued) > len(self.placeholders)  # the answer is what two facts have in common
        asked = {f"X{number}" for number in self.answered_by}
        wanted = valued if self.names or shared else [fact for fact in valued if fact.value in asked]
        lines = [
            "import re",
            f"found = retrieve(query={self.query!r}, top_k={top_k})",
            "text = '\\n\\n'.join([passage['text'] for passage in found])",
            "values = []",
            f"for pattern in {list(dict.fromkeys(map(_pattern, wanted)))!r}:",
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
    """What finds a fact whatever stands in place of its placeholder, which is its group."""
    before, _, after = (re.sub(r"[\\.^$*+?{}()|\[\]]", r"\\\g<0>", part) for part in fact.text.partition(fact.value))
    return f"{before}([^\\n]+?){after}"


def drafts(subtask: Subtask, world: World) -> list[Draft]:
    """All that a sub-task can ask about in a world."""
    return [draft for kind in world.kinds for draft in _DRAFTS[subtask](world, kind)]


def spread(found: Sequence[Draft], wanted: int, seed: int) -> list[Draft]:
    """Some of the drafts by chance, about as many of one form, of one thing and of one side as of another."""
    place = {key: at for at, key in enumerate(shuffled([draft.key for draft in found], seed))}
    left = sorted(found, key=lambda draft: place[draft.key])
    taken: list[Draft] = []
    had = collections.Counter[object]()
    while left and len(taken) < wanted:
        chosen = min(left, key=lambda draft: [had[trait] for trait in _traits(draft)])
        left.remove(chosen)
        had.update(_traits(chosen))
        taken.append(chosen)
    return taken


def _traits(draft: Draft) -> tuple[object, ...]:
    return (len(draft.golden), draft.answered_by), draft.settled[0], draft.side


def plain_fact(world: World, member: str, side: str, value: str) -> Fact:
    """That a thing has a value."""
    return Fact(member, world.dimensions[side].fact.format(name=member, value=value), value)


def general_fact(world: World, kind: str, side: str, value: str) -> Fact:
    """That a kind has a value in general."""
    return Fact(kind, world.dimensions[side].general.format(kind=kind, value=value), value, general=True)


def _also(world: World, member: str, side: str, value: str) -> Fact:
    return Fact(member, (world.dimensions[side].also or "").format(name=member, value=value), value)


def _of_the_kind(world: World, member: str, kind: str) -> Fact:
    return Fact(member, (world.kinds[kind].member or "").format(name=member, kind=kind))


def _with_words(world: World, kind: str, *keys: str) -> list[str]:
    """The dimensions of a kind that have these sentences."""
    return [d for d in world.kinds[kind].dimensions if all(getattr(world.dimensions[d], key) for key in keys)]


def _filter(world: World, kind: str) -> Iterator[Draft]:
    for member, side in itertools.product(world.kinds[kind].members, _with_words(world, kind)):
        query = world.dimensions[side].ask.format(name=member)
        yield Draft(kind, side, query, (plain_fact(world, member, side, "X1"),), (member,))


def _two_things(world: World, kind: str) -> Iterator[Draft]:
    pairs = itertools.combinations(world.kinds[kind].members, 2)
    for pair, side in itertools.product(pairs, _with_words(world, kind)):
        query = world.placeholders.gap.join(world.dimensions[side].ask.format(name=name) for name in pair)
        yield Draft(kind, side, query, _numbered(world, side, pair), pair, (1, 2))


def _several_values(world: World, kind: str) -> Iterator[Draft]:
    for member, side in itertools.product(world.kinds[kind].members, _with_words(world, kind, "also")):
        more = (_also(world, member, side, f"X{number}") for number in range(2, SEVERAL + 1))
        golden = (plain_fact(world, member, side, "X1"), *more)
        query = (world.dimensions[side].ask_all or "").format(name=member)
        yield Draft(kind, side, query, golden, (member,), tuple(range(1, SEVERAL + 1)))


def _things_of_a_kind(world: World, kind: str) -> Iterator[Draft]:
    members = tuple(world.kinds[kind].members)
    for some, side in itertools.product(itertools.combinations(members, SEVERAL), _with_words(world, kind, "ask_kind")):
        query, numbers = (world.dimensions[side].ask_kind or "").format(kind=kind), tuple(range(1, SEVERAL + 1))
        settled = (*some, *(member for member in members if member not in some))
        yield Draft(kind, side, query, _numbered(world, side, some), settled, numbers, premise=True)


def _compared(world: World, kind: str) -> Iterator[Draft]:
    trios = itertools.combinations(world.kinds[kind].members, COMPARED)
    for names, side in itertools.product(trios, _with_words(world, kind, "most")):
        query = (world.dimensions[side].most or "").format(names=world.placeholders.comma.join(names))
        yield Draft(kind, side, query, _numbered(world, side, names), names, names=names)


def _in_common(world: World, kind: str) -> Iterator[Draft]:
    if world.kinds[kind].member is None:
        return
    pairs = itertools.permutations(world.kinds[kind].members, 2)
    for (own, heir), side, shared in itertools.product(pairs, _with_words(world, kind, "common"), (1, 2)):
        golden = (
            plain_fact(world, own, side, "X1"),
            _also(world, own, side, "X2"),
            _of_the_kind(world, heir, kind),
            general_fact(world, kind, side, f"X{shared}"),
        )
        query = (world.dimensions[side].common or "").format(first=own, second=heir)
        yield Draft(kind, side, query, golden, (own, heir), (shared,), premise=True)


def _inherited(world: World, kind: str) -> Iterator[Draft]:
    if world.kinds[kind].member is None:
        return
    for member, side, own in itertools.product(world.kinds[kind].members, _with_words(world, kind), (False, True)):
        golden = [_of_the_kind(world, member, kind), general_fact(world, kind, side, "X1")]
        golden += [plain_fact(world, member, side, "X2")] if own else []
        query = world.dimensions[side].ask.format(name=member)
        yield Draft(kind, side, query, tuple(golden), (member,), (2 if own else 1,), premise=True)


def _related(world: World, kind: str) -> Iterator[Draft]:
    own = world.kinds[kind]
    pairs = itertools.permutations(own.members, 2)
    for (name, other), relation, side in itertools.product(pairs, own.relations, _with_words(world, kind, "feature")):
        golden = (
            Fact(name, relation.fact.format(name=name, other=other)),
            Fact(kind, relation.rule.format(kind=kind, feature=world.dimensions[side].feature), general=True),
            plain_fact(world, other, side, "X1"),
        )
        query = world.dimensions[side].ask.format(name=name)
        yield Draft(kind, side, query, golden, (name, other), premise=True)


def _numbered(world: World, side: str, names: Iterable[str]) -> tuple[Fact, ...]:
    return tuple(plain_fact(world, name, side, f"X{number}") for number, name in enumerate(names, 1))


_DRAFTS: Mapping[Subtask, Callable[[World, str], Iterator[Draft]]] = {
    "filter": _filter,
    "combination_v1": _two_things,
    "combination_v2": _several_values,
    "combination_v3": _things_of_a_kind,
    "comp": _compared,
    "compare_ad": _in_common,
    "deductive_v1": _inherited,
    "deductive_v2": _related,
}
