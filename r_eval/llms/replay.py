"""Where the reply to an episode's request comes from: kept ones of this episode or of earlier runs, else the LLM.

A greedy LLM's whole replies are found by any run that makes the same request. All others are found by their own episode
alone, in the run that was interrupted, and are deleted once the episode is recorded.
"""

from __future__ import annotations

import collections
import dataclasses
import hashlib
import json
import time
from typing import NamedTuple, Protocol

from pydantic import TypeAdapter
from pydantic_core import PydanticSerializationError, to_json

from r_eval.llms.base import LLM, Message, Reply, Request, ToolSpec
from r_eval.records import Tokens


class ReplyKey(NamedTuple):
    """What a reply is found by.

    Attributes:
        own: Of this request in this episode of this run.
        shared: Of this request in any episode; None where its reply is not to be shared.
    """

    own: bytes
    shared: bytes | None


@dataclasses.dataclass(frozen=True, slots=True)
class Kept:
    """A reply in a store.

    Attributes:
        seconds: What the call took when it was made.
        owner: The episode that made it.
    """

    reply: Reply
    seconds: float
    owner: bytes = b""

    def to_json(self) -> bytes:
        """Reply and seconds as JSON; in ASCII where they cannot be written otherwise (half a surrogate pair)."""
        made = _Made(self.reply, self.seconds)
        try:
            if not (self.reply.tool_calls or self.reply.extra):
                return _made.dump_json(made)
            return to_json(made, inf_nan_mode="constants")
        except PydanticSerializationError:
            return json.dumps(_made.dump_python(made)).encode()

    @classmethod
    def from_json(cls, data: bytes, owner: bytes) -> Kept:
        """Read what `to_json` wrote.

        Raises:
            ValueError, RecursionError: It is something else.
        """
        try:
            made = _made.validate_json(data)
        except ValueError:  # half a surrogate pair, perhaps: this reader takes it
            made = _made.validate_python(json.loads(data))
        return cls(made.reply, made.seconds, owner)


@dataclasses.dataclass(frozen=True, slots=True)
class _Made:
    reply: Reply
    seconds: float


_made: TypeAdapter[_Made] = TypeAdapter(_Made)


class ReplyKeeper(Protocol):
    """Keeps replies: a `ReplyStore`, or its stand-in on another machine."""

    async def find(self, key: ReplyKey) -> Kept | None:
        """The reply of a key: the episode's own, else a shared one."""

    async def put(self, key: ReplyKey, kept: Kept) -> None:
        """Keep a reply; it is safe when this returns."""

    def forget(self, owner: bytes) -> None:
        """Delete, soon, the replies that only serve the resume of an episode."""


@dataclasses.dataclass(slots=True)
class LLMUsage:
    """What a run really asked of an LLM, which is less than its episodes record where replies were kept.

    Attributes:
        calls: Replies that the LLM made.
        cached: Replies that other episodes or runs had kept, and that cost nothing.
        cost: USD for `calls`; None where no price is known.
        tokens: Prompt and completion tokens of `calls`.
        seconds: Wall time during which episodes of the LLM were under way.
    """

    calls: int = 0
    cached: int = 0
    cost: float | None = 0.0
    tokens: int = 0
    seconds: float = 0.0

    def add(self, tokens: Tokens, cost: float | None) -> None:
        """Count a reply that the LLM made."""
        self.calls += 1
        self.tokens += tokens.prompt + tokens.completion
        self.cost = None if cost is None or self.cost is None else self.cost + cost

    def include(self, other: LLMUsage) -> None:
        """Count what was asked elsewhere."""
        self.calls += other.calls
        self.cached += other.cached
        self.tokens += other.tokens
        self.seconds += other.seconds
        self.cost = None if other.cost is None or self.cost is None else self.cost + other.cost

    def since(self, before: LLMUsage) -> LLMUsage:
        """What was asked after an earlier state of this."""
        cost = None if self.cost is None or before.cost is None else self.cost - before.cost
        return LLMUsage(
            self.calls - before.calls,
            self.cached - before.cached,
            cost,
            self.tokens - before.tokens,
            self.seconds - before.seconds,
        )


