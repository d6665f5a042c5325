"""Questions of a graph file: sampled, asked, worded, checked, filtered; and what was dropped, counted by reason."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import hashlib
from collections.abc import Iterator, Mapping
from itertools import islice

from r_eval.environments.sandbox import Sandbox
from r_eval.errors import UserError
from r_eval.llms.replay import ReplyStores
from r_eval.plugins import unknown
from r_eval.records import Level, Question
from r_eval.tasks.graphs import asking as asked
from r_eval.tasks.graphs import filters, judging
from r_eval.tasks.graphs.asking import Asking, askings
from r_eval.tasks.graphs.file import GraphFile, Words
from r_eval.tasks.graphs.judging import Similarity
from r_eval.tasks.graphs.programs import program_of
from r_eval.tasks.graphs.rewording import facts, reworded
from r_eval.tasks.graphs.sampling import Subgraph, sample
from r_eval.tasks.graphs.source import Source
from r_eval.tasks.graphs.wording import worded
from r_eval.tasks.llm_client import LLMClient
from r_eval.tasks.questions import folded
from r_eval.tasks.solving import Solved, same_values, solve
from r_eval.tasks.templates import Generated

TRIES, TRIES_OF_LLM = 200, 10
"""Subgraphs tried for each question that is wanted, before a type is given up; fewer where an LLM is paid for each."""
AT_LEAST = 30
"""Subgraphs that are tried in any case."""
AT_ONCE = 500
"""Subgraphs worked on together."""


async def generate(
    file: GraphFile,
    source: Source,
    sandbox: Sandbox,
    count: int,
    seed: int,
    similarity: Similarity,
    memory: ReplyStores | None = None,
) -> Generated:
    """Make questions, in the proportion of types that the file states; types that have enough make up for others.

    Args:
        count: How many are wanted; fewer come where the graph does not give more.
        similarity: Judges the answers of the filter closed_book.
        memory: Where replies of LLMs are kept, and where they may come from.

    Raises:
        UserError: The file names a relation that the graph does not have, or an LLM failed.
    """
    for relation in file.graph.relations:
        if relation not in source.graph.relation_of:
            raise UserError(f"graph.relations: {unknown('relation', relation, source.graph.relations)}")
    async with contextlib.AsyncExitStack() as stack:
        speakers = {
            name: await stack.enter_async_context(LLMClient(name, memory, file.graph.settings.get(name)))
            for name in file.graph.llms
        }
        maker = _Maker(file, source, sandbox, seed, speakers, similarity)
        await maker.make(count)
    return maker.made


class _Maker:
    def __init__(
        self,
        file: GraphFile,
        source: Source,
        sandbox: Sandbox,
        seed: int,
        speakers: Mapping[str, LLMClient],
        similarity: Similarity,
    ) -> None:
        self.part, self.source, self.sandbox, self.seed = file.graph, source, sandbox, seed
        self.speakers, self.similarity = speakers, similarity
        self.made = Generated()
        self.texts: set[str] = set()
        self.tries = TRIES_OF_LLM if speakers else TRIES

    async def make(self, count: int) -> None:
        shares: dict[str, int] = {type: share for type, share in self.part.types.items() if share}
        wanted = quotas(shares, count)
        streams = {type: self._subgraphs(type) for type in shares}
        left = {type: self.tries * wanted[type] + AT_LEAST for type in shares}
        if self.part.llm is None:
            self._dropped("relation without words", len(self.source.graph.relations) - len(self.part.relations))
        while any(wanted.values()):
            for type in [type for type, number in wanted.items() if number]:
                batch = list(islice(streams[type], min(wanted[type], AT_ONCE, left[type])))
                made = await self._batch(batch)
                self.made.questions += made
                left[type] -= len(batch)
                if len(batch) < min(wanted[type], AT_ONCE):
                    self._dropped(f"{type} given up after many in vain", left[type] == 0)
                    del shares[type]
                    for other, more in quotas(shares, wanted.pop(type) - len(made)).items():
                        wanted[other] += more
                        left[other] += self.tries * more
                else:
                    wanted[type] -= len(made)

    def _subgraphs(self, type: str) -> Iterator[Subgraph]:
        words = self.part.relations
        able = None if self.part.llm is not None else [name for name, own in words.items() if _able(type, own)]
        return sample(self.source.graph, type, self.seed, able)

    async def _batch(self, subgraphs: list[Subgraph]) -> list[Question]:
        """The questions of some subgraphs that stand every test, in their order."""
        drafts = [draft for draft in map(self._draft, subgraphs) if draft is not None]
        drafts = await self._solved(drafts)
        drafts = await self._worded(drafts)
        drafts = [draft for draft in drafts if self._passes(draft)]
        return [draft.question for draft in await self._judged(drafts)]

    def _draft(self, subgraph: Subgraph) -> _Draft | None:
        """A way to ask, chosen by the seed among those that have one answer, words, and a program if any has."""
        if not self.source.documented(subgraph):
            self._dropped("document missing")
            return None
        part = self.part
        reasons: list[str] = []
        drafts: list[_Draft] = []
        for asking in sorted(askings(subgraph), key=lambda a: _digest(f"{self.seed}/{a.text}", 8)):
            reason = asked.flaw(asking, self.source.graph)
            text = worded(asking, part.relations, part.frames) if part.llm is None and reason is None else ""
            if reason is None and text is not None:
                program = program_of(asking, part.program, part.relations) if part.program else None
                drafts.append(_Draft(asking, self._question(asking, text, program)))
            reasons.append(reason or "no words")
        if not drafts:
            self._dropped(reasons[0])
            return None
        return next((draft for draft in drafts if draft.question.program), drafts[0])

    def _question(self, asking: Asking, text: str, program: str | None) -> Question:
        subgraph = asking.subgraph
        level: Level = "KS" if subgraph.type == "simple" else "KA"
        meta = {"type": subgraph.type, "triples": [list(triple) for triple in subgraph.triples]}
        more = {"shape": subgraph.shape, "bridge": asking.bridge}
        return Question(
            id=f"{subgraph.type}-{_digest(asking.text, 6)}",
            question=text,
            answers=["; ".join(asking.answers)],
            level=level,
            program=program,
            evidence=list(asking.evidence),
            context=self.source.context(subgraph),
            entities=list(asking.evidence),
            meta=meta | {key: value for key, value in more.items() if value} | self.source.right(subgraph),
        )

    async def _solved(self, drafts: list[_Draft]) -> list[_Draft]:
        """Those whose program, where they have one, gives the answer and observes the evidence."""
        runs = iter(await solve([draft.question for draft in drafts], self.source.environment, self.sandbox))
        kept: list[_Draft] = []
        for draft in drafts:
            reason = _unsolved(next(runs)) if draft.question.program else None
            if reason is None:
                kept.append(draft)
            else:
                self._dropped(reason)
        return kept

    async def _worded(self, drafts: list[_Draft]) -> list[_Draft]:
        """The same in the words of an LLM, where the file names one."""
        if self.part.llm is None:
            return drafts
        speaker = self.speakers[self.part.llm]
        texts = await asyncio.gather(*(reworded(draft.asking, speaker) for draft in drafts))
        self._dropped("no question in the reply", sum(text is None for text in texts))
        return [draft.saying(text) for draft, text in zip(drafts, texts, strict=True) if text is not None]

    def _passes(self, draft: _Draft) -> bool:
        """Whether it stands the filters that need no model."""
        text = draft.question.question
        reason = filters.flaw(draft.asking, text, None if self.part.llm is None else "")
        if reason is None and folded(text) in self.texts:
            reason = "duplicate"
        if reason is not None:
            self._dropped(reason)
            return False
        self.texts.add(folded(text))
        return True

    async def _judged(self, drafts: list[_Draft]) -> list[_Draft]:
        """Those that stand the filters that ask an LLM."""
        reasons = await asyncio.gather(
            *(
                judging.flaw(draft.question, self._context(draft), self.part.filters, self.speakers, self.similarity)
                for draft in drafts
            )
        )
        for reason in reasons:
            self._dropped(reason or "", reason is not None)
        return [draft for draft, reason in zip(drafts, reasons, strict=True) if reason is None]

    def _context(self, draft: _Draft) -> str:
        """What a judge sees as the context: the documents, else the triples."""
        texts = [document.text for document in self.source.texts(draft.asking.subgraph).values()]
        return "\n\n".join(texts) or facts(draft.asking)

    def _dropped(self, reason: str, number: int = 1) -> None:
        if number:
            self.made.dropped[reason] += number


@dataclasses.dataclass(frozen=True, slots=True)
class _Draft:
    asking: Asking
    question: Question

    def saying(self, text: str) -> _Draft:
        return _Draft(self.asking, self.question.model_copy(update={"question": text}))


def quotas(shares: Mapping[str, int], count: int) -> dict[str, int]:
    """A number divided in proportion, whole numbers only; what is left over goes to the largest remainders.

    >>> quotas({"simple": 2, "set": 1}, 10)
    {'simple': 7, 'set': 3}
    """
    total = sum(shares.values()) or 1
    parts = {name: count * share // total for name, share in shares.items()}
    by_remainder = sorted(shares, key=lambda name: -(count * shares[name] % total))
    for name in by_remainder[: count - sum(parts.values())]:
        parts[name] += 1
    return parts


def _able(type: str, words: Words) -> bool:
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
    if not all(filters.holds(seen, text) for text in solved.question.evidence):
        return "evidence not observed"
    return None


def _digest(text: str, size: int) -> str:
    return hashlib.blake2b(text.encode(), digest_size=size).hexdigest()
