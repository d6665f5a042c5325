"""What is left out of a conversation that an LLM's context cannot hold: the oldest observations, but for a sentence.

Only what is sent becomes shorter; the record keeps every observation whole. An observation is found by its text, so
that it makes no difference which message of which workflow has it.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from os.path import commonprefix

from r_eval.llms.base import Message
from r_eval.records import Step

LONGEST = 200
"""Characters of an observation that needs no shortening; its first so many are what it is found by."""

SENTENCE = re.compile(r".{20,150}?[.!?](?=\s)|.{1,150}", re.DOTALL)
MARK = "[… shortened]"


class ContextTruncator:
    """Shortens one episode's observations, ever more of them.

    Args:
        steps: The episode's, as they are recorded.
    """

    def __init__(self, steps: Sequence[Step]) -> None:
        self._steps = steps
        self._short: set[int] = set()

    def truncate(self, messages: Sequence[Message]) -> int:
        """Shorten the whole observations of a conversation, but for the latest where there are several.

        Returns how many of the episode's are shortened now; 0 where there was nothing left to shorten.
        """
        whole = []
        sent = self.apply(messages)
        for number, step in enumerate(self._steps):
            if step.kind != "call" or number in self._short:
                continue
            without = _replaced(sent, step.observation or "")
            if without is not None:
                sent = without
                whole.append(number)
        self._short.update(whole[:-1] or whole)
        return len(self._short) if whole else 0

    def apply(self, messages: Sequence[Message]) -> tuple[Message, ...]:
        """A conversation as it is sent."""
        sent = tuple(messages)
        for number in sorted(self._short):
            sent = _replaced(sent, self._steps[number].observation or "") or sent
        return sent


def _replaced(messages: tuple[Message, ...], observation: str) -> tuple[Message, ...] | None:
    """Messages in which the first occurrence of an observation, cut or on one line, is shortened; None for none."""
    if len(observation) <= LONGEST:
        return None
    for text in (observation, " ".join(observation.split())):
        for i, message in enumerate(messages):
            start = message.content.find(text[:LONGEST])
            if start < 0:
                continue
            rest = message.content[start:]
            same = len(commonprefix([rest, text]))  # noqa: RUF071  texts, not paths
            content = f"{message.content[:start]}{sentence(text)} {MARK}{rest[same:]}"
            return (*messages[:i], dataclasses.replace(message, content=content), *messages[i + 1 :])
    return None


def sentence(text: str) -> str:
    """The first sentence of a text, or its beginning."""
    found = SENTENCE.match(text.strip())
    return found.group().strip() if found else ""
