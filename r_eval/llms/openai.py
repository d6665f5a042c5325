"""`openai/<model>`: OpenAI and every server that speaks its chat completions (vLLM, llama.cpp, Ollama, ...).

One JSON POST through aiohttp with a pool as large as the LLM's connections. Connection errors, timeouts, 408, 409, 429
(obeying Retry-After; connections adapt, see `pace`) and 5xx are tried again with growing waits, bounded in number and
in time; other 4xx never are. Some models refuse temperature, stop or max_tokens: then they are asked without it, from
then on, after one warning; a reply is cut at the stop texts here. A key comes from the environment variable that the
grid names and is written nowhere.
"""

from __future__ import annotations

import asyncio
import dataclasses
import email.utils
import json
import logging
import os
import re
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from r_eval.llms import wire
from r_eval.llms.base import LLM, LLMError, Reply, Request
from r_eval.llms.pace import Pace
from r_eval.records import Tokens

if TYPE_CHECKING:
    import aiohttp
    from tenacity import RetryCallState

logger = logging.getLogger("r_eval")

OPENAI = "https://api.openai.com/v1"
UNSUPPORTED = re.compile(
    r"(?:unsupported|unrecognized|unknown|not support|does not take|not allowed).*?\b(temperature|stop|max_tokens)\b"
    r"|\b(temperature|stop|max_tokens)\b.*?(?:unsupported|not supported|not allowed|does not support)",
    re.IGNORECASE | re.DOTALL,
)
RETRIED = frozenset({408, 409, 429, 500, 502, 503, 504, 529})
ATTEMPTS = 8
ATTEMPT_SECONDS = 120.0
ALL_SECONDS = 600.0
LONGEST_WAIT = 30.0


class _Retry(Exception):
    """A failed attempt that is worth another; `wait` is what the server asked for, in seconds."""

    def __init__(self, cause: str, message: str, wait: float | None = None) -> None:
        super().__init__(message)
        self.cause, self.wait = cause, wait


class _Refused(Exception):
    """The server does not take a parameter of the request."""

    def __init__(self, parameter: str) -> None:
        super().__init__(parameter)
        self.parameter = parameter


class OpenAI(LLM):
    """A chat model behind an OpenAI-compatible address."""

    SETTINGS = {
        "base_url": str,
        "api_key_env": str,
        "native_tools": bool,
        "requests_per_minute": int,
        "tokens_per_minute": int,
    }
    native_tools = True

    def __init__(self, name: str, model: str, settings: Mapping[str, Any]) -> None:
        super().__init__(name, model, settings)
        self.connections = int(settings.get("connections", 16))
        self.base_url = str(settings.get("base_url", OPENAI)).rstrip("/")
        self.api_key_env = str(settings.get("api_key_env", "OPENAI_API_KEY"))
        self.native_tools = bool(settings.get("native_tools", True))
        self._limits = (settings.get("requests_per_minute"), settings.get("tokens_per_minute"))
        self._pace = Pace(self.connections, *self._limits)
        self._session: aiohttp.ClientSession | None = None
        self._without: set[str] = set()

    def identity(self) -> dict[str, Any]:
        return {**super().identity(), "base_url": self.base_url}

    def cost(self, tokens: Tokens) -> float | None:
        """By the grid's price; else, at OpenAI itself, by the published price of the model's name.

        A server of one's own may serve another model under any name, so no price is looked up for it.
        """
        if self.price is not None or self.base_url != OPENAI:
            return super().cost(tokens)
        return published_cost(self.model, tokens)

    async def open(self) -> None:
        """Open the pool and see that the server is there and takes the key."""
        import aiohttp

        key = os.environ.get(self.api_key_env, "")
        if not key and self.base_url == OPENAI:
            raise LLMError("key", f"{self.name}: the environment variable {self.api_key_env} is not set")
        self._pace = Pace(self.connections, *self._limits)
        self._session = aiohttp.ClientSession(
            headers={"Authorization": f"Bearer {key}"} if key else {},
            connector=aiohttp.TCPConnector(limit=self.connections),
            timeout=aiohttp.ClientTimeout(total=ATTEMPT_SECONDS, connect=20.0),
        )
        try:
            async with self._session.get(f"{self.base_url}/models", timeout=aiohttp.ClientTimeout(total=20)) as answer:
                if answer.status in (401, 403):
                    raise LLMError("key", f"{self.name}: {self.base_url} refuses the key in {self.api_key_env}")
        except (aiohttp.ClientError, TimeoutError, ValueError) as error:
            inner = error.os_error if isinstance(error, aiohttp.ClientConnectorError) else error
            why = str(inner) or type(inner).__name__
            raise LLMError("connection", f"{self.name}: no server answers at {self.base_url} ({why})") from None

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def generate(self, request: Request) -> Reply:
        while True:
            try:
                reply = await self._tried(request)
            except _Refused as refused:
                if refused.parameter in self._without:
                    message = f"{self.name}: the server refuses {refused.parameter}"
                    raise LLMError("request", message) from None
                self._without.add(refused.parameter)
                logger.warning("%s refuses %s; it is asked without from now on", self.name, refused.parameter)
                continue
            return _cut(reply, request.stop) if "stop" in self._without else reply

    async def _tried(self, request: Request) -> Reply:
        from tenacity import AsyncRetrying, retry_if_exception_type, stop_after_attempt, stop_after_delay

        body = wire.encoded(_without(wire.body(self, request), self._without))
        attempts = 0
        try:
            async for attempt in AsyncRetrying(
                stop=stop_after_attempt(ATTEMPTS) | stop_after_delay(ALL_SECONDS),
                retry=retry_if_exception_type(_Retry),
                wait=_wait,
                sleep=asyncio.sleep,
                reraise=True,
            ):
                with attempt:
                    attempts += 1
                    return await self._attempt(body, attempts - 1)
        except _Retry as last:
            raise LLMError(last.cause, f"{self.name}: {last} ({attempts} attempts)", attempts - 1) from None
        raise AssertionError("unreachable: tenacity returns or raises")

    async def _attempt(self, body: bytes, retries: int) -> Reply:
        async with self._pace.turn() as begun:
            try:
                reply = wire.reply(await self._post(body), retries)
            except wire.BadReply as error:
                raise _Retry("reply", str(error)) from None
            except _Retry as failed:
                if failed.cause == "rate_limit":
                    self._pace.slow_down(begun)
                raise
            self._pace.went_well(reply.tokens.prompt + reply.tokens.completion)
            return reply

    async def _post(self, body: bytes) -> dict[str, Any]:
        import aiohttp

        if self._session is None:
            raise LLMError("connection", f"{self.name} is not open")
        url = f"{self.base_url}/chat/completions"
        headers = {"Content-Type": "application/json"}
        try:
            async with self._session.post(url, data=body, headers=headers) as answer:
                text = await answer.text(encoding="utf-8", errors="replace")
                status, wait = answer.status, answer.headers.get("Retry-After", "")
        except TimeoutError:
            raise _Retry("timeout", f"no answer within {ATTEMPT_SECONDS:.0f} s") from None
        except aiohttp.ClientError as error:
            raise _Retry("connection", f"{type(error).__name__}: {error}") from None
        if status in RETRIED or status >= 500:
            cause = "rate_limit" if status == 429 else "server"
            raise _Retry(cause, f"HTTP {status}: {_said(text)}", _asked_wait(wait))
        if status >= 400:
            said = _said(text)
            parameter = UNSUPPORTED.search(said) if status in (400, 422) else None
            if parameter is not None:
                raise _Refused(next(name for name in parameter.groups() if name).lower())
            long = "context" in said.lower() and any(w in said.lower() for w in ("length", "exceed", "maximum", "size"))
            cause = "context" if long else "key" if status in (401, 403) else "request"
            raise LLMError(cause, f"{self.name}: HTTP {status}: {said}")
        try:
            return dict(json.loads(text))
        except (ValueError, TypeError):
            raise _Retry("reply", f"not JSON: {text[:100]!r}") from None


