"""`responses/<model>`: the Responses API at OpenAI, at Azure and at servers that speak it, through the openai package.

Conversations are stateless: the server stores nothing, and reasoning goes back encrypted (see `response_items`). The
API has no stop texts and no seed. The package signs in and sends; its own retries and redirects are off, and all else
is as for `openai/`.
"""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any, Literal, cast

from r_eval.errors import MissingExtra, UserError
from r_eval.llms import failures
from r_eval.llms.attempts import Unreachable
from r_eval.llms.base import LLMError, Request
from r_eval.llms.chat import Refused
from r_eval.llms.openai import OPENAI, Address, Answer, OpenAI
from r_eval.llms.reply import read_body
from r_eval.llms.response_items import read_reply, render
from r_eval.llms.secrets import Secrets

TOKEN_SCOPE = "https://cognitiveservices.azure.com/.default"
MIN_OUTPUT = 16
"""The least `max_output_tokens` that OpenAI takes."""
OPTIONAL = frozenset({"temperature", "reasoning", "max_output_tokens", "tool_choice", "tools"})
"""What a request can do without, at the price of not being what the grid says."""
UNSAID = frozenset({"include", "store"})
"""What a request can do without, and no grid asks for."""
NAMES = {"max_tokens": "max_output_tokens", "effort": "reasoning"}
"""Parameters by the names that `failures` has for them."""


