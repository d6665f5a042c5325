"""An LLM as one episode sees it: every reply recorded and counted, within the episode's limits."""

from __future__ import annotations

import asyncio
import dataclasses
import re
from collections.abc import Sequence
from os.path import commonprefix

from r_eval.llms.base import LLM, LLMError, Message, Reply, Request
from r_eval.llms.reasoning import split_reasoning
from r_eval.llms.replay import EpisodeReplies, ReplyStores
from r_eval.llms.tool_calls import format_tool_call, interpret, render_tools, repair_history
from r_eval.records import Seconds, SentMessage, Step, Tokens, Usage
from r_eval.runner.clock import Clock
from r_eval.seeds import Seeds
from r_eval.text import clean
from r_eval.workflows.base import LimitReached, Limits

LONGEST = 200
"""Characters of an observation that needs no shortening; its first so many are what it is found by."""
SENTENCE = re.compile(r".{20,150}?[.!?](?=\s)|.{1,150}", re.DOTALL)
MARK = "[… shortened]"


class SentMessages:
    """The messages that an episode sent, each once; what is equal is one message."""

    def __init__(self) -> None:
        self.messages: list[SentMessage] = []
        self._places: dict[object, int] = {}
        self._known: dict[int, tuple[Message, int]] = {}

    def place(self, message: Message) -> int:
        """The index of a message in the list; a new one is added."""
        known, place = self._known.get(id(message), (None, 0))
        if known is message:  # most of a conversation was sent before
            return place
        calls = [{"id": c.id, "name": c.name, "arguments": c.arguments} for c in message.tool_calls]
        key = (message.role, message.content, message.call_id, message.name, repr(calls))
        place = self._places.setdefault(key, len(self.messages))
        if place == len(self.messages):
            call = {"call_id": message.call_id, "name": message.name}
            self.messages.append(SentMessage.of(role=message.role, content=message.content, calls=calls, **call))
        self._known[id(message)] = message, place
        return place


