"""`openai/<model>`: OpenAI and every server that speaks its chat completions (vLLM, llama.cpp, Ollama, gateways).

One JSON POST through aiohttp, with a pool as large as the LLM's connections. What an answer means is decided in
`failures`, what a reply holds in `reply`, what is tried again in `attempts`. What a server does not take (a parameter,
a system message, tools, a key on a message) is learnt from its refusal, recorded in `adaptations` and warned about; a
request that was sent before the lesson is sent again. Keys come from environment variables and are written nowhere.
"""

from __future__ import annotations

import asyncio
import functools
import json
import logging
import os
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

from pydantic import Field

from r_eval.errors import UserError
from r_eval.llms import failures, tokens
from r_eval.llms.attempts import ATTEMPTS, CircuitBreaker, Effort, with_retries
from r_eval.llms.base import LLM, LLMError, LLMSettings, Reply, Request
from r_eval.llms.chat import Refusals, chat_body, misread_call
from r_eval.llms.preflight import learn_capabilities
from r_eval.llms.rate_limit import AdaptiveLimiter
from r_eval.llms.reply import decode_body, encode_body, parse_reply, read_body
from r_eval.llms.secrets import Secrets, environment_headers, refuse_key
from r_eval.llms.tool_calls import render_tools
from r_eval.records import Tokens

if TYPE_CHECKING:
    import aiohttp

logger = logging.getLogger("r_eval")

OPENAI = "https://api.openai.com/v1"
LARGE = 64_000
"""Bytes of an answer above which it is read beside the event loop."""


class Unreachable(LLMError):
    """Nothing answers at the address at all."""


class ServerDown(LLMError):
    """The server has failed for so long that it is not asked for now."""


