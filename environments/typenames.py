"""Types as a model reads them: the name of an annotation, and the fields of what is a dict once it is data."""

from __future__ import annotations

import dataclasses
import enum
import inspect
import typing
from typing import Annotated, Any, Literal, NewType

from pydantic import BaseModel
from pydantic_core import to_jsonable_python


def type_name(annotation: Any) -> str:
    """An annotation as a person writes it: `str | None`, `list[Person]`; an enum is shown by its values."""
    if annotation is inspect.Parameter.empty:
        return "Any"
    if annotation is None or annotation is type(None):
        return "None"
    annotation = bare(annotation)
    origin, args = typing.get_origin(annotation), typing.get_args(annotation)
    if isinstance(annotation, type) and not args:
        return _values(annotation) if issubclass(annotation, enum.Enum) else annotation.__name__
    if origin is Literal:
        return "Literal[" + ", ".join(repr(to_jsonable_python(a)) for a in args) + "]"
    if origin is not None and args:
        if not isinstance(origin, type) or origin.__name__ in ("Union", "UnionType"):
            return " | ".join(dict.fromkeys(type_name(a) for a in args))
        inner = ["..." if a is Ellipsis else type_name(a) for a in args]
        return f"{origin.__name__}[{', '.join(inner)}]"
    return str(annotation).replace("typing.", "")


def fields_of(annotation: Any) -> dict[str, tuple[Any, bool]] | None:
    """The fields of a dataclass, pydantic model or TypedDict, as they are called in its data, each with its type and
    whether it is always there; None for any other type.
    """
    if not isinstance(annotation, type):
        return None
    if dataclasses.is_dataclass(annotation):
        hints = typing.get_type_hints(annotation)
        return {f.name: (hints[f.name], True) for f in dataclasses.fields(annotation)}
    if issubclass(annotation, BaseModel):
        found = {
            about.serialization_alias or about.alias or name: (about.annotation, True)
            for name, about in annotation.model_fields.items()
        }
        computed = annotation.model_computed_fields
        return found | {about.alias or name: (about.return_type, True) for name, about in computed.items()}
    required = getattr(annotation, "__required_keys__", None)
    if required is not None:
        hints = typing.get_type_hints(annotation, include_extras=True)
        left_out = {name for name, hint in hints.items() if typing.get_origin(hint) is typing.NotRequired}
        return {name: (bare(hint), name in required and name not in left_out) for name, hint in hints.items()}
    return None


def shape_of(annotation: Any) -> str | None:
    """The fields of a type as text, `{"name": str, "age"?: int}`, where ? marks what may be missing; None if it has
    none.
    """
    fields = fields_of(annotation)
    if fields is None:
        return None
    shown = (f'"{name}"{"" if always else "?"}: {type_name(hint)}' for name, (hint, always) in fields.items())
    return "{" + ", ".join(shown) + "}"


def shaped_in(*annotations: Any) -> dict[str, type[Any]]:
    """All types with fields that some annotations hold, by name, what is inside a type before the type itself."""
    found: dict[str, type[Any]] = {}
    entered: list[Any] = []

    def visit(annotation: Any) -> None:
        annotation = bare(annotation)
        if typing.get_origin(annotation) is not Literal:
            for inner in typing.get_args(annotation):
                visit(inner)
        fields = fields_of(annotation)
        if fields is None or any(annotation is known for known in entered):
            return
        entered.append(annotation)
        for hint, _ in fields.values():
            visit(hint)
        found.setdefault(annotation.__name__, annotation)

    for annotation in annotations:
        visit(annotation)
    return found


def bare(annotation: Any) -> Any:
    """An annotation without what only a type checker or pydantic reads: Annotated, NotRequired, NewType, aliases."""
    while True:
        if typing.get_origin(annotation) in (Annotated, typing.NotRequired, typing.Required):
            annotation = typing.get_args(annotation)[0]
        elif isinstance(annotation, NewType):
            annotation = annotation.__supertype__
        elif hasattr(annotation, "__value__"):
            annotation = annotation.__value__
        else:
            return annotation


def _values(kind: type[enum.Enum]) -> str:
    return "Literal[" + ", ".join(repr(to_jsonable_python(member.value)) for member in kind) + "]"
