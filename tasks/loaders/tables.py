"""Plain tables of questions: JSON Lines, CSV, and any dataset of the Hugging Face Hub, with a mapping of columns."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any, get_args

from pydantic import field_validator

from r_eval.records import Level, Question
from r_eval.tasks.files import Part
from r_eval.tasks.loaders.base import Data, content_id, convert_records, form, question_of
from r_eval.tasks.loaders.reading import InvalidRecord, literal, records

COLUMNS: dict[str, tuple[str, ...]] = {
    "id": ("id", "_id"),
    "question": ("question", "Question"),
    "answers": ("answers", "answer", "Answer"),
    "level": ("level",),
    "program": ("program",),
    "evidence": ("evidence",),
}
"""Fields of a question that a column can fill, each with its default column names."""
LEVELS: tuple[Level, ...] = get_args(Level)
QUOTED = re.compile(r"""'[^']*'|"[^"]*\"""")
NUMPY_TEXTS = re.compile(rf"\[\s*(?:{QUOTED.pattern})(?:\s+(?:{QUOTED.pattern}))+\s*\]")


class TableSettings(Part):
    """`columns`: the column of each field; a dot selects a nested value (`answers.text`)."""

    columns: dict[str, str] = {}

    @field_validator("columns")
    @classmethod
    def _known(cls, columns: dict[str, str]) -> dict[str, str]:
        if unknown := sorted(columns.keys() - COLUMNS.keys()):
            raise ValueError(f"no field of a question is called {unknown[0]}; there are {', '.join(COLUMNS)}")
        return columns


def read_table(source: str, settings: TableSettings, data: Data) -> Iterator[Question]:
    """R-Eval's question format, or records with named columns."""
    return convert_records(records(source), lambda row: _question(row, settings.columns), data)


KEYS = [" ".join(names) for names in product(COLUMNS["question"], COLUMNS["answers"])]
WITH = "with question and answers or the columns: that are named"
form("jsonl", f"JSON Lines (or a JSON list) of questions, {WITH}", *KEYS, settings=TableSettings, general=True)(
    read_table
)
form("csv", f"CSV with a heading, {WITH}", settings=TableSettings, general=True)(read_table)
form("huggingface", f"a dataset of the Hugging Face Hub, {WITH}", settings=TableSettings)(read_table)


def _question(row: dict[str, Any], columns: Mapping[str, str]) -> Question:
    if not columns and _is_own(row):
        if isinstance(row.get("meta"), str):  # as `r-eval data export` writes it
            with contextlib.suppress(ValueError):
                row["meta"] = json.loads(row["meta"] or "{}")
        record = Question.model_validate(row)
        if not record.question.strip() or not all(answer.strip() for answer in record.answers):
            raise InvalidRecord("question or an answer is empty")
        return record
    fields = {field: _cell(row, field, columns) for field in COLUMNS}
    question, answers, level = _text(fields["question"]), _texts(fields["answers"]), fields["level"]
    if isinstance(fields["answers"], Mapping):
        name = next(name for name in (columns.get("answers"), *COLUMNS["answers"]) if name in row)
        inside = ", ".join(f"{name}.{key}" for key in fields["answers"])
        raise InvalidRecord(f"answers: is a mapping; name one of its columns with columns: ({inside})")
    if not question or not answers:
        raise InvalidRecord(f"{'question' if not question else 'answers'}: is empty")
    if "level" in columns and level not in LEVELS:
        raise InvalidRecord(f"{columns['level']}: is none of {', '.join(LEVELS)}")
    return question_of(
        _text(fields["id"]) or content_id(question, *answers),
        question,
        answers,
        level if level in LEVELS else "KA",
        program=_text(fields["program"]) or None,
        evidence=_texts(fields["evidence"]),
    )


def _is_own(row: Mapping[str, Any]) -> bool:
    """Whether a row is in R-Eval's question format; a table may share some of its keys."""
    return (
        {"id", "question", "answers", "level"} <= row.keys() <= Question.model_fields.keys()
        and row["level"] in LEVELS
        and isinstance(row["answers"], list)
    )


def _cell(row: Mapping[str, Any], field: str, columns: Mapping[str, str]) -> Any:
    if field not in columns:
        return next((row[name] for name in COLUMNS[field] if name in row), None)
    if columns[field] in row:
        return row[columns[field]]
    value: Any = row
    for part in columns[field].split("."):
        if not isinstance(value, Mapping) or part not in value:
            raise InvalidRecord(f"has no column {columns[field]}; it has {', '.join(map(str, row))[:200]}")
        value = value[part]
    return value


def _text(value: Any) -> str:
    if value is None or value != value or isinstance(value, list | dict):  # a missing value of pandas is NaN
        return ""
    if isinstance(value, float) and value.is_integer():  # so is a year where another one is missing
        return str(int(value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value).strip()


def _texts(value: Any) -> list[str]:
    """The alternatives in a cell: the members of a list, or of one that the cell's text holds."""
    if isinstance(value, str) and value.lstrip().startswith("["):
        value = _list_in(value.strip())
    if not isinstance(value, list | tuple):
        return [text] if (text := _text(value)) else []
    return [text for member in value if (text := _text(member))]


def _list_in(text: str) -> Any:
    """The list in a text, as JSON, Python (pandas writes lists to CSV so) or numpy write it; else the text."""
    if NUMPY_TEXTS.fullmatch(text):  # without commas, which Python would read as one text
        return [member[1:-1] for member in QUOTED.findall(text)]
    with contextlib.suppress(ValueError):
        if isinstance(value := literal(text), list):
            return value
    return text
