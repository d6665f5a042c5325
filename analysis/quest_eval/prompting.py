"""The prompts of RAGQuestEval: files in `prompts/`, in Chinese and in English."""

from __future__ import annotations

import functools
from importlib.resources import files
from string import Template

from r_eval.languages import Language


def prompt(name: str, language: Language, **values: str) -> str:
    """A prompt with its $names filled in; nothing that is filled in is read for $names again."""
    return Template(prompt_file(f"{name}.{language}.md")).substitute(values)


@functools.cache
def prompt_file(name: str) -> str:
    """The text of a file among the prompts."""
    return files("r_eval.analysis.quest_eval").joinpath("prompts", name).read_text(encoding="utf-8").strip()
