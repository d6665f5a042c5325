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
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from r_eval.errors import MissingExtra, UserError
from r_eval.files import is_file, user_path
from r_eval.llms import wire
from r_eval.llms.base import LLM, LLMError, Reply, Request
from r_eval.llms.preflight import preflight
from r_eval.llms.pull import MODELS, pull
from r_eval.llms.stamps import stamp

if TYPE_CHECKING:
    import aiohttp

MAGIC = b"GGUF"


class GGUF(LLM):
    """A local model.

    Settings:
        context: Tokens that one request may hold, prompt and reply.
        slots: Requests computed at once; by default one for every four processors, since more are slower on few.
        threads: Processors used; all by default.
        prefix_cache: False computes every prompt from its beginning, to measure what the cache saves.
        gpu_layers: Layers put on a GPU, where the installed llama.cpp has one; all by default.
    """

    copied = True
    SETTINGS = {"context": int, "slots": int, "threads": int, "gpu_layers": int, "prefix_cache": bool}

    def __init__(self, name: str, model: str, settings: Mapping[str, Any]) -> None:
        super().__init__(name, model, settings)
        processors = os.cpu_count() or 1
        self.context = int(settings.get("context", 8192))
        self.slots = int(settings.get("slots", max(1, processors // 4)))
        self.threads = int(settings.get("threads", processors))
        self.gpu_layers = int(settings.get("gpu_layers", -1))
        self.prefix_cache = bool(settings.get("prefix_cache", True))
        self.connections = int(settings.get("connections", self.slots))
        self._server: Any = None
        self._http: aiohttp.ClientSession | None = None

    def identity(self) -> dict[str, Any]:
        """A file is told by what is in it; the embedded ones are pinned by name."""
        pinned = MODELS.get(self.model)
        file = pinned.sha256 if pinned else stamp(user_path(self.model))
        return {**super().identity(), "context": self.context, "file": file}

    def fetch(self) -> None:
        """Fetch the file if it is an embedded one, and see that it can be a model."""
        check_file(self._path(), self.name)

    def _path(self) -> Path:
        return pull(self.model) if self.model in MODELS else user_path(self.model)

    async def open(self) -> None:
        """Load the file, and let the model make a few tokens."""
        import aiohttp

        if self._server is None:
            self._server, template = await asyncio.to_thread(self._load)
            self.native_tools = "tools" in template
            connector = aiohttp.TCPConnector(limit=self.connections, force_close=True)
            self._http = aiohttp.ClientSession(connector=connector, timeout=aiohttp.ClientTimeout(total=None))
            await self.generate(preflight(self.native_tools))

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
        check_file(path, self.name)
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
        body = wire.encoded({**wire.body(self, request), "cache_prompt": self.prefix_cache})
        url = f"{self._server.listening_address}/v1/chat/completions"
        started = time.monotonic()
        try:
            async with self._http.post(url, data=body, headers={"Content-Type": "application/json"}) as answer:
                data = await answer.json(content_type=None)
        except (aiohttp.ClientError, ValueError) as broken:
            raise LLMError("server", f"{self.name}: {type(broken).__name__}: {broken}") from None
        error = data.get("error")
        if error:
            cause = "context" if error.get("type") == "exceed_context_size_error" else "server"
            raise LLMError(cause, f"{self.name}: {error.get('message', error)}")
        try:
            reply = wire.reply(data, 0)
        except wire.BadReply as bad:
            raise LLMError("reply", f"{self.name}: {bad}") from None
        queue = time.monotonic() - started - _computing(data)
        return dataclasses.replace(reply, queue=max(0.0, queue))


def _computing(data: dict[str, Any]) -> float:
    """Seconds that llama.cpp worked on a reply, by its own account; the rest is waiting for a slot."""
    timings = data.get("timings") or {}
    return float(timings.get("prompt_ms", 0.0) + timings.get("predicted_ms", 0.0)) / 1000


def _get(url: str) -> Any:
    """What the server in this process says at an address; proxies are for elsewhere."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(url, timeout=60) as answer:
        return json.load(answer)


def check_file(path: Path, name: str) -> None:
    """See that a path is a GGUF file before llama.cpp reads it.

    Raises:
        UserError: It is not there, or not a GGUF file.
    """
    if not is_file(path):
        backend = name.partition("/")[0]
        aliases = ", ".join(f"{backend}/{alias}" for alias in MODELS)
        raise UserError(f"LLM '{name}': {path}: no such file. Embedded models: {aliases}")
    with path.open("rb") as file:
        if file.read(4) != MAGIC:
            raise UserError(f"LLM '{name}': {path} is not a GGUF file")
