"""How an environment is opened by what a person writes in a grid or on the command line.

- `./recipes.py`: a Python file, whose functions marked with `@query_api` are the query APIs;
- `wiki`, `module:Class`, `./recipes.py:Recipes`: a Python class; the settings are its constructor's arguments;
- `mcp:<command or URL>`: the tools of an MCP server;
- `openapi:<file or URL>`: the operations of an HTTP API;
- `langchain:<module or file.py>:<factory>`: tools, a toolkit or a retriever of LangChain.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from r_eval.environments.base import Environment, EnvironmentFailure, marked
from r_eval.environments.functions import environment_class
from r_eval.environments.schema import RESERVED, BadArguments
from r_eval.environments.signatures import SignatureError, spec_of
from r_eval.errors import UserError
from r_eval.files import is_file
from r_eval.isolation import describe
from r_eval.plugins import load, module_of_file, unknown

MOST_SECONDS = 86_400.0
SCHEMES: Mapping[str, tuple[str, str]] = {
    "mcp": ("r_eval.environments.tools.mcp:MCP", "mcp:<command or URL>"),
    "openapi": ("r_eval.environments.tools.openapi:OpenAPI", "openapi:<file or URL>"),
    "langchain": ("r_eval.environments.tools.langchain:LangChainTools", "langchain:<module or file.py>:<factory>"),
}
"""By scheme: the class, imported when it is needed, and the form of the name."""


def open_environment(name: str, settings: Mapping[str, Any] | None = None) -> Environment:
    """An environment with its settings.

    Args:
        settings: Of a grid or of a command line: a text is made what the setting needs, such as a number, or a list
            that it holds as JSON. Every environment has the setting `timeout`.

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
    timeout = None if "timeout" in inspect.signature(cls).parameters else options.pop("timeout", None)
    try:
        environment: Environment = cls(**_arguments(name, cls, first, options))
        if timeout is not None:
            environment.timeout = float(timeout)
            if not 0 < environment.timeout < MOST_SECONDS:
                raise ValueError(f"timeout: expected seconds above 0, not {timeout}")
        environment.specs()
    except (BadArguments, SignatureError) as error:
        raise UserError(str(error)) from None
    except UserError:
        raise
    except (Exception, SystemExit) as error:
        is_plain = isinstance(error, OSError | TypeError | ValueError | NameError | EnvironmentFailure)
        why = f"{error}" if is_plain else describe(error)
        raise UserError(f"environment '{name}' cannot be opened: {why}") from error
    return environment


def located(name: str, folder: Path) -> str:
    """A name of an environment or another plug-in whose file, if it has one, is found from a folder, as its grid's.

    What is no file below the folder is left as it is.
    """
    scheme, _, rest = name.partition(":")
    if scheme == "openapi":
        return f"openapi:{_below(rest, folder)}"
    if scheme == "langchain":
        return f"langchain:{located(rest, folder)}"
    return f"{_below(scheme, folder)}{name[len(scheme) :]}" if scheme.endswith((".py", ".gguf")) else name


def _below(path: str, folder: Path) -> str:
    return str(folder / path) if is_file(folder / path) else path


def _class_of(name: str) -> type[Environment]:
    """The class of a name; that of a file without a class is made of its functions.

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


def _arguments(name: str, cls: type[Any], first: tuple[str, ...], settings: dict[str, Any]) -> dict[str, Any]:
    """What the constructor is called with: settings coerced as a query API's arguments are.

    Args:
        first: The constructor's arguments that the name itself gives.

    Raises:
        BadArguments: A setting is unknown, missing or of a wrong type.
    """
    parameters = inspect.signature(cls).parameters
    names = list(parameters)[len(first) :]
    takes_any = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    if odd := [key for key in settings if key not in names and not takes_any]:
        raise BadArguments(f"environment '{name}': {unknown('setting', odd[0], names)}")
    arguments = dict(zip(parameters, first, strict=False)) | settings
    try:
        spec = spec_of(cls.__init__, is_bound=True)
    except SignatureError:  # it takes anything, or has types that cannot be checked
        return arguments
    return dataclasses.replace(spec, name=f"environment '{name}'").check(arguments, "setting")
