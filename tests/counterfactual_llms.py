"""Scripted LLMs for examples/counterfactual.yaml: one that knows every answer beforehand, one that looks it up."""

from __future__ import annotations

import functools

from r_eval.llms.base import Request
from r_eval.records import Question
from r_eval.tasks.base import installed

TASKS = ("wiki/hotpotqa", "wiki/copen-cpj", "aminer/soay-easy")


@functools.cache
def known() -> tuple[Question, ...]:
    return tuple(question for name in TASKS for question in installed(name).questions)


def asked(request: Request) -> Question:
    """The question that a prompt asks last."""
    text = "\n".join(message.content for message in request.messages)
    return max(known(), key=lambda question: text.rfind(question.question))


def remembers(request: Request) -> str:
    """The answer of the world as it is, in the form that the workflow reads."""
    text, (answer, *_) = request.messages[0].content, asked(request).answers
    if "Finish[" in text:
        return f"Action 1: Finish[{answer}]"
    return f"```python\nanswer = {answer!r}\n```" if "program" in text else answer


def looks_up(request: Request) -> str:
    """The gold program, for a workflow that runs programs."""
    return f"```python\n{asked(request).program}\n```"
