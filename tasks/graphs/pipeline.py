"""Questions of a graph file: sampled, planned, worded, checked, filtered; and what was dropped, counted by reason."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from r_eval.environments.sandbox import Sandbox
from r_eval.errors import UserError
from r_eval.llms.replay import ReplyStores
from r_eval.plugins import unknown
from r_eval.records import Question
from r_eval.tasks.graphs import judge
from r_eval.tasks.graphs.ask import QuestionPlan, gold_program, plans
from r_eval.tasks.graphs.graph import Subgraph, sample
from r_eval.tasks.graphs.graph_file import GraphFile, RelationWords
from r_eval.tasks.graphs.source import Source
from r_eval.tasks.graphs.wording import facts, word, word_by_llm
from r_eval.tasks.llm_client import LLMClient
from r_eval.tasks.phrases import contains_phrase
from r_eval.tasks.questions import folded
from r_eval.tasks.solving import Solved, same_values, solve
from r_eval.tasks.templates import Generated

TRIES, TRIES_OF_LLM = 200, 10
"""Subgraphs tried for each question that is wanted, before a type is given up; fewer where an LLM is paid for each."""
AT_LEAST = 30
"""Subgraphs that are tried in any case."""
AT_ONCE = 500
"""Subgraphs worked on together."""
TRIMMED = ("simple", "multi-hop")
"""The types that DRAGON trims."""


async def generate(
    file: GraphFile,
    source: Source,
    sandbox: Sandbox,
    count: int,
    seed: int,
    similarity: judge.Similarity,
    replies: ReplyStores | None = None,
) -> Generated:
    """Make questions, as many of each type.

    A type that runs short is made up for by others, unless the file says how many there are `per_type`.

    Args:
        count: How many are wanted; fewer come where the graph does not give more.
        similarity: Judges the answers of the filter closed_book.
        replies: Where replies of LLMs are kept, and where they may come from.

    Raises:
        UserError: The file names a relation that the graph does not have, or an LLM failed.
    """
    for relation in file.graph.relations:
        if relation not in source.graph.by_relation:
            raise UserError(f"graph.relations: {unknown('relation', relation, source.graph.by_relation)}")
    async with contextlib.AsyncExitStack() as stack:
        clients = {name: await stack.enter_async_context(LLMClient(name, replies)) for name in file.graph.llms}
        pipeline = _Pipeline(file, source, sandbox, seed, clients, similarity)
        await pipeline.make(count)
    return pipeline.made


@dataclasses.dataclass(frozen=True, slots=True)
class _Draft:
    plan: QuestionPlan
    question: Question


class _Pipeline:
    def __init__(
        self,
        file: GraphFile,
        source: Source,
        sandbox: Sandbox,
        seed: int,
        clients: Mapping[str, LLMClient],
        similarity: judge.Similarity,
    ) -> None:
        self.part, self.source, self.sandbox, self.seed = file.graph, source, sandbox, seed
        self.clients, self.similarity = clients, similarity
        self.made = Generated()
        self.texts: set[str] = set()

    async def make(self, count: int) -> None:
        """Fill `made`: in rounds, until there are enough or every type has run short."""
        part = self.part
        if part.llm is None:
            self._drop("relation without words", len(self.source.graph.by_relation) - len(part.relations))
        able = {type: [name for name, own in part.relations.items() if _is_able(type, own)] for type in part.types}
        streams: dict[str, Iterator[Subgraph]] = {
            type: sample(self.source.graph, type, self.seed, None if part.llm else able[type]) for type in part.types
        }
        made: dict[str, list[_Draft]] = {type: [] for type in part.types}
        unfinished: list[str] = [*part.types]
        while unfinished and (missing := count - sum(map(len, made.values()))) > 0:
            for type, number in quotas(unfinished, missing).items():
                found = await self._some(type, streams[type], number)
                made[type] += found
                if len(found) < number or part.per_type:
                    unfinished.remove(type)
        for type in TRIMMED:
            if drafts := made.get(type):
                values = [judge.presence(d.plan, d.question.question, d.question.answers[0]) for d in drafts]
                outside = [None if inside else "trimmed" for inside in judge.trim(values, part.filters.trim)]
                made[type] = self._filter(drafts, outside)
        self.made.questions = [draft.question for drafts in made.values() for draft in drafts]

    async def _some(self, type: str, stream: Iterator[Subgraph], number: int) -> list[_Draft]:
        """So many questions of a type; fewer where it runs short."""
        found: list[_Draft] = []
        left = (TRIES_OF_LLM if self.clients else TRIES) * number + AT_LEAST
        while len(found) < number and (batch := list(islice(stream, min(number - len(found), AT_ONCE, left)))):
            left -= len(batch)
            found += await self._batch(batch)
        self._drop(f"{type} given up after many in vain", left == 0)
        return found

    async def _batch(self, subgraphs: list[Subgraph]) -> list[_Draft]:
        """The questions of some subgraphs that pass every check, in their order."""
        drafts = [draft for draft in map(self._draft, subgraphs) if draft is not None]
        solved = await solve([draft.question for draft in drafts], self.source.environment, self.sandbox)
        reasons = {run.question.id: _unsolved(run) for run in solved}
        drafts = self._filter(drafts, [reasons.get(draft.question.id) for draft in drafts])
        if self.part.llm is not None:
            client = self.clients[self.part.llm]
            texts = await asyncio.gather(*(word_by_llm(draft.plan, client) for draft in drafts))
            for draft, text in zip(drafts, texts, strict=True):
                draft.question.question = text or ""
            drafts = self._filter(drafts, [None if text else "no question in the reply" for text in texts])
        drafts = self._filter(drafts, list(map(self._rule_violation, drafts)))
        return self._filter(drafts, await asyncio.gather(*map(self._rejection, drafts)))

    def _filter(self, drafts: list[_Draft], reasons: list[str | None]) -> list[_Draft]:
        """Those without a reason against them; the others are counted."""
        for draft, reason in zip(drafts, reasons, strict=True):
            if reason is not None:
                self.made.drop(reason, draft.question.question)
        return [draft for draft, reason in zip(drafts, reasons, strict=True) if reason is None]

    def _draft(self, subgraph: Subgraph) -> _Draft | None:
        """A way to ask, chosen by the seed among those that have one answer, words, and a program if any has."""
        if not self.source.is_documented(subgraph):
            self._drop("document missing")
            return None
        part = self.part
        reasons: list[str] = []
        drafts: list[_Draft] = []
        for plan in sorted(plans(subgraph), key=lambda p: _digest(f"{self.seed}/{p.key}", 8)):
            reason = plan.rejection_reason(self.source.graph)
            text = word(plan, part.relations, part.frames) if part.llm is None and reason is None else ""
            if reason is None and text is not None:
                program = gold_program(plan, part.program, part.relations) if part.program else None
                drafts.append(_Draft(plan, self._question(plan, text, program)))
            reasons.append(reason or "no words")
        if not drafts:
            self._drop(reasons[0])
            return None
        return next((draft for draft in drafts if draft.question.program), drafts[0])

    def _question(self, plan: QuestionPlan, text: str, program: str | None) -> Question:
        subgraph, texts = plan.subgraph, self.source.texts(plan.subgraph)
        meta: dict[str, Any] = {"type": subgraph.type, "triples": [list(triple) for triple in subgraph.triples]}
        meta |= {"shape": subgraph.shape, "bridge": plan.bridge}
        if self.source.searched:
            meta |= {"text_ids": list(texts), "sources": [document.text for document in texts.values()]}
        return Question(
            id=f"{subgraph.type}-{_digest(plan.key, 6)}",
            question=text,
            answers=["; ".join(plan.answers)],
            level="KS" if subgraph.type == "simple" else "KA",
            program=program,
            evidence=list(plan.evidence),
            context=[] if self.source.searched else list(texts.values()),
            entities=list(plan.evidence),
            meta={key: value for key, value in meta.items() if value},
        )

    def _rule_violation(self, draft: _Draft) -> str | None:
        text = draft.question.question
        reason = judge.rule_violation(draft.plan, text, self.part.llm is None)
        if reason is None and folded(text) in self.texts:
            return "duplicate"
        if reason is None:
            self.texts.add(folded(text))
        return reason

    async def _rejection(self, draft: _Draft) -> str | None:
        """Why a filter that asks an LLM rejects a question; None where all pass it."""
        filters, texts = self.part.filters, self.source.texts(draft.plan.subgraph).values()
        if filters.entities is not None and texts:
            client = self.clients[filters.entities]
            found = await asyncio.gather(*(judge.named_entities(document.text, client) for document in texts))
            if not judge.mentions_entity(draft.plan, [name for names in found for name in names]):
                return "no named entity"
        context = "\n\n".join(document.text for document in texts) or facts(draft.plan)
        return await judge.rejection(draft.question, context, filters, self.clients, self.similarity)

    def _drop(self, reason: str, number: int = 1) -> None:
        if number:
            self.made.dropped[reason] += number


def quotas(types: Sequence[str], count: int) -> dict[str, int]:
    """A number divided evenly.

    >>> quotas(["simple", "set"], 5)
    {'simple': 3, 'set': 2}
    """
    return {type: count // len(types) + (place < count % len(types)) for place, type in enumerate(types)}


def _is_able(type: str, words: RelationWords) -> bool:
    """Whether a relation's words can be of use in questions of a type."""
    asks = bool(words.forward or words.backward)
    describes = bool(words.subject or words.object)
    return {
        "simple": asks,
        "set": asks or bool(words.forward_all or words.backward_all),
        "multi-hop": asks or describes,
        "conditional": describes,
        "comparison": bool(words.larger or words.smaller),
    }[type]


def _unsolved(solved: Solved) -> str | None:
    """Why a program is no proof of its question; None where it is."""
    if solved.error:
        return "program fails"
    if not same_values(solved.answer, solved.question.answers[0]):
        return "program gives another answer"
    seen = "\n".join(step.observation or "" for step in solved.steps)
    if not all(contains_phrase(seen, text) for text in solved.question.evidence):
        return "evidence not observed"
    return None


def _digest(text: str, size: int) -> str:
    return hashlib.blake2b(text.encode(), digest_size=size).hexdigest()
