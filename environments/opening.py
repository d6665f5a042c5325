"""How an environment is opened by what a person writes in a grid or on the command line.

- `./recipes.py`: a Python file. Its functions that are marked with `@query_api` are the query APIs, its docstring
  describes the domain, and a function `records(kind)` in it serves question templates. A file that has a class, for a
  domain with state, opens that class;
- `./recipes`: a folder with an `__init__.py`, in the same way;
- `wiki`, `module:Class`, `./recipes.py:Recipes`: a Python class; the settings are its constructor's arguments;
- `mcp:<command or URL>`: the tools of an MCP server;
- `openapi:<file or URL>`: the operations of an HTTP API;
- `langchain:<module or file.py>:<factory>`: tools, a toolkit or a retriever of LangChain.

The fingerprint of a file of functions covers its code, and what its constants (names in capitals) hold: plain data, and
the content of the files whose paths they are.
"""

from __future__ import annotations

import dataclasses
import inspect
import json
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from pydantic_core import to_jsonable_python

from r_eval.environments.base import Environment, EnvironmentFailure, is_marked, marked
from r_eval.environments.schema import RESERVED, BadArguments
from r_eval.environments.signatures import SignatureError, spec_of
from r_eval.errors import UserError
from r_eval.files import is_file
from r_eval.fingerprints import file_hash, short_hash
from r_eval.isolation import describe
from r_eval.plugins import file_of, load, module_of_file, signature_of, unknown

MOST_SECONDS = 86_400.0
SCHEMES: Mapping[str, tuple[str, str]] = {
    "mcp": ("r_eval.environments.tools.mcp:MCP", "mcp:<command or URL>"),
    "openapi": ("r_eval.environments.tools.openapi:OpenAPI", "openapi:<file or URL>"),
    "langchain": ("r_eval.environments.tools.langchain:LangChainTools", "langchain:<module or file.py>:<factory>"),
}
"""By scheme: the class, imported when it is needed, and the form of the name."""
HOOKS = ("records", "triples")
"""Functions of a file that are no query APIs, and answer as the methods of `Environment` of that name do."""


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
    timeout = None if "timeout" in signature_of(cls).parameters else options.pop("timeout", None)
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
    has_file = scheme.endswith((".py", ".gguf")) or ("/" in scheme and not is_file(folder / scheme))
    return f"{_below(scheme, folder)}{name[len(scheme) :]}" if has_file else name


def _below(path: str, folder: Path) -> str:
    return str(folder / path) if is_file(folder / path) or is_file(folder / path / "__init__.py") else path


def _class_of(name: str) -> type[Environment]:
    """The class of a name; that of a file without a class is made of its functions.

    Raises:
        UserError: There is none, or a query API has a name that every environment needs itself.
    """
    file = file_of(name)
    cls = _class_in(module_of_file(file), name) if file else load("environments", name, Environment)
    for api, function in marked(cls).items():
        if api in RESERVED:  # `specs` and `query_apis` could not even be asked for the APIs
            try:
                spec_of(function, api)
            except SignatureError as error:
                raise UserError(str(error)) from None
    return cls


class _FunctionEnvironment(Environment):
    _constants: dict[str, str] = {}

    @property
    def version(self) -> str:
        """Hash of the code, and of what the constants held when the file was imported."""
        return short_hash([super().version, self._constants])


def _class_in(module: ModuleType, name: str) -> type[Environment]:
    """The environment that a file defines.

    Args:
        name: The file's name, as a person wrote it.

    Raises:
        UserError: It defines none, several classes, or a class as well as functions.
    """
    functions: dict[str, Any] = {}
    for key, value in vars(module).items():
        if is_marked(value) and value not in functions.values():
            functions[key] = value
    own = [
        value
        for value in vars(module).values()
        if f"{getattr(value, '__module__', '')}.".startswith(f"{module.__name__}.")
    ]
    classes = [value for value in own if isinstance(value, type) and issubclass(value, Environment)]
    choices = [f"{name}:{each.__name__}" for each in classes]
    if functions and classes:
        what = f"the query APIs {', '.join(functions)} and the class {classes[0].__name__}"
        raise UserError(f"{name} defines {what}: name the class, {choices[0]}, or move one of them to another file")
    if len(classes) > 1:
        raise UserError(f"{name} defines {len(classes)} environments: write {' or '.join(choices)}")
    if classes:
        return classes[0]
    if not functions:
        others = ", ".join(value.__name__ for value in own if inspect.isfunction(value)) or "no function"
        remedy = "put @query_api above its functions (from r_eval.environments import query_api)"
        raise UserError(f"{name} has no query API: {remedy}; it defines {others}")
    hooks = {hook: vars(module)[hook] for hook in HOOKS if inspect.isfunction(vars(module).get(hook))}
    members = {key: staticmethod(function) for key, function in {**hooks, **functions}.items()}
    about = {"__doc__": module.__doc__, "__module__": module.__name__, "_constants": _constants(module)}
    return type(Path(module.__file__ or "domain").stem, (_FunctionEnvironment,), {**members, **about})


def _constants(module: ModuleType) -> dict[str, str]:
    """Hashes of what a file's constants hold, by name; what is no data is left out."""
    found = {}
    for name, value in vars(module).items():
        try:
            if name.isupper() and isinstance(value, Path):
                found[name] = file_hash(value) if is_file(value) else ""
            elif name.isupper():
                found[name] = short_hash(json.loads(json.dumps(value, default=_as_data)))
        except (TypeError, ValueError, RecursionError):
            continue
    return found


def _as_data(value: Any) -> Any:
    """A set in a fixed order, and dataclasses and models as dicts.

    Raises:
        ValueError: It is no data.
    """
    return sorted(map(repr, value)) if isinstance(value, set | frozenset) else to_jsonable_python(value)


def _arguments(name: str, cls: type[Any], first: tuple[str, ...], settings: dict[str, Any]) -> dict[str, Any]:
    """What the constructor is called with: settings coerced as a query API's arguments are.

    Args:
        first: The constructor's arguments that the name itself gives.

    Raises:
        BadArguments: A setting is unknown, missing or of a wrong type.
    """
    parameters = signature_of(cls).parameters
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
