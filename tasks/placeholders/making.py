"""Generates records with placeholders from the `drafts` of a world.

Noise has three levels: facts of things of other kinds, the same dimension of siblings, and general facts of the kind.
If one of these would also answer the question, the level uses other dimensions instead.

Each document surrounds one fact with sentences of the world or of an LLM. Each record also has a `program`, which
PRGB's format lacks: it finds the answer through the query API of the environment `documents`.

The values of a record's variants are unique and occur nowhere else in the record. The same file produces the same
bytes.
"""

from __future__ import annotations

import asyncio
import collections
import functools
import itertools
import json
import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from r_eval.environments.documents import MOST_PASSAGES
from r_eval.errors import UserError
from r_eval.languages import language_of
from r_eval.llms.replay import ReplyStores
from r_eval.seeds import Seeds
from r_eval.tasks.llm_client import LLMClient, prompt
from r_eval.tasks.loaders.base import Data, formats
from r_eval.tasks.loaders.prgb import questions
from r_eval.tasks.placeholders.drafts import COMPARED, Draft, Fact, KindFacts, drafts, spread
from r_eval.tasks.placeholders.record import Kind, PlaceholderRecord, placeholders_in
from r_eval.tasks.placeholders.variants import LEVELS, shuffled
from r_eval.tasks.placeholders.world import Values, World, read_world

SUFFIX = ".placeholders.yaml"
"""The end of the name of an embedded world."""
WEAK, OTHERS = 8, 2
"""Maximum facts of other kinds in a record, and of other dimensions of the kind."""
TRIES = 1000

Writer = Callable[[Fact], str]
"""Writes the document of a fact."""


def make_records(
    world: World, count: int | None = None, seed: int | None = None, document: Writer | None = None
) -> list[dict[str, Any]]:
    """Generate the records of a world in the order of the sub-tasks; there may be fewer than requested.

    Args:
        count: Number per sub-task; default: as in the world.
        seed: Replaces the world's seed.
        document: Writes the document of a fact instead of the world's sentences.

    Raises:
        UserError: A sort has too few values.
    """
    maker = _RecordMaker(world, world.placeholders.seed if seed is None else seed, document)
    records = []
    for subtask, n_wanted in world.placeholders.records.items():
        number = count if count and n_wanted else n_wanted
        topics = spread(drafts(subtask, world), number, Seeds(maker.seed, subtask, 0).of("topics"))
        records += [maker.record(f"{subtask}-{place}", draft) for place, draft in enumerate(topics, 1)]
    return records


async def write_documents(
    world: World, llm: str, replies: ReplyStores, count: int | None = None, seed: int | None = None
) -> tuple[dict[Fact, str], collections.Counter[str]]:
    """Have an LLM write a document around each fact of the records of a world; see `make_records`.

    Facts without a valid document keep the world's sentences and are counted by reason.

    Raises:
        UserError: The LLM failed.
    """
    facts: dict[Fact, str] = {}
    make_records(world, count, seed, lambda fact: facts.setdefault(fact, frame_fact(world, fact)))
    failed = collections.Counter[str]()
    async with LLMClient(llm, replies) as writer:
        prompts = (prompt(f"placeholder-{language_of(f.text)}", name=f.subject, fact=f.text) for f in facts)
        documents = await asyncio.gather(*map(writer.complete, prompts))
    for fact, reply in zip(list(facts), documents, strict=True):
        text = " ".join(reply.split())
        if reason := _unusable(text, fact):
            failed[reason] += 1
        else:
            facts[fact] = text
    return facts, failed


def _unusable(text: str, fact: Fact) -> str:
    """Why an LLM's document is rejected; "" if it is accepted."""
    if text.count(fact.text) != 1:
        return "documents without the sentence, or with it twice"
    rest = text.replace(fact.text, "")
    if len(rest) < len(fact.subject):
        return "documents of the sentence alone"
    if any(char.isdigit() for char in rest) or (fact.value and fact.value in rest):
        return "documents with a number or the value besides"
    return ""


def lines(records: Iterable[Mapping[str, Any]]) -> str:
    """Records as JSON Lines."""
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)


def world_data(world: Path, kind: Kind, settings: Mapping[str, Any]) -> Data:
    """The questions of one kind from a world; without settings, those of the embedded file.

    Args:
        settings: `noise`, `variants` and `resample`, as in `data:` with this format.

    Raises:
        UserError: The world or a setting is wrong.
    """
    data = Data("prgb")
    records = (record for record in _valid_records(world) if record.kind == kind)
    data.questions = tuple(questions(records, formats()["prgb"].read_settings(settings), data))
    return data


