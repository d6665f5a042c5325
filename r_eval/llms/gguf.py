"""`gguf/<alias or path>`: a GGUF file run in this process by llama.cpp (xllamacpp).

Continuous batching and the prefix cache are on: what prompts have in common, such as a workflow's instructions and
demonstrations, is computed once, and the replies say how many tokens that saved. The chat template comes from the
file, and decides whether tools are given natively. Generation is greedy unless the grid sets a temperature.

Requests go through llama.cpp's own server on the loopback address: closing the connection stops a generation that is no
longer needed (an episode out of time, Ctrl-C).
"""

from __future__ import annotations

import asyncio
import json
import os
import time
import urllib.request
from typing import Any

from pydantic import Field

from r_eval.errors import MissingExtra, UserError
from r_eval.llms import failures
from r_eval.llms.attempts import Effort, Persistent, ServerDown
from r_eval.llms.base import LLM, LLMError, LLMSettings, Reply, Request
from r_eval.llms.chat import Refused
from r_eval.llms.model_files import find_gguf, model_fingerprint
from r_eval.llms.preflight import preflight_request
from r_eval.llms.reply import decode_body, encode_body, parse_reply


class GGUF(Persistent, LLM):
    """A local model; `timeout` does not apply."""

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
        slots: int = Field(default_factory=lambda: max(1, (os.cpu_count() or 1) // 4), ge=1)
        threads: int = Field(default_factory=lambda: os.cpu_count() or 1, ge=1)
        gpu_layers: int = -1
        prefix_cache: bool = True

    RETRIED = frozenset()
    is_local = True
    settings: Settings

    def __init__(self, name: str, model: str, settings: Settings) -> None:
        super().__init__(name, model, settings)
        self.connections = settings.connections or settings.slots
        self._fingerprint = model_fingerprint(model)
        self._server: Any = None
        self._http: Any = None  # aiohttp's session

    def identity(self) -> dict[str, Any]:
        return {**super().identity(), "context": self.settings.context, "file": self._fingerprint}

    def fetch(self) -> None:
        """Fetch the file if it is an embedded one, and check that it is a GGUF file."""
        find_gguf(self.name, self.model)

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
        # OpenMP reads this once: with threads that spin while they wait, a busy machine gives 1 token a second, not 90.
        os.environ.setdefault("OMP_WAIT_POLICY", "passive")
        try:
            import xllamacpp
        except ImportError:
            raise MissingExtra("xllamacpp", "local", f"The LLM {self.name}") from None
        path, settings, params = find_gguf(self.name, self.model), self.settings, xllamacpp.CommonParams()
        params.model.path = str(path)
        params.n_ctx, params.n_parallel = settings.context * settings.slots, settings.slots
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = settings.threads
        params.n_gpu_layers = settings.gpu_layers
        params.warmup, params.verbosity = False, 0
        try:
            server = xllamacpp.Server(params)
        except (RuntimeError, ValueError) as error:
            raise UserError(f"LLM '{self.name}': llama.cpp cannot load {path} ({error}); is it damaged?") from None
        opened = urllib.request.build_opener(urllib.request.ProxyHandler({})).open  # without any proxy
        # Answered by its main loop: a server that is let go of before that has begun never ends.
        opened(f"{server.listening_address}/slots", timeout=60).close()
        with opened(f"{server.listening_address}/props", timeout=60) as properties:
            return server, str(json.load(properties).get("chat_template", ""))

    async def _attempt(self, sent: Request, refused: Refused, effort: Effort) -> Reply:
        import aiohttp

        if self._http is None:
            raise ServerDown("connection", "it is not open")
        body = encode_body({**self._body(sent, refused), "cache_prompt": self.settings.prefix_cache})
        url = f"{self._server.listening_address}/v1/chat/completions"
        begun = time.monotonic()
        try:
            async with self._http.post(url, data=body, headers={"Content-Type": "application/json"}) as answer:
                data = decode_body(await answer.read())
                if answer.status >= 400:
                    raise failures.classify(answer.status, data)
        except (aiohttp.ClientError, ValueError) as error:
            raise LLMError("server", f"{type(error).__name__}: {error}") from None
        reply = parse_reply(data)
        if timings := data.get("timings"):  # llama.cpp's own account of its work; the rest was for a slot
            worked = (timings["prompt_ms"] + timings["predicted_ms"]) / 1000
            effort.queue += max(0.0, time.monotonic() - begun - worked)
        return reply
