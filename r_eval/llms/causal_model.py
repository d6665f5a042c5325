"""A causal model of transformers with its tokenizer: requests in, replies out, in the caller's thread."""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from r_eval.llms.base import LLM, LLMError, Message, Reply, Request, ToolSpec
from r_eval.llms.chat import chat_body, fold_system
from r_eval.llms.reply import encode_body
from r_eval.records import Tokens

if TYPE_CHECKING:
    import torch

DEFAULT_CONTEXT = 4096
"""For a model that names no length."""
CANCELLED = "the model was closed"
PROBE = ToolSpec("probe_of_the_template", "", {"type": "object", "properties": {}})


@dataclasses.dataclass(frozen=True, slots=True)
class Prompt:
    """A request as tokens, and the number of tokens that its reply may have."""

    request: Request
    ids: list[int]
    length: int


class CausalModel:
    """A loaded model, which generates as its LLM says and not by the sampling settings that came with it.

    A tokenizer without a chat template makes it a base model: it completes the texts of the messages.

    Args:
        context: Most tokens of a request and its reply; None for what the model was made for, and never more.

    Attributes:
        chat: Whether there is a chat template.
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
        model.generation_config = GenerationConfig(eos_token_id=ends, pad_token_id=self._padding)
        limit = getattr(model.config.get_text_config(), "max_position_embeddings", None)
        self.context: int = min(filter(None, (context, limit)), default=DEFAULT_CONTEXT)
        self.chat = bool(tokenizer.chat_template)
        self.system = True
        self.tools = self._shows_probe(Request((Message("user", "Hello"),), tools=(PROBE,)))
        self.system = self._shows_probe(Request((Message("system", PROBE.name), Message("user", "Hello"))))

    def _shows_probe(self, request: Request) -> bool:
        try:
            return self.chat and PROBE.name in self._tokenizer.decode(self._encode(request))
        except LLMError:
            return False

    def prompt(self, request: Request) -> Prompt:
        """A request as tokens.

        Raises:
            LLMError: It leaves no room for a reply, or the chat template refuses it.
        """
        ids = self._encode(request) or [self._padding]
        length = min(request.max_tokens or self._llm.max_tokens, self.context - len(ids))
        if length < 1:
            problem = f"the request has {len(ids)} tokens, too many for a context of {self.context}"
            raise LLMError("context", f"{self._llm.name}: {problem}")
        return Prompt(request, ids, length)

    def _encode(self, request: Request) -> list[int]:
        if not self.chat:
            ids = list(self._tokenizer("\n".join(message.content for message in request.messages))["input_ids"])
            return ids[:-1] if ids[1:] and ids[-1] in self._ends else ids  # some tokenizers append an end
        messages = request.messages if self.system else fold_system(request.messages)
        refusal: Exception | None = None
        for attempt in (messages, merge_turns(messages)):  # some templates want the roles to alternate
            try:
                return self._templated(dataclasses.replace(request, messages=attempt))
            except Exception as error:  # noqa: BLE001  a template may raise anything
                refusal = refusal or error
        raise LLMError("request", f"{self._llm.name}: its chat template refuses the request: {refusal}")

    def _templated(self, request: Request) -> list[int]:
        body = json.loads(encode_body(chat_body(self._llm, request)))
        for call in (call for message in body["messages"] for call in message.get("tool_calls", ())):
            call["function"]["arguments"] = json.loads(call["function"]["arguments"])  # templates want data, not text
        options = {"tools": body.get("tools"), "add_generation_prompt": True, "return_dict": False}
        return list(self._tokenizer.apply_chat_template(body["messages"], **options))

    def generate(self, prompts: Sequence[Prompt], is_cancelled: Callable[[], bool]) -> list[Reply]:
        """The replies to a batch: rows are padded on the left, each goes on to its end, its stop text or its length.

        Args:
            is_cancelled: Asked before every token; True gives up with a RuntimeError.
        """
        import torch

        if is_cancelled():
            raise RuntimeError(CANCELLED)
        start = max(len(prompt.ids) for prompt in prompts)
        gaps = [start - len(prompt.ids) for prompt in prompts]
        ids = [[self._padding] * gap + prompt.ids for gap, prompt in zip(gaps, prompts, strict=True)]
        mask = [[0] * gap + [1] * len(prompt.ids) for gap, prompt in zip(gaps, prompts, strict=True)]
        # A token has at least a byte, so this many hold any stop text; a few more complete its first character.
        tail = 4 + max((len(stop.encode("utf-8", "replace")) for p in prompts for stop in p.request.stop), default=0)

        def ended(seen: torch.Tensor, scores: object, **_: object) -> torch.Tensor:
            if is_cancelled():
                raise RuntimeError(CANCELLED)
            made = int(seen.shape[1]) - start
            texts = map(self._text, prompts, seen[:, max(start, start + made - tail) :].tolist())
            ends = [made >= p.length or _cut(p, text) != text for p, text in zip(prompts, texts, strict=True)]
            return torch.tensor(ends, device=seen.device)

        sampling: dict[str, Any] = {"do_sample": False}
        if self._llm.temperature > 0:
            seed = prompts[0].request.seed
            torch.manual_seed(time.time_ns() if seed is None else seed)
            sampling = {"do_sample": True, "temperature": self._llm.temperature, "top_k": 0, "top_p": 1.0}
        with torch.inference_mode():
            rows = self._model.generate(
                torch.tensor(ids, device=self._model.device),
                attention_mask=torch.tensor(mask, device=self._model.device),
                max_new_tokens=max(prompt.length for prompt in prompts),
                stopping_criteria=[ended],
                **sampling,
            )
        return list(map(self._reply, prompts, rows[:, start:].tolist()))

    def _reply(self, prompt: Prompt, row: list[int]) -> Reply:
        row = row[: prompt.length]
        end = next((i for i, token in enumerate(row) if token in self._ends), None)  # or padding after a stop text
        whole = self._text(prompt, row[:end])
        text = _cut(prompt, whole)
        full = end is None and text == whole
        made = len(row) if end is None else end + (text == whole)
        text = text.rstrip("\ufffd") if full else text  # half a character
        return Reply(text, finish="length" if full else "stop", tokens=Tokens(prompt=len(prompt.ids), completion=made))

    def _text(self, prompt: Prompt, ids: Sequence[int]) -> str:
        """Special tokens stay where tools are native, since some models mark calls with them."""
        skip = not (self.tools and prompt.request.tools)
        return str(self._tokenizer.decode(ids, skip_special_tokens=skip, clean_up_tokenization_spaces=False))


def _cut(prompt: Prompt, text: str) -> str:
    """A text up to the first stop text."""
    found = (text.find(stop) for stop in prompt.request.stop if stop)
    return text[: min((at for at in found if at >= 0), default=len(text))]


def merge_turns(messages: Sequence[Message]) -> tuple[Message, ...]:
    """A conversation in which texts of one role in a row are one message; tool calls and results stay apart."""
    merged: list[Message] = []
    for message in messages:
        last = merged[-1] if merged else None
        if last and last.role == message.role != "tool" and not (last.tool_calls or message.tool_calls):
            merged[-1] = dataclasses.replace(last, content=f"{last.content}\n\n{message.content}")
        else:
            merged.append(message)
    return tuple(merged)
