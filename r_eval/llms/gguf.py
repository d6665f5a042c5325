"""`gguf/<alias or path>`: a GGUF file run in this process by llama.cpp (xllamacpp).

Continuous batching and the prefix cache are on: what prompts have in common, such as a workflow's instructions and
demonstrations, is computed once, and the replies say how many tokens that saved. The chat template comes from the
file, and decides whether tools are native. Generation is greedy unless the grid sets a temperature.

Requests go to llama.cpp's own server on the loopback address, through the OpenAI backend: closing the connection stops
a generation that is no longer needed (an episode out of time, Ctrl-C).
"""

from __future__ import annotations

import asyncio
import json
import os
import urllib.request
from typing import Any

from pydantic import Field

from r_eval.errors import MissingExtra, UserError
from r_eval.llms.base import LLM, LLMError, LLMSettings, Reply, Request
from r_eval.llms.model_files import find_gguf, model_fingerprint
from r_eval.llms.openai import OpenAI


class GGUF(LLM):
    """A local model; `timeout` does not apply."""

    class Settings(LLMSettings):
        """Settings of `gguf/`.

        Attributes:
            context: Tokens that one request may hold, prompt and reply.
            connections: Requests computed at once; by default one for every four processors, since more are slower.
            threads: Processors used; all by default.
            gpu_layers: Layers put on a GPU, where the installed llama.cpp has one; all by default.
        """

        context: int = Field(8192, ge=1)
        threads: int = Field(default_factory=lambda: os.cpu_count() or 1, ge=1)
        gpu_layers: int = -1

    is_local = True
    settings: Settings

    def __init__(self, name: str, model: str, settings: Settings) -> None:
        super().__init__(name, model, settings)
        self.connections = settings.connections or max(1, (os.cpu_count() or 1) // 4)
        self._fingerprint = model_fingerprint(model)
        self._server: Any = None
        self._client: OpenAI | None = None

    def identity(self) -> dict[str, Any]:
        return {**super().identity(), "context": self.settings.context, "file": self._fingerprint}

    def fetch(self) -> None:
        """Fetch the file if it is an embedded one."""
        find_gguf(self.name, self.model)

    async def open(self) -> None:
        """Load the file, and let the model make a few tokens."""
        if self._server is not None:
            return
        self._server, template = await asyncio.to_thread(self._load)
        self.native_tools = "tools" in template
        settings = {
            **self.settings.model_dump(include={"temperature", "max_tokens"}),
            **{"base_url": f"{self._server.listening_address}/v1", "api_key_env": "", "timeout": 1e6},
            **{"connections": self.connections, "native_tools": self.native_tools},
        }
        self._client = OpenAI(self.name, "model", OpenAI.Settings.model_validate(settings))
        self.adaptations = self._client.adaptations
        await self._client.open()

    async def close(self) -> None:
        if self._client is not None:
            await self._client.close()
        self._server = self._client = None

    async def generate(self, request: Request) -> Reply:
        if self._client is None:
            raise LLMError("connection", f"{self.name} is not open")
        return await self._client.generate(request)

    def _load(self) -> tuple[Any, str]:
        """The running server, and the file's chat template."""
        # OpenMP reads this once: with threads that spin while they wait, a busy machine gives 1 token a second, not 90.
        os.environ.setdefault("OMP_WAIT_POLICY", "passive")
        try:
            import xllamacpp
        except ImportError:
            raise MissingExtra("xllamacpp", "local", f"The LLM {self.name}") from None
        path, settings, params = find_gguf(self.name, self.model), self.settings, xllamacpp.CommonParams()
        params.model.path = str(path)
        params.n_ctx, params.n_parallel = settings.context * self.connections, self.connections
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = settings.threads
        params.n_gpu_layers = settings.gpu_layers
        params.warmup, params.verbosity = False, 0
        try:
            server = xllamacpp.Server(params)
        except (RuntimeError, ValueError) as error:
            raise UserError(f"LLM '{self.name}': llama.cpp cannot load {path} ({error}); is it damaged?") from None
        fetch = urllib.request.build_opener(urllib.request.ProxyHandler({})).open  # without any proxy
        # Answered by its main loop: a server that is released before that has begun never ends.
        fetch(f"{server.listening_address}/slots", timeout=60).close()
        with fetch(f"{server.listening_address}/props", timeout=60) as properties:
            return server, str(json.load(properties).get("chat_template", ""))
