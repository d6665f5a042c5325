"""How an environment is opened by what a person writes in a grid or on the command line.

- `wiki`, `module:Class`, `./recipes.py:Recipes`: a Python class; the settings are its constructor's arguments;
- `mcp:<command or URL>`: the tools of an MCP server;
- `openapi:<file or URL>`: the operations of an HTTP API;
- `langchain:<module or file.py>:<factory>`: tools, a toolkit or a retriever of LangChain.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pydantic.errors import PydanticInvalidForJsonSchema

from r_eval.environments.base import Environment, EnvironmentFailure
from r_eval.environments.schema import FunctionSpec, Mistake, spec_of
from r_eval.errors import UserError
from r_eval.files import is_file
from r_eval.plugins import load, unknown


def open_environment(name: str, settings: Mapping[str, Any] | None = None) -> Environment:
    """An environment with its settings.

    Raises:
        UserError: There is none of that name, a setting is unknown or of a wrong type, or it cannot be opened.
    """
    scheme, _, rest = name.partition(":")
    first: tuple[str, ...] = ()
    if scheme in SCHEMES:
        if not rest.strip():
            raise UserError(f"environment '{name}': expected {SCHEMES[scheme][1]}")
        cls, first = SCHEMES[scheme][0](), (rest.strip(),)
    else:
        cls = load("environments", name, Environment)
    checked = _settings(name, cls, dict(settings or {}), len(first))
    try:
        environment: Environment = cls(*first, **checked)
        for spec in environment.specs().values():
            spec.json_schema()
    except PydanticInvalidForJsonSchema as error:
        raise UserError(f"environment '{name}': a query API takes what is no data: {error.message}") from None
    except UserError:
        raise
    except (OSError, TypeError, ValueError, NameError, EnvironmentFailure) as error:
        raise UserError(f"environment '{name}' cannot be opened: {error}") from error
    except Exception as error:
        raise UserError(f"environment '{name}' cannot be opened: {type(error).__name__}: {error}") from error
    return environment


def located(name: str, folder: Path) -> str:
    """A name whose file, if it has one, is found from a folder, such as that of the grid that it stands in.

    What is no file below the folder is left as it is.
    """
    scheme, _, rest = name.partition(":")
    if scheme == "openapi":
        return f"openapi:{_below(rest, folder)}"
    if scheme == "langchain":
        return f"langchain:{located(rest, folder)}"
    where, colon, attribute = name.rpartition(":")
    return name if scheme in SCHEMES or not colon else f"{_below(where, folder)}:{attribute}"


def _below(path: str, folder: Path) -> str:
    return str(folder / path) if is_file(folder / path) else path


def _mcp() -> Any:
    from r_eval.environments.tools.mcp import MCP

    return MCP


def _openapi() -> Any:
    from r_eval.environments.tools.openapi import OpenAPI

    return OpenAPI


def _langchain() -> Any:
    from r_eval.environments.tools.langchain import LangChain

    return LangChain


SCHEMES: Mapping[str, tuple[Callable[[], Any], str]] = {
    "mcp": (_mcp, "mcp:<command or URL>"),
    "openapi": (_openapi, "openapi:<file or URL>"),
    "langchain": (_langchain, "langchain:<module or file.py>:<factory>"),
}
"""What stands before the colon: the class, loaded late, and the form."""


def _settings(name: str, cls: type[Any], settings: dict[str, Any], first: int) -> dict[str, Any]:
    """Settings as the constructor takes them, coerced as a query API's arguments are.

    Args:
        first: How many of the constructor's arguments the name itself gives.
    """
    parameters = list(inspect.signature(cls).parameters.values())[first:]
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        return settings
    for key in settings:
        if key not in (p.name for p in parameters):
            raise UserError(f"environment '{name}': {unknown('setting', key, (p.name for p in parameters))}")
    for p in parameters:
        if p.default is p.empty and p.name not in settings and p.kind is not p.VAR_POSITIONAL:
            raise UserError(f"environment '{name}' needs the setting '{p.name}'")
    spec = _constructor(cls)
    found = spec.fitted({**dict.fromkeys([p.name for p in spec.parameters[:first]], ""), **settings}) if spec else {}
    if isinstance(found, Mistake) and found.name in settings and spec is not None:
        expected = next(p.expected for p in spec.parameters if p.name == found.name)
        raise UserError(
            f"environment '{name}': setting '{found.name}' must be {expected}, not {settings[found.name]!r}"
        )
    return {key: found.get(key, value) if isinstance(found, dict) else value for key, value in settings.items()}


def _constructor(cls: type[Any]) -> FunctionSpec | None:
    """The constructor's signature; None where it has types that cannot be checked."""
    try:
        return spec_of(cls.__init__)
    except (TypeError, NameError):
        return None
