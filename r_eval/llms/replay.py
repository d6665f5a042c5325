"""Where the reply to an episode's request comes from: the store, filled by this episode or an earlier run, or the LLM.

A reply is found by a key: a hash of everything that decides it. `reply_store` has the file.
Whole replies of a greedy LLM are shared: any run that makes the same request finds them. All others are private: they
serve only to resume their own episode, and are deleted once it is recorded.
"""

from __future__ import annotations

import collections
import dataclasses
import hashlib
import json
import time
from typing import NamedTuple, Protocol

from pydantic_core import to_json

from r_eval.llms.base import LLM, Reply, Request


class ReplyKey(NamedTuple):
    """What a reply is found by.

    Attributes:
        own: Hash of the request, the episode and its run.
        shared: Hash of the request alone; None for a private reply.
    """

    own: bytes
    shared: bytes | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class StoredReply:
    """A reply, with the seconds that the call took when it was made, and the episode that made it."""

    reply: Reply
    seconds: float
    owner: bytes = b""


class ReplySource(Protocol):
    """What an episode needs of a `ReplyStore`, which may be in another process."""

    async def find(self, key: ReplyKey) -> StoredReply | None: ...

    async def put(self, key: ReplyKey, stored: StoredReply) -> None: ...

    def forget(self, owner: bytes) -> None: ...


@dataclasses.dataclass(slots=True)
class LLMUsage:
    """The calls that a run made to an LLM; its episodes record more if replies came from the store.

    Attributes:
        calls: Replies that the LLM made.
        cached: Replies of other episodes that the store had, which cost nothing.
        cost: USD for `calls`; None if no price is known.
        tokens: Prompt and completion tokens of `calls`.
    """

    calls: int = 0
    cached: int = 0
    cost: float | None = 0.0
    tokens: int = 0

    def include(self, other: LLMUsage) -> None:
        """Add usage that was counted elsewhere."""
        self.calls += other.calls
        self.cached += other.cached
        self.tokens += other.tokens
        self.cost = None if self.cost is None or other.cost is None else self.cost + other.cost

    def since(self, before: LLMUsage) -> LLMUsage:
        """The difference to an earlier state."""
        cost = None if self.cost is None else self.cost - (before.cost or 0.0)
        return LLMUsage(self.calls - before.calls, self.cached - before.cached, cost, self.tokens - before.tokens)


@dataclasses.dataclass(frozen=True, slots=True)
class ReplyStores:
    """Where the episodes of a run find replies.

    Attributes:
        store: None if no reply is stored.
        run: The run's id.
        use_cache: Whether replies are shared with other episodes and runs.
        cache_all: Whether those of LLMs that are not greedy are, too.
        usage: By the LLM's name.
    """

    store: ReplySource | None = None
    run: str = ""
    use_cache: bool = True
    cache_all: bool = False
    usage: dict[str, LLMUsage] = dataclasses.field(default_factory=dict)

    def of_episode(self, llm: LLM, episode_id: str, scope: str, epoch: int) -> EpisodeReplies:
        """The replies of one episode; `scope` is the fingerprint of its cell.

        Its LLM must be open, since the files of a model are part of a key.
        """
        return EpisodeReplies(llm, self, _digest(self.run, episode_id, scope), epoch)

    def forget(self, episode_id: str, scope: str) -> None:
        """Delete the private replies of an episode whose record is on the disk."""
        if self.store is not None:
            self.store.forget(_digest(self.run, episode_id, scope))


class EpisodeReplies:
    """The replies of one episode; `replayed_seconds` is what those from the store took when they were made."""

    def __init__(self, llm: LLM, stores: ReplyStores, owner: bytes, epoch: int) -> None:
        self._llm, self._stores, self._owner = llm, stores, owner
        self._usage = stores.usage.setdefault(llm.name, LLMUsage())
        self._identity = _digest(json.dumps(llm.identity(), sort_keys=True, default=str), str(epoch))
        self._times: collections.Counter[bytes] = collections.Counter()
        self.replayed_seconds = 0.0

    async def answer(self, request: Request) -> tuple[Reply, float, bool]:
        """The reply to the episode's next request, the seconds that it took when made, and whether it was replayed.

        Raises:
            LLMError: There is none.
        """
        store = self._stores.store
        if store is not None:
            key = self._key(request)
            stored = await store.find(key if self._is_shared() else key._replace(shared=None))
            if stored is not None:
                self._usage.cached += stored.owner != self._owner
                self.replayed_seconds += stored.seconds
                return stored.reply, stored.seconds, True
        started = time.perf_counter()
        reply = await self._llm.generate(request)
        seconds = time.perf_counter() - started
        used = reply.tokens
        self._usage.include(LLMUsage(1, 0, self._llm.cost(used), used.prompt + used.completion))
        if store is not None:
            shared = self._is_shared() and reply.flaw is None  # the call may have shown that the LLM is not greedy
            await store.put(key if shared else key._replace(shared=None), StoredReply(reply, seconds, self._owner))
        return reply, seconds, False

    def _key(self, request: Request) -> ReplyKey:
        """The key of the next call; the same request made twice has two keys."""
        try:
            content = to_json(request, inf_nan_mode="constants")
        except ValueError:  # half a surrogate pair
            content = repr(request).encode("utf-8", "surrogatepass")
        same = _digest(self._identity, content)
        self._times[same] += 1
        shared = _digest(same, str(self._times[same]))
        return ReplyKey(_digest(shared, self._owner), shared)

    def _is_shared(self) -> bool:
        return self._stores.use_cache and (self._stores.cache_all or (self._llm.cacheable and self._llm.is_greedy))


def _digest(*parts: str | bytes) -> bytes:
    """Hash of several texts; where one ends and the next begins counts."""
    digest = hashlib.blake2b(digest_size=16)
    for part in parts:
        data = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        digest.update(b"%d:" % len(data))
        digest.update(data)
    return digest.digest()
