"""The embedded model of the transformers backend, read from its file once for all tests of a process."""

from __future__ import annotations

import asyncio
import functools
from typing import Any

from r_eval.llms.hf import HF
from r_eval.llms.make import make

EMBEDDED = "hf/smollm2-135m"


def made(settings: dict[str, Any]) -> HF:
    llm = make(EMBEDDED, {"dtype": "float32", **settings})
    assert isinstance(llm, HF)
    return llm


@functools.cache
def loaded() -> HF:
    """An open LLM that no test closes."""
    llm = made({})
    asyncio.run(llm.open())
    return llm


def embedded_hf(**settings: Any) -> HF:
    """An LLM with settings of its own, not open yet, over the model that is loaded."""
    llm, whole = made(settings), loaded()

    def adopt() -> None:
        llm._model, llm._tokenizer, llm.native_tools = whole._model, whole._tokenizer, whole.native_tools
        llm._readable = min(llm.context or whole._readable, whole._readable)

    llm._load = adopt  # type: ignore[method-assign]
    return llm
