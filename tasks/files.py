"""YAML files that questions are built from, validated against a model, with errors that name line and key."""

from __future__ import annotations

import string
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar, get_args

from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError

from r_eval.errors import UserError, describe_invalid
from r_eval.files import YamlFile
from r_eval.plugins import unknown


class Part(BaseModel):
    """Base of such a file and its parts; unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True)


File = TypeVar("File", bound=Part)


def slots(*names: str) -> AfterValidator:
    """A validator for a sentence with exactly these slots, without conversions or format specs."""

    def check(text: str) -> str:
        fields = [part[1:] for part in string.Formatter().parse(text) if part[1] is not None]
        if sorted({name or "" for name, _, _ in fields}) != sorted(names) or any(
            spec or kind for _, spec, kind in fields
        ):
            expected = " and ".join(f"{{{name}}}" for name in names) or "no slot"
            raise ValueError(f"must hold {expected} and no other slot: {text!r}")
        return text

    return AfterValidator(check)


def validation_message(error: ValidationError, model: type[BaseModel]) -> str:
    """One sentence on the first error; an unknown key comes before a missing one."""
    first = min(error.errors(include_url=False), key=lambda item: item["type"] != "extra_forbidden")
    key = ".".join(map(str, first["loc"]))
    if first["type"] == "missing":
        return f"the key {key} is missing"
    if first["type"] == "extra_forbidden":
        return unknown("key", key, model.model_fields)
    message = "is no JSON object" if first["type"] == "model_type" else describe_invalid(first)
    return f"{key}: {message}" if key else message


def read_file(path: Path, description: str, form: type[File]) -> File:
    """Read a YAML file and validate it against a model.

    Args:
        description: What the file should be, for the message if it does not exist.

    Raises:
        UserError: The file does not exist, is not YAML, or a key is wrong; names the line and the key. An unknown key
            comes before a missing one. Of the errors of a union, the deepest is reported.
    """
    file = YamlFile(path, description)
    try:
        return form.model_validate(file.data)
    except ValidationError as error:
        errors = [(_keys(item["loc"], file.data, item["type"] == "missing"), item) for item in error.errors()]
        first = [pair for pair in errors if pair[1]["loc"][:3] == errors[0][1]["loc"][:3]]
        keys, problem = max(first, key=lambda pair: (not pair[1]["type"].endswith("_type"), len(pair[0])))
        for other, item in errors:
            if item["type"] == "extra_forbidden" and other[:-1] == keys[:-1]:
                keys, problem = other, item
        place, key = file.at(keys), ".".join(map(str, keys))
        reason = describe_invalid(problem)
        if problem["type"] == "extra_forbidden":
            reason = unknown("key", str(keys[-1]), dict.fromkeys(_names(form)))
        elif problem["type"] == "missing":
            reason = "the key is missing"
        raise UserError(f"{place}: {key}: {reason}" if key else f"{place}: {reason}") from None


def _keys(loc: tuple[int | str, ...], data: Any, missing: bool) -> list[int | str]:
    """The parts of an error's location that are keys of the file, without the names of union members."""
    keys: list[int | str] = []
    for part in loc:
        if part in data if isinstance(data, dict) else isinstance(data, list) and isinstance(part, int):
            data = data[part]
            keys.append(part)
    return [*keys, loc[-1]] if missing else keys


def _names(annotation: Any) -> Iterator[str]:
    """The keys of all models in an annotation such as `list[Template] | None`, including nested models."""
    if isinstance(annotation, type) and issubclass(annotation, Part):
        for name, field in annotation.model_fields.items():
            yield field.alias or name
            yield from _names(field.annotation)
    for inner in get_args(annotation):
        yield from _names(inner)