@functools.cache
def _valid_records(world: Path) -> list[PlaceholderRecord]:
    return [PlaceholderRecord.model_validate(record) for record in make_records(read_world(world))]


def frame_fact(world: World, fact: Fact) -> str:
    """A document about a fact in the world's own sentences."""
    frames = world.placeholders.premises if fact.general else world.placeholders.documents
    if not frames:
        return fact.text
    frame = shuffled(frames, Seeds(0, fact.text, 0).of("document"))[0]
    return frame.format(name=fact.subject, kind=fact.subject, fact=fact.text)


class _RecordMaker:
    """Generates the records of one world, which share its facts."""

    def __init__(self, world: World, seed: int, document: Writer | None) -> None:
        self.world, self.seed = world, seed
        self.document = document or functools.partial(frame_fact, world)
        draw = random.Random(Seeds(self.seed, "world", 0).of("facts"))
        used_values: dict[str, set[str]] = collections.defaultdict(set)
        self._values: dict[tuple[str, str], str] = {}
        for kind_name, kind in world.kinds.items():
            for side in kind.dimensions:
                sort = world.dimensions[side].values
                for subject in (*kind.members, f"\0{kind_name}"):
                    value = world.facts.get(subject, {}).get(side)
                    if not value:  # reuse a value only if there are no others
                        value = next(new_values(world.values[sort], draw, used_values[sort]), "")
                        value = value or next(new_values(world.values[sort], draw, set()))
                        used_values[sort].add(value)
                    self._values[subject, side] = value

    def record(self, id: str, draft: Draft) -> dict[str, Any]:
        """One record; the values of its variants occur in none of its texts.

        Raises:
            UserError: There are too few values for its variants.
        """
        golden = [self.document(fact) for fact in draft.golden]
        noise = [[self.document(fact) for fact in level] for level in self._noise(draft)]
        draw = random.Random(Seeds(self.seed, id, 0).of("values"))
        texts = "\n".join([draft.query, *golden, *(text for level in noise for text in level)])
        sort = self.world.dimensions[draft.side].values
        used: set[str] = set()
        start = draw.randrange(COMPARED)
        variants = []
        for number in range(self.world.placeholders.variants):
            values = {}
            for token in draft.placeholders:
                for value in new_values(self.world.values[sort], draw, used):
                    used.add(value)
                    if not placeholders_in(texts, frozenset({value})):
                        values[token] = value
                        break
                else:
                    raise UserError(f"values.{sort}: too few of them for the variants of {id}")
            variants.append(draft.arranged(values, start + number))
        return {
            "id": id,
            "query": draft.query,
            "golden_doc": golden,
            **dict(zip(LEVELS.values(), noise, strict=True)),
            "placeholder_item": {"placeholders": variants, "answer": [draft.answer(values) for values in variants]},
            "program": draft.program(MOST_PASSAGES),
        }

    def _noise(self, draft: Draft) -> tuple[list[Fact], list[Fact], list[Fact]]:
        """The facts of the three noise levels."""

        def facts(kind: str, members: Iterable[str], sides: Iterable[str]) -> list[Fact]:
            of = KindFacts(self.world, kind)
            pairs = itertools.product(members, sides)
            return [of.fact("fact", member, side, self._values[member, side]) for member, side in pairs]

        kind_facts = KindFacts(self.world, draft.kind)
        far = [
            fact
            for name, other in self.world.kinds.items()
            if name != draft.kind
            for fact in facts(name, other.members, other.dimensions)
        ]
        others = [side for side in kind_facts.kind.dimensions if side != draft.side]
        near = facts(draft.kind, [member for member in kind_facts.members if member not in draft.settled], [draft.side])
        near = near or facts(draft.kind, kind_facts.members, others)
        sides = others if draft.premise else [draft.side]
        above = [kind_facts.general(side, self._values[f"\0{draft.kind}", side]) for side in sides]
        seed = Seeds(self.seed, draft.key, 0).of("noise")
        return _some(far, seed, WEAK), _some(near, seed, WEAK), _some(above, seed, OTHERS)


def _some(facts: Iterable[Fact], seed: int, most: int) -> list[Fact]:
    """A random sample of facts."""
    by_text = {fact.text: fact for fact in facts}
    return [by_text[text] for text in shuffled(list(by_text), seed)[:most]]


def new_values(values: Values, draw: random.Random, used: set[str]) -> Iterator[str]:
    """Random unused values; ends when hardly any are left."""
    if values.of:
        yield from (value for value in draw.sample(values.of, len(values.of)) if value not in used)
        return
    for _ in range(TRIES):
        if values.from_ is not None:
            value = str(draw.randint(values.from_, values.to or 0))
        else:
            value = "".join(draw.choice(part) for part in values.parts)
        if value not in used:
            yield value
