"""Files that questions are made from: YAML by people, checked against a model, errors with the file and the key."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from r_eval.errors import UserError
from r_eval.files import read_text, read_yaml


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
    return f"{where}: {said(first['msg'])}" if where else said(first["msg"])


def said(message: str) -> str:
    """What a check of ours says, without what pydantic puts before it."""
    return message.removeprefix("Value error, ")


def read_file(
    path: Path, what: str, form: type[File], complaint: Callable[[ValidationError, Any], str] | None = None
) -> File:
    """A YAML file as its model has it.

    Args:
        what: What the file should be, for the message about one that is not there.
        complaint: What to say of data that are not of the form, in place of `first_complaint`.

    Raises:
        UserError: It is not there, not YAML, or a key is wrong.
    """
    text = read_text(path, what)
    try:
        data = read_yaml(text)
        return form.model_validate(data)
    except ValidationError as error:
        raise UserError(f"{path}: {complaint(error, data) if complaint else first_complaint(error)}") from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise UserError(f"{path}: not valid YAML: {' '.join(str(error).split())}") from None
