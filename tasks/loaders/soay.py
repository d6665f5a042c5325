"""SoAyBench: one JSON Lines file for each question template, in Chinese and English.

Which templates are easy goes by the calls that they take, one or more (`soay_hops.tsv`), not by the file's number.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any, ClassVar, Literal

from r_eval.errors import UserError
from r_eval.records import Level, Question
from r_eval.tasks.loaders.base import Broken, LeftOut, Raw, RecordFormat, Settings, content_id
from r_eval.tasks.loaders.hub import HUB
from r_eval.tasks.loaders.reading import Fault, Record

NUMBERED = re.compile(r"([1-9]\d?)\.jsonl")


class SoAyRecord(Raw):
    Query: str = ""
    Query_en: str = ""
    Answer: Any = None
    Base_Question_zh: str = ""
    Base_Question_en: str = ""
    Inputs: Any = None
    Outputs: Any = None
    Entity_Information: dict[str, Any] = {}


class SoAySettings(Settings):
    language: Literal["en", "zh"] = "en"
    difficulty: Literal["easy", "hard"] | None = None


class SoAy(RecordFormat):
    """A folder of `1.jsonl` ... `44.jsonl`, or one of these files."""

    name = "soay"
    expects = "SoAyBench: a folder of 1.jsonl ... 44.jsonl, or one of them, of records with Query_en and Answer"
    signature = frozenset({"Query", "Query_en", "Answer"})
    Raw: ClassVar[type[SoAyRecord]] = SoAyRecord
    Settings = SoAySettings

    def __init__(self, level: Level | None = None, **settings: Any) -> None:
        super().__init__(level, **settings)
        self._template: int | None = None

    def records(self, source: str) -> Iterator[Record | Fault]:
        path = Path(source)
        if source.startswith(HUB) or not path.is_dir():
            found = NUMBERED.fullmatch(path.name)
            self._template = int(found[1]) if found else None
            yield from super().records(source)
            return
        numbered = numbered_files(path)
        if not numbered:
            raise UserError(f"{path}: holds none of the files 1.jsonl ... 44.jsonl")
        for number, file in numbered.items():
            self._template = number
            yield from super().records(str(file))

    def question(self, raw: SoAyRecord) -> Question | LeftOut:
        wanted = self.settings.difficulty
        calls = hops().get(self._template) if self._template else None
        if wanted and calls is None:
            raise Broken("its template is not known: the file's name is none of 1.jsonl ... 44.jsonl")
        if wanted and wanted != ("easy" if calls == 1 else "hard"):
            return LeftOut(f"not {wanted}")
        english = self.settings.language == "en"
        text = (raw.Query_en if english else raw.Query).strip()
        if not text:
            raise Broken("Query_en: is empty" if english else "Query: is empty")
        answer = answer_of(raw.Answer)
        if not answer:
            return LeftOut("without an answer")  # the published files have some
        meta = {
            "template": self._template,
            "hops": calls,
            "base_question": raw.Base_Question_en if english else raw.Base_Question_zh,
            "inputs": raw.Inputs,
            "outputs": raw.Outputs,
            "entity": raw.Entity_Information,
        }
        level: Level = "KS" if calls == 1 else "KA"
        id = content_id(text, answer)
        return self.make(id, text, [answer], level, meta={key: value for key, value in meta.items() if value})

    @classmethod
    def fits(cls, path: Path, first: Sequence[Any]) -> int:
        return 1 if path.is_dir() and numbered_files(path) else super().fits(path, first)


def numbered_files(folder: Path) -> dict[int, Path]:
    """The files of a folder that hold a template each, by its number, in order."""
    found = {int(m[1]): path for path in folder.iterdir() if (m := NUMBERED.fullmatch(path.name))}
    return dict(sorted(found.items()))


@functools.cache
def hops() -> dict[int, int]:
    """How many calls a template's solution takes, by its number."""
    text = files("r_eval.tasks.loaders").joinpath("soay_hops.tsv").read_text(encoding="utf-8")
    rows = [line.split("\t") for line in text.splitlines() if line and not line.startswith("#")]
    return {number: int(calls) for first, last, calls in rows for number in range(int(first), int(last) + 1)}


def answer_of(value: Any) -> str:
    """An answer as text: several values joined by ";", of a venue its name, of other mappings their values."""
    if isinstance(value, Mapping):
        name = _name(value)
        return name if name is not None else _joined(value.values())
    if isinstance(value, list | tuple):
        return _joined(value)
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value).strip()


def _joined(values: Any) -> str:
    return ";".join(text for value in values if (text := answer_of(value)))


def _name(value: Mapping[str, Any]) -> str | None:
    """What a mapping is called: its `name`, or that of what `info` or `raw` tells about it; None where nothing does."""
    for inner in (value, value.get("info")):
        if isinstance(inner, Mapping):
            for key in ("name", "raw", "title"):
                if isinstance(inner.get(key), str) and inner[key].strip():
                    return str(inner[key]).strip()
    return None
