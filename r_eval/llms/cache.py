"""The cache: replies that outlive runs, found again by everything that can change them.

A reply is kept under the LLM's identity (model, address, settings, files), the messages, tools, stop texts and length
of the request, the epoch, and how many times an episode had made the very same request before. A run that is given a
reply from here records the same bytes as one that made the call, its seconds included: what the call took when it was
made. Only whole, good replies are kept. One file for all runs of a user, safe for many writers: `replies.sqlite` in
R-Eval's cache folder, or the file that the environment variable R_EVAL_REPLIES names.
"""

from __future__ import annotations

import collections
import os
import sqlite3
from pathlib import Path
from typing import Any

from r_eval.errors import UserError
from r_eval.llms.base import LLM, Reply, Request
from r_eval.llms.pull import cache_folder
from r_eval.llms.replies import Digests, ReplyStore, digest

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
        except (OSError, sqlite3.Error) as error:
            raise UserError(f"the cache {self.path} cannot be used ({error}); delete it, or run --no-cache") from None

    def close(self) -> None:
        self.store.close()


class EpisodeCache:
    """The cache as one episode of one LLM sees it."""

    def __init__(self, cache: ReplyCache, llm: LLM, epoch: int) -> None:
        self._cache, self._epoch = cache, epoch
        self._identity = llm.identity()
        self._asked: collections.Counter[str] = collections.Counter()
        self.digests = Digests()

    def parts(self, request: Request) -> dict[str, Any]:
        """Everything that decides the reply to the episode's next request, texts as their hashes."""
        asked = {
            "messages": [self.digests.message(message)[:16] for message in request.messages],
            "tools": self.digests.tools(request.tools)[:16],
            "tool_choice": request.tool_choice,
            "stop": list(request.stop),
            "reply_tokens": request.max_tokens,
        }
        same = repr(asked)
        self._asked[same] += 1
        return {**self._identity, **asked, "epoch": self._epoch, "repetition": self._asked[same]}

    def get(self, parts: dict[str, Any]) -> tuple[Reply, float] | None:
        """A kept reply, and the seconds that it took when it was made."""
        return self._cache.store.get(digest(parts))

    async def find(self, parts: dict[str, Any]) -> tuple[Reply, float] | None:
        """The same, for one that waits: the cache may be on another machine."""
        return self.get(parts)

    def put(self, parts: dict[str, Any], reply: Reply, seconds: float) -> None:
        """Keep a reply; the caller sees to it that it is a good one."""
        self._cache.store.put(digest(parts), self._cache.run, reply, seconds, likeness(parts), parts)


def likeness(parts: dict[str, Any]) -> str:
    """Shared by requests that end in the same message at the same place, whatever else differs."""
    messages = parts["messages"]
    return digest([len(messages), messages[-1:]])[:16]
