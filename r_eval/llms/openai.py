"""`openai/<model>`: OpenAI and every server that speaks its chat completions (vLLM, llama.cpp, Ollama, gateways).

One JSON POST through aiohttp with a pool as large as the LLM's connections. Connection errors, timeouts, 408, 409, 429
(obeying Retry-After; connections adapt, see `pace`) and 5xx are tried again with growing waits, bounded in number and
in time; other 4xx never are. One call before the run finds out what the server takes (see `OpenAI.open`). A key comes
from the environment variable that the grid names and is written nowhere.
"""

from __future__ import annotations

import asyncio
import dataclasses
import functools
import json
import logging
import os
import re
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from r_eval.llms import counting, http, wire
from r_eval.llms.base import LLM, LLMError, Reply, Request
from r_eval.llms.breaker import Breaker
from r_eval.llms.http import Passing, Refused
from r_eval.llms.pace import Pace
from r_eval.llms.preflight import preflight
from r_eval.records import Tokens

if TYPE_CHECKING:
    import aiohttp
    from tenacity import RetryCallState

logger = logging.getLogger("r_eval")

OPENAI = "https://api.openai.com/v1"
ATTEMPTS, PREFLIGHT_ATTEMPTS = 8, 4
ATTEMPT_SECONDS = 120.0
ALL_SECONDS = 600.0
LONGEST_WAIT = 30.0
ABOUT_TOOLS = re.compile(r"\btools?\b|tool_choice|\bfunctions?\b", re.IGNORECASE)


@dataclasses.dataclass(slots=True)
class _Effort:
    """What a call took besides its generation, as `Reply` counts it."""

    retries: int = 0
    queue: float = 0.0
    retry: float = 0.0

    async def sleep(self, seconds: float) -> None:
        """Wait before another attempt."""
        started = time.monotonic()
        try:
            await asyncio.sleep(seconds)
        finally:
            self.retry += time.monotonic() - started


