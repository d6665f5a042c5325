"""Files that questions are made from: YAML by people, checked against a model, errors with the line and the key."""

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
    """Base of such a file and its parts: unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True)


File = TypeVar("File", bound=Part)


def slots(*names: str) -> AfterValidator:
    """For the type of a sentence: it has these slots, each with nothing but its name between the braces."""

    def check(text: str) -> str:
        found = [part[1:] for part in string.Formatter().parse(text) if part[1] is not None]
        if sorted({name or "" for name, _, _ in found}) != sorted(names) or any(
            spec or kind for _, spec, kind in found
        ):
            wanted = " and ".join(f"{{{name}}}" for name in names) or "no slot"
            raise ValueError(f"must hold {wanted} and no other slot: {text!r}")
        return text

    return AfterValidator(check)


def complaint(error: ValidationError, model: type[BaseModel]) -> str:
    """One sentence about the first thing that is wrong; a misspelt key before the missing one that it was meant for."""
    first = min(error.errors(include_url=False), key=lambda one: one["type"] != "extra_forbidden")
    key = ".".join(map(str, first["loc"]))
    if first["type"] == "missing":
        return f"the key {key} is missing"
    if first["type"] == "extra_forbidden":
        return unknown("key", key, model.model_fields)
    message = "is no JSON object" if first["type"] == "model_type" else describe_invalid(first)
    return f"{key}: {message}" if key else message


def read_file(path: Path, what: str, form: type[File]) -> File:
    """A YAML file as its model has it.

    Args:
        what: What the file should be, for the message about one that is not there.

    Raises:
        UserError: It is not there, not YAML, or a key is wrong; names the line and the key. A misspelt key comes
            before the missing one that it was meant for. Where a value may be of several kinds, pydantic complains
            about each of them: what goes deepest is what was meant.
    """
    file = YamlFile(path, what)
    try:
        return form.model_validate(file.data)
    except ValidationError as error:
        errors = [(_keys(one["loc"], file.data, one["type"] == "missing"), one) for one in error.errors()]
        first = [pair for pair in errors if pair[1]["loc"][:3] == errors[0][1]["loc"][:3]]
        keys, found = max(first, key=lambda pair: (not pair[1]["type"].endswith("_type"), len(pair[0])))
        for other, one in errors:
            if one["type"] == "extra_forbidden" and other[:-1] == keys[:-1]:
                keys, found = other, one
        place, key = file.at(keys), ".".join(map(str, keys))
        why = describe_invalid(found)
        if found["type"] == "extra_forbidden":
            why = unknown("key", str(keys[-1]), dict.fromkeys(_names(form)))
        elif found["type"] == "missing":
            why = "the key is missing"
        raise UserError(f"{place}: {key}: {why}" if key else f"{place}: {why}") from None


def _keys(loc: tuple[int | str, ...], data: Any, missing: bool) -> list[int | str]:
    """The parts of a complaint's place that are keys of the file: the others name the kinds that a value may be of."""
    found: list[int | str] = []
    for part in loc:
        if part in data if isinstance(data, dict) else isinstance(data, list) and isinstance(part, int):
            data = data[part]
            found.append(part)
    return [*found, loc[-1]] if missing else found


def _names(annotation: Any) -> Iterator[str]:
    """The keys of all models in an annotation, such as that of `list[Template] | None`, and of the models in those."""
    if isinstance(annotation, type) and issubclass(annotation, Part):
        for name, field in annotation.model_fields.items():
            yield field.alias or name
            yield from _names(field.annotation)
    for inner in get_args(annotation):
        yield from _names(inner)
