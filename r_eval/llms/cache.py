"""The cache: replies that outlive runs, found again by everything that can change them.

A reply is kept under the LLM's identity (model, address, settings, files), the messages, tools, stop texts and length
of the request, the epoch, and how many times an episode had made the very same request before. A run that is given a
reply from here records the same bytes as one that made the call, its seconds included: what the call took when it was
made. Only whole, good replies are kept. One file for all runs of a user, safe for many writers: `replies.sqlite` in
R-Eval's cache folder, or the file that the environment variable R_EVAL_REPLIES names.
"""

from __future__ import annotations

import collections
import dataclasses
import os
import sqlite3
from pathlib import Path
from typing import Any

from r_eval.errors import UserError
from r_eval.files import cache_folder
from r_eval.llms.base import LLM, Reply, Request
from r_eval.llms.replies import Digests, ReplyStore, digest, hashed

VARIABLE = "R_EVAL_REPLIES"
GATHER_SECONDS = 0.25
"""Replies are written together so often; until then the run's journal has them."""


def cache_file() -> Path:
    """Where the cache lies on this machine."""
    chosen = os.environ.get(VARIABLE)
    return Path(chosen) if chosen else cache_folder() / "replies.sqlite"


class ReplyCache:
    """The cache, opened.

    Args:
        run: Name of the run that fills it, kept with every reply, for `explain`.

    Raises:
        UserError: The file is damaged, or cannot be written.
    """

    def __init__(self, run: str, path: Path | None = None) -> None:
        self.run, self.path = run, path or cache_file()
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.store = ReplyStore(self.path, gather=GATHER_SECONDS)
        except (OSError, sqlite3.Error, UnicodeError) as error:
            raise UserError(f"the cache {self.path} cannot be used ({error}); delete it, or run --no-cache") from None

    def close(self) -> None:
        self.store.close()


@dataclasses.dataclass(frozen=True, slots=True)
class Asked:
    """A request as the cache knows it.

    Attributes:
        key: Hash of everything that decides the reply.
        parts: What the key was made of, texts as their hashes.
    """

    key: str
    parts: dict[str, Any]

    @property
    def likeness(self) -> str:
        """Shared by requests that end in the same message at the same place, whatever else differs."""
        messages = self.parts["messages"]
        return f"{len(messages)}:{''.join(messages[-1:])}"


class EpisodeCache:
    """The cache as one episode of one LLM sees it."""

    def __init__(self, cache: ReplyCache, llm: LLM, epoch: int) -> None:
        self._cache = cache
        self._begin(llm, epoch)

    def _begin(self, llm: LLM, epoch: int) -> None:
        self._epoch, self._identity = epoch, llm.identity()
        self._identified = digest(self._identity)
        self._times: collections.Counter[tuple[str, ...]] = collections.Counter()
        self.digests = Digests()

    def asked(self, request: Request) -> Asked:
        """The episode's next request."""
        messages, tools = self.digests.messages(request.messages), self.digests.tools(request.tools)
        how = (request.tool_choice, repr(request.stop), str(request.max_tokens), str(request.seed))
        same = (tools, *how, *messages)
        self._times[same] += 1
        parts = {
            **self._identity,
            "messages": [message[:16] for message in messages],
            "tools": tools[:16],
            "tool_choice": request.tool_choice,
            "stop": list(request.stop),
            "reply_tokens": request.max_tokens,
            "seed": request.seed,
            "epoch": self._epoch,
            "repetition": self._times[same],
        }
        return Asked(hashed(self._identified, str(self._epoch), str(self._times[same]), *same), parts)

    def get(self, asked: Asked) -> tuple[Reply, float] | None:
        """A kept reply, and the seconds that it took when it was made."""
        return self._cache.store.get(asked.key)

    async def find(self, asked: Asked) -> tuple[Reply, float] | None:
        """The same, for one that waits: the cache may be on another machine."""
        return self.get(asked)

    def put(self, asked: Asked, reply: Reply, seconds: float) -> None:
        """Keep a reply; the caller sees to it that it is a good one."""
        self._cache.store.put(asked.key, self._cache.run, reply, seconds, asked.likeness, asked.parts)