@dataclasses.dataclass(frozen=True, slots=True)
class ReplyStores:
    """What a run gives to its episodes.

    Attributes:
        keeper: None where no reply is kept.
        run: Tells this run from all others, for good.
        use_cache: Whether replies are shared with other episodes and runs.
        cache_all: Whether those of LLMs that are not greedy are, too.
        usage: By the LLM's name.
    """

    keeper: ReplyKeeper | None = None
    run: str = ""
    use_cache: bool = True
    cache_all: bool = False
    usage: dict[str, LLMUsage] = dataclasses.field(default_factory=dict)
    _identities: dict[str, bytes] = dataclasses.field(default_factory=dict, repr=False)

    def forget(self, episode_id: str, scope: str) -> None:
        """Let go of what only serves the resume of an episode; once its record is written."""
        if self.keeper is not None:
            self.keeper.forget(self._owner(episode_id, scope))

    def _owner(self, episode_id: str, scope: str) -> bytes:
        return _digest(self.run, episode_id, scope)

    def of_episode(self, llm: LLM, episode_id: str, scope: str, epoch: int) -> EpisodeReplies:
        """The replies of one episode; `scope` is the fingerprint of its cell. The LLM must be open."""
        if llm.name not in self._identities:
            self._identities[llm.name] = _digest(json.dumps(llm.identity(), sort_keys=True, default=str))
        start = _digest(self._identities[llm.name].hex(), str(epoch))
        return EpisodeReplies(llm, self, self._owner(episode_id, scope), start)


class EpisodeReplies:
    """The replies of one episode of one LLM."""

    def __init__(self, llm: LLM, replies: ReplyStores, owner: bytes, start: bytes) -> None:
        self._llm, self._replies, self._owner = llm, replies, owner
        self._usage = replies.usage.setdefault(llm.name, LLMUsage())
        self._messages: tuple[Message, ...] = ()
        self._chain = [start]
        self._tools: tuple[tuple[ToolSpec, ...], str] = ((), "")
        self._times: collections.Counter[bytes] = collections.Counter()

    async def answer(self, request: Request) -> tuple[Reply, float, bool]:
        """The reply to the episode's next request, the seconds it took when it was made, and whether it was replayed.

        Raises:
            LLMError: There is none.
        """
        keeper = self._replies.keeper
        key = self._key(request) if keeper is not None else None
        if keeper is not None and key is not None:
            kept = await keeper.find(key if self._is_shared() else ReplyKey(key.own, None))
            if kept is not None:
                self._usage.cached += kept.owner != self._owner
                return kept.reply, kept.seconds, True
        started = time.perf_counter()
        reply = await self._llm.generate(request)
        seconds = time.perf_counter() - started
        self._usage.add(reply.tokens, self._llm.cost(reply.tokens))
        if keeper is not None and key is not None:
            shared = self._is_shared() and reply.flaw is None  # a refused temperature may have been learnt just now
            await keeper.put(key if shared else ReplyKey(key.own, None), Kept(reply, seconds, self._owner))
        return reply, seconds, False

    def _is_shared(self) -> bool:
        return self._replies.use_cache and (self._replies.cache_all or (self._llm.cacheable and self._llm.is_greedy))

    def _key(self, request: Request) -> ReplyKey:
        """The key of the next call; the same request made twice has two keys."""
        if request.tools != self._tools[0]:
            self._tools = (request.tools, _digest(repr(request.tools)).hex() if request.tools else "")
        rest = repr((request.tool_choice, request.stop, request.max_tokens, request.seed))
        same = _digest(self._conversation(request.messages).hex(), self._tools[1], rest)
        self._times[same] += 1
        shared = _digest(same.hex(), str(self._times[same]))
        return ReplyKey(_digest(shared.hex(), self._owner.hex()), shared)

    def _conversation(self, messages: tuple[Message, ...]) -> bytes:
        """Hash of a conversation; only what follows the part that it shares with the last one is hashed."""
        known = 0
        for old, new in zip(self._messages, messages, strict=False):
            if old is not new and old != new:
                break
            known += 1
        del self._chain[known + 1 :]
        for message in messages[known:]:
            calls = repr(message.tool_calls) if message.tool_calls else ""
            extra = repr(message.extra) if message.extra else ""
            texts = (message.role, message.content, calls, message.call_id, message.name, message.reasoning, extra)
            self._chain.append(_digest(self._chain[-1].hex(), *texts))
        self._messages = messages
        return self._chain[-1]


def _digest(*texts: str) -> bytes:
    """Hash of several texts; where one ends and the next begins counts."""
    parts = [text.encode("utf-8", "surrogatepass") for text in texts]
    lengths = repr([len(part) for part in parts]).encode()
    return hashlib.blake2b(b"".join([lengths, *parts]), digest_size=16).digest()
