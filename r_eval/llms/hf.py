"""`hf/<Hub id, folder or GGUF file>`: a model run in this process by transformers, on whatever device there is.

Requests that wait at the same time are generated together: left-padded, each with its own stop texts and its own
length. The tokenizer's chat template is used, and decides whether tools are given natively. Generation is greedy
unless the grid sets a temperature; a model's own sampling habits and penalties are left out. In single precision a
prompt has the same text alone and in a batch. In half precision padding changes the last bits of a probability, and
with them a token here and there: many longer replies then depend on what was in their batch.

One thread of this backend's own does the generating. Requests reach it through futures that belong to no event loop,
so the backend may be used from one loop after another. A row that nobody waits for any more ends at its next token.
"""

from __future__ import annotations

import asyncio
import collections
import contextlib
import dataclasses
import gc
import json
import os
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, InvalidStateError, ThreadPoolExecutor
from pathlib import Path
from typing import Any

from r_eval.errors import MissingExtra, UserError
from r_eval.files import is_file, is_folder, user_path
from r_eval.llms import wire
from r_eval.llms.base import LLM, LLMError, Reply, Request
from r_eval.llms.drawing import Drawing
from r_eval.llms.gguf import check_file
from r_eval.llms.hf_loading import quiet, read_once
from r_eval.llms.pull import MODELS, pull
from r_eval.llms.stamps import stamp
from r_eval.records import Tokens

DTYPES = ("auto", "float32", "bfloat16", "float16")
GATHERING = 0.01
"""Seconds that a batch which is not full waits for one more request, for as long as more come: episodes come back from
their tools one after another, and making the prompts of many takes longer than this."""

NEEDED = ("*.json", "*.jinja", "*.model", "*.safetensors", "*.txt")
"""Files of a Hub model that are fetched before a run; weights in an older form only when it is loaded."""

PROBE = "probe_of_tools"


@dataclasses.dataclass(slots=True)
class _Job:
    """A request that waits for its batch; `made` is where it ended, by a stop text or by its length."""

    prompt: list[int]
    stop: tuple[str, ...]
    length: int
    tools: bool
    seed: int | None = None
    done: Future[Reply] = dataclasses.field(default_factory=Future)
    made: int = 0
    asked: float = dataclasses.field(default_factory=time.monotonic)
    begun: float = 0.0


