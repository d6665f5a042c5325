"""Answers from a text: the same prompt for the reference and for what a system wrote, and how the reply is read.

Every question has an id in the prompt, and the reply is an object that has the answers under those ids. An answer
belongs to the question whose id it bears, whatever its place; a question whose id is not in the reply has none. The
published code goes by place, so that one answer too few moves all that follow.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from r_eval.analysis.quest_eval.prompting import prompt
from r_eval.analysis.quest_eval.unanswerable import normalised
from r_eval.languages import Language

_ID = re.compile(r"\s{0,3}[qQ]?(?:uestion)?[\s_.-]{0,2}0{0,3}([1-9][0-9]{0,4})[\s.:]{0,2}")
_LISTED = (("id", "answer"), ("question_id", "answer"), ("question", "answer"))
"""Keys of an answer that is an object of its own."""


def ids(questions: Sequence[str]) -> list[str]:
    """The ids of some questions: q1, q2 and so on."""
    return [f"q{number}" for number in range(1, len(questions) + 1)]


def asked_for_answers(text: str, questions: Sequence[str], language: Language) -> str:
    """What an LLM is told."""
    listed = "\n".join(f"{name}: {question}" for name, question in zip(ids(questions), questions, strict=True))
    return prompt("answers", language, text=text, questions=listed)


def read_answers(reply: str, questions: Sequence[str]) -> list[str | None]:
    """The answer to each question, `UNANSWERABLE` for what says so; None for a question whose id is not in the reply.

    Where an id comes twice, the last counts: a model may begin again.

    >>> read_answers('{"q2": "In Africa.", "q1": null}', ["Where is Oz?", "Where is Kenya?"])
    ['<Unanswerable>', 'In Africa.']
    """
    from r_eval.llms.json_text import json_values

    found: dict[str, str] = {}
    for value in (found.value for found in json_values(reply)):
        for name, answer in _named(value):
            text = _text(answer)
            if text is not None:
                found[name] = normalised(text)
    return [found.get(name) for name in ids(questions)]


def _named(value: Any, inside: bool = False) -> Iterator[tuple[str, Any]]:
    """Ids and answers in a value: an object of answers, a list of objects, or either within an object."""
    if isinstance(value, list):
        for item in value:
            if isinstance(item, dict):
                yield from _listed(item)
    elif isinstance(value, dict):
        yield from _listed(value)
        for key, answer in value.items():
            if name := _id(key):
                yield name, answer
            elif not inside and isinstance(answer, (dict, list)):
                yield from _named(answer, inside=True)


def _listed(item: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for key, answer in _LISTED:
        if key in item and answer in item and (name := _id(item[key])):
            yield name, item[answer]
            return


def _id(key: object) -> str | None:
    """The id that a key means: "q1", "Q1", "1" and 1 are the same."""
    match = _ID.fullmatch(str(key)[:40]) if isinstance(key, (str, int)) and not isinstance(key, bool) else None
    return f"q{match[1]}" if match else None


def _text(answer: object) -> str | None:
    """An answer as text; None where it is none."""
    if isinstance(answer, dict):
        answer = answer.get("answer")
        return _text(answer) if not isinstance(answer, dict) else None
    if isinstance(answer, list):
        return ", ".join(text for text in map(_text, answer) if text)
    if answer is None:
        return ""
    if isinstance(answer, bool):
        return str(answer).lower()
    return str(answer)
