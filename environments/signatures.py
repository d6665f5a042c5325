"""Reads a query API from a Python function: its signature, its types and its docstring.

What cannot be a query API is refused here, before anything runs, with the line and what to write instead. Names of
parameters and types are all that a function needs; a function without a docstring or types still works, and
`r-eval check` tells what a model misses.
"""

from __future__ import annotations

import collections.abc
import dataclasses
import enum
import functools
import inspect
import re
import typing
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import docstring_parser
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, create_model
from pydantic.errors import PydanticUserError
from pydantic.fields import FieldInfo
from pydantic_core import PydanticSerializationError, to_jsonable_python

from r_eval.environments.jsonschemas import inlined, untitled
from r_eval.environments.observation import Observation
from r_eval.environments.schema import MISSING, RESERVED, ApiSpec, ArgumentError, Parameter, bare, type_name

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
"""What the APIs of LLMs take as the name of a function."""
TYPE_ERRORS = ("_type", "_parsing", "_from_float", "literal_error", "enum")
"""Ends of the kinds of pydantic's errors that the name of the expected type explains."""
DATA = "text, numbers, lists, dicts, dataclasses or pydantic models"
PLAIN = (str, bytes, int, float, list, tuple, set, frozenset, dict, enum.Enum)
"""Whatever is one of these is written as JSON, whether pydantic has a schema for it or not."""


class SignatureError(TypeError):
    """A function that cannot be a query API: where it is defined, why, and what to write instead."""


@dataclasses.dataclass(frozen=True)
class FunctionSpec(ApiSpec):
    """The spec of a Python function.

    Attributes:
        model: One field a parameter, called `p0`, `p1`, ..., since a parameter may have a name that no field can
            have; the parameter's name is the field's alias.
    """

    model: type[BaseModel]

    def json_schema(self) -> dict[str, Any]:
        schema = untitled(inlined(self.model.model_json_schema()))
        for parameter in self.parameters:
            if parameter.description:
                schema["properties"][parameter.name]["description"] = parameter.description
        schema.pop("description", None)
        schema.setdefault("properties", {})
        return dict(schema)

    def returns_schema(self) -> dict[str, Any]:
        try:
            return inlined(TypeAdapter(self.returns).json_schema(mode="serialization"))
        except PydanticUserError:
            return {}

    def fitted(self, arguments: dict[str, Any]) -> dict[str, Any] | ArgumentError:
        try:
            checked = self.model.model_validate(arguments)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            name, *inside = map(str, first["loc"])
            place = f"{'.'.join(inside)}: " if inside else ""
            explained = not inside and first["type"].endswith(TYPE_ERRORS)
            return ArgumentError(
                name, first["type"] == "missing" and not inside, "" if explained else place + first["msg"]
            )
        present = checked.model_fields_set
        return {p.name: getattr(checked, f"p{i}") for i, p in enumerate(self.parameters) if f"p{i}" in present}


def spec_of(function: Callable[..., Any], name: str | None = None, *, is_bound: bool = False) -> FunctionSpec:
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


def _spec(function: Callable[..., Any], name: str, is_bound: bool) -> FunctionSpec:
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
    parameters = [_parameter(p, hints.get(p.name, Any), described.get(p.name, "")) for p in declared]
    returns = hints.get("return", Any)
    if Observation in (returns, typing.get_origin(returns)):
        returns = next(iter(typing.get_args(returns)), Any)
    spec = FunctionSpec(
        name=name,
        summary=doc.short_description or "",
        details=doc.long_description or "",
        parameters=tuple(parameters),
        returns=returns,
        model=arguments_model(name, parameters),
    )
    try:
        spec.json_schema()
    except (PydanticUserError, NameError) as error:
        raise _Unfit(_unfit_parameter(parameters, error)) from None
    for kind in _not_data(returns):
        raise _Unfit(f"it returns {type_name(kind)}, which is no JSON data: return {DATA}")
    return spec


def _parameter(p: inspect.Parameter, annotation: Any, description: str) -> Parameter:
    """One parameter.

    Raises:
        _Unfit: It cannot be given by name, or its default is no data.
    """
    if p.kind is p.VAR_POSITIONAL:
        raise _Unfit(f"arguments are given by name, which *{p.name} cannot be: take a list, {p.name}: list[str]")
    if p.kind is p.VAR_KEYWORD:
        raise _Unfit(f"nothing says what **{p.name} may be: name each parameter, or take {p.name}: dict[str, str]")
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
    if not description:  # `Annotated[str, "the name"]` or `Annotated[str, Field(description=...)]`
        notes = [getattr(note, "description", note) for note in getattr(annotation, "__metadata__", ())]
        description = next((" ".join(note.split()) for note in notes if isinstance(note, str)), "")
    return Parameter(p.name, annotation, p.default, description)


def arguments_model(name: str, parameters: Sequence[Parameter]) -> type[BaseModel]:
    fields: dict[str, Any] = {
        f"p{i}": (p.annotation, Field(... if p.required else p.default, alias=p.name)) for i, p in enumerate(parameters)
    }
    try:
        return create_model(name, __config__=ConfigDict(extra="forbid", coerce_numbers_to_str=True), **fields)
    except (PydanticUserError, NameError) as error:
        raise _Unfit(_unfit_parameter(parameters, error)) from None


def _unfit_parameter(parameters: Sequence[Parameter], error: Exception) -> str:
    """Which parameter has a type that is no data, and what to do."""
    for p in parameters:
        try:
            TypeAdapter(p.annotation).json_schema()
        except (PydanticUserError, NameError) as own:
            why = str(getattr(own, "message", own)).partition("\n")[0].partition(". Set ")[0]
            kinds = ", ".join(type_name(kind) for kind in _not_data(p.annotation)) or type_name(p.annotation)
            return f"the parameter '{p.name}' is of a type that JSON cannot give, {kinds}: take {DATA} ({why})"
    return f"its parameters cannot be described ({error})"


def _not_data(annotation: Any) -> Iterator[Any]:
    """The types inside an annotation that are no JSON data."""
    annotation = bare(annotation)
    origin, inside = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Literal or annotation is Any:
        return
    if collections.abc.Callable in (origin, annotation):
        yield annotation
    elif inside:
        for inner in inside:
            yield from _not_data(inner) if inner is not Ellipsis else ()
    elif isinstance(annotation, type):
        try:
            TypeAdapter(annotation).json_schema(mode="serialization")
        except (PydanticUserError, NameError):
            if not issubclass(annotation, PLAIN) and not getattr(annotation, "_is_protocol", False):
                yield annotation


def place_of(function: Any) -> str:
    """`file:line` of a function's definition, seen from the present folder; "" where it is not known."""
    function = inspect.unwrap(function)
    code = getattr(function, "__code__", None)
    if code is None:
        return ""
    try:
        lines, first = inspect.getsourcelines(function)
    except (OSError, TypeError):
        lines, first = [], code.co_firstlineno
    ahead = next((n for n, line in enumerate(lines) if line.lstrip().startswith(("def ", "async def "))), 0)
    path = Path(code.co_filename)
    relative = path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
    return f"{relative}:{first + ahead}"


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
        first = next(iter(inspect.signature(function).parameters.values()), None)
        if isinstance(member, property):
            raise _refusal(function, name, "it is a property, but a query API is called: remove @property")
        if is_bound and (first is None or (first.annotation is not first.empty and first.name != "self")):
            remedy = f"write def {name}(self, ...), or @staticmethod above it"
            raise _refusal(function, name, f"its first parameter is not self: {remedy}")
        specs[name] = spec_of(function, name, is_bound=is_bound)
    return specs
