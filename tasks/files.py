"""Files that questions are made from: YAML by people, checked against a model, errors with the line and the key."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, ValidationError

from r_eval.errors import UserError, describe_invalid
from r_eval.files import YamlFile
from r_eval.plugins import unknown

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo
    from pydantic_core import ErrorDetails


class Part(BaseModel):
    """Base of such a file and its parts: unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True)


File = TypeVar("File", bound=Part)


def first_complaint(error: ValidationError, whole: str = "") -> str:
    """The first complaint, with the place that it is about.

    Args:
        whole: What to call the whole file, where the complaint is about that.
    """
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"]) or whole
    return f"{where}: {describe_invalid(first)}" if where else describe_invalid(first)


def read_file(path: Path, what: str, form: type[File]) -> File:
    """A YAML file as its model has it.

    Args:
        what: What the file should be, for the message about one that is not there.

    Raises:
        UserError: It is not there, not YAML, or a key is wrong; names the line and the key.
    """
    file = YamlFile(path, what)
    try:
        return form.model_validate(file.data)
    except ValidationError as error:
        raise UserError(complaint(error, file, form)) from None


def complaint(error: ValidationError, file: YamlFile, form: type[Part]) -> str:
    """The first complaint, with its line and the keys that lead to it.

    A misspelt key comes before the missing one that it was meant for. Where a value may be of several kinds, pydantic
    complains about each of them: what goes deepest is what was meant.
    """
    errors = error.errors()
    same = [e for e in errors if e["loc"][:3] == errors[0]["loc"][:3]]
    first = max(same, key=lambda e: (not e["type"].endswith("_type"), len(_keys(e, file.data))))
    first = next((e for e in errors if e["type"] == "extra_forbidden" and e["loc"][:-1] == first["loc"][:-1]), first)
    keys = _keys(first, file.data)
    place, key = file.at(keys), ".".join(map(str, keys))
    if first["type"] == "extra_forbidden":
        return f"{place}: {key}: {unknown('key', str(keys[-1]), _known(form, keys[:-1]))}"
    if first["type"] == "missing":
        return f"{place}: {key}: the key is missing"
    return f"{place}: {key}: {describe_invalid(first)}" if key else f"{place}: {describe_invalid(first)}"


def _keys(error: ErrorDetails, data: Any) -> list[int | str]:
    """The parts of a complaint's place that are keys of the file: the others name the kinds that a value may be of."""
    kept: list[int | str] = []
    for part in error["loc"]:
        inside = part in data if isinstance(data, dict) else isinstance(data, list) and isinstance(part, int)
        if inside:
            data = data[part]
            kept.append(part)
    if error["type"] == "missing":
        kept.append(error["loc"][-1])
    return kept


def _known(form: type[Part], keys: Sequence[int | str]) -> list[str]:
    """The keys that may stand where these lead to."""
    found: list[type[Part]] = [form]
    for key in keys:
        if isinstance(key, str):
            fields = [model.model_fields.get(key) or _by_alias(model, key) for model in found]
            found = [part for field in fields if field for part in _parts(field.annotation)] or found
    return [field.alias or name for model in found for name, field in model.model_fields.items()]


def _by_alias(model: type[Part], key: str) -> FieldInfo | None:
    return next((field for field in model.model_fields.values() if field.alias == key), None)


def _parts(annotation: Any) -> Iterator[type[Part]]:
    """The models in an annotation, such as that of `list[Template] | None`."""
    if isinstance(annotation, type) and issubclass(annotation, Part):
        yield annotation
    for inner in get_args(annotation):
        yield from _parts(inner)
