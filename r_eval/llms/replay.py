"""Where the reply to an episode's request comes from: a kept one, of this episode or of an earlier run, else the LLM.

Whole replies of a greedy LLM are shared: any run that makes the same request finds them. All others are private: they
serve their own episode alone, when its run is resumed, and are deleted once the episode is recorded.
"""

from __future__ import annotations

import dataclasses
import time
from typing import Protocol

from r_eval.llms.base import LLM, Reply, Request
from r_eval.llms.reply_key import Kept, ReplyKey, RequestKeys, episode_owner

__all__ = ["EpisodeReplies", "Kept", "LLMUsage", "ReplyStores"]


class Keeper(Protocol):
    """What an episode needs of a `ReplyStore`, which may be in another process."""

    async def find(self, key: ReplyKey) -> Kept | None: ...

    async def put(self, key: ReplyKey, kept: Kept) -> None: ...

    def forget(self, owner: bytes) -> None: ...


@dataclasses.dataclass(slots=True)
class LLMUsage:
    """What a run really asked of an LLM; its episodes record more where replies were kept.

    Attributes:
        calls: Replies that the LLM made.
        cached: Replies that other episodes had left, which cost nothing.
        cost: USD for `calls`; None where no price is known.
        tokens: Prompt and completion tokens of `calls`.
        seconds: Wall time during which episodes of the LLM were under way.
    """

    calls: int = 0
    cached: int = 0
    cost: float | None = 0.0
    tokens: int = 0
    seconds: float = 0.0

    def include(self, other: LLMUsage) -> None:
        """Count what was asked elsewhere."""
        self.calls += other.calls
        self.cached += other.cached
        self.tokens += other.tokens
        self.seconds += other.seconds
        self.cost = None if self.cost is None or other.cost is None else self.cost + other.cost

    def since(self, before: LLMUsage) -> LLMUsage:
        """What came on top of an earlier state."""
        cost = None if self.cost is None else self.cost - (before.cost or 0.0)
        calls, cached = self.calls - before.calls, self.cached - before.cached
        return LLMUsage(calls, cached, cost, self.tokens - before.tokens, self.seconds - before.seconds)


@dataclasses.dataclass(frozen=True, slots=True)
class ReplyStores:
    """What a run gives to its episodes.

    Attributes:
        keeper: None where no reply is kept.
        run: The run's id.
        use_cache: Whether replies are shared with other episodes and runs.
        cache_all: Whether those of LLMs that are not greedy are, too.
        is_new: Whether the run has just begun, so that no reply of its own can be there.
        usage: By the LLM's name.
    """

    keeper: Keeper | None = None
    run: str = ""
    use_cache: bool = True
    cache_all: bool = False
    usage: dict[str, LLMUsage] = dataclasses.field(default_factory=dict)
    is_new: bool = False

    def of_episode(self, llm: LLM, episode_id: str, scope: str, epoch: int) -> EpisodeReplies:
        """The replies of one episode; `scope` is the fingerprint of its cell.

        Its LLM must be open, since the files of a model are part of a key.
        """
        return EpisodeReplies(llm, self, episode_owner(self.run, episode_id, scope), epoch)

    def forget(self, episode_id: str, scope: str) -> None:
        """Delete the private replies of an episode whose record is on the disk."""
        if self.keeper is not None:
            self.keeper.forget(episode_owner(self.run, episode_id, scope))


class EpisodeReplies:
    """The replies of one episode of one LLM; `replayed_seconds` is what those that were kept took when made."""

    def __init__(self, llm: LLM, stores: ReplyStores, owner: bytes, epoch: int) -> None:
        self._llm, self._stores, self._owner = llm, stores, owner
        self._usage = stores.usage.setdefault(llm.name, LLMUsage())
        self._keys = RequestKeys(llm.identity(), owner, epoch) if stores.keeper is not None else None
        self.replayed_seconds = 0.0

    async def answer(self, request: Request) -> tuple[Reply, float, bool]:
        """The reply to the episode's next request, the seconds that it took when made, and whether it was replayed.

        Raises:
            LLMError: There is none.
        """
        keeper = self._stores.keeper
        key = self._keys.key(request) if self._keys is not None else None
        if keeper is not None and key is not None and (self._is_shared() or not self._stores.is_new):
            kept = await keeper.find(key if self._is_shared() else key._replace(shared=None))
            if kept is not None:
                self._usage.cached += kept.owner != self._owner
                self.replayed_seconds += kept.seconds
                return kept.reply, kept.seconds, True
        started = time.perf_counter()
        reply = await self._llm.generate(request)
        seconds = time.perf_counter() - started
        used = reply.tokens
        self._usage.include(LLMUsage(1, 0, self._llm.cost(used), used.prompt + used.completion))
        if keeper is not None and key is not None:
            shared = self._is_shared() and reply.flaw is None  # asked again: the call may have shown it is not greedy
            await keeper.put(key if shared else key._replace(shared=None), Kept(reply, seconds, self._owner))
        return reply, seconds, False

    def _is_shared(self) -> bool:
        return self._stores.use_cache and (self._stores.cache_all or (self._llm.cacheable and self._llm.is_greedy))
