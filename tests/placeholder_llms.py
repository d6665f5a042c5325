"""Scripted LLMs for the tasks prgb/*: one that reads what it is shown, one that knows an answer beforehand."""

from __future__ import annotations

import functools
import re
from typing import Any

from r_eval.llms.base import Request
from r_eval.records import Question
from r_eval.tasks.base import installed, matching


@functools.cache
def known() -> dict[str, list[Question]]:
    """The questions by their text; different records may ask the same of other documents."""
    found: dict[str, list[Question]] = {}
    for name in matching("prgb/*"):
        for question in installed(name).questions:
            found.setdefault(question.question, []).append(question)
    return found


def asked(request: Request) -> list[Question]:
    """Those that ask what a prompt ends with."""
    text = request.messages[-1].content.rstrip()
    return known()[max((asked for asked in known() if text.endswith(asked)), key=len)]


def reads(request: Request) -> str:
    """What a gold program finds in the documents in the prompt."""
    lines = [re.sub(r"^\[\d+\] ", "", line) for line in request.messages[-1].content.splitlines()]
    for program in dict.fromkeys(question.program or "" for question in asked(request)):
        scope: dict[str, Any] = {"retrieve": lambda query, top_k: [{"text": line} for line in lines]}
        exec(program, scope)
        if len(scope["values"]) == len(scope.get("names", scope["values"])) and scope["answer"]:
            return str(scope["answer"])
    return "The documents do not say."


def remembers(request: Request) -> str:
    """The answer of one variant, whatever is shown."""
    return asked(request)[0].answers[0]
