"""Scripted LLMs that know the questions: some read what is in the prompt or look it up, others answer from memory."""

from __future__ import annotations

import functools
import re
from typing import Any

from r_eval.llms.base import Request
from r_eval.records import Question
from r_eval.tasks.base import installed, matching

TASKS = ("wiki/hotpotqa", "wiki/copen-cpj", "aminer/soay-easy", *matching("prgb/*"))


@functools.cache
def known() -> tuple[Question, ...]:
    return tuple(question for name in TASKS for question in installed(name).questions)


def candidates(request: Request) -> list[Question]:
    """The questions with the text that a prompt ends with; records of PRGB may share one."""
    text = "\n".join(message.content for message in request.messages)
    ends = {question.question: text.rfind(question.question) + len(question.question) for question in known()}
    last = max(
        (question for question in ends if question in text), key=lambda question: (ends[question], len(question))
    )
    return [question for question in known() if question.question == last]


def remembers(request: Request) -> str:
    """The answer of the world as it is, in the form that the workflow reads."""
    text, answer = request.messages[0].content, candidates(request)[0].answers[0]
    if "Finish[" in text:
        return f"Action 1: Finish[{answer}]"
    return f"```python\nanswer = {answer!r}\n```" if "program" in text else answer


def looks_up(request: Request) -> str:
    """The gold program, for a workflow that runs programs."""
    return f"```python\n{candidates(request)[0].program}\n```"


def recalls(request: Request) -> str:
    """The answer of one variant, whatever the documents say."""
    return candidates(request)[0].answers[0]


def reads(request: Request) -> str:
    """What a gold program finds in the documents in the prompt."""
    lines = [re.sub(r"^\[\d+\] ", "", line) for line in request.messages[-1].content.splitlines()]
    for program in dict.fromkeys(question.program or "" for question in candidates(request)):
        scope: dict[str, Any] = {"retrieve": lambda query, top_k: [{"text": line} for line in lines]}
        exec(program, scope)
        if len(scope["values"]) == len(scope.get("names", scope["values"])) and scope["answer"]:
            return str(scope["answer"])
    return "The documents do not say."
