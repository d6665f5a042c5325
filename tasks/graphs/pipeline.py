"""Generates the questions of a graph file: samples, plans, words, checks and filters; counts dropped ones by reason."""

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
from r_eval.tasks.graphs.graph_file import GraphFile, GraphPart
from r_eval.tasks.graphs.source import TripleSource
from r_eval.tasks.graphs.wording import facts, word, word_by_llm
from r_eval.tasks.llm_client import LLMClient
from r_eval.tasks.phrases import contains_phrase
from r_eval.tasks.questions import folded
from r_eval.tasks.solving import Solved, same_values, solve
from r_eval.tasks.templates import Generated

TRIES, TRIES_OF_LLM = 200, 10
"""Subgraphs tried per requested question before a type is given up; fewer with an LLM, which costs money."""
AT_LEAST = 30
"""Minimum number of subgraphs to try."""
AT_ONCE = 500
"""Subgraphs per batch."""
TRIMMED = ("simple", "multi-hop")
"""The types that DRAGON trims."""
WORDS = {
    "simple": ("forward", "backward"),
    "set": ("forward", "backward", "forward_all", "backward_all"),
    "multi-hop": ("forward", "backward", "subject", "object"),
    "conditional": ("subject", "object"),
    "comparison": ("larger", "smaller"),
}
"""By type, the words of a relation of which its questions need some."""


async def generate(
    file: GraphFile,
    source: TripleSource,
    sandbox: Sandbox,
    count: int,
    seed: int,
    similarity: judge.Similarity,
    replies: ReplyStores | None = None,
) -> Generated:
    """Generate questions in equal numbers per type.

    Other types replace a type that runs short, unless the file sets `per_type`.

    Args:
        count: Number of questions; there may be fewer if the graph has too few subgraphs.
        similarity: Compares the answers of the filter closed_book.
        replies: The cache of LLM replies.

    Raises:
        UserError: The file names a relation that is not in the graph, or an LLM failed.
    """
    for relation in file.graph.relations:
        if relation not in source.graph.by_relation:
            raise UserError(f"graph.relations: {unknown('relation', relation, source.graph.by_relation)}")
    async with contextlib.AsyncExitStack() as stack:
        clients = {name: await stack.enter_async_context(LLMClient(name, replies)) for name in file.graph.llms}
        pipeline = _Pipeline(file.graph, source, sandbox, seed, clients, similarity)
        await pipeline.make(count)
    return pipeline.result


Draft = tuple[QuestionPlan, Question]


