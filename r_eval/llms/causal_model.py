"""A causal model of transformers with its tokenizer: requests in, replies out, in the caller's thread."""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

from r_eval.llms.base import LLM, LLMError, Message, Reply, Request, ToolSpec
from r_eval.llms.chat import chat_body, fold_system
from r_eval.llms.reply import encode_body
from r_eval.records import Tokens

if TYPE_CHECKING:
    import torch

DEFAULT_CONTEXT = 4096
"""For a model that names no length."""
PROBE = ToolSpec("probe_of_the_template", "", {"type": "object", "properties": {}})


@dataclasses.dataclass(slots=True)
class Job:
    """A request that waits for its batch: its tokens, the number of those that its reply may have, and that reply."""

    request: Request
    ids: list[int] = dataclasses.field(default_factory=list)
    length: int = 0
    created: float = dataclasses.field(default_factory=time.monotonic)
    reply: Future[Reply] = dataclasses.field(default_factory=Future)


class CausalModel:
    """A loaded model, which generates as its LLM says and not by the sampling settings that came with it.

    Args:
        context: Most tokens of a request and its reply; None for what the model was made for, and never more.

    Attributes:
        chat: Whether there is a chat template; else it is a base model, and completes the texts of the messages.
        tools: Whether the template shows tools to the model.
        system: Whether it shows system messages; if not, their text begins the next turn of the user.
    """

    def __init__(self, llm: LLM, model: Any, tokenizer: Any, context: int | None) -> None:
        from transformers import GenerationConfig

        self._llm, self._model, self._tokenizer = llm, model, tokenizer
        ends = model.generation_config.eos_token_id
        ends = tokenizer.eos_token_id if ends is None else ends
        self._ends = set(ends if isinstance(ends, list) else [ends]) - {None}
        self._padding: int = min(self._ends, default=0)
        tokenizer.pad_token = tokenizer.pad_token or tokenizer.convert_ids_to_tokens(self._padding)
        model.generation_config = GenerationConfig(eos_token_id=ends, pad_token_id=self._padding)
        limit = getattr(model.config.get_text_config(), "max_position_embeddings", None)
        self.context: int = min(filter(None, (context, limit)), default=DEFAULT_CONTEXT)
        self.chat, self.system = bool(tokenizer.chat_template), True
        self.tools = self._shows_probe(Request((Message("user", "Hello"),), tools=(PROBE,)))
        self.system = self._shows_probe(Request((Message("system", PROBE.name), Message("user", "Hello"))))

    def _shows_probe(self, request: Request) -> bool:
        try:
            return self.chat and PROBE.name in self._tokenizer.decode(self._encode(request))
        except LLMError:
            return False

    def prepare(self, job: Job) -> bool:
        """Turn a request into tokens; False where that cannot be, and the error is its outcome."""
        try:
            job.ids = self._encode(job.request) or [self._padding]
            job.length = min(job.request.max_tokens or self._llm.max_tokens, self.context - len(job.ids))
            if job.length < 1:
                problem = f"the request has {len(job.ids)} tokens, too many for a context of {self.context}"
                raise LLMError("context", f"{self._llm.name}: {problem}")
        except Exception as error:  # noqa: BLE001  a tokenizer that fails must not leave the request waiting
            failure = error if isinstance(error, LLMError) else LLMError("request", f"{self._llm.name}: {error}")
            job.reply.set_exception(failure)
            return False
        return True

    def _encode(self, request: Request) -> list[int]:
        if not self.chat:
            ids = list(self._tokenizer("\n".join(message.content for message in request.messages))["input_ids"])
            return ids[:-1] if ids[1:] and ids[-1] in self._ends else ids  # some tokenizers append an end
        messages = request.messages if self.system else fold_system(request.messages)
        refusal: Exception | None = None
        for attempt in (messages, _merged(messages)):
            body = json.loads(encode_body(chat_body(self._llm, dataclasses.replace(request, messages=attempt))))
            for call in (call["function"] for message in body["messages"] for call in message.get("tool_calls", ())):
                call["arguments"] = json.loads(call["arguments"])  # templates want data, not text
            options = {"tools": body.get("tools"), "add_generation_prompt": True, "return_dict": False}
            try:
                return list(self._tokenizer.apply_chat_template(body["messages"], **options))
            except Exception as error:  # noqa: BLE001  a template may raise anything
                refusal = refusal or error
        raise LLMError("request", f"{self._llm.name}: its chat template refuses the request: {refusal}")

    def generate(self, jobs: Sequence[Job], is_cancelled: Callable[[], bool]) -> list[Reply]:
        """The replies to a batch: rows are padded on the left, each goes on to its end, its stop text or its length.

        Args:
            is_cancelled: TaskInput before every token; True gives up with a RuntimeError.
        """
        import torch

        batch = self._tokenizer.pad({"input_ids": [job.ids for job in jobs]}, padding_side="left", return_tensors="pt")
        start = batch["input_ids"].shape[1]
        # A token has at least a byte, so this many hold any stop text; a few more complete its first character.
        tail = 4 + max((len(stop.encode("utf-8", "replace")) for job in jobs for stop in job.request.stop), default=0)

        def ended(seen: torch.Tensor, scores: object, **_: object) -> torch.Tensor:
            if is_cancelled():
                raise RuntimeError("the model was closed")
            made = int(seen.shape[1]) - start
            texts = map(self._text, jobs, seen[:, max(start, start + made - tail) :].tolist())
            ends = [made >= job.length or _cut(job, text) != text for job, text in zip(jobs, texts, strict=True)]
            return torch.tensor(ends, device=seen.device)

        sampling: dict[str, Any] = {"do_sample": False}
        if self._llm.temperature > 0:
            seed = jobs[0].request.seed
            torch.manual_seed(time.time_ns() if seed is None else seed)
            sampling = {"do_sample": True, "temperature": self._llm.temperature, "top_k": 0, "top_p": 1.0}
        with torch.inference_mode():
            rows = self._model.generate(
                **batch.to(self._model.device),
                max_new_tokens=max(job.length for job in jobs),
                stopping_criteria=[ended],
                **sampling,
            )
        return list(map(self._reply, jobs, rows[:, start:].tolist()))

    def _reply(self, job: Job, row: list[int]) -> Reply:
        row = row[: job.length]
        end = next((i for i, token in enumerate(row) if token in self._ends), None)  # or padding after a stop text
        whole = self._text(job, row[:end])
        text = _cut(job, whole)
        full = end is None and text == whole
        made = len(row) if end is None else end + (text == whole)
        text = text.rstrip("\ufffd") if full else text  # half a character
        return Reply(text, finish="length" if full else "stop", tokens=Tokens(prompt=len(job.ids), completion=made))

    def _text(self, job: Job, ids: Sequence[int]) -> str:
        """Special tokens stay where tools are native, since some models mark calls with them."""
        skip = not (self.tools and job.request.tools)
        return str(self._tokenizer.decode(ids, skip_special_tokens=skip, clean_up_tokenization_spaces=False))


def _cut(job: Job, text: str) -> str:
    """A text up to the first stop text."""
    found = (text.find(stop) for stop in job.request.stop if stop)
    return text[: min((at for at in found if at >= 0), default=len(text))]


def _merged(messages: Sequence[Message]) -> tuple[Message, ...]:
    """A conversation whose roles alternate, as some templates want it; tool calls and results stay apart."""
    merged: list[Message] = []
    for message in messages:
        last = merged[-1] if merged else None
        if last and last.role == message.role != "tool" and not (last.tool_calls or message.tool_calls):
            message = dataclasses.replace(message, content=f"{merged.pop().content}\n\n{message.content}")
        merged.append(message)
    return tuple(merged)
