"""`gguf/<alias or path>`: a GGUF file run in this process by llama.cpp (xllamacpp).

Continuous batching and the prefix cache are on: what prompts have in common, such as a workflow's instructions and
demonstrations, is computed once, and the replies say how many tokens that saved. The chat template comes from the
file, and decides whether tools are given natively. Generation is greedy unless the grid sets a temperature.

Requests go through llama.cpp's own server on the loopback address, since closing the connection is what stops a
generation that nobody waits for any more (an episode out of time, Ctrl-C).
"""

from __future__ import annotations

import asyncio
import dataclasses
import json
import os
import time
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import Field

from r_eval.errors import MissingExtra, UserError
from r_eval.files import user_path
from r_eval.llms import failures, tokens
from r_eval.llms.base import LLM, LLMError, LLMSettings, Reply, Request
from r_eval.llms.chat import chat_body, misread_call
from r_eval.llms.model_files import MODELS, check_gguf, fetch_model, file_fingerprint
from r_eval.llms.preflight import preflight_request
from r_eval.llms.reply import decode_body, encode_body, parse_reply

if TYPE_CHECKING:
    import aiohttp


class GGUF(LLM):
    """A local model."""

    is_local = True

    class Settings(LLMSettings):
        """Settings of `gguf/`.

        Attributes:
            context: Tokens that one request may hold, prompt and reply.
            slots: Requests computed at once; by default one for every four processors, since more are slower on few.
            threads: Processors used; all by default.
            prefix_cache: False computes every prompt from its beginning, to measure what the cache saves.
            gpu_layers: Layers put on a GPU, where the installed llama.cpp has one; all by default.
        """

        context: int = Field(8192, ge=1)
        slots: int | None = Field(None, ge=1)
        threads: int | None = Field(None, ge=1)
        gpu_layers: int = -1
        prefix_cache: bool = True

    def __init__(self, name: str, model: str, settings: Settings) -> None:
        super().__init__(name, model, settings)
        processors = os.cpu_count() or 1
        self.context, self.gpu_layers, self.prefix_cache = settings.context, settings.gpu_layers, settings.prefix_cache
        self.slots = settings.slots or max(1, processors // 4)
        self.threads = settings.threads or processors
        self.connections = settings.connections or self.slots
        self._server: Any = None
        self._http: aiohttp.ClientSession | None = None

    def identity(self) -> dict[str, Any]:
        """A file is identified by its content; the embedded ones are pinned by name."""
        pinned = MODELS.get(self.model)
        file = pinned.sha256 if pinned else file_fingerprint(user_path(self.model))
        return {**super().identity(), "context": self.context, "file": file}

    def fetch(self) -> None:
        """Fetch the file if it is an embedded one, and see that it can be a model."""
        check_gguf(self._path(), self.name)

    def _path(self) -> Path:
        return fetch_model(self.model) if self.model in MODELS else user_path(self.model)

    async def open(self) -> None:
        """Load the file, and let the model make a few tokens."""
        import aiohttp

        if self._server is None:
            self._server, template = await asyncio.to_thread(self._load)
            self.native_tools = "tools" in template
            connector = aiohttp.TCPConnector(limit=self.connections, force_close=True)
            self._http = aiohttp.ClientSession(connector=connector, timeout=aiohttp.ClientTimeout(total=None))
            await self.generate(preflight_request(self.native_tools))

    async def close(self) -> None:
        if self._http is not None:
            await self._http.close()
        self._server = self._http = None

    def _load(self) -> tuple[Any, str]:
        """The running server, and the file's chat template."""
        # Threads that spin while they wait for each other make 1 token a second instead of 90 where another process
        # needs one of two processors; OpenMP reads this when it is loaded.
        os.environ.setdefault("OMP_WAIT_POLICY", "passive")
        try:
            import xllamacpp
        except ImportError:
            raise MissingExtra("xllamacpp", "local", f"The LLM {self.name}") from None
        path = self._path()
        check_gguf(path, self.name)
        params = xllamacpp.CommonParams()
        params.model.path = str(path)
        params.n_ctx = self.context * self.slots
        params.n_parallel = self.slots
        params.cpuparams.n_threads = self.threads
        params.cpuparams_batch.n_threads = self.threads
        params.n_gpu_layers = self.gpu_layers
        params.cache_prompt = True
        params.cont_batching = True
        params.warmup = False
        params.verbosity = 0
        try:
            server = xllamacpp.Server(params)
        except (RuntimeError, ValueError) as error:
            raise UserError(f"LLM '{self.name}': llama.cpp cannot load {path} ({error}); is it damaged?") from None
        address = server.listening_address
        _get(f"{address}/slots")  # answered by its main loop: a server let go of before that has begun never ends
        return server, str(_get(f"{address}/props").get("chat_template", ""))

    async def generate(self, request: Request) -> Reply:
        import aiohttp

        if self._http is None:
            raise LLMError("connection", f"{self.name} is not open")
        body = encode_body({**chat_body(self, request), "cache_prompt": self.prefix_cache})
        url = f"{self._server.listening_address}/v1/chat/completions"
        started = time.monotonic()
        try:
            async with self._http.post(url, data=body, headers={"Content-Type": "application/json"}) as answer:
                data = decode_body(await answer.read())
                if answer.status >= 400:
                    raise failures.classify(answer.status, data)
            reply = parse_reply(data)
        except (aiohttp.ClientError, ValueError) as error:
            raise LLMError("server", f"{self.name}: {type(error).__name__}: {error}") from None
        except LLMError as error:
            if error.cause != "tool_call":
                raise LLMError(error.cause, f"{self.name}: {error}", parameter=error.parameter) from None
            reply, data = misread_call(error, bool(request.tools)), {}
        queue = time.monotonic() - started - _computing(data)
        return dataclasses.replace(tokens.with_tokens(reply, request), queue=max(0.0, queue) if data else 0.0)


def _computing(data: dict[str, Any]) -> float:
    """Seconds that llama.cpp worked on a reply, by its own account; the rest is waiting for a slot."""
    timings = data.get("timings") or {}
    return float(timings.get("prompt_ms", 0.0) + timings.get("predicted_ms", 0.0)) / 1000


def _get(url: str) -> Any:
    """What the server in this process says at an address; proxies are for elsewhere."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(url, timeout=60) as answer:
        return json.load(answer)
