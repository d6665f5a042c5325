"""`hf/<Hub id, folder or GGUF file>`: a chat or base model run in this process by transformers.

Greedy requests that wait at the same time are generated together, each with its own stop texts and length. In single
precision a reply does not depend on its batch; in half precision padding can change a token here and there. Sampled
requests (`temperature` above 0) are generated one by one, so that a seed gives the same reply again.
"""

from __future__ import annotations

import asyncio
import collections
import dataclasses
import logging
import os
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from r_eval.errors import MissingExtra, UserError
from r_eval.files import is_file, is_folder, user_path
from r_eval.llms.base import LLM, LLMError, LLMSettings, Reply, Request
from r_eval.llms.causal_model import CausalModel, Job
from r_eval.llms.failures import one_line
from r_eval.llms.model_files import MODELS, find_gguf, model_fingerprint

logger = logging.getLogger("r_eval")

BATCH_WAIT = 0.01
"""Seconds that a batch with room waits for one more request, for as long as more come."""
HUB_FILES = ["*.json", "*.jinja", "*.model", "*.safetensors", "*.tiktoken", "*.txt"]
"""What is fetched of a model: no weights that would have to be unpickled."""

OUT_OF_MEMORY = ("OutOfMemory", "out of memory", "not enough memory", "allocate memory", "ALLOC_FAILED")


