"""`hf/<Hub id or folder>`: a chat or base model run in this process by transformers.

Greedy requests that wait at the same time are generated as one batch, each with its own stop texts and length. Sampled
requests are generated one by one, so that a seed reproduces its reply.
"""

from __future__ import annotations

import asyncio
import dataclasses
import json
import logging
import os
import queue
import time
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Literal, NamedTuple

from pydantic import Field

from r_eval.errors import MissingExtra, UserError
from r_eval.files import is_folder, user_path
from r_eval.llms.base import LLM, LLMError, LLMSettings, Message, Reply, Request
from r_eval.llms.chat import chat_body, fold_system
from r_eval.llms.failures import one_line
from r_eval.llms.model_files import MODELS, find_gguf, hub_answers, model_fingerprint
from r_eval.llms.reply import encode_body
from r_eval.records import Tokens

logger = logging.getLogger("r_eval")
BATCH_WAIT = 0.01  # seconds that a batch waits for further requests
TAIL = 48  # last tokens of a reply in which stop texts are looked for while it is generated
PROBE = Request((Message("system", "probe of the chat template"), Message("user", "Hello")))


class Job(NamedTuple):
    """A request in the queue: its tokens, the number of tokens that its reply may have, when it came, its reply."""

    request: Request
    ids: list[int]
    length: int
    created: float
    reply: Future[Reply]


