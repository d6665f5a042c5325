"""`hf/<Hub id or folder>`: a chat or base model run in this process by transformers.

Greedy requests that wait at the same time are generated together, each with its own stop texts and length. In single
precision a reply does not depend on its batch; in half precision padding can change a token here and there. Sampled
requests (`temperature` above 0) are generated one by one, so that a seed gives the same reply again.
"""

from __future__ import annotations

import asyncio
import collections
import dataclasses
import json
import logging
import os
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from r_eval.errors import MissingExtra, UserError
from r_eval.files import is_folder, user_path
from r_eval.llms.base import LLM, LLMError, LLMSettings, Message, Reply, Request, ToolSpec
from r_eval.llms.chat import chat_body, fold_system
from r_eval.llms.failures import one_line
from r_eval.llms.model_files import MODELS, find_gguf, model_fingerprint
from r_eval.llms.reply import encode_body
from r_eval.records import Tokens

if TYPE_CHECKING:
    import torch

logger = logging.getLogger("r_eval")

BATCH_WAIT = 0.01
"""Seconds that a batch with room waits for one more request, for as long as more come."""
HUB_FILES = ["*.json", "*.jinja", "*.model", "*.safetensors", "*.tiktoken", "*.txt"]
"""What is fetched of a model: no weights that would have to be unpickled."""
DEFAULT_CONTEXT = 4096  # for a model that names no length
PROBE = ToolSpec("probe_of_the_template", "", {"type": "object", "properties": {}})


@dataclasses.dataclass(slots=True)
class Job:
    """A request that waits for its batch: its tokens, the number of those that its reply may have, and that reply."""

    request: Request
    ids: list[int] = dataclasses.field(default_factory=list)
    length: int = 0
    created: float = dataclasses.field(default_factory=time.monotonic)
    reply: Future[Reply] = dataclasses.field(default_factory=Future)

    def cut(self, text: str) -> str:
        """A text up to the first stop text."""
        found = (text.find(stop) for stop in self.request.stop if stop)
        return text[: min((at for at in found if at >= 0), default=len(text))]


