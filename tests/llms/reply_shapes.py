"""How providers say what they answer, in the shapes that they document or that users report; one row per way."""

# ruff: noqa: E501  a row is easier to read on one line

from __future__ import annotations

import dataclasses
from typing import Any

USED = {"prompt_tokens": 20, "completion_tokens": 2}
KENYA = (("Search", {"entity": "肯尼亚"}),)


@dataclasses.dataclass(frozen=True)
class Shape:
    """A message and what comes with it, and what must be read out of it; without `counted` tokens are estimated."""

    provider: str
    message: dict[str, Any]
    text: str = ""
    calls: tuple[tuple[str, dict[str, Any]], ...] = ()
    reasoning: str = ""
    ending: Any = "stop"
    finish: str = "stop"
    usage: Any = dataclasses.field(default_factory=USED.copy)
    counted: bool = True
    extra: Any = None

    def body(self) -> dict[str, Any]:
        """As a server sends it."""
        choice = {"index": 0, "message": {"role": "assistant", **self.message}, "finish_reason": self.ending}
        return {"id": "chatcmpl-1", "object": "chat.completion", "choices": [choice], "usage": self.usage}


def call(arguments: Any = '{"entity": "肯尼亚"}', name: str = "Search", call_id: Any = "call_1", **more: Any) -> Any:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}, **more}


def made(*calls: Any, content: Any = None, **more: Any) -> dict[str, Any]:
    return {"content": content, "tool_calls": list(calls), **more}


CALLED: dict[str, Any] = {"calls": KENYA, "ending": "tool_calls", "finish": "tool_calls"}
DETAILS = [{"type": "reasoning.text", "text": "嗯", "signature": "abc"}, {"type": "reasoning.encrypted", "data": "x"}]
THINKING = [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, {"type": "text", "text": "x"}]
SIGNED = {"google": {"thought_signature": "s"}}
TWICE = '"{\\"entity\\": \\"肯尼亚\\"}"'

SHAPES = (
    # text
    Shape("OpenAI", {"content": "内罗毕 🌍", "refusal": None, "annotations": []}, "内罗毕 🌍"),
    Shape("OpenAI", {"content": None}),
    Shape("OpenAI", {"content": None, "refusal": "我不能回答。"}, "我不能回答。", finish="refusal"),
    Shape("Azure OpenAI", {"content": ""}, ending="content_filter", finish="content_filter"),
    Shape("Mistral", {"content": [{"type": "text", "text": "Nai"}, {"type": "text", "text": "robi"}]}, "Nairobi"),
    Shape("Mistral", {"content": [{"type": "text", "text": "x"}], "prefix": False, "tool_calls": None}, "x", ending="model_length", finish="length", extra={"prefix": False}),
    Shape("Mistral (Magistral)", {"content": THINKING}, "x", reasoning="hm"),
    Shape("A gateway", {"content": [{"type": "reasoning", "text": "hm"}, {"type": "text", "text": "x"}]}, "x", reasoning="hm"),
    Shape("A gateway", {"content": [{"type": "reasoning", "summary": [{"text": "hm"}]}, {"text": "x"}]}, "x", reasoning="hm"),
    Shape("Anthropic (OpenAI)", {"content": {"type": "text", "text": "نيروبي"}}, "نيروبي", ending="end_turn"),
    Shape("A gateway", {"content": ["Nai", "robi"]}, "Nairobi", ending="COMPLETE"),
    Shape("A gateway", {"content": [{"type": "image_url", "image_url": {"url": "x"}}, {"text": "🌍"}]}, "🌍", ending=None, finish="unknown"),
    Shape("A gateway", {"content": [{"type": "refusal", "refusal": "No."}]}, "No."),
    Shape("A gateway", {"content": []}, ending=["stop"], finish="unknown"),
    Shape("TGI", {"content": "x"}, "x", ending="eos_token"),
    Shape("Gemini", {"content": "Nai"}, "Nai", ending="MAX_TOKENS", finish="length"),
    Shape("Gemini", {"content": ""}, ending="PROHIBITED_CONTENT", finish="content_filter"),
    # reasoning
    Shape("DeepSeek", {"content": "x", "reasoning_content": "Ich überlege"}, "x", reasoning="Ich überlege"),
    Shape("vLLM", {"content": "x", "reasoning": "想"}, "x", reasoning="想"),
    Shape("vLLM", {"content": None, "reasoning": "想"}, reasoning="想", ending="length", finish="length"),
    Shape("Ollama", {"content": "x", "thinking": "想"}, "x", reasoning="想"),
    Shape("A gateway", {"content": "x", "reasoning": [{"text": "想"}, "一想"]}, "x", reasoning="想\n一想"),
    Shape("OpenRouter", {"content": "x", "reasoning_details": DETAILS}, "x", reasoning="嗯", extra={"reasoning_details": DETAILS}),
    # tool calls
    Shape("OpenAI", made(call()), **CALLED),
    Shape("llama.cpp", made(call({"entity": "肯尼亚"})), **CALLED),
    Shape("A gateway", made(call(TWICE)), **CALLED),
    Shape("A gateway", made(call('```json\n{"entity": "肯尼亚"}\n```')), **CALLED),
    Shape("A gateway", made(call('{}{"entity": "肯尼亚"}')), **CALLED),
    Shape("A gateway", made(None, call()), **CALLED),
    Shape("Ollama", made(call("", "Now"), content=""), calls=(("Now", {}),), ending="stop"),
    Shape("Gemini", made(call(call_id="", extra_content=SIGNED)), **CALLED),
    Shape("Kimi", made(call(name="functions.Search:0", call_id="functions.Search:0")), **{**CALLED, "calls": (("functions.Search:0", KENYA[0][1]),)}),
    Shape("Cohere", made(call(call_id=None), call(call_id=None), content="Ich suche."), "Ich suche.", KENYA * 2, ending="TOOL_CALL", finish="tool_calls"),
    Shape("Hugging Face", {"content": None, "function_call": {"name": "Search", "arguments": '{"entity": "肯尼亚"}'}}, calls=KENYA, ending="function_call", finish="tool_calls"),
    # usage
    Shape("LM Studio", {"content": "x"}, "x", usage=None, counted=False),
    Shape("Ollama", {"content": "x"}, "x", usage={"prompt_tokens": 0, "completion_tokens": 0}, counted=False),
    Shape("A gateway", {"content": "x"}, "x", usage=[1], counted=False),
    Shape("A gateway", {"content": "x"}, "x", usage={"input_tokens": 20, "output_tokens": 2}),
    Shape("A gateway", {"content": "x"}, "x", usage={"prompt_tokens": "20", "completion_tokens": 2.0, "prompt_tokens_details": [1]}),
)  # fmt: skip