@dataclasses.dataclass
class _Pipeline:
    part: GraphPart
    source: TripleSource
    sandbox: Sandbox
    seed: int
    clients: Mapping[str, LLMClient]
    similarity: judge.Similarity
    result: Generated = dataclasses.field(default_factory=Generated)
    texts: set[str] = dataclasses.field(default_factory=set)

    async def make(self, count: int) -> None:
        """Fill `result` in rounds, until there are enough questions or every type has run short."""
        part = self.part
        if part.llm is None:
            self._drop("relation without words", len(self.source.graph.by_relation) - len(part.relations))
        able = {
            type: [name for name, words in part.relations.items() if any(getattr(words, key) for key in WORDS[type])]
            for type in part.types
        }
        streams: dict[str, Iterator[Subgraph]] = {
            type: sample(self.source.graph, type, self.seed, None if part.llm else able[type]) for type in part.types
        }
        drafts_by_type: dict[str, list[Draft]] = {type: [] for type in part.types}
        unfinished: list[str] = [*part.types]
        while unfinished and (missing := count - sum(map(len, drafts_by_type.values()))) > 0:
            for type, number in quotas(unfinished, missing).items():
                batch = await self._some(type, streams[type], number)
                drafts_by_type[type] += batch
                if len(batch) < number or part.per_type:
                    unfinished.remove(type)
        for type in (one for one in TRIMMED if one in part.types):
            drafts = drafts_by_type[type]
            values = [judge.presence(plan, question.question, question.answers[0]) for plan, question in drafts]
            outside = [None if inside else "trimmed" for inside in judge.trim(values, part.filters.trim)]
            drafts_by_type[type] = self._filter(drafts, outside)
        self.result.questions = [question for drafts in drafts_by_type.values() for _, question in drafts]

    async def _some(self, type: str, stream: Iterator[Subgraph], number: int) -> list[Draft]:
        """A number of questions of a type, or fewer if it runs short."""
        drafts: list[Draft] = []
        budget = (TRIES_OF_LLM if self.clients else TRIES) * number + AT_LEAST
        while len(drafts) < number and (batch := list(islice(stream, min(number - len(drafts), AT_ONCE, budget)))):
            budget -= len(batch)
            drafts += await self._batch(batch)
        self._drop(f"{type}: too few subgraphs give a question", budget == 0)
        return drafts

    async def _batch(self, subgraphs: list[Subgraph]) -> list[Draft]:
        """The questions of subgraphs that pass every check, in order."""
        drafts = [draft for draft in map(self._draft, subgraphs) if draft is not None]
        solved = await solve([question for _, question in drafts], self.source.environment, self.sandbox)
        reasons = {run.question.id: _unsolved(run) for run in solved}
        drafts = self._filter(drafts, [reasons.get(question.id) for _, question in drafts])
        if self.part.llm is not None:
            client = self.clients[self.part.llm]
            texts = await asyncio.gather(*(word_by_llm(plan, client) for plan, _ in drafts))
            for (_, question), text in zip(drafts, texts, strict=True):
                question.question = text or ""
            drafts = self._filter(drafts, [None if text else "no question in the reply" for text in texts])
        drafts = self._filter(drafts, [self._rule_violation(*draft) for draft in drafts])
        return self._filter(drafts, await asyncio.gather(*(self._rejection(*draft) for draft in drafts)))

    def _filter(self, drafts: list[Draft], reasons: list[str | None]) -> list[Draft]:
        """The drafts without a reason for rejection; the others are counted."""
        for (_, question), reason in zip(drafts, reasons, strict=True):
            if reason is not None:
                self.result.drop(reason, question.question)
        return [draft for draft, reason in zip(drafts, reasons, strict=True) if reason is None]

    def _draft(self, subgraph: Subgraph) -> Draft | None:
        """A seeded choice among the plans with one answer and a wording, preferring plans with a program."""
        part, reasons, drafts = self.part, list[str](), list[Draft]()
        possible = plans(subgraph) if self.source.is_documented(subgraph) else []
        for plan in sorted(possible, key=lambda p: _digest(f"{self.seed}/{p.key}", 8)):
            reason = plan.rejection_reason(self.source.graph)
            text = word(plan, part.relations, part.frames) if part.llm is None and reason is None else ""
            if reason is None and text is not None:
                program = gold_program(plan, part.program, part.relations) if part.program else None
                drafts.append((plan, self._question(plan, text, program)))
            reasons.append(reason or "no words")
        if not drafts:
            self._drop(reasons[0] if reasons else "document missing")
            return None
        return next((draft for draft in drafts if draft[1].program), drafts[0])

    def _question(self, plan: QuestionPlan, text: str, program: str | None) -> Question:
        subgraph, texts = plan.subgraph, self.source.texts(plan.subgraph)
        meta: dict[str, Any] = {"type": subgraph.type, "triples": [list(triple) for triple in subgraph.triples]}
        meta |= {"shape": subgraph.shape, "bridge": plan.bridge}
        if self.source.is_corpus:
            meta |= {"text_ids": list(texts), "sources": [document.text for document in texts.values()]}
        return Question(
            id=f"{subgraph.type}-{_digest(plan.key, 6)}",
            question=text,
            answers=["; ".join(plan.answers)],
            level="KS" if subgraph.type == "simple" else "KA",
            program=program,
            evidence=list(plan.evidence),
            context=[] if self.source.is_corpus else list(texts.values()),
            entities=list(plan.evidence),
            meta={key: value for key, value in meta.items() if value},
        )

    def _rule_violation(self, plan: QuestionPlan, question: Question) -> str | None:
        text = folded(question.question)
        reason = judge.rule_violation(plan, question.question, self.part.llm is None)
        if reason is None and text in self.texts:
            return "duplicate"
        self.texts |= {text} if reason is None else set()
        return reason

    async def _rejection(self, plan: QuestionPlan, question: Question) -> str | None:
        """Why an LLM filter rejects a question; None if it passes."""
        filters, texts = self.part.filters, self.source.texts(plan.subgraph).values()
        if filters.entities is not None and texts:
            client = self.clients[filters.entities]
            entities = await asyncio.gather(*(judge.named_entities(document.text, client) for document in texts))
            if not judge.mentions_entity(plan, [name for names in entities for name in names]):
                return "no named entity"
        context = "\n\n".join(document.text for document in texts) or facts(plan)
        return await judge.rejection(question, context, filters, self.clients, self.similarity)

    def _drop(self, reason: str, number: int = 1) -> None:
        if number:
            self.result.dropped[reason] += number


def quotas(types: Sequence[str], count: int) -> dict[str, int]:
    """Divide a number evenly among types.

    >>> quotas(["simple", "set"], 5)
    {'simple': 3, 'set': 2}
    """
    return {type: count // len(types) + (place < count % len(types)) for place, type in enumerate(types)}


def _unsolved(solved: Solved) -> str | None:
    """Why a program does not confirm its question; None if it does."""
    if solved.error:
        return "program fails"
    if not same_values(solved.answer, solved.question.answers[0]):
        return "program gives another answer"
    observations = "\n".join(step.observation or "" for step in solved.steps)
    if not all(contains_phrase(observations, text) for text in solved.question.evidence):
        return "evidence not observed"
    return None


def _digest(text: str, size: int) -> str:
    return hashlib.blake2b(text.encode(), digest_size=size).hexdigest()