def published_cost(model: str, tokens: Tokens) -> float | None:
    """USD for one call by genai-prices' tables; None where the model is not in them or they are not installed."""
    try:
        from genai_prices import Usage, calc_price
    except ImportError:
        return None
    used = Usage(input_tokens=tokens.prompt, cache_read_tokens=tokens.cached or None, output_tokens=tokens.completion)
    try:
        return float(calc_price(used, model_ref=model, provider_id="openai").total_price)
    except LookupError:
        return None


def _without(body: dict[str, Any], refused: set[str]) -> dict[str, Any]:
    """A request's body without the parameters that the server refuses; the limit on tokens goes by its newer name."""
    kept = {key: value for key, value in body.items() if key not in refused}
    if "max_tokens" in refused:
        kept["max_completion_tokens"] = body["max_tokens"]
    return kept


def _cut(reply: Reply, stop: tuple[str, ...]) -> Reply:
    """A reply that ends before the first stop text, where the server could not be told to."""
    at = min((i for text in stop if (i := reply.text.find(text)) >= 0), default=-1)
    return reply if at < 0 else dataclasses.replace(reply, text=reply.text[:at], finish="stop")


def _asked_wait(header: str) -> float | None:
    """Seconds that a Retry-After header asks for, as a number or as a date; None where it says nothing."""
    try:
        return max(0.0, float(header))
    except ValueError:
        pass
    try:
        return max(0.0, email.utils.parsedate_to_datetime(header).timestamp() - time.time())
    except (ValueError, TypeError):
        return None


def _wait(state: RetryCallState) -> float:
    """Seconds before the next attempt: what the server asked for, else 0.5, 1, 2, ... seconds."""
    failure = state.outcome.exception() if state.outcome else None
    asked = failure.wait if isinstance(failure, _Retry) else None
    return min(LONGEST_WAIT, asked if asked is not None else 0.5 * 2.0 ** (state.attempt_number - 1))


def _said(text: str) -> str:
    """The message in a server's error body, one line."""
    try:
        data = json.loads(text)
        inner = data.get("error", data) if isinstance(data, dict) else data
        text = str(inner.get("message", inner)) if isinstance(inner, dict) else str(inner)
    except ValueError:
        pass
    return " ".join(text.split())[:300]
