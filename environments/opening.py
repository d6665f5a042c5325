"""How an environment is opened by what a person writes in a grid or on the command line.

- `./recipes.py`: a Python file, whose functions marked with `@query_api` are the query APIs;
- `wiki`, `module:Class`, `./recipes.py:Recipes`: a Python class; the settings are its constructor's arguments;
- `mcp:<command or URL>`: the tools of an MCP server;
- `openapi:<file or URL>`: the operations of an HTTP API;
- `langchain:<module or file.py>:<factory>`: tools, a toolkit or a retriever of LangChain.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from r_eval.environments.base import Environment, EnvironmentFailure, marked
from r_eval.environments.functions import environment_class
from r_eval.environments.schema import RESERVED, ArgumentError
from r_eval.environments.signatures import FunctionSpec, SignatureError, spec_of
from r_eval.errors import UserError
from r_eval.files import is_file
from r_eval.plugins import load, module_of_file, unknown


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
        cls, first = load("environments", SCHEMES[scheme][0], Environment), (rest.strip(),)
    else:
        cls = _class_of(name)
    options = dict(settings or {})
    timeout = _timeout(name, cls, options)
    checked = _settings(name, cls, options, len(first))
    try:
        environment: Environment = cls(*first, **checked)
        environment.timeout = timeout or environment.timeout
        environment.specs()
    except SignatureError as error:
        raise UserError(str(error)) from None
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
    if name.endswith(".py") and scheme not in SCHEMES:
        return _below(name, folder)
    where, colon, attribute = name.rpartition(":")
    return name if scheme in SCHEMES or not colon else f"{_below(where, folder)}:{attribute}"


def _class_of(name: str) -> type[Environment]:
    """The class that a name stands for; that of a file without a class is made of its functions.

    Raises:
        UserError: There is none, or a query API has a name that every environment needs itself.
    """
    if name.endswith(".py"):
        cls = environment_class(module_of_file(name), name)
    else:
        cls = load("environments", name, Environment)
    for api, function in marked(cls).items():
        if api in RESERVED:  # `specs` and `query_apis` could not even be asked for the APIs
            try:
                spec_of(function, api)
            except SignatureError as error:
                raise UserError(str(error)) from None
    return cls


def _below(path: str, folder: Path) -> str:
    return str(folder / path) if is_file(folder / path) else path


MOST_SECONDS = 86_400.0
SCHEMES: Mapping[str, tuple[str, str]] = {
    "mcp": ("r_eval.environments.tools.mcp:MCP", "mcp:<command or URL>"),
    "openapi": ("r_eval.environments.tools.openapi:OpenAPI", "openapi:<file or URL>"),
    "langchain": ("r_eval.environments.tools.langchain:LangChain", "langchain:<module or file.py>:<factory>"),
}
"""What stands before the colon: the class, imported when it is needed, and the form."""


def _timeout(name: str, cls: type[Any], settings: dict[str, Any]) -> float | None:
    """The setting `timeout`, which every environment has: taken out, unless the class has one of its own."""
    if "timeout" not in settings or "timeout" in inspect.signature(cls).parameters:
        return None
    seconds = settings.pop("timeout")
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 < seconds < MOST_SECONDS:
        raise UserError(f"environment '{name}': timeout: expected seconds above 0, not {seconds!r}")
    return float(seconds)


def _settings(name: str, cls: type[Any], settings: dict[str, Any], first: int) -> dict[str, Any]:
    """Settings as the constructor takes them, coerced as a query API's arguments are.

    Args:
        first: How many of the constructor's arguments the name itself gives.
    """
    parameters = list(inspect.signature(cls).parameters.values())[first:]
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        return settings
    names = [p.name for p in parameters]
    for key in settings:
        if key not in names:
            raise UserError(f"environment '{name}': {unknown('setting', key, names)}")
    for p in parameters:
        if p.default is p.empty and p.name not in settings and p.kind is not p.VAR_POSITIONAL:
            raise UserError(f"environment '{name}' needs the setting '{p.name}'")
    spec = _constructor(cls)
    if spec is None:
        return settings
    fitted = spec.fitted({**dict.fromkeys([p.name for p in spec.parameters[:first]], ""), **settings})
    if isinstance(fitted, ArgumentError):
        wrong = next((p for p in spec.parameters if p.name == fitted.name and p.name in settings), None)
        if wrong is None:
            return settings
        value = settings[wrong.name]
        raise UserError(f"environment '{name}': setting '{wrong.name}' must be {wrong.expected}, not {value!r}")
    return {key: fitted.get(key, value) for key, value in settings.items()}


def _constructor(cls: type[Any]) -> FunctionSpec | None:
    """The constructor's signature; None where it has types that cannot be checked."""
    try:
        return spec_of(cls.__init__, is_bound=True)
    except SignatureError:
        return None
