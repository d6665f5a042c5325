"""How anything that can be named in a grid is found: workflows, environments, LLM backends, tasks, metrics.

A name is looked up the same way for built-ins and for third-party plug-ins:

- `module:Class`, or `./file.py:Class` (of an environment the file alone will do, see `environments.opening`);
- a plain name, through the entry points of the group `r_eval.<kind>`. An entry point is either the object itself or a
  package: then every module in it offers what it defines under the module's own name (`soft_match.py` offers
  `soft-match`), so that adding one is adding a file.

`import helper` in `./file.py` finds `helper.py` in the same folder, as in a script; the standard library and installed
packages come first. Within a process, a module's name means one file; one that was edited since is run again.
"""

from __future__ import annotations

import ast
import contextlib
import difflib
import functools
import importlib
import importlib.util
import inspect
import os
import pkgutil
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

from r_eval.errors import UserError
from r_eval.files import is_file
from r_eval.isolation import OWN, PACKAGES, describe

if sys.version_info >= (3, 14):
    import annotationlib

_loading = threading.RLock()
"""Held while a file is run, so that no other thread sees half a module."""
_run: dict[Path, dict[Path, bytes]] = {}
"""By file that was run: the files of its code, as they were then."""
_ELSEWHERE = frozenset({*sys.stdlib_module_names, "r_eval"})
"""Names that are never those of files in the same folder."""


def signature_of(thing: Callable[..., Any]) -> inspect.Signature:
    """The parameters of a function or class; what their types name need not be imported, as under `TYPE_CHECKING`."""
    if sys.version_info >= (3, 14):
        return inspect.signature(thing, annotation_format=annotationlib.Format.STRING)
    return inspect.signature(thing)


def load(kind: str, name: str, base: type[Any]) -> type[Any]:
    """The class of a name.

    Args:
        kind: Group: "workflows", "environments", "llms".
        name: Plain name, `module:Class`, or `path/file.py:Class`.
        base: What the class must be a subclass of.

    Raises:
        UserError: The thing is unknown, or it is not a subclass of `base`.
    """
    found = from_path(name, kind) if ":" in name else _named(kind, name, base)
    if not (isinstance(found, type) and issubclass(found, base)):
        raise UserError(f"{name} is not a subclass of {base.__module__}.{base.__name__}")
    return found


def from_path(name: str, kind: str) -> Any:
    """The object at `module:attribute` or `file.py:attribute`.

    Raises:
        UserError: The file, module or attribute is not there, or importing it fails.
    """
    where, _, attribute = name.rpartition(":")
    module = module_of_file(file) if (file := file_of(where)) else _module(where, name)
    try:
        return getattr(module, attribute)
    except AttributeError:
        offered = [n for n, v in vars(module).items() if inspect.isclass(v) or inspect.isfunction(v)]
        own = [n for n in offered if getattr(vars(module)[n], "__module__", "") == module.__name__]
        raise UserError(f"{where} has no {attribute}; it defines: {', '.join(own) or 'nothing'}") from None


def file_of(where: str) -> str:
    """The file that a name is: `./recipes.py`, or `__init__.py` of the folder `./recipes`; "" for a module's name."""
    is_folder = "/" in where and is_file(Path(where, "__init__.py"))
    return str(Path(where, "__init__.py")) if is_folder else where if where.endswith(".py") else ""


def _module(where: str, name: str) -> ModuleType:
    try:
        with _loading:
            module = importlib.import_module(where)
            file = _file_of(module)
            if file is not None and is_file(file) and not str(file).startswith((*PACKAGES, *OWN)):
                _code_of(file, reloads=True)
            return module
    except UserError:
        raise
    except (Exception, SystemExit) as error:
        why = error if isinstance(error, ImportError) else describe(error)
        raise UserError(f"{name}: cannot import {where} ({why})") from error


def module_of_file(where: str) -> ModuleType:
    """A Python file, imported once in a process; modules beside it can be imported by it.

    Raises:
        UserError: It is not there, or importing it fails; names the line.
    """
    path = Path(where)
    if not is_file(path):
        raise UserError(f"{where}: no such file")
    try:
        return _load_file(path.resolve())
    except (Exception, SystemExit) as error:
        raise UserError(f"{where}: importing it fails: {describe(error)}") from error


def _named(kind: str, name: str, base: type[Any]) -> Any:
    for point in _points(kind):
        if point.name == name and point.attr:
            return point.load()
        if not point.attr:
            stem = name.replace("-", "_")
            package = point.load()
            if stem in (m.name for m in pkgutil.iter_modules(package.__path__)):
                found = _offered(importlib.import_module(f"{package.__name__}.{stem}"), base)
                if found is not None:
                    return found
    raise UserError(unknown("LLM" if kind == "llms" else kind[:-1], name, names(kind, base)))


def names(kind: str, base: type[Any]) -> dict[str, type[Any]]:
    """Everything of one kind that is installed, by name; what cannot be imported here is left out."""
    found: dict[str, type[Any]] = {}
    for point in _points(kind):
        if point.attr:
            found[point.name] = point.load()
            continue
        package = point.load()
        for module in sorted(m.name for m in pkgutil.iter_modules(package.__path__)):
            try:
                offered = _offered(importlib.import_module(f"{package.__name__}.{module}"), base)
            except ImportError:
                continue
            if offered is not None:
                found[module.replace("_", "-")] = offered
    return found


@functools.cache
def _points(kind: str) -> tuple[Any, ...]:
    return tuple(entry_points(group=f"r_eval.{kind}"))


