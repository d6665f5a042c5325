"""`openai/<model>`: OpenAI and every server that speaks its chat completions (vLLM, llama.cpp, Ollama, gateways).

One JSON POST through aiohttp, with a pool as large as the LLM's connections. What an answer means is decided in
`failures`, what a reply holds in `reply`, what is tried again and what is learnt from a refusal in `attempts`. Keys
come from environment variables and are written nowhere. `responses/` does all of this alike, over another protocol.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Mapping
from typing import Annotated, Any
from urllib.parse import urlsplit, urlunsplit

from pydantic import AfterValidator, Field

from r_eval.errors import OPEN_FILES
from r_eval.llms import failures, tokens
from r_eval.llms.attempts import Effort, Persistent, ServerDown, Unreachable
from r_eval.llms.base import LLM, LLMError, LLMSettings, Reply, Request
from r_eval.llms.chat import Refused
from r_eval.llms.preflight import learn_capabilities
from r_eval.llms.rate_limit import AdaptiveLimiter
from r_eval.llms.reply import decode_body, encode_body, parse_reply, read_body
from r_eval.llms.secrets import LONGEST, MARK, Secrets, environment_headers, header_value, refuse_keys
from r_eval.records import Tokens

OPENAI = "https://api.openai.com/v1"
LARGE = 2**13
"""Bytes of an answer above which a thread reads it: broken arguments take 4 ms for a thousand bytes."""
DOWN_SECONDS = 60.0
"""A server that has only failed for so long is tried once per call, until it answers again."""
RETURNS_REASONING: Mapping[str, str] = {
    "api.deepseek.com": "reasoning_content",
    "api.moonshot.ai": "reasoning_content",
    "api.moonshot.cn": "reasoning_content",
    "openrouter.ai": "reasoning",
}
"""Providers that want a model's reasoning back with its tool calls, by host, and the key in which they want it."""

Answer = tuple[bytes, int, Mapping[str, str]]
"""A body, its status and its headers."""


def _server(address: str) -> str:
    """The address of a server, without the path of a call that it was copied with."""
    with contextlib.suppress(ValueError):
        parts = urlsplit(address.strip())
        if parts.scheme in ("http", "https") and parts.hostname and parts.port != 0:  # or it raises
            path = parts.path.rstrip("/").removesuffix("/chat/completions").removesuffix("/responses")
            return urlunsplit(parts._replace(path=path))
    raise ValueError("must be the address of a server, such as http://127.0.0.1:8000/v1")


Address = Annotated[str, AfterValidator(_server)]


