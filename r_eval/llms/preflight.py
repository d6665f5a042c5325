"""The first request to a model, before a run: it shows whether the model answers, and what it takes.

A model in this process and the same model behind a server get the same one. It warms the model up, so that no episode's
seconds hold the first reading of its file; and since what llama.cpp computes depends in its last bits on what it has
computed before, only with the same beginning do both give the same answers to the last token.
"""

from __future__ import annotations

from importlib.resources import files

from r_eval.llms.base import Message, Request, ToolSpec

TOOL = ToolSpec("ready", "Say that the connection works.", {"type": "object", "properties": {}})
STOP = "\n\n\n"
LENGTH = 16


def preflight(tools: bool) -> Request:
    """The request, with a stop text, and with a tool where tools are to be given natively."""
    text = files("r_eval.llms").joinpath("prompts/preflight.md").read_text(encoding="utf-8").strip()
    return Request((Message("user", text),), (STOP,), LENGTH, (TOOL,) if tools else ())
