"""`responses/<model>`: the Responses API at OpenAI, at Azure and at servers that speak it, through the openai package.

Conversations are stateless: the server stores nothing, and reasoning goes back encrypted (see `response_items`). The
API has no stop texts and no seed. The package signs in and sends; its own retries and redirects are off, and what an
answer means is decided here, as for `openai/`.
"""

from __future__ import annotations

import asyncio
import functools
import os
import re
import time
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast
from urllib.parse import urlsplit

from r_eval.errors import MissingExtra, UserError
from r_eval.llms import failures, tokens, tool_calls
from r_eval.llms.attempts import ATTEMPTS, CircuitBreaker, Effort, with_retries
from r_eval.llms.base import LLM, LLMError, LLMSettings, Reply, Request
from r_eval.llms.chat import Refusals, misread_call
from r_eval.llms.preflight import learn_capabilities
from r_eval.llms.rate_limit import AdaptiveLimiter
from r_eval.llms.reply import decode_body, encode_body, read_body
from r_eval.llms.response_items import read_reply, render
from r_eval.llms.secrets import MARK, Secrets, environment_headers, refuse_key
from r_eval.records import Tokens

if TYPE_CHECKING:
    from r_eval.llms.openai import OpenAI

T = TypeVar("T")

OPENAI = "https://api.openai.com/v1"
TOKEN_SCOPE = "https://cognitiveservices.azure.com/.default"
LARGE_BODY = 2**13
"""Bytes of an answer above which it is read beside the event loop: broken arguments take 4 ms for a thousand bytes."""
MIN_OUTPUT = 16
"""The least `max_output_tokens` that OpenAI takes."""
OPTIONAL = frozenset({"temperature", "reasoning", "max_output_tokens", "tool_choice", "tools"})
"""What a request can do without, at the price of not being what the grid says."""
UNSAID = frozenset({"include", "store"})
"""What a request can do without, and no grid asks for."""
NAMES = {"max_tokens": "max_output_tokens", "effort": "reasoning"}
"""Parameters by the names that `failures` has for them."""


