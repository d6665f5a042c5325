"""Which answers say that a text does not answer a question.

`<Unanswerable>` is what an LLM is told to write; it also writes "not mentioned." or "无法推断". An answer counts as
such only as a whole: "political uncertainty" and "nothing was said about it by the mayor" are answers. The words are
in `prompts/unanswerable.yaml`. The published code knows one phrase, and takes it with a full stop for an answer.
"""

from __future__ import annotations

import functools
import itertools
import unicodedata

from r_eval.analysis.quest_eval.prompting import prompt_file

UNANSWERABLE = "<Unanswerable>"
PUBLISHED = "无法推断"
"""The one phrase that the published code knows."""

_LONGEST = 80
"""Characters beyond which an answer says something."""


def normalised(answer: str) -> str:
    """`UNANSWERABLE` for whatever says so, any other answer without the space around it.

    >>> normalised("The text does not mention it."), normalised("文中未提及。"), normalised(" uncertainty ")
    ('<Unanswerable>', '<Unanswerable>', 'uncertainty')
    """
    answer = answer.strip()
    return UNANSWERABLE if not answer or _says_nothing(answer) else answer


def _says_nothing(answer: str) -> bool:
    return len(answer) <= _LONGEST and _folded(answer) in _phrases()


@functools.cache
def _phrases() -> frozenset[str]:
    import yaml

    found = set()
    for parts in yaml.safe_load(prompt_file("unanswerable.yaml")).values():
        for words in itertools.product(["", *parts["leads"]], parts["cores"], ["", *parts["tails"]]):
            found.add(_folded("".join(words)))
    return frozenset(found)


def _folded(text: str) -> str:
    """The letters and digits of a text, and nothing else."""
    return "".join(char for char in unicodedata.normalize("NFKC", text).casefold() if char.isalnum())
