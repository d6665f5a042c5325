"""Builds an LLM from the name and settings that a grid gives it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from r_eval import plugins
from r_eval.errors import UserError
from r_eval.llms.base import LLM

COMMON: Mapping[str, type | tuple[type, ...]] = {
    "temperature": (int, float),
    "max_tokens": int,
    "connections": int,
    "price": dict,
    "num_gpus": (int, float),
}
POSITIVE = (
    "connections",
    "max_tokens",
    "context",
    "slots",
    "threads",
    "requests_per_minute",
    "tokens_per_minute",
)


def make(name: str, settings: Mapping[str, Any] | None = None) -> LLM:
    """The LLM of a name such as `gguf/smollm2-135m` or `openai/gpt-4o-mini`, not opened yet.

    Raises:
        UserError: The backend or a setting is unknown, or a setting has the wrong type.
    """
    settings = settings or {}
    prefix, slash, model = name.partition("/")
    if not slash or not model:
        known = ", ".join(f"{p}/..." for p in plugins.names("llms", LLM))
        raise UserError(f"LLM '{name}': expected <backend>/<model>; the backends: {known}")
    backend: type[LLM] = plugins.load("llms", prefix, LLM)
    allowed = {**COMMON, **backend.SETTINGS}
    for key, value in settings.items():
        if key not in allowed:
            raise UserError(f"LLM '{name}': {plugins.unknown('setting', key, allowed)}")
        kinds = allowed[key]
        if (isinstance(value, bool) and kinds is not bool) or not isinstance(value, kinds):
            wanted = kinds.__name__ if isinstance(kinds, type) else " or ".join(k.__name__ for k in kinds)
            raise UserError(f"LLM '{name}': {key} must be {wanted}, not {value!r}")
    for key in POSITIVE:
        if settings.get(key, 1) < 1:
            raise UserError(f"LLM '{name}': {key} must be at least 1")
    for key in ("temperature", "num_gpus"):
        if settings.get(key, 0) < 0:
            raise UserError(f"LLM '{name}': {key} must be at least 0")
    try:
        return backend(name, model, settings)
    except TypeError as error:
        raise UserError(
            f"LLM '{name}': price takes prompt, completion and cached, in USD a million tokens ({error})"
        ) from None
