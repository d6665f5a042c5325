"""KoLA's files: requests to a model, with the demonstrations sometimes inside the question's text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

from r_eval.records import Level, Question
from r_eval.tasks.loaders.base import Item, Raw, RecordFormat, Text, content_id
from r_eval.tasks.loaders.reading import Fault, Record, json_records

LEVELS: dict[str, Level] = {"1": "KS", "2": "KU", "3": "KA"}


class Output(Raw):
    text: str


class Reference(Raw):
    output: Output
    tags: list[str] = []


class Input(Raw):
    text: Text


class Instance(Raw):
    input: Input
    references: list[Reference]
    split: str | None = None
    id: str | None = None


class State(Raw):
    instance: Instance


class KoLA(RecordFormat):
    """An id of the file may stand at several questions, so each gets a part made from what it asks."""

    name = "kola"
    expects = "KoLA: a JSON object with adapter_spec and request_states, each an instance with input and references"
    signature = frozenset({"instance"})
    general = True
    Raw: ClassVar[type[State]] = State

    def records(self, source: str) -> Iterator[Record | Fault]:
        return json_records(Path(source), inside="request_states")

    def read(self, source: str, size: int | None, seed: int) -> Iterator[Item]:
        """The level is the first figure of the file's name (`2-1_...`), where the grid gives none."""
        found = re.match(r"([123])-\d", Path(source).name)
        self.level_of_all = self.level_of_all or (LEVELS[found[1]] if found else None)
        return super().read(source, size, seed)

    def question(self, raw: State) -> Question:
        one = raw.instance
        text = without_demonstrations(one.input.text)
        right = [r.output.text for r in one.references if "correct" in r.tags or not r.tags]
        own = content_id(text, *right)
        meta = {key: value for key, value in {"id": one.id, "split": one.split}.items() if value}
        return self.make(f"{one.id}-{own}" if one.id else own, text, right, meta=meta)


def without_demonstrations(text: str) -> str:
    """The question itself, where solved ones stand in front of it as "Q: ... A: ..." with its own answer open."""
    if not re.search(r"\n\s*A:\s*$", text):
        return text.strip()
    question = re.sub(r"\n\s*A:\s*$", "", text)
    return re.split(r"(?:^|\n)\s*Q:\s*", question)[-1].strip()