class OpenAI(LLM):
    """A chat model behind an OpenAI-compatible address.

    Settings:
        base_url: The address up to what comes before /chat/completions; it may have a query. OpenAI itself by default.
        api_key_env: Name of the environment variable that holds the key.
        api_key_header: Header that carries the key as it stands, as some gateways want it; else it is a bearer token.
        native_tools: False describes tools in the prompt whatever the server can do.
        requests_per_minute, tokens_per_minute: Limits that are kept here.
    """

    SETTINGS = {
        "base_url": str,
        "api_key_env": str,
        "api_key_header": str,
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
        self.api_key_header = str(settings.get("api_key_header", ""))
        self.native_tools = bool(settings.get("native_tools", True))
        self._limits = (settings.get("requests_per_minute"), settings.get("tokens_per_minute"))
        self._pace = Pace(self.connections, *self._limits)
        self._breaker = Breaker()
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

    @property
    def _key(self) -> str:
        return os.environ.get(self.api_key_env, "").strip()

    async def open(self) -> None:
        """Open the pool, and make one call that shows whether address, key and model name are right, and whether the
        server takes stop texts and tools and counts tokens. What it does not take is done without, after a warning.
        """
        import aiohttp

        key = self._key
        if not key and self.base_url == OPENAI:
            raise LLMError("key", f"{self.name}: the environment variable {self.api_key_env} is not set")
        headers = {self.api_key_header: key} if self.api_key_header else {"Authorization": f"Bearer {key}"}
        self._pace = Pace(self.connections, *self._limits)
        self._breaker = Breaker()
        self._session = aiohttp.ClientSession(
            headers=headers if key else {},
            connector=aiohttp.TCPConnector(limit=self.connections),
            timeout=aiohttp.ClientTimeout(total=ATTEMPT_SECONDS, connect=20.0),
        )
        await self._preflight()

    async def _preflight(self) -> None:
        try:
            reply = await self._answered(preflight(self.native_tools), PREFLIGHT_ATTEMPTS)
        except LLMError as error:
            if error.cause in ("request", "server") and self.native_tools and ABOUT_TOOLS.search(str(error)):
                logger.warning("%s takes no tools (%s); they are described in the prompt", self.name, error)
                self.native_tools = False
                await self._preflight()
                return
            if error.cause == "key":
                raise LLMError("key", f"{self.name}: {self.base_url} refuses the key in {self.api_key_env}") from None
            if error.cause == "model":
                raise LLMError("model", f"{error}{await self._offered()}") from None
            if "HTTP 404" in str(error):
                raise LLMError("request", f"{error} (does base_url end as it should, often in /v1?)") from None
            raise
        if reply.estimated:
            logger.warning("%s counts no tokens; they are estimated", self.name)

    async def _offered(self) -> str:
        """The models that the server says it has, for a message."""
        import aiohttp

        assert self._session is not None
        try:
            async with self._session.get(http.address(self.base_url, "models"), allow_redirects=False) as answer:
                names = sorted(str(model["id"]) for model in json.loads(await answer.text())["data"])
        except (aiohttp.ClientError, TimeoutError, ValueError, TypeError, KeyError):
            return ""
        return f"; it has: {', '.join(names[:20])}{', ...' if len(names) > 20 else ''}" if names else ""

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def generate(self, request: Request) -> Reply:
        return await self._answered(request, ATTEMPTS)

    async def _answered(self, request: Request, attempts: int) -> Reply:
        effort = _Effort()
        while True:
            known = frozenset(self._without)
            try:
                reply = _cut(await self._tried(request, attempts, effort), request.stop)
            except Refused as refused:
                if refused.parameter in known:
                    message = f"{self.name}: the server refuses {refused.parameter}"
                    raise LLMError("request", message, **dataclasses.asdict(effort)) from None
                if refused.parameter not in self._without:  # else another request learnt it while this one was sent
                    self._without.add(refused.parameter)
                    logger.warning("%s refuses %s; it is asked without from now on", self.name, refused.parameter)
                continue
            except LLMError as error:
                error.retries, error.queue, error.retry = effort.retries, effort.queue, effort.retry
                raise
            except asyncio.CancelledError as cancelled:
                vars(cancelled).update(dataclasses.asdict(effort))  # read by whoever set the deadline
                raise
            tokens = counting.estimate(request, reply) if reply.estimated else reply.tokens
            return dataclasses.replace(
                reply, tokens=tokens, retries=effort.retries, queue=effort.queue, retry=effort.retry
            )

    async def _tried(self, request: Request, attempts: int, effort: _Effort) -> Reply:
        body = wire.encoded(_without(wire.body(self, request), self._without))
        try:
            return await self._attempt(body, effort)
        except Passing as first:
            return await self._again(body, first, attempts, effort)

    async def _again(self, body: bytes, first: Passing, attempts: int, effort: _Effort) -> Reply:
        """The further attempts after a first one that failed; most calls need none, and no policy for them."""
        from tenacity import AsyncRetrying, retry_if_exception, stop_after_attempt, stop_after_delay

        before, failed = effort.retries, [first]
        try:
            async for attempt in AsyncRetrying(
                stop=stop_after_attempt(attempts) | stop_after_delay(ALL_SECONDS),
                retry=retry_if_exception(functools.partial(_worth_another, attempts)),
                wait=_wait,
                sleep=effort.sleep,
                reraise=True,
            ):
                with attempt:
                    effort.retries = before + attempt.retry_state.attempt_number - 1
                    if failed:
                        raise failed.pop()
                    return await self._attempt(body, effort)
        except Passing as last:
            tries = f" ({effort.retries + 1} attempts)" if effort.retries else ""
            raise LLMError(last.cause, f"{self.name}: {last}{tries}") from None
        raise AssertionError("unreachable: tenacity returns or raises")

    async def _attempt(self, body: bytes, effort: _Effort) -> Reply:
        if self._session is None:
            raise LLMError("connection", f"{self.name} is not open")
        if not self._breaker.allows():
            dead = f"{self.base_url} has given no sound answer for {self._breaker.dead_for:.0f} s"
            raise LLMError("connection", f"{self.name}: {dead}; it is left alone for now")
        asked = time.monotonic()
        async with self._pace.turn() as begun:
            effort.queue += begun - asked
            try:
                url = http.address(self.base_url, "chat/completions")
                answer = await http.post(self._session, url, body, self._key, self.name)
                reply = wire.reply(answer, 0)
            except wire.BadReply as error:
                raise self._failed(Passing("reply", str(error)), begun, effort) from None
            except Passing as failed:
                raise self._failed(failed, begun, effort) from None
            except (LLMError, Refused):
                self._breaker.answered()
                raise
            self._breaker.answered()
            self._pace.went_well(reply.tokens.prompt + reply.tokens.completion)
            return reply

    def _failed(self, failure: Passing, begun: float, effort: _Effort) -> Passing:
        """Count a failed attempt."""
        effort.retry += time.monotonic() - begun
        if failure.cause == "rate_limit":
            self._breaker.answered()
            self._pace.slow_down(begun, failure.wait or 0.0)
        else:
            self._breaker.failed()
        return failure


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
    """A reply that ends before the first stop text, whatever the server made of them."""
    at = min((i for text in stop if text and (i := reply.text.find(text)) >= 0), default=-1)
    return reply if at < 0 else dataclasses.replace(reply, text=reply.text[:at], finish="stop")


def _worth_another(attempts: int, failure: BaseException) -> bool:
    """Whether a failed attempt is; before a run, a server that is not there at all is down."""
    return isinstance(failure, Passing) and not (failure.absent and attempts == PREFLIGHT_ATTEMPTS)


def _wait(state: RetryCallState) -> float:
    """Seconds before the next attempt: what the server asked for, else 0.5, 1, 2, ... seconds."""
    failure = state.outcome.exception() if state.outcome else None
    asked = failure.wait if isinstance(failure, Passing) else None
    return min(LONGEST_WAIT, asked if asked is not None else 0.5 * 2.0 ** (state.attempt_number - 1))
