"""What a worker remembers of replies: nothing for long. New ones go to the run's own process, which alone writes its
journal and the cache; those that a broken-off episode had already come with its order.
"""

from __future__ import annotations

import asyncio
import collections
import dataclasses
from collections.abc import AsyncIterator

from r_eval.engines.messages import NOTHING, Kept, Message, Replied, ToCache, Wanted
from r_eval.llms.answers import Answers, Memory, Spent
from r_eval.llms.base import LLM, Reply
from r_eval.llms.cache import Asked, EpisodeCache
from r_eval.llms.replies import Journal


class Outbox:
    """Messages on their way to the run's own process, and the answers that came back."""

    def __init__(self) -> None:
        self._messages: list[Message] = []
        self._something = asyncio.Event()
        self._asking: collections.defaultdict[str, list[asyncio.Future[tuple[Reply, float] | None]]]
        self._asking = collections.defaultdict(list)
        self._closed = False

    def put(self, message: Message) -> None:
        self._messages.append(message)
        self._something.set()

    def close(self) -> None:
        """No more messages come; those that are there still go out."""
        self._closed = True
        self._something.set()

    async def batches(self) -> AsyncIterator[list[Message]]:
        """All that has gathered since the last batch, as soon as there is something."""
        while True:
            await self._something.wait()
            self._something.clear()
            batch, self._messages = self._messages, []
            if batch:
                yield batch
            if self._closed and not self._messages:
                return

    async def ask(self, key: str) -> tuple[Reply, float] | None:
        """A reply of the cache."""
        answer: asyncio.Future[tuple[Reply, float] | None] = asyncio.get_running_loop().create_future()
        self._asking[key].append(answer)
        self.put(Wanted(key))
        return await answer

    def answered(self, key: str, found: tuple[Reply, float] | None) -> None:
        """The answer to the oldest question about a key."""
        waiting = self._asking[key]
        answer = waiting.pop(0)
        if not waiting:
            del self._asking[key]
        if not answer.done():
            answer.set_result(found)


class Notebook:
    """The journal of the episodes that are under way in this worker."""

    def __init__(self, outbox: Outbox) -> None:
        self._outbox = outbox
        self._kept: Kept = {}
        self._made: dict[str, list[Replied]] = {}

    def begin(self, episode: str, kept: Kept) -> None:
        """Take what an episode had been told already."""
        self._kept.update(kept)
        self._made[episode] = []

    def end(self, episode: str, kept: Kept) -> list[Replied]:
        """Let go of an episode; returns the replies that were made for it here."""
        for key in kept:
            del self._kept[key]
        return self._made.pop(episode)

    def holds(self, owner: str) -> bool:
        return bool(self._kept)

    def get(self, key: str) -> tuple[Reply, float] | None:
        return self._kept.get(key)

    def put(self, key: str, owner: str, reply: Reply, seconds: float) -> None:
        replied = Replied(owner, key, reply, seconds)
        self._made[owner].append(replied)
        self._outbox.put(replied)


class FarCache(EpisodeCache):
    """The cache as one episode sees it, by way of the run's own process."""

    def __init__(self, outbox: Outbox, llm: LLM, epoch: int) -> None:
        self._outbox = outbox
        self._begin(llm, epoch)

    async def find(self, asked: Asked) -> tuple[Reply, float] | None:
        return await self._outbox.ask(asked.key)

    def put(self, asked: Asked, reply: Reply, seconds: float) -> None:
        self._outbox.put(ToCache(asked.key, reply, seconds, asked.likeness, asked.parts))


class Heard(FarCache):
    """In place of a cache where there is none: before a further call it waits until the replies so far were heard.

    Messages are heard in their order, so whatever is asked is answered after the replies before it are in the journal.
    Else a worker that dies while its next call is under way could take a reply with it that is on its way.
    """

    def __init__(self, outbox: Outbox, llm: LLM, epoch: int) -> None:
        super().__init__(outbox, llm, epoch)
        self._is_first = True

    async def find(self, asked: Asked) -> None:
        if not self._is_first:
            await self._outbox.ask(NOTHING)
        self._is_first = False

    def put(self, asked: Asked, reply: Reply, seconds: float) -> None:
        pass


@dataclasses.dataclass(frozen=True, slots=True)
class FarMemory(Memory):
    """The run's memory as a worker has it; what is paid is counted by the run's own process.

    Attributes:
        cached: Whether there is a cache at all.
    """

    outbox: Outbox = dataclasses.field(default_factory=Outbox)
    notebook: Notebook = dataclasses.field(default_factory=lambda: Notebook(Outbox()))
    cached: bool = False

    def of_episode(self, llm: LLM, episode: str, scope: str, epoch: int) -> Answers:
        wanted = self.cached and (self.cache_all or (llm.cached and llm.temperature == 0))
        cache = (FarCache if wanted else Heard)(self.outbox, llm, epoch)
        return Answers(llm, Journal(self.notebook, episode, scope), cache, Spent())
