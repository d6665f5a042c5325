"""What a fingerprint is made of: hashes of code, of files and of settings, the same on every machine.

The fingerprint of a cell is a hash of its parts. Each part has a name that a person understands, such as "limits" or
"environment code trams.py", so that a run that is refused says what differs.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import inspect
import json
import os
import sys
import textwrap
from collections.abc import Mapping
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

from r_eval.files import is_file, is_folder
from r_eval.plugins import code_files, signature_of


def short_hash(value: Any) -> str:
    """Hash of plain data."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def code_hashes(cls: type[Any], base: type[Any]) -> dict[str, str]:
    """Hashes of the files that define a plug-in's class, and of the modules beside them that they import, by their
    names; {} for one of R-Eval, which has a version.

    Args:
        base: What the class is a plug-in of; other files of classes below it count as well.
    """
    found: dict[str, str] = {}
    for each in cls.__mro__:
        if not issubclass(each, base) or each.__module__.startswith("r_eval."):
            continue
        found |= definition_hashes(each, each.__module__, each.__qualname__)
    return found


def definition_hashes(thing: Any, module: str, name: str) -> dict[str, str]:
    """Hashes of the file of the module that defines something; without one, as in a notebook, of the thing alone."""
    path = module_file(module)
    return _file_hashes(path) if is_file(path) else {name: _cell_hash(thing, module, {})}


def module_file(module: str) -> Path:
    """The file of an imported module; `Path()` for one that has none."""
    return Path(getattr(sys.modules.get(module), "__file__", None) or "")


def _file_hashes(path: Path) -> dict[str, str]:
    path = path.resolve()
    files = code_files(path) if path.suffix == ".py" else [path]
    return {Path(os.path.relpath(file, path.parent)).as_posix(): code_hash(file.read_bytes()) for file in files}


def _cell_hash(thing: Any, module: str, known: dict[int, str]) -> str:
    """Of plain data, or of the code of a class or function of a module, and of what of the module this code names.

    Args:
        known: Of what was met before, by its identity; "" for what is being hashed.
    """
    if id(thing) in known or getattr(thing, "__module__", module) != module:
        return known.get(id(thing), "")
    known[id(thing)] = ""
    function = inspect.unwrap(getattr(thing, "fget", None) or getattr(thing, "__func__", thing))
    parts: Mapping[str, Any] = {}
    try:
        if isinstance(function, FunctionType):
            own = code_hash(textwrap.dedent(inspect.getsource(function)).encode())
            parts = {name: function.__globals__.get(name) for name in sorted(_names(function.__code__))}
        elif isinstance(thing, type):
            own, members = thing.__qualname__, vars(thing).items()  # Python's own say where it was written
            parts = {name: part for name, part in members if callable(part) or not name.startswith("__")}
        else:
            own = json.dumps(thing, sort_keys=True)
    except (OSError, TypeError, ValueError):
        return ""
    known[id(thing)] = short_hash([own, {name: _cell_hash(part, module, known) for name, part in parts.items()}])
    return known[id(thing)]


def _names(code: CodeType) -> set[str]:
    """The names that code uses, those inside its own functions included."""
    return set(code.co_names).union(*(_names(part) for part in code.co_consts if isinstance(part, CodeType)))


def code_hash(source: bytes) -> str:
    """Hash of Python code without its comments and its layout; docstrings count, since models are shown some.

    What is no Python is hashed as it is.
    """
    try:
        source = ast.dump(ast.parse(source)).encode("utf-8", "surrogatepass")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        pass
    return hashlib.blake2b(source, digest_size=8).hexdigest()


def script_hashes(name: str) -> dict[str, str]:
    """Hashes of the scripts in the name of an environment or an LLM: `mcp:python server.py`, `langchain:tools.py:make`,
    and of the modules that they import.
    """
    words = [*name.split(":"), *(word for part in name.split() for word in part.split(":"))]
    scripts = dict.fromkeys(word for word in words if word.endswith((".py", ".js", ".ts")))
    hashes = [_file_hashes(Path(word)) for word in scripts if is_file(Path(word))]
    return {file: digest for each in hashes for file, digest in each.items()}


def without_folders(name: str) -> str:
    """The name of an environment, in which a file is named without the folder that it lies in."""
    return ":".join(Path(part).name if is_file(Path(part)) else part for part in name.split(":"))


def file_hash(path: Path) -> str:
    """Hash of the content of a file, or of every file in a folder."""
    digest = hashlib.blake2b(digest_size=8)
    for file in [path] if is_file(path) else sorted(each for each in path.rglob("*") if each.is_file()):
        found = file.stat()
        content = _content_hash(file, found.st_size, found.st_mtime_ns)
        digest.update(f"{file.relative_to(path).as_posix()}\0{content}\0".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


@functools.lru_cache(maxsize=10_000)
def _content_hash(path: Path, size: int, changed: int) -> str:
    with path.open("rb") as content:
        return hashlib.file_digest(content, lambda: hashlib.blake2b(digest_size=8)).hexdigest()


def settings_hashes(settings: Mapping[str, Any], name: str = "settings") -> dict[str, str]:
    """Hashes of settings, and of the files and folders that they name; where these lie does not count, nor do comments
    in Python files.

    Args:
        name: Of the part that the settings are.
    """
    files: dict[str, str] = {}
    return {name: short_hash(_without_paths(settings, "", files)), **files}


def without_paths(settings: Mapping[str, Any]) -> Any:
    """Settings in which a file or folder is named without where it lies; what it holds is not looked at."""
    return _without_paths(settings, "", None)


def _without_paths(value: Any, where: str, files: dict[str, str] | None) -> Any:
    if isinstance(value, Mapping):
        return {key: _without_paths(each, f"{where}.{key}".lstrip("."), files) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_without_paths(each, f"{where}.{number}", files) for number, each in enumerate(value)]
    path = Path(value) if isinstance(value, str) and value else None
    if path is None or not (is_file(path) or ("/" in str(value) and is_folder(path))):
        return value
    if files is not None:
        content = short_hash(_file_hashes(path)) if path.suffix == ".py" else file_hash(path)
        files[f"file {path.name} ({where})"] = content
    return path.name


def default_files(cls: type[Any]) -> dict[str, str]:
    """The files that are the defaults of a class's settings, by the settings' names."""
    defaults = {p.name: p.default for p in signature_of(cls).parameters.values() if isinstance(p.default, str)}
    return {name: default for name, default in defaults.items() if default and is_file(Path(default))}


def with_prefix(prefix: str, parts: Mapping[str, str]) -> dict[str, str]:
    """Parts named as those of something."""
    return {f"{prefix} {name}".rstrip(): value for name, value in parts.items()}


def changed_parts(old: Mapping[str, str], new: Mapping[str, str]) -> str:
    """What differs between two fingerprints, in words: the parts' names, the more exact ones alone."""
    changed = [name for name in {**new, **old} if old.get(name) != new.get(name)]
    exact = [name for name in changed if not any(other.startswith(f"{name} ") for other in changed)]
    return ", ".join(exact or ["fingerprint"])
