"""Questions about a reference: what an LLM is told, and how its reply is read.

The reply holds key information and questions. They need not be as many, and the n-th question need not be about the
n-th item: in the published caches they differ in most records. So the two are never put in pairs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from r_eval.analysis.quest_eval.prompting import prompt
from r_eval.languages import language_of

QUESTIONS = ("questions", "question")
KEY_INFO = ("key_info", "key_information", "keyInfo")


@dataclass(frozen=True, slots=True)
class Written:
    """What an LLM wrote about a reference; each question stands there once."""

    key_info: tuple[str, ...]
    questions: tuple[str, ...]


def asked_for_questions(reference: str) -> str:
    """What an LLM is told, in the reference's language."""
    return prompt("questions", language_of(reference), text=reference)


def read_questions(reply: str) -> Written | None:
    """The questions in a reply, with whatever stands around them; None where there are none.

    >>> read_questions('Sure:\\n```json\\n{"key_info": ["Kenya"], "questions": ["Where?", "When?"]}\\n```')
    Written(key_info=('Kenya',), questions=('Where?', 'When?'))
    """
    from r_eval.llms.json_text import json_values

    found = None
    for value in (found.value for found in json_values(reply)):
        if isinstance(value, dict) and (questions := _texts(value, QUESTIONS)):
            found = Written(_texts(value, KEY_INFO), questions)
    return found


def _texts(value: dict[str, Any], keys: tuple[str, ...]) -> tuple[str, ...]:
    listed: list[Any] = next((value[key] for key in keys if isinstance(value.get(key), list)), [])
    texts = [item.get("question") if isinstance(item, dict) else item for item in listed]
    return tuple(dict.fromkeys(" ".join(text.split()) for text in texts if isinstance(text, str) and text.strip()))
