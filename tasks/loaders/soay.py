"""SoAyBench: one JSON Lines file per question template, in Chinese and English.

Templates whose solution takes one call are easy, all others hard, as in the paper.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from r_eval.errors import UserError
from r_eval.records import Question
from r_eval.tasks.files import Part
from r_eval.tasks.loaders.base import (
    Data,
    Raw,
    Skipped,
    content_id,
    convert_records,
    form,
    question_of,
    text_in,
)
from r_eval.tasks.loaders.reading import HUB, InvalidRecord, records

NUMBERED = re.compile(r"([1-9]\d?)\.jsonl")
CALLS = {**dict.fromkeys(range(1, 9), 1), **dict.fromkeys(range(9, 31), 2), **dict.fromkeys(range(31, 45), 3)}
"""Number of calls of a template's solution, by the template's number."""


class SoAySettings(Part):
    language: Literal["en", "zh"] = "en"
    difficulty: Literal["easy", "hard"] | None = None


def numbered_files(folder: Path) -> dict[int, Path]:
    """The template files of a folder by number, in order."""
    paths = {int(m[1]): path for path in folder.iterdir() if (m := NUMBERED.fullmatch(path.name))}
    return dict(sorted(paths.items()))


@form(
    "soay",
    "SoAyBench: a folder of 1.jsonl ... 44.jsonl, or one of them, of records with Query_en and Answer",
    "Query Query_en Answer",
    settings=SoAySettings,
    is_like=lambda path, sample: path.is_dir() and bool(numbered_files(path)),
)
def soay(source: str, settings: SoAySettings, data: Data) -> Iterator[Question]:
    """A folder of `1.jsonl` ... `44.jsonl`, or one of these files."""
    path = Path(source)
    if source.startswith(HUB) or not path.is_dir():
        number = NUMBERED.fullmatch(path.name)
        files: dict[int, str | Path] = {int(number[1]) if number else 0: source}
    elif not (files := {**numbered_files(path)}):
        raise UserError(f"{path}: holds none of the files 1.jsonl ... 44.jsonl")
    for template, file in files.items():
        yield from convert_records(records(file), functools.partial(_question, template, settings), data)


def _question(template: int, settings: SoAySettings, raw: Raw) -> Question:
    calls = CALLS.get(template)
    if settings.difficulty and calls is None:
        raise InvalidRecord("its template is not known: the file's name is none of 1.jsonl ... 44.jsonl")
    if settings.difficulty and settings.difficulty != ("easy" if calls == 1 else "hard"):
        raise Skipped(f"not {settings.difficulty}")
    suffix = "_en" if settings.language == "en" else ""
    answer = answer_of(raw["Answer"])
    if not answer:
        raise Skipped("without an answer")  # the published files have some
    text = text_in(raw, f"Query{suffix}")
    meta = {
        "template": template,
        "hops": calls,
        "base_question": raw.get(f"Base_Question{suffix or '_zh'}"),
        "inputs": raw.get("Inputs"),
        "outputs": raw.get("Outputs"),
        "entity": raw.get("Entity_Information"),
    }
    return question_of(content_id(text, answer), text, [answer], "KS" if calls == 1 else "KA", meta=meta)


def answer_of(value: Any) -> str:
    """An answer as text: values joined by ";", the name of a venue, or the values of other mappings."""
    if isinstance(value, Mapping):
        name = next((text for item in (value, value.get("info")) if (text := _name(item))), None)
        return name or _join_values(value.values())
    if isinstance(value, list | tuple):
        return _join_values(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return "" if value is None else str(value).strip()


def _join_values(values: Any) -> str:
    return ";".join(text for value in values if (text := answer_of(value)))


def _name(value: Any) -> str:
    """The name of a mapping; "" if it has none."""
    names = [value.get(key) for key in ("name", "raw", "title")] if isinstance(value, Mapping) else []
    return next((name.strip() for name in names if isinstance(name, str) and name.strip()), "")
