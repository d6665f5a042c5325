"""A client for single prompts from prompt files, through the reply cache."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
import threading
import uuid
from collections.abc import Iterator, Mapping
from importlib.resources import files
from string import Template
from typing import Any, Self

from r_eval.errors import UserError
from r_eval.llms.base import LLM, LLMError, Message, Request, make_llm
from r_eval.llms.json_text import json_values
from r_eval.llms.reasoning import split_reasoning
from r_eval.llms.replay import LLMUsage, ReplyStores
from r_eval.llms.reply_store import ReplyStore

logger = logging.getLogger("r_eval")
PROGRESS_SECONDS = 10.0
"""Between two lines about the replies so far."""
SPACES = re.compile(r"[\u00a0\u2000-\u200a\u202f\u205f\u3000]")
"""Spaces other than line breaks."""
LABEL = re.compile(
    r"\A(?:(?:(?:here(?:'s| is)|the|a|my|new|reworded|rephrased|paraphrased) )*(?:question|paraphrase)"
    r"|(?:новый |перефразированный )?вопрос|(?:新的?|改写后的)?问题) ?[:：] *",
    re.IGNORECASE,
)
"""What models put before a question."""
QUOTES = ('""', "''", "“”", "«»", "„“", "「」", "『』", "``", "**")


class LLMClient:
    """An open LLM; it runs as many requests in parallel as it has connections.

    Args:
        settings: The settings of this LLM in a grid.
        replies: The cache of replies.
    """

    def __init__(
        self, name: str, replies: ReplyStores | None = None, settings: Mapping[str, Any] | None = None
    ) -> None:
        self.name = name
        self._llm: LLM = make_llm(name, settings)
        self._replies = replies or ReplyStores()
        self._places = asyncio.Semaphore(self._llm.connections)

    async def __aenter__(self) -> Self:
        await asyncio.to_thread(self._llm.fetch)
        try:
            await self._llm.open()
        except LLMError as error:
            raise UserError(f"the LLM '{self.name}' cannot be used: {error}") from None
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._llm.close()

    async def complete(self, prompt: str) -> str:
        """The reply to a prompt without hidden reasoning; "" if it exceeds the context length or a filter blocks it.

        Raises:
            UserError: The LLM failed after all retries.
        """
        request = Request((Message("user", prompt),))
        call = uuid.uuid4().hex  # a sampled reply serves this call alone
        replies = self._replies.of_episode(self._llm, call, "", 0)
        async with self._places:
            try:
                reply, _, _ = await replies.answer(request)
            except LLMError as error:
                if LLMError.OUTCOMES[error.cause] != "llm_failure":
                    return ""
                raise UserError(f"the LLM '{self.name}' failed: {error}") from None
        self._replies.forget(call, "")
        return split_reasoning(reply).text.strip()


@contextlib.contextmanager
def reply_cache(name: str) -> Iterator[ReplyStores]:
    """An open cache of replies; how many came is logged every `PROGRESS_SECONDS`.

    Args:
        name: Owner of new replies in the cache.
    """
    with contextlib.closing(ReplyStore()) as store:
        stores = ReplyStores(store, name)
        with _progress(stores.usage):
            yield stores


@contextlib.contextmanager
def _progress(usage: Mapping[str, LLMUsage]) -> Iterator[None]:
    """Log the replies so far from a thread of its own, since programs may keep the event loop busy."""
    over = threading.Event()

    def log() -> None:
        while not over.wait(PROGRESS_SECONDS):
            for llm, used in list(usage.items()):
                cached = f", {used.cached} of them from the cache" if used.cached else ""
                cost = f", {used.cost:.2f} USD" if used.cost else ""
                logger.warning("%s: replies so far: %d%s%s", llm, used.calls + used.cached, cached, cost)

    thread = threading.Thread(target=log, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def prompt(name: str, /, **values: str) -> str:
    """A prompt file with its $names substituted; values are not searched for $names."""
    return Template(prompt_file(f"{name}.md")).substitute(values)


def prompt_file(name: str) -> str:
    """The text of a prompt file."""
    return files("r_eval.tasks").joinpath("prompts", name).read_text(encoding="utf-8").strip()


def objects_in(reply: str) -> list[dict[str, Any]]:
    """The JSON objects in a reply, including those in lists, with their keys in lower case."""
    values = [match.value for match in json_values(reply)]
    flat = [item for value in values for item in (value if isinstance(value, list) else [value])]
    return [{str(key).casefold(): part for key, part in item.items()} for item in flat if isinstance(item, dict)]


def one_line(text: str, longest: int) -> str | None:
    """A reply as one clean line; None if it has several lines, is too long or contains control characters.

    >>> one_line(' "Who?" ', 10), one_line("Who?\\nMe.", 10)
    ('Who?', None)
    """
    text = LABEL.sub("", SPACES.sub(" ", text.strip()))
    while len(text) > 1 and text[0] + text[-1] in QUOTES:
        text = text[1:-1].strip()
    return text if text and len(text) <= longest and text.isprintable() else None
