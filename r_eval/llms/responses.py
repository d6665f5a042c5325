"""`responses/<model>`: the Responses API at OpenAI, at Azure and at servers that speak it, through the openai package.

Conversations are stateless: the server stores nothing, and reasoning goes back encrypted (see `response_items`). The
API has no stop texts and no seed. The package's own retries are off; a body is read up to `MAX_BODY` bytes.
"""

from __future__ import annotations

import asyncio
import dataclasses
import logging
import os
import time
from typing import Any, Literal
from urllib.parse import quote

from r_eval.errors import MissingExtra, UserError
from r_eval.llms import failures, response_items, tokens, tool_calls
from r_eval.llms.base import LLM, LLMError, LLMSettings, Message, Reply, Request, ToolSpec
from r_eval.llms.rate_limit import AdaptiveLimiter
from r_eval.records import Tokens

logger = logging.getLogger("r_eval")

OPENAI = "https://api.openai.com/v1"
TOKEN_SCOPE = "https://cognitiveservices.azure.com/.default"
ATTEMPTS, MAX_WAIT, MAX_SECONDS, PREFLIGHT_SECONDS = 8, 30.0, 600.0, 30.0
MAX_BODY, LARGE_BODY = 16 * 2**20, 2**18
"""Bytes of an answer that are read at most; characters above which it is parsed beside the event loop."""
MIN_OUTPUT = 16
"""The least `max_output_tokens` that OpenAI takes."""
MIN_SECRET = 8
"""Characters; what is shorter, such as the key of a local server, is no secret."""
OPTIONAL = frozenset({"temperature", "reasoning", "include", "store", "max_output_tokens", "tool_choice", "tools"})
"""What a request can do without."""
READY = ToolSpec("ready", "Say that the connection works.", {"type": "object", "properties": {}})
PROMPT = (Message("system", "Be brief."), Message("user", "This tests the connection. Reply with: ready"))
PREFLIGHT = Request(PROMPT, max_tokens=MIN_OUTPUT, tools=(READY,))


class ResponsesSettings(LLMSettings):
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