class HF(LLM):
    """A local model behind transformers.

    Settings:
        context: Tokens that one request may hold, prompt and reply; by default, and at most, what the model was made
            for.
        batch: Requests generated together.
        dtype: float32, bfloat16 or float16; by default half precision where the device has it.
        device: "auto" spreads the model over what is there; else a device of torch.
    """

    copied = True
    SETTINGS = {"context": int, "batch": int, "dtype": str, "device": str}

    def __init__(self, name: str, model: str, settings: Mapping[str, Any]) -> None:
        super().__init__(name, model, settings)
        self.batch = int(settings.get("batch", 8))
        self.connections = int(settings.get("connections", max(1, self.batch)))
        self.context: int | None = settings.get("context")
        self.dtype = str(settings.get("dtype", "auto"))
        self.device = str(settings.get("device", "auto"))
        if self.batch < 1:
            raise UserError(f"LLM '{name}': batch must be at least 1")
        if self.dtype not in DTYPES:
            raise UserError(f"LLM '{name}': dtype must be one of {', '.join(DTYPES)}, not '{self.dtype}'")
        self._model: Any = None
        self._tokenizer: Any = None
        self._readable = 0
        self._waiting: collections.deque[_Job] = collections.deque()
        self._running: list[_Job] = []
        self._thread: ThreadPoolExecutor | None = None

    def identity(self) -> dict[str, Any]:
        """A file or folder is told by what is in it; the embedded models are pinned by name."""
        pinned = MODELS.get(self.model)
        files = pinned.sha256 if pinned else stamp(user_path(self.model))
        return {**super().identity(), "context": self.context, "dtype": self.dtype, "files": files}

    def fetch(self) -> None:
        """Fetch what is not on this machine yet: an embedded model's file, or a model of the Hub."""
        where, _ = self._source()
        if is_folder(Path(where)):
            return
        try:
            from huggingface_hub import snapshot_download
        except ImportError:
            raise MissingExtra("torch and transformers", "hf", f"The LLM {self.name}") from None
        try:
            snapshot_download(where, allow_patterns=list(NEEDED))
        except Exception as error:  # noqa: BLE001  the Hub's client and what lies under it fail in many ways
            said = f"{type(error).__name__}: {' '.join(str(error).split())[:150]}"
            hint = "is the name right, and a network there? A folder or a GGUF file will do too"
            raise UserError(f"LLM '{self.name}': {where} cannot be had from the Hub ({said}); {hint}") from None

    def _source(self) -> tuple[str, str | None]:
        """What transformers loads: a folder or a Hub id, and the name of the GGUF file in the folder if it is one."""
        path = pull(self.model) if self.model in MODELS else user_path(self.model)
        if path.suffix == ".gguf" or is_file(path):
            check_file(path, self.name)
            return str(path.resolve().parent), path.name
        if is_folder(path):
            return str(path), None
        if path.is_absolute() or self.model.startswith((".", "~")) or self.model.count("/") > 1:
            raise UserError(f"LLM '{self.name}': {path}: no such folder")
        return self.model, None

    async def open(self) -> None:
        """Load the model."""
        if self._model is None:
            await asyncio.to_thread(self._load)
            self._thread = ThreadPoolExecutor(1, "r-eval-hf")

    async def close(self) -> None:
        thread, self._thread = self._thread, None
        if thread is None:
            return
        for job in [*self._waiting, *self._running]:
            _fail(job, LLMError("connection", f"{self.name} was closed"))
        await asyncio.to_thread(thread.shutdown)
        self._model = self._tokenizer = None
        gc.collect()
        _give_back()

    def _load(self) -> None:
        # Threads that spin while they wait for each other crawl where another process needs one of few processors;
        # OpenMP reads this when it is loaded.
        os.environ.setdefault("OMP_WAIT_POLICY", "passive")
        try:
            import torch
            import transformers
        except ImportError:
            raise MissingExtra("torch and transformers", "hf", f"The LLM {self.name}") from None
        where, file = self._source()
        try:
            with read_once(), quiet():
                tokenizer = transformers.AutoTokenizer.from_pretrained(where, gguf_file=file)
                native = _takes_tools(tokenizer)
                model = transformers.AutoModelForCausalLM.from_pretrained(
                    where, gguf_file=file, dtype=self._precision(torch), device_map=self.device
                )
        except ImportError as error:
            raise MissingExtra(str(error).strip().splitlines()[0], "hf", f"The LLM {self.name}") from None
        except UserError:
            raise
        except Exception as error:  # noqa: BLE001  each part of a damaged file breaks in its own way
            source = self.model if file is None else Path(where, file)
            said = " ".join(str(error).split())[:200]
            message = f"LLM '{self.name}': {source} cannot be loaded, is it damaged? ({type(error).__name__}: {said})"
            raise UserError(message) from None
        if not tokenizer.chat_template:
            raise UserError(f"LLM '{self.name}': its tokenizer has no chat template; only chat models can be asked")
        ends = model.generation_config.eos_token_id or tokenizer.eos_token_id
        model.generation_config = transformers.GenerationConfig(eos_token_id=ends, pad_token_id=_first(ends))
        model.eval()
        made_for = getattr(model.config.get_text_config(), "max_position_embeddings", None) or 4096
        self._readable = min(self.context or made_for, made_for)
        self._model, self._tokenizer, self.native_tools = model, tokenizer, native

    def _precision(self, torch: Any) -> Any:
        if self.dtype != "auto":
            return getattr(torch, self.dtype)
        if self.device == "cpu" or not torch.cuda.is_available():
            return torch.float32
        return torch.bfloat16 if torch.cuda.is_bf16_supported() else torch.float16

    async def generate(self, request: Request) -> Reply:
        if self._thread is None:
            raise LLMError("connection", f"{self.name} is not open")
        prompt = self._prompt(request)
        length = min(request.max_tokens or self.max_tokens, self._readable - len(prompt))
        if length < 1:
            read = f"the request has {len(prompt)} tokens, more than the context of {self._readable} holds"
            raise LLMError("context", f"{self.name}: {read}")
        tools = bool(request.tools) and self.native_tools
        job = _Job(prompt, tuple(filter(None, request.stop)), length, tools, request.seed)
        self._waiting.append(job)
        self._thread.submit(self._next_batch)
        return await asyncio.wrap_future(job.done)

    def _prompt(self, request: Request) -> list[int]:
        """The tokens of a request. Templates want a call's arguments as data, where the wire wants them as text."""
        body = json.loads(wire.encoded(wire.body(self, request)))
        for message in body["messages"]:
            for call in message.get("tool_calls", ()):
                call["function"]["arguments"] = json.loads(call["function"]["arguments"])
        try:
            ids = self._tokenizer.apply_chat_template(
                body["messages"], tools=body.get("tools"), add_generation_prompt=True, tokenize=True, return_dict=False
            )
        except Exception as error:  # noqa: BLE001  a template may refuse anything, such as a system message
            raise LLMError("request", f"{self.name}: its chat template refuses the request: {error}") from None
        return list(ids)

    def _next_batch(self) -> None:
        """Generate for what waits; called once for every request, most of which an earlier call has answered."""
        waiting = len(self._waiting)
        while 0 < waiting < min(self.batch, self.connections):
            time.sleep(GATHERING)
            before, waiting = waiting, len(self._waiting)
            if waiting == before:
                break
        jobs = self._running = []
        while self._waiting and len(jobs) < self.batch:
            job = self._waiting.popleft()
            if not job.done.done():
                jobs.append(job)
        if not jobs:
            return
        for job in jobs:
            job.begun = time.monotonic()
        self._answer(jobs)

    def _answer(self, jobs: list[_Job]) -> None:
        """Give every request of a batch its reply or its error; what the device cannot hold is tried in halves."""
        try:
            replies = self._generate(jobs)
        except Exception as error:  # noqa: BLE001  whatever breaks a batch is the outcome of its requests
            said = f"{self.name}: {type(error).__name__}: {str(error)[:200]}"
            full = _is_out_of_memory(error)
        else:
            for job, reply in zip(jobs, replies, strict=True):
                with contextlib.suppress(InvalidStateError):  # given up in the meantime
                    job.done.set_result(reply)
            return
        # Only here, where the error is gone and with it the frames that held the batch, can its memory be given back.
        if full:
            _give_back()
            half = len(jobs) // 2
            if half:
                for job in jobs:
                    job.made = 0
                self._answer(jobs[:half])
                self._answer(jobs[half:])
                return
            size = f"{len(jobs[0].prompt)} tokens and a reply of up to {jobs[0].length}"
            said = f"{self.name}: the device's memory is too small for a prompt of {size}; lower context or max_tokens"
        for job in jobs:
            _fail(job, LLMError("server", said))

    def _generate(self, jobs: Sequence[_Job]) -> list[Reply]:
        import torch

        start = max(len(job.prompt) for job in jobs)
        pad = self._model.generation_config.pad_token_id
        padding = [start - len(job.prompt) for job in jobs]
        ids = [[pad] * n + job.prompt for n, job in zip(padding, jobs, strict=True)]
        mask = [[0] * n + [1] * len(job.prompt) for n, job in zip(padding, jobs, strict=True)]
        device = self._model.device
        drawing = [Drawing([job.seed for job in jobs], self.temperature)] if self.temperature > 0 else []
        with torch.inference_mode():
            rows = self._model.generate(
                input_ids=torch.tensor(ids, device=device),
                attention_mask=torch.tensor(mask, device=device),
                max_new_tokens=max(job.length for job in jobs),
                stopping_criteria=[lambda seen, scores, **_: self._ended(jobs, seen[:, start:], torch)],
                logits_processor=drawing,
                do_sample=False,
            )
        return [self._reply(job, row) for job, row in zip(jobs, rows[:, start:].tolist(), strict=True)]

    def _ended(self, jobs: Sequence[_Job], rows: Any, torch: Any) -> Any:
        """Which rows of a batch are at a stop text or at their length, or have nobody who waits for them."""
        made = int(rows.shape[1])
        # No token is shorter than a byte, so that many hold the whole of a stop text. They are fetched for all rows at
        # once, since every fetch from a GPU waits for what runs there.
        tails = [max((len(stop.encode()) for stop in job.stop), default=0) + 4 for job in jobs]
        watched = [tail for tail, job in zip(tails, jobs, strict=True) if job.stop and not job.made]
        recent = rows[:, -max(watched) :].tolist() if watched else [[]] * len(jobs)
        for job, row, tail in zip(jobs, recent, tails, strict=True):
            if job.made:
                continue
            text = self._text(job, row[-tail:]) if job.stop else ""
            if made >= job.length or any(stop in text for stop in job.stop) or job.done.done():
                job.made = made
        return torch.tensor([job.made > 0 for job in jobs], device=rows.device)

    def _text(self, job: _Job, tokens: list[int]) -> str:
        """Tokens as text. Special ones stay where tools are given natively, since some models mark calls with them."""
        decoded = self._tokenizer.decode(tokens, skip_special_tokens=not job.tools, clean_up_tokenization_spaces=False)
        return str(decoded)

    def _reply(self, job: _Job, row: list[int]) -> Reply:
        ends = self._model.generation_config.eos_token_id
        ends = {ends} if isinstance(ends, int) else set(ends or ())
        own = row[: job.made or len(row)]
        end = next((i for i, token in enumerate(own) if token in ends), None)
        text = self._text(job, own[:end])
        stopped = [at for stop in job.stop if (at := text.find(stop)) >= 0]
        full = end is None and not stopped
        text = text[: min(stopped)] if stopped else text.rstrip("\ufffd") if full else text
        completion = len(own) if end is None else end + 1
        tokens = Tokens.model_construct(prompt=len(job.prompt), completion=completion, cached=0)
        return Reply(text, finish="length" if full else "stop", tokens=tokens, queue=job.begun - job.asked)


def _fail(job: _Job, error: LLMError) -> None:
    """Give a request its error, unless it has been answered or given up."""
    with contextlib.suppress(InvalidStateError):
        job.done.set_exception(error)


def _is_out_of_memory(error: Exception) -> bool:
    """Whether a device has too little memory left. On a CPU the system would end the process instead."""
    import torch

    return isinstance(error, torch.OutOfMemoryError)


def _give_back() -> None:
    """Give the device the memory that torch holds for later."""
    with contextlib.suppress(ImportError):
        import torch

        torch.cuda.empty_cache()


def _first(ends: Any) -> Any:
    return ends[0] if isinstance(ends, list) else ends


def _takes_tools(tokenizer: Any) -> bool:
    """Whether a chat template shows tools to the model."""
    messages = [{"role": "user", "content": "Hello"}]
    tool = {"type": "function", "function": {"name": PROBE, "description": "", "parameters": {}}}
    try:
        text = tokenizer.apply_chat_template(messages, tools=[tool], tokenize=False, add_generation_prompt=True)
    except Exception:  # noqa: BLE001  there is no template, or it wants something else
        return False
    return PROBE in str(text)
