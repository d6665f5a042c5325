"""Reads a query API from a Python function: its signature, its types and its docstring.

What cannot be a query API is refused here, before anything runs, with the line and what to write instead. Names of
parameters and types are all that a function needs; a function without a docstring or types still works, and
`r-eval check` tells what a model misses.
"""

from __future__ import annotations

import enum
import functools
import inspect
import re
import types
import typing
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Union

import docstring_parser
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, create_model
from pydantic.errors import PydanticUserError
from pydantic.fields import FieldInfo
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import PydanticSerializationError, to_jsonable_python

from r_eval.environments.jsonschemas import alternatives, constants, inlined
from r_eval.environments.observation import Observation
from r_eval.environments.schema import MISSING, RESERVED, ApiSpec, Parameter
from r_eval.plugins import signature_of

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
"""What the APIs of LLMs take as the name of a function."""
DATA = "text, numbers, lists, dicts, dataclasses or pydantic models"
CHECKING = ConfigDict(extra="forbid", coerce_numbers_to_str=True, allow_inf_nan=False)
PLAIN = (str, bytes, int, float, list, tuple, set, frozenset, dict, enum.Enum)
"""Whatever is one of these is written as JSON, whether pydantic has a schema for it or not."""


class SignatureError(TypeError):
    """A function that cannot be a query API: where it is defined, why, and what to write instead."""


def spec_of(function: Callable[..., Any], name: str | None = None, *, is_bound: bool = False) -> ApiSpec:
    """The spec of one function.

    Args:
        name: What the API is called, where that is not the function's own name.
        is_bound: Whether the first parameter is not for the caller to give, as `self`.

    Raises:
        SignatureError: It cannot be called with JSON data by name, or does not return any.
    """
    name = name or function.__name__
    try:
        return _spec(function, name, is_bound)
    except _Unfit as why:
        raise _refusal(function, name, str(why)) from None


class _Unfit(ValueError):
    """Why a function cannot be a query API, and what to write instead."""


def _refusal(function: Any, name: str, why: str) -> SignatureError:
    place = place_of(function)
    return SignatureError(f"{place}: query API {name}: {why}" if place else f"query API {name}: {why}")


def _spec(function: Callable[..., Any], name: str, is_bound: bool) -> ApiSpec:
    if name in RESERVED:
        owner = "every workflow" if name == "Finish" else "every environment"
        raise _Unfit(f"{owner} has something called '{name}' already: choose another name")
    if not NAME.fullmatch(name):
        raise _Unfit("LLM APIs take only the letters A to Z, digits and _ in a name, at most 64: choose another name")
    if inspect.isasyncgenfunction(function):
        raise _Unfit("it yields, and async generators cannot be returned as data: return a list")
    try:
        hints = typing.get_type_hints(function, include_extras=True)
    except NameError as error:
        undefined = f"the type '{error.name}' is not defined"
        raise _Unfit(f"{undefined}: import it at the top of the file, outside `if TYPE_CHECKING:`") from None
    except (TypeError, SyntaxError) as error:
        raise _Unfit(f"its types cannot be read ({error})") from None
    doc = docstring_parser.parse(inspect.getdoc(function) or "")
    described = {p.arg_name: " ".join((p.description or "").split()) for p in doc.params}
    declared = list(inspect.signature(function).parameters.values())[is_bound:]
    fields: dict[str, Any] = {}
    for p in declared:
        annotation, described_there = _annotation(p, hints.get(p.name, Any))
        fields[p.name] = annotation, p.default, described.get(p.name) or described_there
    try:
        model = arguments_model(name, {key: field[:2] for key, field in fields.items()})
        schemas = inlined(model.model_json_schema())["properties"] if fields else {}
        for key, schema in schemas.items():  # those of an Enum or Literal can be other objects than JSON has
            for value in (value for one in (schema, *alternatives(schema)) for value in constants(one)):
                TypeAdapter(fields[key][0]).validate_python(value)
    except (PydanticUserError, PydanticSerializationError, ValidationError, NameError):
        raise _Unfit(_unfit_parameter({key: field[0] for key, field in fields.items()})) from None
    return ApiSpec(
        name=name,
        summary=doc.short_description or "",
        details=doc.long_description or "",
        parameters=tuple(Parameter(key, schemas[key], *field[1:]) for key, field in fields.items()),
        result=_result(hints.get("return", Any)),
        model=model,
    )