class Responses(LLM):
    """A model behind the Responses API."""

    Settings = ResponsesSettings
    CONNECTIONS = 16
    settings: ResponsesSettings

    def __init__(self, name: str, model: str, settings: ResponsesSettings) -> None:
        super().__init__(name, model, settings)
        self.native_tools = settings.native_tools
        azure = (settings.azure_endpoint or "").rstrip("/").removesuffix("/openai/v1")
        if azure and settings.base_url != OPENAI:
            raise UserError(f"LLM '{name}': base_url and azure_endpoint exclude each other")
        if not azure and (settings.api_version or settings.entra):
            raise UserError(f"LLM '{name}': api_version and entra need azure_endpoint")
        path = "openai" if settings.api_version else "openai/v1"
        self.base_url = f"{azure}/{path}" if azure else settings.base_url.rstrip("/")
        self.key_env = settings.api_key_env or ("AZURE_OPENAI_API_KEY" if azure else "OPENAI_API_KEY")
        for key, variable in {"api_key_env": self.key_env, **settings.headers}.items():
            if not (variable.isascii() and variable.isidentifier()):
                raise UserError(f"LLM '{name}': {key} must be the name of an environment variable, not a key itself")
        self._limiter = AdaptiveLimiter(self.connections)
        self._refused: set[str] = set()
        self._secrets: set[str] = set()
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
        """Build the client and make one small request, which shows what the model does not take."""
        self._limiter = AdaptiveLimiter(self.connections)
        self._client = self._make_client()
        try:
            await self._ask(PREFLIGHT, PREFLIGHT_SECONDS)
        except LLMError as error:
            await self.close()
            if error.cause == "key":
                secret = "an Entra token" if self.settings.entra else f"the key in {self.key_env}"
                error.args = (f"{error}: no access to {self.base_url} with {secret}",)
            raise

    async def close(self) -> None:
        client, credential, self._client, self._credential = self._client, self._credential, None, None
        for resource in filter(None, (client, credential)):
            await resource.close()

    def _make_client(self) -> Any:
        try:
            import openai
        except ImportError:
            raise MissingExtra("openai", "responses", f"The LLM {self.name}") from None
        entra, version = self.settings.entra, self.settings.api_version
        options: dict[str, Any] = {
            "base_url": self.base_url,
            "default_headers": {header: self._environment(name) for header, name in self.settings.headers.items()},
            "max_retries": 0,
            "timeout": None,
            "http_client": _http_client(openai),
        }
        needs_key = self.base_url == OPENAI or bool(self.settings.azure_endpoint) or self.key_env in os.environ
        secret = self._token_provider() if entra else self._environment(self.key_env) if needs_key else "none"
        if version is None:
            return openai.AsyncOpenAI(api_key=secret, **options)
        options["azure_ad_token_provider" if entra else "api_key"] = secret
        return openai.AsyncAzureOpenAI(api_version=version, **options)

    def _environment(self, variable: str) -> str:
        """The value of a variable, which no message may repeat from now on."""
        value = os.environ.get(variable, "").strip()
        if not value and variable == self.key_env:
            raise LLMError("key", f"{self.name}: the environment variable {variable} is not set")
        if not value:
            raise UserError(f"LLM '{self.name}': the environment variable {variable} of headers is not set")
        if not (value.isascii() and value.isprintable()):
            raise UserError(f"LLM '{self.name}': the environment variable {variable} holds what no HTTP header can")
        self._secrets |= {value, quote(value, safe="")}
        return value

    def _token_provider(self) -> Any:
        try:
            from azure.identity.aio import DefaultAzureCredential, get_bearer_token_provider
        except ImportError:
            raise MissingExtra("azure-identity", "azure", f"The LLM {self.name}") from None
        self._credential = DefaultAzureCredential()
        provider = get_bearer_token_provider(self._credential, TOKEN_SCOPE)

        async def token() -> str:
            self._secrets.add(value := str(await provider()))
            return value

        return token

    async def generate(self, request: Request) -> Reply:
        if self._client is None:
            raise LLMError("connection", f"{self.name} is not open")
        return await self._ask(request, MAX_SECONDS)

    async def _ask(self, request: Request, seconds: float) -> Reply:
        """Attempts until one is answered; in the preflight, a server that is not there at all gets one."""
        end, retries, queue, retry = time.monotonic() + seconds, 0, 0.0, 0.0
        while True:
            began = time.monotonic()
            turn = await self._limiter.acquire()
            queue, end = queue + turn.at - began, end + turn.at - began
            try:
                body = self._body(request)
                reply = await self._attempt(body, min(self.settings.timeout, max(1.0, end - turn.at)))
                self._limiter.on_success(turn, reply.tokens.prompt + reply.tokens.completion)
                reply = dataclasses.replace(reply, retries=retries, queue=queue, retry=retry)
                return tokens.with_tokens(reply, request)
            except LLMError as error:
                retry += time.monotonic() - turn.at
                if self._adapt(error, body):
                    continue
                wait = min(MAX_WAIT, 0.5 * 2.0**retries if error.wait is None else error.wait)
                if error.cause == "rate_limit":
                    self._limiter.on_rate_limit(turn, wait)
                preflight = seconds == PREFLIGHT_SECONDS
                hopeless = not error.retryable or (preflight and error.cause == "connection")
                if hopeless or retries + 1 == ATTEMPTS or time.monotonic() + wait > end:
                    error.cause = "request" if error.cause == "parameter" else error.cause
                    error.args = (f"{self.name}: {error}",)
                    error.retries, error.queue, error.retry = retries, queue, retry
                    raise
                if preflight:
                    logger.warning("%s: %s; next attempt in %.0f s", self.name, error, wait)
            finally:
                self._limiter.release()
            retries, retry = retries + 1, retry + wait
            await asyncio.sleep(wait)

    async def _attempt(self, body: dict[str, Any], seconds: float) -> Reply:
        try:
            async with asyncio.timeout(seconds):
                # `responses.create` would compare every item with the types of the package: 5 ms for a short request.
                answer = await self._client.post("/responses", body=body, cast_to=str)
            read = response_items.read_reply
            return await asyncio.to_thread(read, answer) if len(answer) > LARGE_BODY else read(answer)
        except TimeoutError:
            raise LLMError("timeout", f"no reply within {seconds:.0f} s") from None
        except Exception as error:  # noqa: BLE001  the SDK, the network and azure-identity raise their own
            failure = error if isinstance(error, LLMError) else failures.of_exception(error)
            if failure.cause == "request" and getattr(error, "param", None) == "include":
                failure.cause, failure.parameter = "parameter", "include"  # how models without reasoning answer to it
            text = str(failure)
            for secret in self._secrets:
                text = text.replace(secret, "[key]") if len(secret) >= MIN_SECRET else text
            failure.args = (text,)
            raise failure from None

    def _adapt(self, error: LLMError, body: dict[str, Any]) -> bool:
        """Do without a parameter that the server refuses, from now on; False where that is no remedy.

        A request that was sent with it before this was known is sent again.
        """
        name = error.parameter.partition(".")[0]
        name = "max_output_tokens" if name == "max_tokens" else name
        if error.cause != "parameter" or name not in OPTIONAL or name not in body:
            return False
        if name not in self._refused and name not in ("include", "store"):  # these are not the grid's
            self.adaptations[name] = f"not sent: {error}"
            logger.warning("%s does not take %s, which is not sent: %s", self.name, name, error)
        self._refused.add(name)
        self.native_tools = self.native_tools and name != "tools"
        return True

    def _body(self, request: Request) -> dict[str, Any]:
        if request.tools and not self.native_tools:
            request = tool_calls.render_tools(request)
        body = {
            "model": self.model,
            "max_output_tokens": max(MIN_OUTPUT, request.max_tokens or self.max_tokens),
            "temperature": self.temperature,
            "store": False,
            "include": ["reasoning.encrypted_content"],
            **response_items.render(request),
        }
        if self.settings.reasoning:
            body["reasoning"] = {"effort": self.settings.reasoning}
        return {key: value for key, value in body.items() if key not in self._refused}


def _http_client(openai: Any) -> Any:
    """A client that follows no redirect and reads bodies, decompressed, up to `MAX_BODY` bytes."""

    class Bounded(openai.DefaultAsyncHttpxClient):  # type: ignore[misc]
        async def send(self, request: Any, **options: Any) -> Any:
            request.headers["Accept-Encoding"] = "identity"
            answer = await super().send(request, **{**options, "stream": True})
            body = bytearray()
            try:
                async for chunk in answer.aiter_bytes():
                    body += chunk
                    if len(body) > MAX_BODY:
                        raise LLMError("reply", f"the answer is larger than {MAX_BODY // 2**20} MB")
            finally:
                await answer.aclose()
            kept = {k: v for k, v in answer.headers.items() if k.lower() not in ("content-encoding", "content-length")}
            return type(answer)(answer.status_code, headers=kept, content=bytes(body), request=request)

    return Bounded(follow_redirects=False)
