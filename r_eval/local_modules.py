"""Python files that a person names, and the modules beside them that they import.

`import helper` in `./recipes.py` finds `helper.py` in the same folder, as in a script. But `sys.path` stays as it is,
and the module is known to files of that folder alone: another folder may have another `helper.py`. Modules of the
standard library come first, installed ones last.
"""

from __future__ import annotations

import ast
import builtins
import importlib.util
import os
import sys
import threading
import types
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from r_eval.files import is_file
from r_eval.isolation import PACKAGES

_loading: dict[Path, threading.RLock] = {}
"""By folder, held while a file of it is run, so that no other thread sees half a module. One for all files of a folder:
two that import each other, begun in two threads, would wait for each other for ever."""


def load_file(path: Path) -> ModuleType:
    """The module of a file, which is run once in a process.

    Raises:
        ImportError: It is no Python file.
        Exception: Whatever running it raises.
    """
    return _loaded(path, path.parent, path.stem)


def code_files(path: Path) -> list[Path]:
    """A Python file, and the files that it imports from its folder or its package, directly or through each other.

    Imports inside functions count; nothing is run.
    """
    path = path.resolve()
    root = next(each for each in path.parents if not each.name or not is_file(each / "__init__.py"))
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
"""What no file beside another one stands for."""


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


def _loaded(path: Path, root: Path, name: str) -> ModuleType:
    """The module of a file; `name` is what files of the folder `root` import it as."""
    key = f"r_eval_file:{path}"
    with _loading.setdefault(root, threading.RLock()):
        if key in sys.modules:
            return sys.modules[key]
        spec = importlib.util.spec_from_file_location(key, path)
        if spec is None or spec.loader is None:
            raise ImportError(f"{path} is not a Python file")
        module = importlib.util.module_from_spec(spec)
        package = name if path.name == "__init__.py" else name.rpartition(".")[0]
        vars(module)["__builtins__"] = {**vars(builtins), "__import__": _Import(path, root, package)}
        sys.modules[key] = module
        try:
            spec.loader.exec_module(module)
        except BaseException:
            del sys.modules[key]
            raise
        return module


class _Import:
    """What the `import` statements of one file call; also those in its functions, whenever they run."""

    def __init__(self, path: Path, root: Path, package: str) -> None:
        self._path, self._root, self._package = path, root, package

    def __call__(
        self,
        name: str,
        globals: Mapping[str, Any] | None = None,
        locals: Mapping[str, Any] | None = None,
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> Any:
        parts = name.split(".") if name else []
        if level:
            around = self._package.split(".") if self._package else []
            parts = around[: len(around) + 1 - level] + parts
        elif parts[0] in _ELSEWHERE or not self._is_beside(parts[0]):
            return builtins.__import__(name, globals, locals, fromlist or (), level)
        modules = [self._module(parts[: n + 1]) for n in range(len(parts))]
        for outer, inner, attribute in zip(modules, modules[1:], parts[1:], strict=False):
            setattr(outer, attribute, inner)
        if not fromlist:
            return modules[0]
        last = modules[-1] if modules else types.SimpleNamespace()
        for attribute in fromlist:
            if not hasattr(last, attribute) and _files(self._root.joinpath(*parts), [attribute]):
                setattr(last, attribute, self._module([*parts, attribute]))
        return last

    def _is_beside(self, name: str) -> bool:
        """Whether a module lies beside the file, and is not just what everybody imports under this name."""
        files = _files(self._root, [name])
        if not files or self._path in files:
            return False
        known = getattr(sys.modules.get(name), "__file__", None)
        return known is None or os.path.realpath(known) != str(files[0])

    def _module(self, parts: list[str]) -> ModuleType:
        folder, name = self._root.joinpath(*parts[:-1]), ".".join(parts)
        files = _files(folder, parts[-1:])
        if not files:
            raise ModuleNotFoundError(f"No module named '{name}' in {self._root}", name=name)
        return _loaded(files[0], self._root, name)