class OpenAI(LLM):
    """A chat model behind an OpenAI-compatible address."""

    class Settings(LLMSettings):
        """Settings of `openai/`.

        Attributes:
            base_url: The address up to what comes before /chat/completions; it may have a query.
            api_key_env: Name of the environment variable that holds the key.
            api_key_header: Header that carries the key as it is, as some gateways want it; else it is a bearer token.
            headers: Further headers: name -> environment variable that holds the value.
            native_tools: False describes tools in the prompt whatever the server can do; True does not probe.
            requests_per_minute, tokens_per_minute: Limits that are kept on this side.
        """

        base_url: str = OPENAI
        api_key_env: str = "OPENAI_API_KEY"
        api_key_header: str = ""
        headers: dict[str, str] = {}
        native_tools: bool | None = None
        requests_per_minute: int | None = Field(None, ge=1)
        tokens_per_minute: int | None = Field(None, ge=1)

    CONNECTIONS = 16
    settings: Settings

    def __init__(self, name: str, model: str, settings: Settings) -> None:
        super().__init__(name, model, settings)
        refuse_key(name, "the model's name", model)
        refuse_key(name, "api_key_header", settings.api_key_header, header=True)
        self.base_url = settings.base_url.rstrip("/")
        try:
            self._url = _address(self.base_url, "chat/completions")
        except ValueError as error:
            raise UserError(f"LLM '{name}': base_url is no address ({error})") from None
        self.native_tools = settings.native_tools is not False
        self.refusals = Refusals(name, self.base_url, model, self.adaptations)
        self._session: aiohttp.ClientSession | None = None
        self._reset()

    def _reset(self) -> None:
        limits = self.settings.requests_per_minute, self.settings.tokens_per_minute
        self._limiter = AdaptiveLimiter(self.connections, *limits)
        self._breaker = CircuitBreaker()
        self._secrets = Secrets()

    def identity(self) -> dict[str, Any]:
        return {**super().identity(), "base_url": self.base_url}

    def cost(self, tokens_: Tokens) -> float | None:
        """By the grid's price; else, at OpenAI itself, by the published price of the model's name.

        A server of one's own may serve another model under any name, so no price is looked up for it.
        """
        if self.price is not None or self.base_url != OPENAI:
            return super().cost(tokens_)
        return tokens.published_cost(self.model, tokens_)

    async def open(self) -> None:
        """Open the pool, and learn with a few small requests what the server takes (see `preflight`)."""
        import aiohttp

        key = os.environ.get(self.settings.api_key_env, "").strip()
        if not key and self.base_url == OPENAI:
            raise LLMError("key", f"{self.name}: the environment variable {self.settings.api_key_env} is not set")
        self._reset()
        headers = environment_headers(self.name, self.settings.headers)
        self._secrets = Secrets(key, *headers.values())
        if key:
            header = self.settings.api_key_header
            headers[header or "Authorization"] = key if header else f"Bearer {key}"
        self._session = aiohttp.ClientSession(
            headers={"Content-Type": "application/json", "Accept-Encoding": "identity", **headers},
            connector=aiohttp.TCPConnector(limit=self.connections),
            timeout=aiohttp.ClientTimeout(total=self.settings.timeout, connect=20.0),
            auto_decompress=False,  # `read_body` does it, within a bound
        )
        try:
            await learn_capabilities(self)
        except LLMError as error:
            raise await self._explained(error) from None

    async def _explained(self, error: LLMError) -> LLMError:
        """The failure of a preflight, with what a person can do about it."""
        if error.cause == "key":
            variable = self.settings.api_key_env
            return LLMError("key", f"{self.name}: {self.base_url} refuses the key in {variable} ({error})")
        if error.cause == "model":
            return LLMError("model", f"{error}{await self._offered()}")
        if "HTTP 404" in str(error):
            return LLMError("request", f"{error} (does base_url end as it should, often in /v1?)")
        return error

    async def _offered(self) -> str:
        """The models that the server says it has, for a message."""
        import aiohttp

        assert self._session is not None
        try:
            async with self._session.get(_address(self.base_url, "models"), allow_redirects=False) as answer:
                names = sorted(str(model["id"]) for model in json.loads(await read_body(answer))["data"])
        except (aiohttp.ClientError, TimeoutError, ValueError, TypeError, KeyError, LLMError):
            return ""
        return f"; it has: {', '.join(names[:20])}{', ...' if len(names) > 20 else ''}" if names else ""

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def generate(self, request: Request, attempts: int = ATTEMPTS) -> Reply:
        effort = Effort()
        without_extra = False
        while True:
            sent = render_tools(request) if request.tools and not self.native_tools else request
            refused = self.refusals.snapshot(without_extra)
            body = encode_body(chat_body(self, sent, refused))
            try:
                reply = await with_retries(
                    functools.partial(self._attempt, body, sent, effort), effort, attempts, self._worth(attempts)
                )
            except LLMError as error:
                if error.cause == "tool_call":
                    reply = misread_call(error, bool(sent.tools))
                elif error.cause == "parameter" and self._learn(error, sent, refused):
                    continue
                elif error.cause == "request" and self.refusals.has_extra(sent.messages) and not refused.extra:
                    without_extra = True  # perhaps it is a key that came with an earlier reply
                    continue
                else:
                    raise effort.of_error(error, self.name) from None
            if without_extra:
                self.refusals.learn("extra", "it refuses keys that came with its own replies")
            return effort.of_reply(tokens.with_tokens(reply, sent))

    def _worth(self, attempts: int) -> Any:
        """Before a run, a server that is not there at all is down; in a run, it may come back."""
        final = (ServerDown, Unreachable) if attempts < ATTEMPTS else ServerDown
        return lambda error: error.retryable and not isinstance(error, final)

    def _learn(self, error: LLMError, sent: Request, refused: Any) -> bool:
        """Learn what the server does not take; whether a request without it is worth sending."""
        if error.parameter == "tools":
            if not sent.tools:
                return False
            if self.native_tools:
                self.native_tools = False
                self.refusals.learn("tools", str(error))
            return True
        return self.refusals.learn_from(error, sent, refused)

    async def _attempt(self, body: bytes, request: Request, effort: Effort) -> Reply:
        if self._session is None:
            raise LLMError("connection", "it is not open")
        if not self._breaker.allows():
            raise ServerDown("connection", f"{self.base_url} has been down for {self._breaker.dead_for:.0f} s")
        asked = time.monotonic()
        limited = self.settings.tokens_per_minute is not None
        turn = await self._limiter.acquire(len(body) // 4 + (request.max_tokens or self.max_tokens) if limited else 0)
        begun = time.monotonic()
        effort.queue += begun - asked
        try:
            reply = await self._post(body)
        except LLMError as error:
            if error.retryable:
                effort.retry += time.monotonic() - begun
            if error.cause == "rate_limit":
                self._limiter.on_rate_limit(turn, error.wait or 0.0)
            if error.retryable and error.cause != "rate_limit":
                self._breaker.on_failure()
            else:
                self._breaker.on_answer()
            raise
        finally:
            self._limiter.release()
        self._breaker.on_answer()
        self._limiter.on_success(turn, reply.tokens.prompt + reply.tokens.completion)
        return reply

    async def _post(self, body: bytes) -> Reply:
        """The reply in the server's answer.

        Raises:
            LLMError: There is none.
        """
        import aiohttp

        assert self._session is not None
        try:
            async with self._session.post(self._url, data=body, allow_redirects=False) as answer:
                content = await read_body(answer)
                status, headers = answer.status, answer.headers
        except TimeoutError:
            raise LLMError("timeout", f"no answer within {self.settings.timeout:g} s") from None
        except (aiohttp.ClientConnectorError, aiohttp.InvalidURL) as error:
            why = getattr(error, "os_error", None) or error
            said = self._secrets.strike(str(why) or type(why).__name__)
            raise Unreachable("connection", f"no server answers at {self.base_url} ({said})") from None
        except aiohttp.ClientError as error:
            raise LLMError("connection", self._secrets.strike(f"{type(error).__name__}: {error}")) from None
        if len(content) > LARGE:
            return await asyncio.to_thread(self._read, content, status, headers)
        return self._read(content, status, headers)

    def _read(self, content: bytes, status: int, headers: Mapping[str, str]) -> Reply:
        """The reply in an answer.

        Raises:
            LLMError: There is none.
        """
        try:
            data = decode_body(content)
        except ValueError:
            data = content[:2000].decode("utf-8", "replace")
            if status < 300:
                quoted = self._secrets.strike(data)[:100]
                streams = " (a stream, which was not asked for)" if quoted.startswith("data:") else ""
                raise LLMError("reply", f"not JSON{streams}: {quoted!r}") from None
        if status < 300 and failures.error_in(data) is None:
            return parse_reply(data)
        data = self._secrets.strike_data(data)
        if status < 300:
            raise failures.error_in(data) or LLMError("reply", "an error that says nothing")
        error = failures.classify(status, data, headers)
        error.args = (self._secrets.strike(str(error)),)
        raise error


@functools.cache
def _address(base_url: str, path: str) -> str:
    """An address below a server's base; a query that the base has (a gateway's version, say) stays at the end.

    Raises:
        ValueError: The base is no address.
    """
    parts = urlsplit(base_url)
    return urlunsplit(parts._replace(path=f"{parts.path.rstrip('/')}/{path}"))
