"""SoAyBench: one JSON Lines file for each question template, in Chinese and English.

Which templates are easy goes by the calls that they take, one or more, as the authors group them.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from r_eval.errors import UserError
from r_eval.records import Question
from r_eval.tasks.loaders.base import (
    Broken,
    Item,
    LeftOut,
    Raw,
    Settings,
    content_id,
    converted,
    form,
    question_of,
    text_in,
)
from r_eval.tasks.loaders.reading import HUB, records

NUMBERED = re.compile(r"([1-9]\d?)\.jsonl")
CALLS = {**dict.fromkeys(range(1, 9), 1), **dict.fromkeys(range(9, 31), 2), **dict.fromkeys(range(31, 45), 3)}
"""How many calls a template's solution takes, by its number."""


class SoAySettings(Settings):
    language: Literal["en", "zh"] = "en"
    difficulty: Literal["easy", "hard"] | None = None


def numbered_files(folder: Path) -> dict[int, Path]:
    """The files of a folder that hold a template each, by its number, in order."""
    found = {int(m[1]): path for path in folder.iterdir() if (m := NUMBERED.fullmatch(path.name))}
    return dict(sorted(found.items()))


@form(
    "soay",
    "SoAyBench: a folder of 1.jsonl ... 44.jsonl, or one of them, of records with Query_en and Answer",
    frozenset({"Query", "Query_en", "Answer"}),
    settings=SoAySettings,
    is_like=lambda path, first: path.is_dir() and bool(numbered_files(path)),
)
def soay(source: str, settings: SoAySettings, size: int | None, seed: int) -> Iterator[Item]:
    """A folder of `1.jsonl` ... `44.jsonl`, or one of these files."""
    path = Path(source)
    if source.startswith(HUB) or not path.is_dir():
        number = NUMBERED.fullmatch(path.name)
        files: dict[int, str | Path] = {int(number[1]) if number else 0: source}
    elif not (files := {**numbered_files(path)}):
        raise UserError(f"{path}: holds none of the files 1.jsonl ... 44.jsonl")
    for template, file in files.items():
        yield from converted(records(file), functools.partial(_question, template, settings))


def _question(template: int, settings: SoAySettings, raw: Raw) -> Question | LeftOut:
    calls = CALLS.get(template)
    if settings.difficulty and calls is None:
        raise Broken("its template is not known: the file's name is none of 1.jsonl ... 44.jsonl")
    if settings.difficulty and settings.difficulty != ("easy" if calls == 1 else "hard"):
        return LeftOut(f"not {settings.difficulty}")
    suffix = "_en" if settings.language == "en" else ""
    answer = answer_of(raw["Answer"])
    if not answer:
        return LeftOut("without an answer")  # the published files have some
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
    """An answer as text: several values joined by ";", of a venue its name, of other mappings their values."""
    if isinstance(value, Mapping):
        name = next((found for one in (value, value.get("info")) if (found := _name(one))), None)
        return name or _joined(value.values())
    if isinstance(value, list | tuple):
        return _joined(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return "" if value is None else str(value).strip()


def _joined(values: Any) -> str:
    return ";".join(text for value in values if (text := answer_of(value)))


def _name(value: Any) -> str:
    """What a mapping is called; "" where nothing tells."""
    names = [value.get(key) for key in ("name", "raw", "title")] if isinstance(value, Mapping) else []
    return next((name.strip() for name in names if isinstance(name, str) and name.strip()), "")
