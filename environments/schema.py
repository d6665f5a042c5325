"""What a query API's signature and docstring say, in every form in which a model or a person reads it.

One `ApiSpec` gives the JSON schema for function calling, the one-line action description for ReAct, the Python stub
for PAL, and the argument check whose error message a model can act on. `signatures` reads a spec from a Python
function, `tools.declared` from a JSON schema.
"""

from __future__ import annotations

import dataclasses
import difflib
import enum
import inspect
import json
import typing
from collections.abc import Sequence
from typing import Annotated, Any, Literal, NewType

from pydantic import BaseModel
from pydantic_core import to_jsonable_python

MISSING = inspect.Parameter.empty
_ATTRIBUTES = ("copies_state", "copy_state", "description", "has_page", "specs", "timeout", "version")
_METHODS = ("call", "close", "for_documents", "open", "query_apis", "records", "render", "retrieved_ids", "triples")
RESERVED = frozenset({*_ATTRIBUTES, *_METHODS, "Finish"})
"""Names that no query API can have: what every `Environment` has already, and what every workflow offers itself."""


class BadArguments(Exception):
    """The arguments do not fit the signature; the message says which, and what was expected."""


@dataclasses.dataclass(frozen=True)
class ArgumentError:
    """What is wrong with some arguments.

    Attributes:
        name: The argument; empty where it is not one alone.
        missing: Whether it was not given.
        why: What the type does not say, such as a bound; empty where it says all.
    """

    name: str
    missing: bool = False
    why: str = ""


@dataclasses.dataclass(frozen=True)
class Parameter:
    """One parameter of a query API; `default` is `MISSING` where the argument must be given."""

    name: str
    annotation: Any
    default: Any
    description: str

    @property
    def required(self) -> bool:
        return self.default is MISSING

    @property
    def signature(self) -> str:
        """As it stands in a Python stub."""
        text = f"{self.name}: {type_name(self.annotation)}"
        return text if self.required else f"{text} = {to_jsonable_python(self.default, fallback=str)!r}"

    @property
    def expected(self) -> str:
        """Its type for a message, with the fields of what is a dict."""
        shapes = [f"{name} is {shape_of(kind)}" for name, kind in shaped_in(self.annotation).items()]
        return type_name(self.annotation) + (f" ({', '.join(shapes)})" if shapes else "")


@dataclasses.dataclass(frozen=True)
class ApiSpec:
    """A query API as data. How arguments are checked, and the schemas, are for the kinds of spec to say."""

    name: str
    summary: str
    details: str
    parameters: tuple[Parameter, ...]
    returns: Any

    def json_schema(self) -> dict[str, Any]:
        """The parameters as a JSON schema object without references, as function calling wants it."""
        raise NotImplementedError

    def returns_schema(self) -> dict[str, Any]:
        """What comes back, as a JSON schema without references; {} where nothing is known."""
        raise NotImplementedError

    def fitted(self, arguments: dict[str, Any]) -> dict[str, Any] | ArgumentError:
        """Arguments of known names as the call wants them, coerced where that is safe; or what is wrong."""
        raise NotImplementedError

    def stub(self) -> str:
        """The API as a Python function without a body."""
        arguments = ", ".join(p.signature for p in self.parameters)
        said = f"{self.summary} {self.details}".strip().replace("\n", "\n    ")
        lines = [said, *(f"    {p.name}: {p.description}" for p in self.parameters if p.description)]
        doc = "\n    ".join(lines).replace('"""', "'''").replace("\\", "\\\\")
        end = " " if doc.endswith('"') else ""
        return f'def {self.name}({arguments}) -> {type_name(self.returns)}:\n    """{doc}{end}"""'

    def action(self) -> str:
        """The API as one line of an action list."""
        arguments = ", ".join(p.name if p.required else f"{p.name}?" for p in self.parameters)
        return f"{self.name}({arguments}): {self.summary}"

    def bind(self, positional: Sequence[Any], named: dict[str, Any]) -> dict[str, Any]:
        """Positional arguments put under their names.

        Raises:
            BadArguments: There are more than the API takes, or one is given twice.
        """
        most, names = len(self.parameters), [p.name for p in self.parameters]
        if len(positional) > most:
            raise BadArguments(f"{self.name} takes at most {most} arguments, {len(positional)} were given")
        bound = dict(zip(names, positional, strict=False))
        if twice := sorted(bound.keys() & named.keys()):
            raise BadArguments(f"{self.name}: argument '{twice[0]}' was given twice")
        return bound | named

    def check(self, arguments: dict[str, Any], noun: str = "argument") -> dict[str, Any]:
        """The arguments as the call wants them, coerced where that is safe: "3" to 3, a JSON text to a list or dict.

        Args:
            noun: What messages call an argument.

        Raises:
            BadArguments: One is unknown, missing or of a wrong type.
        """
        names = [p.name for p in self.parameters]
        for name in (each for each in arguments if each not in names):
            close = difflib.get_close_matches(name, names, 1, 0.5)
            hint = f" Did you mean '{close[0]}'?" if close else ""
            known = f"Its {noun}s: {', '.join(names) or 'none'}."
            raise BadArguments(f"{self.name} has no {noun} '{clip(name)}'.{hint} {known}")
        tried = dict(arguments)
        while isinstance(found := self.fitted(tried), ArgumentError):
            unpacked = _unpacked(tried.get(found.name))
            if unpacked is None:
                raise BadArguments(self._complaint(found, arguments, noun))
            tried[found.name] = unpacked
        return found

    def _complaint(self, mistake: ArgumentError, arguments: dict[str, Any], noun: str) -> str:
        known = f"Its {noun}s: {', '.join(p.signature for p in self.parameters)}."
        if mistake.missing:
            return f"{self.name} needs the {noun} '{mistake.name}'. {known}"
        if not mistake.name:
            return f"{self.name}: {clip(mistake.why, 200)}. {known}"
        expected = next((p.expected for p in self.parameters if p.name == mistake.name), "another type")
        why = f" ({clip(mistake.why, 120)})" if mistake.why else ""
        written = clip(repr(arguments.get(mistake.name)))
        return f"{self.name}: {noun} '{mistake.name}' must be {expected}, not {written}{why}."


