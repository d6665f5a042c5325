"""PRGB's records: questions whose documents contain placeholders, in several variants with different values.

Each variant of a record is a question; all share `meta.document`. The documents are the context of the question, titled
by position only.

The older format is CSV with the columns `placeholder` (placeholders with their values) and `answer` instead of
`placeholder_item`; lists are JSON or Python literals.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError

from r_eval.languages import Language, language_of
from r_eval.records import Question
from r_eval.tasks.files import Part, validation_message
from r_eval.tasks.loaders.base import Data, form
from r_eval.tasks.loaders.reading import InvalidRecord, literal, records
from r_eval.tasks.placeholders.record import Kind, PlaceholderRecord
from r_eval.tasks.placeholders.variants import LEVELS, Noise, variants

Count = Annotated[int, Field(ge=0, le=1000)]

OTHER_TASK = "records of another task"
OTHER_LANGUAGE = "records in another language"
TWICE = "records with a duplicate id"
LESS_NOISE = "a record has less noise than requested"
LESS_VARIANTS = "a record has fewer variants than requested"


class PrgbSettings(Part):
    """The settings of PRGB.

    Attributes:
        task, language: Only records of this task or language.
        variants: Variants per record, "all" or a number.
        noise: Documents per level; levels that are not named have none.
        resample: Whether each variant samples its own noise and order, like the published code.
    """

    task: Kind | None = None
    language: Language | None = None
    variants: Annotated[int, Field(ge=1, le=1000)] | Literal["all"] = 3
    noise: dict[Noise, Count] = {"weak": 4, "moderate": 4, "hard": 1}
    resample: bool = False


@form(
    "prgb",
    f"PRGB: JSON Lines with id, query, golden_doc, {', '.join(LEVELS.values())} and placeholder_item",
    "query golden_doc placeholder_item",
    "query golden_doc placeholder answer",
    settings=PrgbSettings,
)
def prgb(source: str, settings: PrgbSettings, data: Data) -> Iterator[Question]:
    """The questions of all records."""
    records_by_id: dict[str, PlaceholderRecord] = {}
    for place, raw in records(source):
        data.records += 1
        try:
            if isinstance(raw, InvalidRecord):
                raise raw
            record = PlaceholderRecord.model_validate(from_cells(raw))
        except (ValidationError, InvalidRecord) as error:
            id = raw.get("id") if isinstance(raw, Mapping) else None
            reason = validation_message(error, PlaceholderRecord) if isinstance(error, ValidationError) else error
            data.add_fault(place if id is None else f"{place}: record {id}", reason)
            continue
        if settings.task not in (None, record.kind):
            data.skipped[OTHER_TASK] += 1
        elif settings.language not in (None, language_of(record.query)):
            data.skipped[OTHER_LANGUAGE] += 1
        elif records_by_id.setdefault(record.id, record) is not record:
            data.skipped[TWICE] += 1
    yield from questions(records_by_id.values(), settings, data)


def questions(prgb_records: Iterable[PlaceholderRecord], settings: PrgbSettings, data: Data) -> Iterator[Question]:
    """The questions of records; those with less noise or fewer variants than requested are counted in `data`."""
    number = None if settings.variants == "all" else settings.variants
    for record in prgb_records:
        items = variants(record, number, settings.noise, settings.resample, data.seed)
        data.remarks[LESS_VARIANTS] += len(items) < (number or 0)
        noise = items[0].meta["noise"]
        data.remarks[LESS_NOISE] += any(noise[level] < count for level, count in settings.noise.items())
        yield from items
    data.remarks = +data.remarks


def from_cells(data: Any) -> Any:
    """Convert a record of the older format to the newer one, and parse cells that are texts.

    Raises:
        InvalidRecord: A cell cannot be parsed, or the placeholders have different numbers of values.
    """
    if not isinstance(data, Mapping) or not ("placeholder_item" in data or {"placeholder", "answer"} <= data.keys()):
        return data
    row = dict(data)
    for key in ("golden_doc", *LEVELS.values(), "placeholder_item", "placeholder", "answer"):
        if isinstance(row.get(key), str):
            row[key] = _cell(key, row[key])
    if "placeholder_item" in row:
        return row
    row.setdefault("noise_doc_level3", [])  # the older format lacks this level
    values = row.pop("placeholder")
    if not isinstance(values, Mapping) or not all(isinstance(value, list) for value in values.values()):
        raise InvalidRecord("placeholder: is no mapping of placeholders to lists of values")
    if len({len(value) for value in values.values()}) > 1:
        counts = ", ".join(f"{token} {len(value)}" for token, value in values.items())
        raise InvalidRecord(f"placeholder: different numbers of values ({counts[:200]})")
    rows = [dict(zip(values, cells, strict=True)) for cells in zip(*values.values(), strict=True)]
    row["placeholder_item"] = {"placeholders": rows, "answer": row.pop("answer")}
    return row


def _cell(key: str, cell: str) -> Any:
    """Parse a cell as JSON or a Python literal; an empty cell is an empty list."""
    if not cell.strip():
        return []
    try:
        value = literal(cell)
    except ValueError:
        reason = f"is neither JSON nor a list as Python writes it: {' '.join(cell.split())[:60]!r}"
        raise InvalidRecord(f"{key}: {reason}") from None
    return list(value) if isinstance(value, tuple) else value
