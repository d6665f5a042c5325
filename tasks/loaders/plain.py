"""Plain tables of questions: JSON Lines, CSV, and any dataset of the Hugging Face Hub, with a map of their columns."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

from pydantic import ValidationError, field_validator

from r_eval.records import Level, Question
from r_eval.tasks.loaders.base import Broken, RecordFormat, Settings, content_id, mostly
from r_eval.tasks.loaders.hub import HUB, hub_records
from r_eval.tasks.loaders.reading import Fault, Record, csv_records, json_records

COLUMNS: dict[str, tuple[str, ...]] = {
    "id": ("id", "_id"),
    "question": ("question", "Question"),
    "answers": ("answers", "answer", "Answer"),
    "level": ("level",),
    "program": ("program",),
    "evidence": ("evidence",),
}
"""Fields of a question that a column can fill, each with the names that are tried where no column is named."""


LEVELS: tuple[Level, ...] = get_args(Level)


class TableSettings(Settings):
    """`columns`: the column of each field; a dot leads into a column (`answers.text`)."""

    columns: dict[str, str] = {}

    @field_validator("columns")
    @classmethod
    def _known(cls, columns: dict[str, str]) -> dict[str, str]:
        if other := sorted(columns.keys() - COLUMNS.keys()):
            raise ValueError(f"no field of a question is called {other[0]}; there are {', '.join(COLUMNS)}")
        return columns


class Jsonl(RecordFormat):
    """Our own question format, or records of which columns are named."""

    name = "jsonl"
    expects = "JSON Lines (or a JSON list) of questions, with question and answers or the columns: that are named"
    general = True
    Settings = TableSettings

    def convert(self, record: Record) -> Question | Fault:
        try:
            return self.row(record.data)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            return Fault(record.place, f"{'.'.join(map(str, first['loc']))}: {first['msg']}")
        except Broken as error:
            return Fault(record.place, str(error))

    def question(self, raw: Any) -> Question:
        return self.row(raw)

    def row(self, row: Any) -> Question:
        """The question of a row.

        Raises:
            Broken: A column is missing or holds nothing.
            ValidationError: It holds something else.
        """
        if not isinstance(row, Mapping):
            raise Broken("is not a record with keys")
        columns: dict[str, str] = self.settings.columns
        if not columns and _is_own(row):
            return self._own(dict(row))
        found = {field: self._cell(row, field, columns) for field in COLUMNS}
        question, answers = _text(found["question"]), _texts(found["answers"])
        if not question or not answers:
            raise Broken(f"{'question' if not question else 'answers'}: is empty")
        id = _text(found["id"]) or content_id(question, *answers)
        known: dict[str, Any] = {"program": _text(found["program"]) or None, "evidence": _texts(found["evidence"])}
        level = found["level"]
        if "level" in columns and level not in LEVELS:
            raise Broken(f"{columns['level']}: is none of {', '.join(LEVELS)}")
        return self.make(id, question, answers, level if level in LEVELS else None, **known)

    @classmethod
    def fits(cls, path: Path, first: Sequence[Any]) -> int:
        wanted = (COLUMNS["question"], COLUMNS["answers"])
        return int(mostly(lambda record: all(record.keys() & set(names) for names in wanted), first))

    def _own(self, row: dict[str, Any]) -> Question:
        if isinstance(row.get("meta"), str):  # as `r-eval export` writes it
            row["meta"] = _object(row["meta"])
        question = Question.model_validate(row)
        if not question.question.strip() or not all(answer.strip() for answer in question.answers):
            raise Broken("question or an answer is empty")
        return question.model_copy(update={"level": self.level_of_all}) if self.level_of_all else question

    def _cell(self, row: Mapping[str, Any], field: str, columns: Mapping[str, str]) -> Any:
        if field not in columns:
            return next((row[name] for name in COLUMNS[field] if name in row), None)
        if columns[field] in row:
            return row[columns[field]]
        value: Any = row
        for part in columns[field].split("."):
            if not isinstance(value, Mapping) or part not in value:
                raise Broken(f"has no column {columns[field]}; it has {', '.join(map(str, row))[:200]}")
            value = value[part]
        return value


class Csv(Jsonl):
    name = "csv"
    expects = "CSV with a heading, with the columns question and answers or those that columns: names"

    def records(self, source: str) -> Iterator[Record | Fault]:
        return csv_records(Path(source))

    @classmethod
    def fits(cls, path: Path, first: Sequence[Any]) -> int:
        return 2 * super().fits(path, first) if path.suffix.lower() in (".csv", ".tsv") else 0


class HuggingFace(Jsonl):
    name = "huggingface"
    expects = "a dataset of the Hugging Face Hub with the columns question and answers or those that columns: names"

    def records(self, source: str) -> Iterator[Record | Fault]:
        return hub_records(source) if source.startswith(HUB) else json_records(Path(source))

    @classmethod
    def fits(cls, path: Path, first: Sequence[Any]) -> int:
        return 0


def _object(text: str) -> Any:
    """What a text of JSON says; where it is none, the text, of which the record's check complains."""
    try:
        return json.loads(text or "{}")
    except ValueError:
        return text


def _is_own(row: Mapping[str, Any]) -> bool:
    """Whether a row is a line of our own question format; a table may share some of its names."""
    return (
        {"id", "question", "answers", "level"} <= row.keys() <= Question.model_fields.keys()
        and row["level"] in LEVELS
        and isinstance(row["answers"], list)
    )


def _text(value: Any) -> str:
    if value is None or isinstance(value, list | dict):
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value).strip()


def _texts(value: Any) -> list[str]:
    """The alternatives in a cell: a list's members, or those of a list that is written as JSON."""
    if isinstance(value, str) and value.lstrip().startswith("["):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return [value.strip()]
    if not isinstance(value, list | tuple):
        return [text] if (text := _text(value)) else []
    return [text for member in value if (text := _text(member))]
