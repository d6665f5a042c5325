"""The first requests to a model, before a run: whether it answers, and what it takes.

The first has all that a run may send: a system message, a stop text, a seed if replies are sampled, a tool. It also
warms a local model up; and since what llama.cpp computes depends in its last bits on what it has computed before, a
model in this process and the same model behind a server get the same one.

A server may take tools and drop them, because the model's chat template has no place for them. That shows in its own
count: where the prompt seems to lack the tool, it is sent again without, and if it has as many tokens then, tools are
described in the prompt instead. A third, longer prompt tells such a server from one that counts every prompt alike.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import logging
from importlib.resources import files
from typing import TYPE_CHECKING

from r_eval.llms import tokens
from r_eval.llms.base import LLMError, Message, Reply, Request, ToolSpec
from r_eval.llms.json_text import json_values

if TYPE_CHECKING:
    from r_eval.llms.openai import OpenAI

logger = logging.getLogger("r_eval")

ATTEMPTS = 4
"""Of a request before a run."""
SECONDS = 30.0
"""How long a preflight waits in all."""
NOTICE_SECONDS = 5.0
"""After this time it says what it waits for."""
TOOL = ToolSpec(
    "ready",
    "Say that the connection works. This tool has a description of some length, so that a prompt which holds it "
    "has visibly more tokens than the same prompt without it, whatever the tokenizer and however the tool is written.",
    {"type": "object", "properties": {"remark": {"type": "string", "description": "Anything else to say."}}},
)
PLAUSIBLE = 0.7
"""Share of an estimated count from which on a server's count can be one of the same prompt."""


def preflight_request(tools: bool, seed: int | None = None) -> Request:
    """The first request, with a tool if tools are native."""
    text = files("r_eval.llms").joinpath("prompts/preflight.md").read_text(encoding="utf-8").strip()
    messages = (Message("system", "This only tests the connection."), Message("user", text))
    return Request(messages, ("\n\n\n",), 16, (TOOL,) if tools else (), seed=seed)


async def learn_capabilities(llm: OpenAI) -> None:
    """Check that a server answers, and learn what it takes; at most `SECONDS` long.

    Raises:
        LLMError: It gives no answer.
    """
    loop = asyncio.get_running_loop()
    notice = loop.call_later(NOTICE_SECONDS, logger.warning, "%s: waiting for %s to answer", llm.name, llm.base_url)
    request = preflight_request(llm.native_tools, None if llm.temperature == 0 else 0)
    try:
        async with asyncio.timeout(SECONDS):
            reply, _ = await asyncio.gather(_first_reply(llm, request), asyncio.to_thread(_load_ahead))
            if reply.estimated:
                logger.warning("%s counts no tokens; they are estimated", llm.name)
            elif llm.native_tools and llm.settings.native_tools is None:
                await _probe_tools(llm, request, reply)
    except TimeoutError:
        raise LLMError("timeout", f"{llm.name}: {llm.base_url} gave no answer within {SECONDS:.0f} s") from None
    finally:
        notice.cancel()


def _load_ahead() -> None:
    """Load what would hold up the event loop when it is first needed: the vocabulary of estimates, json-repair."""
    tokens.count(" ")
    next(json_values('{"a": b}'), None)


async def _first_reply(llm: OpenAI, request: Request) -> Reply:
    """The reply to the first request; without tools, where a server cannot say that they are what it does not take."""
    try:
        return await llm.generate(request, ATTEMPTS)
    except LLMError as error:
        if not llm.native_tools or error.cause not in ("request", "server"):
            raise
        reply = await llm.generate(dataclasses.replace(request, tools=()), 1)
        llm.learn("tools", str(error))
        return reply


async def _probe_tools(llm: OpenAI, request: Request, reply: Reply) -> None:
    """Find out whether tools that are sent reach the prompt."""
    bare = dataclasses.replace(request, tools=())
    least, most = PLAUSIBLE * tokens.of_request(bare), PLAUSIBLE * tokens.of_request(request)
    if not least <= reply.tokens.prompt <= most:  # the tool is in the prompt, or the count says nothing at all
        return
    *before, last = bare.messages
    longer = dataclasses.replace(bare, messages=(*before, Message("user", f"{last.content} {last.content}")))
    with contextlib.suppress(LLMError):  # the first request was answered, so nothing speaks against tools
        without = await llm.generate(bare, 1)
        if without.tokens.prompt != reply.tokens.prompt or without.estimated:
            return
        twice = await llm.generate(longer, 1)
        if twice.tokens.prompt > without.tokens.prompt and not twice.estimated:
            llm.learn("tools", "the server takes tools, but they do not reach the model's prompt")