class OpenAI(Persistent, LLM):
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

        base_url: Address = OPENAI
        api_key_env: str = "OPENAI_API_KEY"
        api_key_header: str = ""
        headers: dict[str, str] = {}
        native_tools: bool | None = None
        requests_per_minute: int | None = Field(None, ge=1)
        tokens_per_minute: int | None = Field(None, ge=1)

    CONNECTIONS = 16
    settings: Settings
    _parse = staticmethod(parse_reply)
    """The reply in an answer's data; a wrong type may raise what wrong types raise."""

    def __init__(self, name: str, model: str, settings: Settings) -> None:
        super().__init__(name, model, settings)
        keys = {"api_key_env": settings.api_key_env, "api_key_header": settings.api_key_header}
        refuse_keys(name, model, settings.headers, **keys)
        self.base_url, self.api_key_env = settings.base_url, settings.api_key_env
        self.needs_key = self.base_url == OPENAI
        self.native_tools = settings.native_tools is not False
        self.refused = Refused(reasoning=RETURNS_REASONING.get(urlsplit(self.base_url).hostname or "", ""))
        self._secrets = Secrets()
        self._client: Any = None
        self._resources = contextlib.AsyncExitStack()

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
        """Connect, and learn with a few small requests what the server takes (see `preflight`)."""
        settings = self.settings
        key = header_value(self.name, self.api_key_env)
        if self.needs_key and not key:
            raise LLMError("key", f"{self.name}: the environment variable {self.api_key_env} is not set")
        headers = environment_headers(self.name, settings.headers)
        self._secrets = Secrets(key, *headers.values())
        self._limiter = AdaptiveLimiter(self.connections, settings.requests_per_minute, settings.tokens_per_minute)
        self._failing_since: float | None = None
        self._client = self._connect(key, headers)
        self._resources.push_async_callback(self._client.close)
        try:
            await learn_capabilities(self)
        except LLMError as error:
            if error.cause in ("key", "request"):
                secret = f"the key in {self.api_key_env}" if self.api_key_env else "the Entra token"
                what, why = secret if error.cause == "key" else "a request", str(error).removeprefix(f"{self.name}: ")
                hint = "" if urlsplit(self.base_url).path or error.cause == "key" else "; does its address end in /v1?"
                error.args = (f"{self.name}: {self.base_url} refuses {what} ({why}){hint}",)
            raise

    async def close(self) -> None:
        self._client = None
        await self._resources.aclose()

    def _connect(self, key: str, headers: dict[str, str]) -> Any:
        """What sends requests with the key, if there is one, and with further headers."""
        import aiohttp

        if key:
            header = self.settings.api_key_header
            headers[header or "Authorization"] = key if header else f"Bearer {key}"
        return aiohttp.ClientSession(
            headers={"Content-Type": "application/json", "Accept-Encoding": "identity", **headers},
            connector=aiohttp.TCPConnector(limit=self.connections),
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=self.settings.timeout, connect=20.0),
            auto_decompress=False,  # `read_body` does it, within a bound
            proxy=_proxy(self.base_url),  # `trust_env` would look it up in threads, for each request, and read ~/.netrc
        )

    async def _attempt(self, sent: Request, refused: Refused, effort: Effort) -> Reply:
        if self._client is None:
            raise ServerDown("connection", "it is not open")
        body = encode_body(self._body(sent, refused))
        begun = time.monotonic()
        turn = await self._limiter.acquire(len(body) // 4 + (sent.max_tokens or self.max_tokens))
        effort.queue += turn.at - begun
        try:
            answer = await self._post(body)
            if len(answer[0]) > LARGE:
                reply = await asyncio.to_thread(self._read, *answer)
            else:
                reply = self._read(*answer)
        except LLMError as error:
            error.args = (self._secrets.strike(str(error)),)
            now = time.monotonic()
            if error.cause in error.RETRIED:
                effort.retry += now - turn.at
            if error.cause == "rate_limit":
                self._limiter.on_rate_limit(turn)
            if error.cause not in error.RETRIED - {"rate_limit"}:
                self._failing_since = None
                raise
            self._failing_since = self._failing_since or now
            if (seconds := now - self._failing_since) > DOWN_SECONDS:
                raise ServerDown(error.cause, f"{error}; {self.base_url} has been down for {seconds:.0f} s") from None
            raise
        finally:
            self._limiter.release()
        self._failing_since = None
        self._limiter.on_success(turn, reply.tokens.prompt + reply.tokens.completion)
        return reply

    async def _post(self, body: bytes) -> Answer:
        """The server's answer, whatever its status."""
        import aiohttp

        parts = urlsplit(self.base_url)  # of which a query (a gateway's version, say) stays at the end
        url = urlunsplit(parts._replace(path=f"{parts.path}/chat/completions"))
        try:
            async with self._client.post(url, data=body, allow_redirects=False) as answer:
                return await read_body(answer.content.iter_any(), answer.headers), answer.status, answer.headers
        except TimeoutError:
            raise LLMError("timeout", f"no answer within {self.settings.timeout:g} s") from None
        except (aiohttp.ClientConnectorError, aiohttp.InvalidURL) as error:
            why = str(getattr(error, "os_error", None) or error) or type(error).__name__
            if advice := OPEN_FILES.get(getattr(error, "errno", None) or 0):
                raise LLMError("connection", f"no further connection can be opened ({why}); {advice}") from None
            raise Unreachable("connection", f"no server answers at {url} ({why})") from None
        except aiohttp.ClientError as error:
            raise LLMError("connection", f"{type(error).__name__}: {error}") from None

    def _read(self, content: bytes, status: int, headers: Mapping[str, str]) -> Reply:
        """The reply in an answer."""
        error: LLMError | None = None
        if status < 300:
            try:
                return self._parse(decode_body(content))
            except LLMError as failure:
                error = failure
            except (ValueError, TypeError, KeyError, AttributeError) as wrong:
                start = self._secrets.strike(content[:2000].decode("utf-8", "replace"))[:100]
                problem = f"no reply in the answer ({type(wrong).__name__}: {wrong}): {start!r}"
                raise LLMError("reply", problem) from None
        data = text = self._secrets.strike(content[:LONGEST].decode("utf-8", "replace"))
        with contextlib.suppress(ValueError):
            data = decode_body(text.encode())
        if error is not None:
            raise failures.error_in(data) or error
        safe = {name: self._secrets.strike(value).replace(MARK, "key") for name, value in headers.items()}
        raise failures.classify(status, data, safe)


def _proxy(base_url: str) -> str | None:
    """The proxy that the environment names for an address (HTTPS_PROXY, NO_PROXY, ...); none for this machine's own."""
    from urllib.request import getproxies, proxy_bypass

    parts = urlsplit(base_url)
    host = parts.hostname or ""
    is_own = host in ("localhost", "::1") or host.startswith("127.")
    return None if is_own or proxy_bypass(host) else getproxies().get(parts.scheme)