class HF(LLM):
    """A local model behind transformers; `timeout` does not apply."""

    class Settings(LLMSettings):
        """Settings of `hf/`.

        Attributes:
            context: Tokens that one request may hold, prompt and reply; at most what the model was made for.
            dtype: "auto" is half precision where there is a GPU.
            device: "auto" spreads the model over all devices (accelerate's device_map); else one of torch's.
        """

        context: int | None = Field(None, ge=1)
        dtype: Literal["auto", "float32", "bfloat16", "float16"] = "auto"
        device: str = "auto"

    CONNECTIONS = 8
    """Requests generated together."""
    is_local = True
    settings: Settings

    def __init__(self, name: str, model: str, settings: Settings) -> None:
        super().__init__(name, model, settings)
        self._fingerprint = model_fingerprint(model)
        self._model: Any = None
        self._tokenizer: Any = None
        self._waiting: collections.deque[Job] = collections.deque()
        self._thread: ThreadPoolExecutor | None = None
        self._takes_system = True

    def identity(self) -> dict[str, Any]:
        settings = {"context": self.settings.context, "dtype": self.settings.dtype}
        return {**super().identity(), **settings, "files": self._fingerprint}

    def fetch(self) -> None:
        """Fetch the embedded model's file, or a model of the Hub."""
        self._source()

    def _source(self) -> tuple[str, str | None]:
        """The model's folder, and the name of the GGUF file in it if it is one; fetched if it is not here."""
        path = user_path(self.model)
        if self.model in MODELS or path.suffix == ".gguf":
            path = find_gguf(self.name, self.model).resolve()
            return str(path.parent), path.name
        if is_folder(path):
            return str(path), None
        try:
            from huggingface_hub import snapshot_download

            return snapshot_download(self.model, allow_patterns=HUB_FILES), None
        except Exception as error:  # noqa: BLE001  the Hub's client fails in many ways
            raise self._failure(error, f"there is no folder {path}, and nothing of that name on the Hub") from None

    def _failure(self, error: Exception, problem: str) -> UserError:
        if isinstance(error, ImportError):
            return MissingExtra("torch, transformers and accelerate", "hf", f"The LLM {self.name}")
        return UserError(f"LLM '{self.name}': {problem} ({one_line(f'{type(error).__name__}: {error}')})")

    async def open(self) -> None:
        """Load the model, and learn from its chat template what it takes."""
        if self._model is not None:
            return
        self._model, self._tokenizer = await asyncio.to_thread(self._load)
        self._thread = ThreadPoolExecutor(1, "r-eval-hf")
        ends = self._model.generation_config.eos_token_id
        ends = self._tokenizer.eos_token_id if ends is None else ends
        self._ends = set(ends if isinstance(ends, list) else [ends]) - {None}
        self._padding: int = min(self._ends, default=0)
        limit = getattr(self._model.config.get_text_config(), "max_position_embeddings", None)
        self._context: int = min(filter(None, (self.settings.context, limit)), default=DEFAULT_CONTEXT)
        self.chat = bool(self._tokenizer.chat_template)
        self.native_tools = self._shows_probe(Request((Message("user", "Hello"),), tools=(PROBE,)))
        self._takes_system = self._shows_probe(Request((Message("system", PROBE.name), Message("user", "Hello"))))
        if self.chat and not self._takes_system:
            self.adaptations["system"] = "the chat template shows no system message; its text begins a user's turn"
            logger.warning("%s: %s", self.name, self.adaptations["system"])

    async def close(self) -> None:
        self._model, thread, self._thread = None, self._thread, None  # which ends the batch under way
        if thread is not None:
            await asyncio.to_thread(thread.shutdown)

    def _load(self) -> tuple[Any, Any]:
        """The model and its tokenizer."""
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
            return model.eval(), tokenizer
        except Exception as error:  # noqa: BLE001  each part of a damaged file fails in its own way
            where = f"{source}/{file}" if file else source
            raise self._failure(error, f"{where} cannot be loaded, is it damaged?") from None

    async def generate(self, request: Request) -> Reply:
        if self._model is None or self._thread is None:
            raise LLMError("connection", f"{self.name} is not open")
        job = Job(request)
        self._waiting.append(job)
        self._thread.submit(self._next_batch, self._model)
        return await asyncio.wrap_future(job.reply)

    # In the thread

    def _next_batch(self, model: Any) -> None:
        """Generate what waits; called once per request, most of which an earlier call has answered."""
        limit, size = 1 if self.temperature > 0 else self.connections, 0
        while size < len(self._waiting) < limit:
            size = len(self._waiting)
            time.sleep(BATCH_WAIT)
        jobs = [self._waiting.popleft() for _ in range(min(len(self._waiting), limit))]
        jobs = [job for job in jobs if job.reply.set_running_or_notify_cancel() and self._prepare(job)]
        begun = time.monotonic()
        try:
            for job, reply in zip(jobs, self._replies(model, jobs) if jobs else (), strict=True):
                job.reply.set_result(dataclasses.replace(reply, queue=begun - job.created))
        except Exception as error:  # noqa: BLE001  whatever breaks a batch is the outcome of its requests
            cause = "server" if self._model is model else "connection"
            for job in jobs:
                problem = one_line(f"{type(error).__name__}: {error}")
                job.reply.set_exception(LLMError(cause, f"{self.name}: {problem}"))

    def _prepare(self, job: Job) -> bool:
        """Turn a request into tokens; False where that cannot be, and the error is its outcome."""
        try:
            job.ids = self._encode(job.request) or [self._padding]
            job.length = min(job.request.max_tokens or self.max_tokens, self._context - len(job.ids))
            if job.length < 1:
                problem = f"the request has {len(job.ids)} tokens, too many for a context of {self._context}"
                raise LLMError("context", f"{self.name}: {problem}")
        except Exception as error:  # noqa: BLE001  a tokenizer that fails must not leave the request waiting
            failure = error if isinstance(error, LLMError) else LLMError("request", f"{self.name}: {error}")
            job.reply.set_exception(failure)
            return False
        return True

    def _shows_probe(self, request: Request) -> bool:
        """Whether the chat template shows the probe in a request to the model."""
        try:
            return self.chat and PROBE.name in self._tokenizer.decode(self._encode(request))
        except LLMError:
            return False

    def _encode(self, request: Request) -> list[int]:
        if not self.chat:
            ids = list(self._tokenizer("\n".join(message.content for message in request.messages))["input_ids"])
            return ids[:-1] if ids[1:] and ids[-1] in self._ends else ids  # some tokenizers append an end
        messages = request.messages if self._takes_system else fold_system(request.messages)
        refusal: Exception | None = None
        for attempt in (messages, _merged(messages)):
            body = json.loads(encode_body(chat_body(self, dataclasses.replace(request, messages=attempt))))
            for call in (call["function"] for message in body["messages"] for call in message.get("tool_calls", ())):
                call["arguments"] = json.loads(call["arguments"])  # templates want data, not text
            options = {"tools": body.get("tools"), "add_generation_prompt": True, "return_dict": False}
            try:
                return list(self._tokenizer.apply_chat_template(body["messages"], **options))
            except Exception as error:  # noqa: BLE001  a template may raise anything
                refusal = refusal or error
        raise LLMError("request", f"{self.name}: its chat template refuses the request: {refusal}")

    def _replies(self, model: Any, jobs: Sequence[Job]) -> list[Reply]:
        """The replies to a batch: rows are padded on the left, each goes on to its end, its stop text or its length.

        Raises:
            RuntimeError: The LLM was closed meanwhile.
        """
        import torch
        from transformers import GenerationConfig

        start = max(len(job.ids) for job in jobs)
        ids = torch.tensor([[self._padding] * (start - len(job.ids)) + job.ids for job in jobs], device=model.device)
        mask = torch.tensor([[0] * (start - len(job.ids)) + [1] * len(job.ids) for job in jobs], device=model.device)
        # A token has at least a byte, so this many hold any stop text; a few more complete its first character.
        tail = 4 + max((len(stop.encode("utf-8", "replace")) for job in jobs for stop in job.request.stop), default=0)

        def ended(seen: torch.Tensor, scores: object, **_: object) -> torch.Tensor:
            if self._model is not model:
                raise RuntimeError("the model was closed")
            made = int(seen.shape[1]) - start
            texts = map(self._text, jobs, seen[:, max(start, start + made - tail) :].tolist())
            ends = [made >= job.length or job.cut(text) != text for job, text in zip(jobs, texts, strict=True)]
            return torch.tensor(ends, device=seen.device)

        settings: dict[str, Any] = {"do_sample": False}
        if self.temperature > 0:
            seed = jobs[0].request.seed
            torch.manual_seed(time.time_ns() if seed is None else seed)
            settings = {"do_sample": True, "temperature": self.temperature, "top_k": 0, "top_p": 1.0}
        settings |= {"max_new_tokens": max(job.length for job in jobs), "pad_token_id": self._padding}
        # Only ours: not the sampling settings that came with the model.
        model.generation_config = GenerationConfig(eos_token_id=list(self._ends) or None, **settings)
        with torch.inference_mode():
            rows = model.generate(input_ids=ids, attention_mask=mask, stopping_criteria=[ended])
        return list(map(self._reply, jobs, rows[:, start:].tolist()))

    def _reply(self, job: Job, row: list[int]) -> Reply:
        row = row[: job.length]
        end = next((i for i, token in enumerate(row) if token in self._ends), None)  # or padding after a stop text
        whole = self._text(job, row[:end])
        text = job.cut(whole)
        full = end is None and text == whole
        made = len(row) if end is None else end + (text == whole)
        text = text.rstrip("\ufffd") if full else text  # half a character
        return Reply(text, finish="length" if full else "stop", tokens=Tokens(prompt=len(job.ids), completion=made))

    def _text(self, job: Job, ids: Sequence[int]) -> str:
        """Special tokens stay where tools are native, since some models mark calls with them."""
        skip = not (self.native_tools and job.request.tools)
        return str(self._tokenizer.decode(ids, skip_special_tokens=skip, clean_up_tokenization_spaces=False))


def _merged(messages: Sequence[Message]) -> tuple[Message, ...]:
    """A conversation whose roles alternate, as some templates want it; tool calls and results stay apart."""
    merged: list[Message] = []
    for message in messages:
        last = merged[-1] if merged else None
        if last and last.role == message.role != "tool" and not (last.tool_calls or message.tool_calls):
            message = dataclasses.replace(message, content=f"{merged.pop().content}\n\n{message.content}")
        merged.append(message)
    return tuple(merged)
