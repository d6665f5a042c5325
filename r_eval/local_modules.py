"""Python files that a person names, and the modules beside them that they import.

`import helper` in `./recipes.py` finds `helper.py` in the same folder, as in a script; the standard library and
installed packages come first. Within a process, a module's name means one file.
"""

from __future__ import annotations

import ast
import importlib.util
import os
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType

from r_eval.files import is_file
from r_eval.isolation import PACKAGES

_loading = threading.RLock()
"""Held while a file is run, so that no other thread sees half a module."""


def load_file(path: Path) -> ModuleType:
    """The module of a file, which is run once in a process.

    Raises:
        ImportError: It is no Python file, or a module in its folder has the name of a module from elsewhere.
        Exception: Whatever running it raises.
    """
    root = _root(path)
    with _loading:
        if str(root) not in sys.path:
            sys.path.append(str(root))
        if root != path.parent:  # in a package, whose modules may import each other relatively
            module = importlib.import_module(".".join(path.relative_to(root).with_suffix("").parts))
        else:
            module = _run_once(path)
        for file in set(code_files(path)) - {path}:
            name = ".".join(file.relative_to(root).with_suffix("").parts).removesuffix(".__init__")
            other = getattr(sys.modules.get(name), "__file__", None) or file
            if os.path.realpath(other) != str(file):
                raise ImportError(f"{file} and {other} are both a module '{name}': rename one of them")
    return module


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


_ELSEWHERE = frozenset({*sys.stdlib_module_names, "r_eval"})
"""Names that are never those of files in the same folder."""


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