class HF(LLM):
    """A local model behind transformers; `timeout` does not apply."""

    class Settings(LLMSettings):
        """Settings of `hf/`.

        Attributes:
            context: Tokens that one request may hold, prompt and reply; at most what the model was made for.
            batch: Requests generated together.
            dtype: "auto" is half precision where there is a GPU.
            device: "auto" spreads the model over all devices (accelerate's device_map); else one of torch's.
        """

        context: int | None = Field(None, ge=1)
        batch: int = Field(8, ge=1)
        dtype: Literal["auto", "float32", "bfloat16", "float16"] = "auto"
        device: str = "auto"

    is_local = True
    settings: Settings

    def __init__(self, name: str, model: str, settings: Settings) -> None:
        super().__init__(name, model, settings)
        self.batch, self.connections = settings.batch, settings.connections or settings.batch
        self._fingerprint = model_fingerprint(model)
        self._model: CausalModel | None = None
        self._waiting: collections.deque[Job] = collections.deque()
        self._thread: ThreadPoolExecutor | None = None

    def identity(self) -> dict[str, Any]:
        settings = {"context": self.settings.context, "dtype": self.settings.dtype}
        return {**super().identity(), **settings, "files": self._fingerprint}

    def fetch(self) -> None:
        """Fetch the embedded model's file, or a model of the Hub."""
        self._source()

    def _source(self) -> tuple[str, str | None]:
        """The model's folder, and the name of the GGUF file in it if it is one; fetched if it is not here."""
        path, is_embedded = user_path(self.model), self.model in MODELS
        if is_folder(path) and not is_embedded:
            return str(path), None
        if is_embedded or path.suffix == ".gguf" or is_file(path):
            path = find_gguf(self.name, self.model).resolve()
            return str(path.parent), path.name
        if path.is_absolute() or self.model.startswith((".", "~")) or self.model.count("/") > 1:
            raise UserError(f"LLM '{self.name}': {path}: no such folder")
        try:
            from huggingface_hub import snapshot_download

            return snapshot_download(self.model, allow_patterns=HUB_FILES), None
        except Exception as error:  # noqa: BLE001  the Hub's client fails in many ways
            raise self._failure(error, f"{self.model} cannot be fetched from the Hub, is the name right?") from None

    def _failure(self, error: Exception, problem: str) -> UserError:
        if isinstance(error, ImportError):
            return MissingExtra("torch, transformers and accelerate", "hf", f"The LLM {self.name}")
        return UserError(f"LLM '{self.name}': {problem} ({_named(error)})")

    async def open(self) -> None:
        """Load the model, and learn from its chat template what it takes."""
        if self._model is None:
            self._model = await asyncio.to_thread(self._load)
            self._thread = ThreadPoolExecutor(1, "r-eval-hf")
            self.chat = self._model.chat
            self.native_tools = self._model.tools
            if self.chat and not self._model.system:
                self.adaptations["system"] = "the chat template shows no system message; its text begins a user's turn"
                logger.warning("%s: %s", self.name, self.adaptations["system"])

    async def close(self) -> None:
        self._model, thread, self._thread = None, self._thread, None  # which ends the batch under way
        if thread is not None:
            await asyncio.to_thread(thread.shutdown)

    def _load(self) -> CausalModel:
        # OpenMP reads this once: threads that spin while they wait are slow on a busy machine.
        os.environ.setdefault("OMP_WAIT_POLICY", "passive")
        source, file = self._source()
        dtype, device = self.settings.dtype, self.settings.device
        try:
            import torch
            from transformers import AutoModelForCausalLM, AutoTokenizer
            from transformers.utils import logging as advice

            advice.set_verbosity_error()
            advice.disable_progress_bar()
            if dtype == "auto":
                dtype = "bfloat16" if torch.cuda.is_available() and device != "cpu" else "float32"
            tokenizer = AutoTokenizer.from_pretrained(source, gguf_file=file)
            model = AutoModelForCausalLM.from_pretrained(source, gguf_file=file, dtype=dtype, device_map=device)
            return CausalModel(self, model.eval(), tokenizer, self.settings.context)
        except Exception as error:  # noqa: BLE001  each part of a damaged file fails in its own way
            raise self._failure(error, f"{Path(source, file or '')} cannot be loaded, is it damaged?") from None

    async def generate(self, request: Request) -> Reply:
        if self._model is None or self._thread is None:
            raise LLMError("connection", f"{self.name} is not open")
        job = Job(request)
        self._waiting.append(job)
        self._thread.submit(self._next_batch, self._model)
        return await asyncio.wrap_future(job.reply)

    def _next_batch(self, model: CausalModel) -> None:
        """Generate what waits; called once per request, most of which an earlier call has answered."""
        limit, size = 1 if self.temperature > 0 else min(self.batch, self.connections), 0
        while size < len(self._waiting) < limit:
            size = len(self._waiting)
            time.sleep(BATCH_WAIT)
        jobs = [self._waiting.popleft() for _ in range(min(len(self._waiting), limit))]
        self._answer(model, [job for job in jobs if job.reply.set_running_or_notify_cancel() and model.prepare(job)])

    def _answer(self, model: CausalModel, jobs: Sequence[Job]) -> None:
        """Give each request of a batch its reply or its error; what does not fit into memory is tried in halves."""
        begun, half = time.monotonic(), len(jobs) // 2
        try:
            replies = model.generate(jobs, lambda: self._model is not model) if jobs else []
            for job, reply in zip(jobs, replies, strict=True):
                job.reply.set_result(dataclasses.replace(reply, queue=begun - job.created))
            return
        except Exception as error:  # noqa: BLE001  whatever breaks a batch is the outcome of its requests
            problem = one_line(f"{type(error).__name__}: {error}")
        is_full = any(words in problem for words in OUT_OF_MEMORY)
        if is_full and half:  # only here is the error gone, and with it the frames that hold the batch
            import torch

            torch.cuda.empty_cache()
            self._answer(model, jobs[:half])
            self._answer(model, jobs[half:])
            return
        for job in jobs:
            size = f"{len(job.ids)} tokens and a reply of up to {job.length}"
            advice = f"; lower context or max_tokens: there is no memory for {size}" if is_full else ""
            cause = "server" if self._model is model else "connection"
            job.reply.set_exception(LLMError(cause, f"{self.name}: {problem}{advice}"))


def _named(error: Exception) -> str:
    return one_line(f"{type(error).__name__}: {error}")