def _annotation(p: inspect.Parameter, annotation: Any) -> tuple[Any, str]:
    """The type of a parameter, which allows a default of None, and what it says of itself."""
    if p.kind is p.VAR_POSITIONAL:
        raise _Unfit(f"arguments are given by name, which *{p.name} cannot be: take a list, {p.name}: list[str]")
    if p.kind is p.VAR_KEYWORD:
        remedy = f"name each parameter, or take {p.name}: dict[str, str]"
        raise _Unfit(f"nothing says what **{p.name} may be: {remedy}")
    if p.kind is p.POSITIONAL_ONLY:
        raise _Unfit(f"arguments are given by name, which '{p.name}' cannot be: remove the / behind it")
    if isinstance(p.default, FieldInfo):
        raise _Unfit(f"the default of '{p.name}' is a Field: write {p.name}: Annotated[TYPE, Field(...)] = DEFAULT")
    try:
        to_jsonable_python(None if p.default is MISSING else p.default)
    except PydanticSerializationError:
        raise _Unfit(f"the default of '{p.name}' is no JSON data ({type(p.default).__name__}): use None") from None
    if p.default is None and annotation is not Any:
        annotation = annotation | None if isinstance(annotation, type) else typing.Optional[annotation]  # noqa: UP045
    annotation = _listed(annotation)
    # `Annotated[str, "the name"]` or `Annotated[str, Field(description=...)]`
    notes = [getattr(note, "description", note) for note in getattr(annotation, "__metadata__", ())]
    return annotation, next((" ".join(note.split()) for note in notes if isinstance(note, str)), "")


def _listed(annotation: Any) -> Any:
    """A type with lists in place of iterables, whose items pydantic checks when they are read, and that only once."""
    kind, inner = typing.get_origin(annotation), typing.get_args(annotation)
    if Iterable in (annotation, kind):
        return list[inner or Any]  # type: ignore[misc]  # it becomes one
    if kind in (typing.Union, types.UnionType):
        return Union[tuple(map(_listed, inner))]  # noqa: UP007  made at run time
    return Annotated[(_listed(inner[0]), *annotation.__metadata__)] if kind is Annotated else annotation


def arguments_model(name: str, parameters: Mapping[str, tuple[Any, Any]]) -> type[BaseModel]:
    """The model that checks the arguments of an API.

    Args:
        parameters: The type and the default of each.
    """
    fields: dict[str, Any] = {
        f"p{i}": (annotation, Field(... if default is MISSING else default, alias=key))
        for i, (key, (annotation, default)) in enumerate(parameters.items())
    }
    return create_model(name, __config__=CHECKING, **fields)


def _unfit_parameter(annotations: Mapping[str, Any]) -> str:
    """Which parameter has a type that is no data, and what to do."""
    for name, annotation in annotations.items():
        try:
            TypeAdapter(annotation).json_schema()
        except (PydanticUserError, PydanticSerializationError, NameError) as error:
            why = str(error).partition("\n")[0].partition(". Set ")[0]
            return f"the parameter '{name}' is of a type that JSON cannot give: take {DATA} ({why})"
    return "an Enum or Literal of a parameter has values that JSON cannot give: let them be text or whole numbers"


class _Complete(GenerateJsonSchema):
    """Schemas of results, where what has a default is always there."""

    def field_is_required(self, field: Any, total: bool) -> bool:
        return field["type"] != "typed-dict-field" or super().field_is_required(field, total)


def _result(annotation: Any) -> dict[str, Any]:
    if Observation in (annotation, typing.get_origin(annotation)):
        annotation = next(iter(typing.get_args(annotation)), Any)
    if typing.get_origin(annotation) in (Iterator, Generator):
        annotation = list[typing.get_args(annotation)[0]]  # type: ignore[misc]  # it becomes one
    try:
        return inlined(TypeAdapter(annotation).json_schema(mode="serialization", schema_generator=_Complete))
    except (PydanticUserError, NameError) as error:
        if isinstance(annotation, type) and issubclass(annotation, PLAIN) and not typing.is_typeddict(annotation):
            return {}
        why = str(error).partition("\n")[0].partition(". Set ")[0]
        raise _Unfit(f"it returns what is no JSON data: return {DATA} ({why})") from None


def place_of(thing: Any, otherwise: str = "", pattern: str = r"(async def|def|class)\b") -> str:
    """`file:line` of a function or class, seen from the present folder.

    Args:
        otherwise: What is returned where it is not known.
        pattern: What the line begins with; the first line of the definition where none does.
    """
    try:
        lines, first = inspect.getsourcelines(thing)
        path = Path(inspect.getsourcefile(thing) or "")
    except (OSError, TypeError):
        return otherwise
    offset = next((n for n, line in enumerate(lines) if re.match(pattern, line.lstrip())), 0)
    relative = path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
    return f"{relative}:{first + offset}"


@functools.cache
def specs_of(environment: Any) -> dict[str, ApiSpec]:
    """The specs of all query APIs of an environment class, by name.

    Raises:
        SignatureError: One cannot be a query API, is a property, or is a method without `self`; the message says
            which and why.
    """
    specs: dict[str, ApiSpec] = {}
    for name, function in environment.query_apis().items():
        member = inspect.getattr_static(environment, name)
        is_bound = not isinstance(member, staticmethod)
        first = next(iter(signature_of(function).parameters.values()), None)
        if isinstance(member, property):
            raise _refusal(function, name, "it is a property, but a query API is called: remove @property")
        if is_bound and (first is None or (first.annotation is not first.empty and first.name != "self")):
            remedy = f"write def {name}(self, ...), or @staticmethod above it"
            raise _refusal(function, name, f"its first parameter is not self: {remedy}")
        specs[name] = spec_of(function, name, is_bound=is_bound)
    return specs