class HF(LLM):
    """A local model behind transformers; `timeout` does not apply."""

    class Settings(LLMSettings):
        """Settings of `hf/`.

        Attributes:
            context: Tokens that one request may hold, prompt and reply; at most what the model was made for.
            dtype: "auto" is the type of the model's file.
        """

        context: int | None = Field(None, ge=1)
        dtype: Literal["auto", "float32", "bfloat16", "float16"] = "auto"

    CONNECTIONS = 8  # requests per batch
    is_local = True
    settings: Settings

    def __init__(self, name: str, model: str, settings: Settings) -> None:
        super().__init__(name, model, settings)
        self._fingerprint = model_fingerprint(model)
        self._model: Any = None
        self._tokenizer: Any = None
        self._queue: queue.SimpleQueue[Job] = queue.SimpleQueue()
        self._thread: ThreadPoolExecutor | None = None
        self._takes_system = True

    def identity(self) -> dict[str, Any]:
        settings = self.settings.model_dump(include={"context", "dtype"})
        return {**super().identity(), **settings, "files": self._fingerprint}

    async def open(self) -> None:
        """Load the model, and find out what its chat template supports."""
        model, tokenizer = await asyncio.to_thread(self._load)
        self._model, self._tokenizer, self._thread = model, tokenizer, ThreadPoolExecutor(1, "r-eval-hf")
        ends = model.generation_config.eos_token_id or tokenizer.eos_token_id
        self._ends = set(ends if isinstance(ends, list) else [ends]) - {None}
        self._padding: int = min(self._ends, default=0)
        settings = {"eos_token_id": list(self._ends) or None, "pad_token_id": self._padding}
        if self.temperature > 0:
            settings |= {"do_sample": True, "temperature": self.temperature, "top_k": 0, "top_p": 1.0}
        model.generation_config = type(model.generation_config)(**settings)  # without the model's own sampling
        limit = getattr(model.config.get_text_config(), "max_position_embeddings", None)
        self._context: int = min(filter(None, (self.settings.context, limit)), default=4096)
        self.chat, self.native_tools = bool(tokenizer.chat_template), "tools" in str(tokenizer.chat_template)
        try:
            self._takes_system = PROBE.messages[0].content in tokenizer.decode(self._encode(PROBE))
        except LLMError:
            self._takes_system = False
        if self.chat and not self._takes_system:
            self.adaptations["system"] = "system messages begin the user's, as the chat template wants it"
            logger.warning("%s: %s", self.name, self.adaptations["system"])

    async def close(self) -> None:
        self._model, thread, self._thread = None, self._thread, None  # which ends the batch in progress
        if thread is not None:
            await asyncio.to_thread(thread.shutdown)

    def _load(self) -> tuple[Any, Any]:
        os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # spinning threads are slow on a busy machine
        is_gguf = self.model in MODELS or self.model.endswith(".gguf")
        path = find_gguf(self.name, self.model) if is_gguf else user_path(self.model)
        is_local = is_gguf or is_folder(path)
        source = str(path.parent if is_gguf else path) if is_local else self.model
        try:
            import transformers

            here = is_local or not hub_answers(source)
            options: dict[str, Any] = {"local_files_only": here, **({"gguf_file": path.name} if is_gguf else {})}
            transformers.utils.logging.set_verbosity_error()
            transformers.utils.logging.disable_progress_bar()
            tokenizer = transformers.AutoTokenizer.from_pretrained(source, **options)
            options |= {"dtype": self.settings.dtype, "device_map": "auto", "use_safetensors": True}  # no pickles
            return transformers.AutoModelForCausalLM.from_pretrained(source, **options).eval(), tokenizer
        except ImportError:
            raise MissingExtra("torch, transformers and accelerate", "hf", f"The LLM {self.name}") from None
        except Exception as error:  # noqa: BLE001  each part of a damaged file fails in its own way
            problem = one_line(f"{type(error).__name__}: {error}")
            raise UserError(f"LLM '{self.name}': {path} cannot be loaded, is it damaged? ({problem})") from None

    async def generate(self, request: Request) -> Reply:
        ids = await asyncio.to_thread(self._encode, request) if self._thread else []
        if self._thread is None:
            raise LLMError("connection", f"{self.name} is not open")
        if (space := self._context - len(ids)) < 1:
            raise LLMError("context", f"{self.name}: {len(ids)} tokens are too many for a context of {self._context}")
        request = dataclasses.replace(request, stop=tuple(filter(None, request.stop)))
        job = Job(request, ids, min(request.max_tokens or self.max_tokens, space), time.monotonic(), Future())
        self._queue.put(job)
        self._thread.submit(self._next_batch, self._model)
        return await asyncio.wrap_future(job.reply)

    def _next_batch(self, model: Any) -> None:
        # Called once per request, most of which an earlier call has answered.
        limit = 1 if self.temperature > 0 else self.connections
        if limit > 1 and not self._queue.empty():
            time.sleep(BATCH_WAIT)
        batch = (self._queue.get() for _ in range(min(self._queue.qsize(), limit)))
        jobs = [job for job in batch if job.reply.set_running_or_notify_cancel()]
        started = time.monotonic()
        try:
            for job, reply in zip(jobs, self._replies(model, jobs) if jobs else (), strict=True):
                job.reply.set_result(dataclasses.replace(reply, queue=started - job.created))
        except Exception as error:  # noqa: BLE001  whatever breaks a batch is the outcome of its requests
            problem = f"{self.name}: {one_line(f'{type(error).__name__}: {error}')}"
            for job in jobs:
                job.reply.set_exception(LLMError("server" if self._model is model else "connection", problem))

    def _encode(self, request: Request) -> list[int]:
        if not self.chat:
            ids = list(self._tokenizer("\n".join(message.content for message in request.messages))["input_ids"])
            return (ids[:-1] if ids[1:] and ids[-1] in self._ends else ids) or [self._padding]  # an end may be appended
        if not self._takes_system:
            request = dataclasses.replace(request, messages=fold_system(request.messages))
        body = json.loads(encode_body(chat_body(self, request)))
        for call in (call["function"] for message in body["messages"] for call in message.get("tool_calls", ())):
            call["arguments"] = json.loads(call["arguments"])  # templates want data, not text
        options = {"tools": body.get("tools"), "add_generation_prompt": True, "return_dict": False}
        try:
            return list(self._tokenizer.apply_chat_template(body["messages"], **options))
        except Exception as error:  # noqa: BLE001  a template may raise anything
            raise LLMError("request", f"{self.name}: its chat template rejects the request: {error}") from None

    def _replies(self, model: Any, jobs: list[Job]) -> list[Reply]:
        """The replies to a batch, whose rows are padded on the left."""
        import torch

        start = max(len(job.ids) for job in jobs)
        ids = torch.tensor([[self._padding] * (start - len(job.ids)) + job.ids for job in jobs], device=model.device)
        mask = torch.tensor([[i >= start - len(job.ids) for i in range(start)] for job in jobs], device=model.device)

        def has_stop(rows: torch.Tensor, scores: object, **_: object) -> torch.Tensor:
            if self._model is not model:
                raise RuntimeError("the model was closed")
            texts = map(self._text, jobs, rows[:, max(start, rows.shape[1] - TAIL) :].tolist())
            ends = [any(stop in text for stop in job.request.stop) for job, text in zip(jobs, texts, strict=True)]
            return torch.tensor(ends, device=rows.device)

        torch.manual_seed(time.time_ns() if jobs[0].request.seed is None else jobs[0].request.seed)
        length = max(job.length for job in jobs)
        rows = model.generate(ids, attention_mask=mask, stopping_criteria=[has_stop], max_new_tokens=length)
        return list(map(self._reply, jobs, rows[:, start:].tolist()))

    def _reply(self, job: Job, row: list[int]) -> Reply:
        row = row[: job.length]
        end = next((i for i, token in enumerate(row) if token in self._ends), len(row))  # or padding after a stop text
        whole = self._text(job, row[:end])
        text = whole[: min((whole.find(stop) for stop in job.request.stop if stop in whole), default=len(whole))]
        tokens = Tokens(prompt=len(job.ids), completion=min(len(row), end + (text == whole)))
        is_whole = end < len(row) or text != whole  # else without half a character
        return Reply(text if is_whole else text.rstrip("\ufffd"), (), "stop" if is_whole else "length", tokens)

    def _text(self, job: Job, ids: list[int]) -> str:
        skip = not (self.native_tools and job.request.tools)  # some models mark calls with special tokens
        return str(self._tokenizer.decode(ids, skip_special_tokens=skip, clean_up_tokenization_spaces=False))
