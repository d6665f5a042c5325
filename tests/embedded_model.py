"""The embedded model of the transformers backend, read from its file once for all tests of a process."""

from __future__ import annotations

import functools
from typing import Any

from r_eval.llms.base import make_llm
from r_eval.llms.hf import HF

EMBEDDED = "hf/smollm2-135m"


def embedded_hf(**settings: Any) -> HF:
    """An LLM with settings of its own, not open yet, over the model that is loaded."""
    llm = make_llm(EMBEDDED, {"dtype": "float32", **settings})
    assert isinstance(llm, HF)
    llm._load = _loaded  # type: ignore[method-assign]
    return llm


@functools.cache
def _loaded() -> tuple[Any, Any]:
    llm = make_llm(EMBEDDED, {"dtype": "float32"})
    assert isinstance(llm, HF)
    return llm._load()