def _unpacked(value: Any) -> Any:
    """The list or dict that a text holds as JSON; None if it holds none."""
    if not isinstance(value, str) or value.strip()[:1] not in ("[", "{"):
        return None
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return None


def clip(text: str, length: int = 80) -> str:
    """Text for a message, never longer than a line."""
    return text if len(text) <= length else text[: length - 1] + "…"


def shapes(specs: Sequence[ApiSpec]) -> str:
    """The types with fields that the APIs take and return, each with its fields, as comments for a stub file."""
    annotations = [kind for spec in specs for kind in (*(p.annotation for p in spec.parameters), spec.returns)]
    return "\n".join(f"# {name} is a dict: {shape_of(kind)}" for name, kind in shaped_in(*annotations).items())


def type_name(annotation: Any) -> str:
    """An annotation as a person writes it: `str | None`, `list[Person]`; an enum is shown by its values."""
    if annotation is inspect.Parameter.empty:
        return "Any"
    if annotation is None or annotation is type(None):
        return "None"
    annotation = bare(annotation)
    origin, args = typing.get_origin(annotation), typing.get_args(annotation)
    is_enum = isinstance(annotation, type) and issubclass(annotation, enum.Enum)
    if is_enum or origin is Literal:
        values = [member.value for member in annotation] if is_enum else args
        return f"Literal[{', '.join(repr(to_jsonable_python(value)) for value in values)}]"
    if isinstance(annotation, type) and not args:
        return annotation.__name__
    if origin is not None and args:
        inner = ["..." if a is Ellipsis else type_name(a) for a in args]
        if not isinstance(origin, type) or origin.__name__ in ("Union", "UnionType"):
            return " | ".join(dict.fromkeys(inner))
        return f"{origin.__name__}[{', '.join(inner)}]"
    return str(annotation).replace("typing.", "")


def fields_of(annotation: Any) -> dict[str, tuple[Any, bool]] | None:
    """The fields of a dataclass, pydantic model or TypedDict, as they are called in its data, each with its type and
    whether it is always there; None for any other type.
    """
    if not isinstance(annotation, type):
        return None
    if issubclass(annotation, BaseModel):
        given, computed = annotation.model_fields.items(), annotation.model_computed_fields.items()
        found: dict[str, Any] = {
            each.serialization_alias or each.alias or name: each.annotation for name, each in given
        }
        found |= {each.alias or name: each.return_type for name, each in computed}
        return {name: (hint, True) for name, hint in found.items()}
    if dataclasses.is_dataclass(annotation):
        hints = typing.get_type_hints(annotation)
        return {f.name: (hints[f.name], True) for f in dataclasses.fields(annotation)}
    if (required := getattr(annotation, "__required_keys__", None)) is None:
        return None
    hints = typing.get_type_hints(annotation, include_extras=True)
    return {
        name: (bare(hint), name in required and typing.get_origin(hint) is not typing.NotRequired)
        for name, hint in hints.items()
    }


def shape_of(annotation: Any) -> str | None:
    """The fields of a type as text, `{"name": str, "age"?: int}`, where ? marks what may be missing; None if it has
    none.
    """
    fields = fields_of(annotation)
    if fields is None:
        return None
    texts = (f'"{name}"{"" if always else "?"}: {type_name(hint)}' for name, (hint, always) in fields.items())
    return "{" + ", ".join(texts) + "}"


def shaped_in(*annotations: Any) -> dict[str, type[Any]]:
    """All types with fields that some annotations hold, by name, what is inside a type before the type itself."""
    found: dict[str, type[Any]] = {}
    entered: list[Any] = []

    def visit(annotation: Any) -> None:
        annotation = bare(annotation)
        for inner in typing.get_args(annotation) if typing.get_origin(annotation) is not Literal else ():
            visit(inner)
        fields = fields_of(annotation)
        if fields is not None and not any(annotation is known for known in entered):
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
