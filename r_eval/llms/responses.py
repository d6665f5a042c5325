"""`responses/<model>`: the Responses API at OpenAI, at Azure and at servers that speak it, through the openai package.

Conversations are stateless: the server stores nothing, and reasoning goes back encrypted (see `response_items`). The
API has no stop texts and no seed. The package signs in and sends; its own retries and redirects are off, and all else
is as for `openai/`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from types import SimpleNamespace
from typing import Any, Literal

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
            entra: At Azure, sign in with azure-identity's DefaultAzureCredential instead of a key.
            reasoning: How much a reasoning model thinks; None leaves it to the model.
        """

        native_tools: bool | None = True
        azure_endpoint: Address | None = None
        entra: bool = False
        reasoning: Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"] | None = None

    settings: Settings
    _parse = staticmethod(read_reply)

    def __init__(self, name: str, model: str, settings: Settings) -> None:
        super().__init__(name, model, settings)
        self._options: dict[str, Any] = {}
        if settings.azure_endpoint is None:
            if settings.entra:
                raise UserError(f"LLM '{name}': entra needs azure_endpoint")
            return
        if settings.base_url != OPENAI:
            raise UserError(f"LLM '{name}': base_url and azure_endpoint exclude each other")
        self.base_url = f"{settings.azure_endpoint.removesuffix('/openai/v1')}/openai/v1"
        if "api_key_env" not in settings.model_fields_set:
            self.api_key_env = "AZURE_OPENAI_API_KEY"
        self.needs_key = not settings.entra
        self.api_key_env = "" if settings.entra else self.api_key_env

    def identity(self) -> dict[str, Any]:
        """Besides the model: the address and the effort of reasoning."""
        return {**super().identity(), "reasoning": self.settings.reasoning}

    def _connect(self, key: str, headers: dict[str, str]) -> Any:
        try:
            import openai
        except ImportError:
            raise MissingExtra("openai", "responses", f"The LLM {self.name}") from None
        settings = self.settings
        secret = self._token_provider(list(headers.values())) if settings.entra else key or "none"
        if settings.api_key_header and key:
            self._options = {"headers": {settings.api_key_header: key, "Authorization": openai.Omit()}}
        return openai.AsyncOpenAI(
            api_key=secret,
            base_url=self.base_url,
            default_headers={"Accept-Encoding": "identity", **headers},
            max_retries=0,
            timeout=None,
            http_client=openai.DefaultAsyncHttpxClient(
                follow_redirects=False, event_hooks={"response": [_take_answer]}
            ),
        )

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
        return (await self._answer(self._client.get("/models", cast_to=bytes, options=self._options)))[0]

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
                return await self._answer(posted)
        except LLMError:
            raise
        except TimeoutError:
            raise LLMError("timeout", f"no answer within {self.settings.timeout:g} s") from None
        except Exception as error:  # noqa: BLE001  the package, the network and azure-identity raise their own
            inner = error.__cause__  # what reading a body raised, in the package's second version
            failure = inner if isinstance(inner, LLMError) else failures.of_exception(error)
            if failure.cause == "connection":
                raise Unreachable("connection", str(failure)) from None
            raise failure from None

    @staticmethod
    async def _answer(call: Awaitable[bytes]) -> Answer:
        """What the server answers to a call of the package."""
        try:
            return await call, 200, {}
        except _Answered as answered:
            return answered.answer


class _Answered(BaseException):
    """An answer on its way past the package, which would decode it without a bound and make errors of its own.

    The package's second version takes every `Exception` for a failed connection.
    """

    def __init__(self, answer: Answer) -> None:
        super().__init__()
        self.answer = answer


async def _take_answer(answer: Any) -> None:
    """Read a body within the room's bound, and raise it."""
    raw = SimpleNamespace(iter_any=answer.aiter_raw)  # as aiohttp, which `read_body` is written for, names it
    like_aiohttp: Any = SimpleNamespace(content=raw, headers=answer.headers, close=lambda: None)
    raise _Answered((await read_body(like_aiohttp), answer.status_code, answer.headers))
