"""Where the replies of an episode come from: the run's journal, the cache, or else the LLM; and what was paid."""

from __future__ import annotations

import dataclasses
import time

from r_eval.llms.base import LLM, Reply, Request
from r_eval.llms.cache import EpisodeCache, ReplyCache
from r_eval.llms.journal import ReplyLog
from r_eval.llms.replies import Journal
from r_eval.records import Tokens


@dataclasses.dataclass(slots=True)
class Spent:
    """What a run really asked of an LLM, beside what its records say that the episodes take.

    Attributes:
        calls: Replies that the LLM made.
        cached: Replies that came from the cache, and cost nothing.
        cost: USD for `calls`; None where no price is known.
        tokens: Read and written in `calls`.
        seconds: Wall time during which episodes of the LLM were carried out.
    """

    calls: int = 0
    cached: int = 0
    cost: float | None = 0.0
    tokens: int = 0
    seconds: float = 0.0

    def pay(self, tokens: Tokens, cost: float | None) -> None:
        """Count a reply that the LLM made."""
        self.calls += 1
        self.tokens += tokens.prompt + tokens.completion
        self.cost = None if cost is None or self.cost is None else self.cost + cost


@dataclasses.dataclass(frozen=True, slots=True)
class Memory:
    """What a run remembers of replies.

    Attributes:
        cache: None where the run is to use none.
        cache_all: Whether replies of LLMs that are not greedy are kept as well.
    """

    journal: ReplyLog | None = None
    cache: ReplyCache | None = None
    cache_all: bool = False
    spent: dict[str, Spent] = dataclasses.field(default_factory=dict)

    def of_episode(self, llm: LLM, episode: str, scope: str, epoch: int) -> Answers:
        """The replies of one episode; `scope` is the fingerprint of its cell."""
        journal = Journal(self.journal, episode, scope) if self.journal is not None else None
        wanted = self.cache_all or (llm.cached and llm.temperature == 0)
        cache = EpisodeCache(self.cache, llm, epoch) if self.cache is not None and wanted else None
        return Answers(llm, journal, cache, self.spent.setdefault(llm.name, Spent()))


class Answers:
    """The replies of one episode of one LLM.

    Attributes:
        kept_seconds: Seconds that replies from the journal and the cache took when they were made.
    """

    def __init__(self, llm: LLM, journal: Journal | None, cache: EpisodeCache | None, spent: Spent) -> None:
        self._llm, self._journal, self._cache, self._spent = llm, journal, cache, spent
        self.kept_seconds = 0.0
        if journal is not None and cache is not None:
            cache.digests = journal.digests

    async def answer(self, request: Request) -> tuple[Reply, float]:
        """The reply to the episode's next request, and the seconds that it takes.

        Raises:
            LLMError: There is none.
        """
        key = self._journal.key(request) if self._journal else ""
        asked = self._cache.asked(request) if self._cache else None
        kept = self._journal.get(key) if self._journal else None
        if kept is None and self._cache and asked:
            kept = await self._cache.find(asked)
            self._spent.cached += kept is not None
        if kept is not None:
            self.kept_seconds += kept[1]
            return kept
        started = time.perf_counter()
        reply = await self._llm.generate(request)
        seconds = time.perf_counter() - started
        self._spent.pay(reply.tokens, self._llm.cost(reply.tokens))
        if self._journal:
            self._journal.put(key, reply, seconds)
        if self._cache and asked and flaw(reply) is None:
            self._cache.put(asked, reply, seconds)
        return reply, seconds


def flaw(reply: Reply) -> str | None:
    """Why a reply is not a whole one; None where it is."""
    if reply.finish in ("length", "content_filter", "refusal"):
        return reply.finish
    return None if reply.text.strip() or reply.tool_calls else "empty"
