"""Thinking that a model writes before its answer, told apart from the answer.

Servers that know a model hand its thinking over by itself; others leave it in the text between <think> and </think>.
A closing tag without an opening one (the chat template wrote it) and an opening one that is never closed (the reply
was cut) are understood too.
"""

from __future__ import annotations

import dataclasses

from r_eval.llms.base import Reply

OPENING, CLOSING = "<think>", "</think>"


def split(reply: Reply) -> Reply:
    """A reply whose text is the answer alone; what was thought is its `reasoning`."""
    thought, text = apart(reply.text)
    if not thought:
        return reply if text == reply.text else dataclasses.replace(reply, text=text)
    whole = "\n".join(filter(None, [reply.reasoning, thought]))
    return dataclasses.replace(reply, text=text, reasoning=whole)


def apart(text: str) -> tuple[str, str]:
    """Thinking and answer of a text.

    >>> apart("<think>Kenya is in Africa.</think>Africa")
    ('Kenya is in Africa.', 'Africa')
    """
    if OPENING not in text and CLOSING not in text:
        return "", text
    thoughts: list[str] = []
    answers: list[str] = []
    head, closed, tail = text.partition(CLOSING)
    if closed and OPENING not in head:
        thoughts.append(head)
        text = tail
    while True:
        before, opened, rest = text.partition(OPENING)
        answers.append(before)
        if not opened:
            break
        thought, _, text = rest.partition(CLOSING)
        thoughts.append(thought)
    return "\n".join(t.strip() for t in thoughts if t.strip()), "".join(answers).strip()
