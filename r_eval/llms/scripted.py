"""`scripted/<file.py>:<function>`: a Python function as an LLM, for tests and baselines.

The function takes a `Request` and returns a text or a `Reply`; it may be async. What it returns is counted like any
other LLM's reply: its tokens are words here, and marked as estimated.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from r_eval import plugins
from r_eval.errors import UserError
from r_eval.llms.base import LLM, Reply, Request
from r_eval.llms.stamps import stamp
from r_eval.records import Tokens


class Scripted(LLM):
    """A function that answers requests."""

    native_tools = True
    cached = False

    def __init__(self, name: str, model: str, settings: Mapping[str, Any]) -> None:
        super().__init__(name, model, settings)
        self.connections = int(settings.get("connections", 8))
        if ":" not in model:
            raise UserError(f"LLM '{name}': expected scripted/<file.py>:<function>")
        self._function = plugins.from_path(model, "llms")
        if not callable(self._function):
            raise UserError(f"LLM '{name}': {model} is not a function")

    def identity(self) -> dict[str, Any]:
        """The function is told by its file's content."""
        return {**super().identity(), "file": stamp(Path(self.model.rpartition(":")[0]))}

    async def generate(self, request: Request) -> Reply:
        answer = self._function(request)
        if inspect.isawaitable(answer):
            answer = await answer
        if isinstance(answer, Reply):
            return answer
        prompt = sum(len(message.content.split()) for message in request.messages)
        tokens = Tokens.model_construct(prompt=prompt, completion=len(str(answer).split()), cached=0)
        return Reply(str(answer), tokens=tokens, estimated=True)