def _offered(module: ModuleType, base: type[Any]) -> type[Any] | None:
    """The one class of the wanted kind that a module (or package) defines; those with an underscore are its own."""
    for value in vars(module).values():
        if not (isinstance(value, type) and issubclass(value, base)) or value is base or value.__name__[:1] == "_":
            continue
        if value.__module__ == module.__name__ or value.__module__.startswith(f"{module.__name__}."):
            return value
    return None


def unknown(kind: str, name: str, known: Iterable[str], synonyms: Mapping[str, str] | None = None) -> str:
    """A message for a name that nothing has: what was meant perhaps, and what there is.

    Args:
        synonyms: What other tools call a thing -> its name here.
    """
    every = sorted(known)
    folded = {one.casefold(): one for one in every}
    if meant := (synonyms or {}).get(name.casefold()):
        close = [meant] if meant in folded else []
    else:
        close = difflib.get_close_matches(name.casefold(), folded, 1, 0.5)
        close += [one for one in folded if name and one.startswith(name.casefold())]
    hint = f" Did you mean {folded[close[0]]}?" if close else ""
    hint = f" Several are a list: [{name}]." if "," in name else hint
    return f"unknown {kind} '{name}'.{hint} Known: {', '.join(every) or 'none'}"


def _load_file(path: Path) -> ModuleType:
    """The module of a file, which is run once in a process, and again once its code was edited (in a notebook, say).

    Raises:
        ImportError: It is no Python file, or a module in its folder has the name of a module from elsewhere.
        Exception: Whatever running it raises.
    """
    root = _root(path)
    with _loading:
        if str(root) not in sys.path:
            sys.path.append(str(root))
        code = _code_of(path)
        if root != path.parent:  # in a package, whose modules may import each other relatively
            dotted = ".".join(path.relative_to(root).with_suffix("").parts)
            module = importlib.import_module(dotted.removesuffix(".__init__"))
        else:
            module = _run_once(path)
        for file in set(code) - ({path} if root == path.parent else set()):
            name = ".".join(file.relative_to(root).with_suffix("").parts).removesuffix(".__init__")
            if (other := _file_of(sys.modules.get(name)) or file) != file:
                raise ImportError(f"{file} and {other} are both a module '{name}': rename one of them")
    return module


def _code_of(path: Path, reloads: bool = False) -> dict[Path, bytes]:
    """The files of a file's code. If one was edited since the file was run, their modules are forgotten, or reloaded in
    place where a notebook may have imported them, too.
    """
    code = {file: file.read_bytes() for file in code_files(path)}
    if _run.setdefault(path, code) != code:
        for file in code:  # Python itself notices no edit within a second that leaves the size
            with contextlib.suppress(OSError):
                Path(importlib.util.cache_from_source(file)).unlink()
        for key, module in list(sys.modules.items()):  # what is imported stands before what imports it
            if _file_of(module) in code and not key.startswith("__"):
                if reloads and ":" not in key:
                    importlib.reload(module)
                else:
                    del sys.modules[key]
        _run[path] = code
    return code


def _file_of(module: ModuleType | None) -> Path | None:
    """The file that a module was run from."""
    name = getattr(module, "__dict__", {}).get("__file__")
    return Path(os.path.realpath(name)) if isinstance(name, str) else None


def _run_once(path: Path) -> ModuleType:
    key = f"r_eval_file:{path}"
    if key not in sys.modules:
        spec = importlib.util.spec_from_file_location(key, path)
        if spec is None or spec.loader is None:
            raise ImportError(f"{path} is not a Python file")
        sys.modules[key] = importlib.util.module_from_spec(spec)
        try:
            spec.loader.exec_module(sys.modules[key])
        except BaseException:
            del sys.modules[key]
            raise
    return sys.modules[key]


def _root(path: Path) -> Path:
    """The folder that a file, or the package that it is in, lies in."""
    return next(each for each in path.parents if not each.name or not is_file(each / "__init__.py"))


def code_files(path: Path) -> list[Path]:
    """A Python file, and the files that it imports from its folder or its package, directly or through each other.

    Imports inside functions count; nothing is run.
    """
    path = path.resolve()
    root = _root(path)
    is_installed, package = str(path).startswith(PACKAGES), path.relative_to(root).parts[0]
    found: dict[Path, None] = {}
    waiting = [path]
    while waiting:
        file = waiting.pop()
        if file in found:
            continue
        found[file] = None
        for level, name in _imported(file):
            parts = name.split(".")
            if level:
                waiting += _files(file.parents[min(level, len(file.parents)) - 1], parts)
            elif parts[0] not in _ELSEWHERE and (parts[0] == package or not is_installed):
                waiting += [each for folder in {root, path.parent} for each in _files(folder, parts)]
    return sorted(found)


def _imported(file: Path) -> Iterator[tuple[int, str]]:
    """The level and the name of everything that a file imports."""
    try:
        tree = ast.parse(file.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((0, each.name) for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from ((node.level, f"{node.module or ''}.{each.name}".lstrip(".")) for each in node.names)


def _files(folder: Path, parts: Sequence[str]) -> list[Path]:
    """The files of a module or package below a folder, and of the packages around it."""
    paths = [folder.joinpath(*parts[: n + 1]) for n in range(len(parts))]
    ends = [each for path in paths for each in (path.with_name(f"{path.name}.py"), path / "__init__.py")]
    return [each for each in ends if is_file(each)]