class Responses(OpenAI):
    """A model behind the Responses API."""

    class Settings(OpenAI.Settings):
        """Settings of `responses/`, besides those of `openai/`.

        Attributes:
            base_url: The address before /responses.
            api_key_env: Environment variable with the key: OPENAI_API_KEY, or AZURE_OPENAI_API_KEY at Azure.
            native_tools: False describes tools in the prompt; None probes whether they reach it.
            azure_endpoint: An Azure resource, such as https://NAME.openai.azure.com; the model is a deployment's name.
            api_version: A dated version of Azure's API, in place of its v1 endpoint.
            entra: At Azure, sign in with azure-identity's DefaultAzureCredential instead of a key.
            reasoning: How much a reasoning model thinks; None leaves it to the model.
        """

        native_tools: bool | None = True
        azure_endpoint: Address | None = None
        api_version: str | None = None
        entra: bool = False
        reasoning: Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"] | None = None

    settings: Settings
    _parse = staticmethod(read_reply)

    def __init__(self, name: str, model: str, settings: Settings) -> None:
        super().__init__(name, model, settings)
        self._options: dict[str, Any] = {}
        if settings.azure_endpoint is None:
            if settings.api_version or settings.entra:
                raise UserError(f"LLM '{name}': api_version and entra need azure_endpoint")
            return
        if settings.base_url != OPENAI:
            raise UserError(f"LLM '{name}': base_url and azure_endpoint exclude each other")
        path = "openai" if settings.api_version else "openai/v1"
        self.base_url = f"{settings.azure_endpoint.removesuffix('/openai/v1')}/{path}"
        if "api_key_env" not in settings.model_fields_set:
            self.api_key_env = "AZURE_OPENAI_API_KEY"
        self.needs_key = not settings.entra
        if settings.entra:
            self.api_key_env = ""

    def identity(self) -> dict[str, Any]:
        """Besides the model: the address and the effort of reasoning."""
        return {**super().identity(), "reasoning": self.settings.reasoning}

    def _connect(self, key: str, headers: dict[str, str]) -> Any:
        try:
            import openai
        except ImportError:
            raise MissingExtra("openai", "responses", f"The LLM {self.name}") from None
        entra, version, header = self.settings.entra, self.settings.api_version, self.settings.api_key_header
        secret = self._token_provider(list(headers.values())) if entra else key or "none"
        if header and key:
            self._options = {"headers": {header: key, "Authorization": openai.Omit()}}
        options: dict[str, Any] = {
            "base_url": self.base_url,
            "default_headers": headers,
            "max_retries": 0,
            "timeout": None,
            "http_client": _http_client(openai),
        }
        if version is None:
            return openai.AsyncOpenAI(api_key=secret, **options)
        options["azure_ad_token_provider" if entra else "api_key"] = secret
        return openai.AsyncAzureOpenAI(api_version=version, **options)

    def _token_provider(self, keys: list[str]) -> Any:
        try:
            from azure.identity.aio import DefaultAzureCredential, get_bearer_token_provider
        except ImportError:
            raise MissingExtra("azure-identity", "azure", f"The LLM {self.name}") from None
        credential, known = DefaultAzureCredential(), ""
        self._resources.push_async_callback(credential.close)
        provider = get_bearer_token_provider(credential, TOKEN_SCOPE)

        async def token() -> str:
            nonlocal known
            value: str = await provider()
            if value != known:  # about once an hour; a pattern of 2,000 characters takes half a second
                known = value
                self._secrets = await asyncio.to_thread(Secrets, value, *keys)
            return value

        return token

    async def _models(self) -> bytes:
        return cast(bytes, await self._client.get("/models", cast_to=bytes, options=self._options))

    def _body(self, sent: Request, refused: Refused) -> dict[str, Any]:
        body = {
            "model": self.model,
            "max_output_tokens": max(MIN_OUTPUT, sent.max_tokens or self.max_tokens),
            "temperature": self.temperature,
            "store": False,
            "include": ["reasoning.encrypted_content"],
            **render(sent, refused.extra),
        }
        if self.settings.reasoning:
            body["reasoning"] = {"effort": self.settings.reasoning}
        return {key: value for key, value in body.items() if key not in refused.names}

    def _learn(self, error: LLMError, sent: Request, refused: Refused) -> bool:
        name = NAMES.get(error.parameter, error.parameter)
        if name not in OPTIONAL | UNSAID or name not in self._body(sent, refused):
            return False
        self.refusals.learn(name, str(error), is_said=name in OPTIONAL)
        self.native_tools = self.native_tools and name != "tools"
        return True

    async def _post(self, body: bytes) -> Answer:
        try:
            async with asyncio.timeout(self.settings.timeout):
                # `responses.create` would compare every item with the types of the package: 5 ms for a short request.
                posted = self._client.post("/responses", content=body, cast_to=bytes, options=self._options)
                return await posted, 200, {}
        except _NoSuccess as answer:
            return answer.answer
        except LLMError:
            raise
        except TimeoutError:
            raise LLMError("timeout", f"no answer within {self.settings.timeout:g} s") from None
        except Exception as error:  # noqa: BLE001  the package, the network and azure-identity raise their own
            failure = failures.of_exception(error)
            if failure.cause == "connection":
                raise Unreachable("connection", str(failure)) from None
            raise failure from None


class _NoSuccess(Exception):
    """An answer that the package would make an error of its own of."""

    def __init__(self, answer: Answer) -> None:
        super().__init__()
        self.answer = answer


def _http_client(openai: Any) -> Any:
    """A client that follows no redirect, reads bodies within the room's bound, and raises what is no success."""

    class Bounded(openai.DefaultAsyncHttpxClient):  # type: ignore[misc]
        async def send(self, request: Any, **options: Any) -> Any:
            request.headers["Accept-Encoding"] = "identity"
            answer = await super().send(request, **{**options, "stream": True})
            raw = SimpleNamespace(iter_any=answer.aiter_raw)  # as aiohttp, which `read_body` is written for, names it
            like_aiohttp: Any = SimpleNamespace(content=raw, headers=answer.headers, close=lambda: None)
            try:
                body = await read_body(like_aiohttp)
            finally:
                await answer.aclose()
            if answer.status_code >= 300:
                raise _NoSuccess((body, answer.status_code, answer.headers))
            return type(answer)(answer.status_code, content=body, request=request)

    return Bounded(follow_redirects=False)