class EpisodeLLM:
    """An LLM as one episode sees it.

    A reply from the store counts as what it was when it was made. Where the LLM takes no tools natively they are
    described in the prompt here, and calls are read out of the text, so that no workflow can tell. A request that is
    longer than the LLM's context is sent once more with its older observations shortened; that is one call.

    Args:
        replies: Where the episode's replies come from; by default none is kept.
        clock: Stands still while the LLM works, and is charged with what the reply took.

    Attributes:
        keeps_room: Whether the limits are met early enough for one more call, a last chance, to be within them.
        sent: What was sent to the LLM, as it was sent.
        usage, seconds: What the episode has used of its LLM; of the seconds the LLM's part.
    """

    def __init__(
        self,
        llm: LLM | None,
        limits: Limits,
        steps: list[Step],
        replies: EpisodeReplies | None = None,
        keeps_room: bool = False,
        seeds: Seeds | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._llm, self._limits, self._steps = llm, limits, steps
        self._clock = clock or Clock(None)
        self._replies = replies or (ReplyStores().of_episode(llm, "", "", 0) if llm is not None else None)
        self._truncator = ContextTruncator(steps)
        self._latest = 0
        self.sent = SentMessages()
        self._request: list[int] = []
        self._seeds = seeds if llm is not None and not llm.is_greedy else None
        self.keeps_room = keeps_room
        self.usage = Usage(cost=llm.cost(Tokens()) if llm is not None else None)
        self.seconds = Seconds()

    @property
    def chat(self) -> bool:
        """False for a base model, which completes a text and knows no roles."""
        return self._llm is None or self._llm.chat

    async def generate(self, request: Request, depth: int | None = None) -> Reply:
        """Answer a request; see `LLM.generate`. What is left of a workflow whose episode has ended waits for ever.

        Raises:
            LLMError: There is no reply, or a content filter blocked it.
            LimitReached: The episode has used its tokens, its calls or its seconds up.
        """
        if self._clock.is_over:
            await asyncio.get_running_loop().create_future()
        if self._llm is None or self._replies is None:
            raise LLMError("request", "this workflow was declared to need no LLM")
        if request.tools and not self._llm.chat:
            able = "react, pal, rag and direct can do without"
            raise LLMError("request", f"{self._llm.name} is a base model: tools need a chat template; {able}")
        self._check(request)
        self.usage.calls += 1
        if request.max_tokens is not None and request.max_tokens > self._llm.max_tokens:
            request = dataclasses.replace(request, max_tokens=None)  # the LLM's own limit holds for all workflows
        if self._seeds is not None:
            request = dataclasses.replace(request, seed=self._seeds.of(f"reply {self.usage.calls}"))
        reply, seconds, replayed = await self._fitting(self._replies, request, self._llm.native_tools)
        self._count(reply)
        text = clean(reply.text)
        whole = split_reasoning(reply if text is reply.text else dataclasses.replace(reply, text=text))
        read, invented = interpret(whole, request)
        self._steps.append(
            Step.of(
                kind="thought",
                text="\n".join(filter(None, [whole.text, *map(format_tool_call, whole.tool_calls)])),
                error="invented" if invented else whole.flaw,
                request=self._request,
                reasoning=whole.reasoning,
                seconds=seconds,
                tokens=reply.tokens,
                depth=depth,
                replayed=replayed,
            )
        )
        if reply.finish == "content_filter":
            raise LLMError("content_filter", f"{self._llm.name}: the provider's content filter blocked the reply")
        self._clock.charge(seconds - reply.queue - reply.retry)
        return read

    def _check(self, request: Request) -> None:
        """See that the limits allow another call."""
        limits, calls = self._limits, self.usage.calls
        used = self.usage.prompt_tokens + self.usage.completion_tokens
        room = self.keeps_room and calls > 0
        if limits.tokens is not None and used + room * self._latest >= limits.tokens:
            raise LimitReached("tokens", f"{used:,} of {limits.tokens:,} tokens are used", request.messages)
        if limits.calls is not None and calls + room >= limits.calls:
            raise LimitReached("calls", f"{calls:,} of {limits.calls:,} LLM calls are used", request.messages)

    async def _fitting(
        self, replies: EpisodeReplies, request: Request, native_tools: bool
    ) -> tuple[Reply, float, bool]:
        """The reply to a request; where the context overflows, to the request with its older observations shortened."""
        shortened = False
        while True:
            messages = repair_history(self._truncator.apply(request.messages))
            sent = request if messages is request.messages else dataclasses.replace(request, messages=messages)
            if sent.tools and not native_tools:
                sent = render_tools(sent)
            self._request = [self.sent.place(message) for message in sent.messages]
            try:
                with self._clock.stopped():
                    reply, seconds, replayed = await replies.answer(sent)
            except LLMError as error:
                self._count_waits(error)
                count = 0 if error.cause != "context" or shortened else self._truncator.truncate(request.messages)
                if not count:
                    raise
                shortened = True
                self.note(f"The context overflowed: {count} older observations are sent shortened.")
            else:
                self.seconds.llm += seconds
                self._count_waits(reply)
                return reply, seconds, replayed

    def _count_waits(self, made: Reply | LLMError) -> None:
        """Add the retries and the waits of a reply, or of an error."""
        self.usage.retries += made.retries
        self.seconds.queue += made.queue
        self.seconds.retry += made.retry
        if isinstance(made, LLMError):
            self.seconds.llm += made.queue + made.retry

    def note(self, text: str) -> None:
        """Record a message of the workflow's own."""
        self._steps.append(Step.of(kind="observation", text=text))

    def _count(self, reply: Reply) -> None:
        usage = self.usage
        self._latest = reply.tokens.prompt + reply.tokens.completion
        usage.prompt_tokens += reply.tokens.prompt
        usage.completion_tokens += reply.tokens.completion
        usage.cached_tokens += reply.tokens.cached
        usage.estimated = usage.estimated or reply.estimated
        cost = self._llm.cost(reply.tokens) if self._llm else None
        usage.cost = None if cost is None or usage.cost is None else usage.cost + cost


class ContextTruncator:
    """Leaves out what an LLM's context cannot hold: of an episode's oldest observations, all but a sentence.

    Only what is sent becomes shorter; the record keeps every observation whole. An observation is found by its text, so
    that it makes no difference which message of which workflow has it.

    Args:
        steps: The episode's, as they are recorded.
    """

    def __init__(self, steps: Sequence[Step]) -> None:
        self._steps = steps
        self._short: set[int] = set()

    def truncate(self, messages: Sequence[Message]) -> int:
        """Shorten the whole observations of a conversation, but for the latest where there are several.

        Returns how many of the episode's are shortened now; 0 where there was nothing left to shorten.
        """
        whole = []
        sent = self.apply(messages)
        for number, step in enumerate(self._steps):
            if step.kind != "call" or number in self._short:
                continue
            without = _replaced(sent, step.observation or "")
            if without is not None:
                sent = without
                whole.append(number)
        self._short.update(whole[:-1] or whole)
        return len(self._short) if whole else 0

    def apply(self, messages: Sequence[Message]) -> tuple[Message, ...]:
        """A conversation as it is sent."""
        sent = tuple(messages)
        for number in sorted(self._short):
            sent = _replaced(sent, self._steps[number].observation or "") or sent
        return sent


def _replaced(messages: tuple[Message, ...], observation: str) -> tuple[Message, ...] | None:
    """Messages in which the first occurrence of an observation, cut or on one line, is shortened; None for none."""
    if len(observation) <= LONGEST:
        return None
    for text in (observation, " ".join(observation.split())):
        for i, message in enumerate(messages):
            start = message.content.find(text[:LONGEST])
            if start < 0:
                continue
            rest = message.content[start:]
            same = len(commonprefix([rest, text]))  # noqa: RUF071  texts, not paths
            content = f"{message.content[:start]}{sentence(text)} {MARK}{rest[same:]}"
            return (*messages[:i], dataclasses.replace(message, content=content), *messages[i + 1 :])
    return None


def sentence(text: str) -> str:
    """The first sentence of a text, or its beginning."""
    found = SENTENCE.match(text.strip())
    return found.group().strip() if found else ""