class Responses(LLM):
    """A model behind the Responses API."""

    class Settings(LLMSettings):
        """Settings of `responses/`.

        Attributes:
            base_url: The address before /responses.
            api_key_env: Environment variable with the key: OPENAI_API_KEY, or AZURE_OPENAI_API_KEY at Azure.
            azure_endpoint: An Azure resource, such as https://NAME.openai.azure.com; the model is a deployment's name.
            api_version: A dated version of Azure's API, in place of its v1 endpoint.
            entra: At Azure, sign in with azure-identity's DefaultAzureCredential instead of a key.
            reasoning: How much a reasoning model thinks; None leaves it to the model.
            headers: Further headers, each with the environment variable that holds its value.
            native_tools: False describes tools in the prompt.
        """

        base_url: str = OPENAI
        api_key_env: str | None = None
        azure_endpoint: str | None = None
        api_version: str | None = None
        entra: bool = False
        reasoning: Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"] | None = None
        headers: dict[str, str] = {}
        native_tools: bool = True

    CONNECTIONS = 16
    settings: Settings

    def __init__(self, name: str, model: str, settings: Settings) -> None:
        super().__init__(name, model, settings)
        azure = (settings.azure_endpoint or "").rstrip("/").removesuffix("/openai/v1")
        if azure and settings.base_url != OPENAI:
            raise UserError(f"LLM '{name}': base_url and azure_endpoint exclude each other")
        if not azure and (settings.api_version or settings.entra):
            raise UserError(f"LLM '{name}': api_version and entra need azure_endpoint")
        path = "openai" if settings.api_version else "openai/v1"
        self.base_url = f"{azure}/{path}" if azure else settings.base_url.rstrip("/")
        try:
            is_address: object = re.match("https?://.", self.base_url) and urlsplit(self.base_url).hostname
        except ValueError:
            is_address = False
        if not is_address:
            raise UserError(f"LLM '{name}': {'azure_endpoint' if azure else 'base_url'} is no address of a server")
        variable = settings.api_key_env or ("AZURE_OPENAI_API_KEY" if azure else "OPENAI_API_KEY")
        self.api_key_env = "" if settings.entra else variable
        refuse_key(name, "the model's name", model)
        refuse_key(name, "api_key_env", self.api_key_env)
        self.native_tools = settings.native_tools
        self.refusals = Refusals(name, self.base_url, model, self.adaptations)
        self._left_out: set[str] = set()
        self._secrets, self._token = Secrets(), ""
        self._client: Any = None
        self._credential: Any = None

    def identity(self) -> dict[str, Any]:
        """Besides the model: the address and the effort of reasoning."""
        return {**super().identity(), "base_url": self.base_url, "reasoning": self.settings.reasoning}

    def cost(self, used: Tokens) -> float | None:
        """By the grid's price; else, at OpenAI itself, by the published price of the model's name."""
        published = self.price is None and self.base_url == OPENAI
        return tokens.published_cost(self.model, used) if published else super().cost(used)

    async def open(self) -> None:
        """Build the client, and learn with a small request what the model takes (see `preflight`)."""
        self._limiter, self._breaker = AdaptiveLimiter(self.connections), CircuitBreaker()
        self._client = self._make_client()
        try:
            await learn_capabilities(cast("OpenAI", self))  # it has all that a preflight looks at
        except LLMError as error:
            if error.cause != "key":
                raise
            secret = "an Entra token" if self.settings.entra else f"the key in {self.api_key_env}"
            raise LLMError("key", f"{self.name}: no access to {self.base_url} with {secret} ({error})") from None

    async def close(self) -> None:
        client, credential, self._client, self._credential = self._client, self._credential, None, None
        for resource in filter(None, (client, credential)):
            await resource.close()

    def _make_client(self) -> Any:
        try:
            import openai
        except ImportError:
            raise MissingExtra("openai", "responses", f"The LLM {self.name}") from None
        entra, version, variable = self.settings.entra, self.settings.api_version, self.api_key_env
        key = os.environ.get(variable, "").strip()
        if not key and not entra and (self.base_url == OPENAI or self.settings.azure_endpoint):
            raise LLMError("key", f"{self.name}: the environment variable {variable} is not set")
        headers = environment_headers(self.name, self.settings.headers)
        for name, value in zip([variable, *self.settings.headers.values()], [key, *headers.values()], strict=True):
            if not (value.isascii() and value.isprintable()):
                raise UserError(f"LLM '{self.name}': the environment variable {name} holds what no HTTP header can")
        self._secrets, self._token = Secrets(key, *headers.values()), ""
        options: dict[str, Any] = {
            "base_url": self.base_url,
            "default_headers": headers,
            "max_retries": 0,
            "timeout": None,
            "http_client": _http_client(openai, self._refusal),
        }
        secret = self._token_provider(headers.values()) if entra else key or "none"
        if version is None:
            return openai.AsyncOpenAI(api_key=secret, **options)
        options["azure_ad_token_provider" if entra else "api_key"] = secret
        return openai.AsyncAzureOpenAI(api_version=version, **options)

    def _token_provider(self, keys: Any) -> Any:
        try:
            from azure.identity.aio import DefaultAzureCredential, get_bearer_token_provider
        except ImportError:
            raise MissingExtra("azure-identity", "azure", f"The LLM {self.name}") from None
        self._credential = DefaultAzureCredential()
        provider = get_bearer_token_provider(self._credential, TOKEN_SCOPE)

        async def token() -> str:
            value: str = await provider()
            if value != self._token:  # about once an hour; a pattern of 2,000 characters takes half a second
                self._token = value
                self._secrets = await asyncio.to_thread(Secrets, value, *keys)
            return value

        return token

    async def generate(self, request: Request, attempts: int = ATTEMPTS) -> Reply:
        if self._client is None:
            raise LLMError("connection", f"{self.name} is not open")
        effort = Effort()
        # Before a run, a server that is not there at all is down; in a run, it may come back.
        hopeless = () if attempts == ATTEMPTS else ("connection",)
        without_extra = False
        while True:
            sent = tool_calls.render_tools(request) if request.tools and not self.native_tools else request
            refused = self.refusals.snapshot(without_extra)
            body = self._body(sent, refused.extra)
            attempt = functools.partial(self._attempt, encode_body(body), effort)
            try:
                reply = await with_retries(
                    attempt, effort, attempts, lambda error: error.retryable and error.cause not in hopeless
                )
            except LLMError as error:
                if error.cause == "tool_call":
                    reply = misread_call(error, bool(sent.tools))
                elif error.cause == "parameter" and self._learn(error, body):
                    continue
                elif (
                    error.cause in ("request", "parameter")
                    and self.refusals.has_extra(sent.messages)
                    and not refused.extra
                ):
                    without_extra = True  # perhaps it is an item that came with an earlier reply
                    continue
                else:
                    raise effort.of_error(error, self.name) from None
            if without_extra:
                self.refusals.learn("extra", "it refuses items that came with its own replies")
            return effort.of_reply(tokens.with_tokens(reply, sent))

    def _body(self, request: Request, without_extra: bool) -> dict[str, Any]:
        body = {
            "model": self.model,
            "max_output_tokens": max(MIN_OUTPUT, request.max_tokens or self.max_tokens),
            "temperature": self.temperature,
            "store": False,
            "include": ["reasoning.encrypted_content"],
            **render(request, without_extra),
        }
        if self.settings.reasoning:
            body["reasoning"] = {"effort": self.settings.reasoning}
        left_out = self._left_out | self.refusals.snapshot().names
        return {key: value for key, value in body.items() if key not in left_out}

    def _learn(self, error: LLMError, body: Mapping[str, Any]) -> bool:
        """Do without a parameter that the server refuses, from now on; False where that is no remedy.

        A body that was built with it before this was known is built again.
        """
        name = NAMES.get(error.parameter, error.parameter)
        if name not in body or name not in OPTIONAL | UNSAID:
            return False
        if name in UNSAID:
            self._left_out.add(name)
        else:
            self.refusals.learn(name, str(error))
        self.native_tools = self.native_tools and name != "tools"
        return True

    async def _attempt(self, body: bytes, effort: Effort) -> Reply:
        if not self._breaker.allows():
            dead_for = self._breaker.dead_for
            raise LLMError("connection", f"{self.base_url} has given no sound answer for {dead_for:.0f} s")
        asked = time.monotonic()
        turn = await self._limiter.acquire()
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
        try:
            async with asyncio.timeout(self.settings.timeout):
                # `responses.create` would compare every item with the types of the package: 5 ms for a short request.
                answer: bytes = await self._client.post("/responses", content=body, cast_to=bytes)
            return await _read(read_reply, answer, self._secrets)
        except LLMError:
            raise
        except TimeoutError:
            raise LLMError("timeout", f"no answer within {self.settings.timeout:g} s") from None
        except Exception as error:  # noqa: BLE001  the package, the network and azure-identity raise their own
            failure = failures.of_exception(error)
            failure.args = (self._secrets.strike(str(failure)),)
            raise failure from None

    def _refusal(self, content: bytes, status: int, headers: Mapping[str, str]) -> LLMError:
        """What an answer means that is no success."""
        try:
            data = decode_body(content)
        except ValueError:
            data = content[:2000].decode("utf-8", "replace")
        said = {name: self._secrets.strike(value).replace(MARK, "key") for name, value in headers.items()}
        return failures.classify(status, self._secrets.strike_data(data), said)


async def _read(reader: Callable[..., T], content: bytes, *more: Any) -> T:
    """What a reader makes of an answer, of a large one beside the event loop."""
    return await asyncio.to_thread(reader, content, *more) if len(content) > LARGE_BODY else reader(content, *more)


def _http_client(openai: Any, refusal: Callable[[bytes, int, Mapping[str, str]], LLMError]) -> Any:
    """A client that follows no redirect, reads bodies within the room's bound, and raises what is no success."""

    class Bounded(openai.DefaultAsyncHttpxClient):  # type: ignore[misc]
        async def send(self, request: Any, **options: Any) -> Any:
            request.headers["Accept-Encoding"] = "identity"
            answer = await super().send(request, **{**options, "stream": True})
            raw = SimpleNamespace(iter_any=answer.aiter_raw)  # as aiohttp, which `read_body` is written for, names it
            try:
                body = await read_body(
                    cast(Any, SimpleNamespace(content=raw, headers=answer.headers, close=lambda: None))
                )
            finally:
                await answer.aclose()
            if answer.status_code >= 300:
                raise await _read(refusal, body, answer.status_code, answer.headers)
            return type(answer)(answer.status_code, content=body, request=request)

    return Bounded(follow_redirects=False)
