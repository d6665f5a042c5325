"""The text files that a person names, and the folder where R-Eval keeps its own."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from r_eval.errors import UserError

LONGEST = 1 << 28
"""Bytes that are read of a text file."""
SLOT = re.compile(r"\{[{%]|\{\w+\}|\w\[['\"]")
"""A slot or a field in a text, which YAML takes for a mapping or a list where no quotes stand around the text."""
OTHER_KEYBOARD = re.compile("^[ {-]*\\w*:?([\uff1a\u3000\u00a0])", re.MULTILINE)
"""A full-width colon, or a full-width or no-break space, where YAML has its own."""


def cache_folder() -> Path:
    """Where R-Eval keeps what it fetched and built: R_EVAL_CACHE, else the platform's cache folder.

    Raises:
        UserError: There is neither: a user of a container may have no home.
    """
    from platformdirs import user_cache_path

    chosen = os.environ.get("R_EVAL_CACHE")
    try:
        return user_path(chosen) if chosen else user_cache_path("r-eval")
    except RuntimeError:
        raise UserError("there is no home folder: set HOME, or set R_EVAL_CACHE to a folder for the cache") from None


def user_path(name: str | Path) -> Path:
    """A path in which ~ is the home of a user; one that no user has is left as it is."""
    return Path(os.path.expanduser(name))  # noqa: PTH111  Path.expanduser raises for users that there are not


def at_home(value: Any) -> Any:
    """A part of a grid in which ~/ is the home of the user, as in a shell, and a path is a text."""
    if isinstance(value, dict):
        return {key: at_home(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [at_home(one) for one in value]
    value = str(value) if isinstance(value, Path) else value
    return str(user_path(value)) if isinstance(value, str) and value.startswith("~/") else value


def is_file(path: Path) -> bool:
    """Whether a name is a file's; what cannot be a path at all, as a long text, does not."""
    return os.path.isfile(path)  # noqa: PTH113  Path.is_file raises for names that are too long


def is_folder(path: Path) -> bool:
    """Whether a name is a folder's; what cannot be a path at all, as a long text, does not."""
    return os.path.isdir(path)  # noqa: PTH112  Path.is_dir raises for names that are too long


def read_text(path: Path, what: str) -> str:
    """The text of a file, without a byte order mark.

    Args:
        what: What the file should be, for the message about one that is not there.

    Raises:
        UserError: It is not there, is no UTF-8 text, or has no end, as `/dev/zero`.
    """
    try:
        with path.open("rb") as file:
            data = file.read(LONGEST)
    except FileNotFoundError:
        raise UserError(f"{path}: no such {what}") from None
    except IsADirectoryError:
        raise UserError(f"{path}: is a folder") from None
    except (OSError, ValueError) as error:  # a ValueError where the name has a NUL or half a pair of surrogates
        raise UserError(f"{path}: cannot be read: {getattr(error, 'strerror', error)}") from None
    if len(data) == LONGEST:
        raise UserError(f"{path}: longer than {LONGEST:,} bytes")
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        byte = f"byte 0x{error.object[error.start]:02x} is not UTF-8; save the file as UTF-8"
        raise UserError(f"{path}:{line}: {byte}") from None


def read_yaml(text: str | bytes, loader: type[yaml.SafeLoader] = yaml.SafeLoader, unique: bool = False) -> Any:
    """What a YAML document says: plain data, never an object of a class that it names.

    Args:
        unique: Whether a mapping must not repeat a key; else the last counts, as in YAML itself.

    Raises:
        yaml.YAMLError: It is no YAML, or its aliases contain themselves or expand to more than `MOST_VALUES` values.
        ValueError, RecursionError: A value cannot be made, or is nested too deep.
    """
    reader = loader(text)
    try:
        root = reader.get_single_node()
        if root is None:
            return None
        _count_values(root, {}, unique)
        return reader.construct_document(root)
    finally:
        reader.dispose()


MOST_VALUES = 1_000_000
"""Values that the aliases of a file may expand to: a few lines could mean more than any memory holds."""


def _count_values(node: yaml.Node, known: dict[int, int], unique: bool) -> int:
    """How many values a part of a document has once each alias is written out."""
    if isinstance(node, yaml.ScalarNode):
        return 1
    if id(node) not in known:
        known[id(node)] = 0  # until it is known: an alias that leads back here is met with it
        if isinstance(node, yaml.MappingNode):
            keys = set[str]()
            for key, _ in node.value if unique else ():
                if isinstance(key, yaml.ScalarNode) and key.value in keys:
                    raise yaml.constructor.ConstructorError(None, None, f"duplicate key {key.value}", key.start_mark)
                keys.add(str(key.value))
        pairs = node.value if isinstance(node, yaml.MappingNode) else [(one,) for one in node.value]
        known[id(node)] = 1 + sum(_count_values(part, known, unique) for pair in pairs for part in pair)
    if not 0 < known[id(node)] <= MOST_VALUES:
        wrong = "contains itself" if not known[id(node)] else f"expands to more than {MOST_VALUES:,} values"
        raise yaml.constructor.ConstructorError(None, None, f"what is here {wrong}", node.start_mark)
    return known[id(node)]


class _GridLoader(yaml.SafeLoader):
    """Reads 1e-3 as a number, and what only YAML 1.1 takes for a number or a date (012, 1:30, 2024-02-01) as a text."""

    FLOAT = r"(?P<float>[-+]?\d+(?:\.\d*)?[eE][-+]?\d+)"
    TEXT = r"(?P<str>[-+]?0[\d_]+|[-+]?\d+(?::\d+)+(?:\.\d*)?|\d{4}-\d\d?-\d\d?.*)"

    def resolve(self, kind: Any, value: Any, implicit: Any) -> Any:
        found = re.fullmatch(f"{self.FLOAT}|{self.TEXT}", value) if kind is yaml.ScalarNode and implicit[0] else None
        if found:
            return f"tag:yaml.org,2002:{found.lastgroup}"
        return super().resolve(kind, value, implicit)  # type: ignore[no-untyped-call]


class YamlFile:
    """A YAML file that a person wrote, with the lines of its keys.

    Attributes:
        data: Plain data.

    Raises:
        UserError: It is not there, not YAML, or a mapping has a key twice; names the line.
    """

    def __init__(self, path: Path, what: str) -> None:
        self.path = path
        text = read_text(path, what)
        try:
            self._root = yaml.compose(text, Loader=_GridLoader)
            self.data = read_yaml(text, _GridLoader, unique=True)
        except yaml.YAMLError as error:
            mark = getattr(error, "problem_mark", None)
            where = f":{mark.line + 1}" if mark else ""
            problem = " ".join(str(getattr(error, "problem", None) or error).split())
            problem = f"{getattr(error, 'context', '')}, {problem}" if problem.startswith("but ") else problem
            near = text.split("\n")[max(0, mark.line - 1) : mark.line + 1] if mark else [""]
            if SLOT.search(near[-1]):
                problem += "; a text with braces or brackets must be in quotes, as a whole"
            if other := OTHER_KEYBOARD.search("\n".join(near)):
                problem += f"; write {unicodedata.normalize('NFKC', other[1])!r} for {other[1]!r}"
            raise UserError(f"{path}{where}: not valid YAML: {problem}") from None
        except (ValueError, RecursionError) as error:
            raise UserError(f"{path}: not valid YAML: {error}") from None

    def at(self, keys: Sequence[int | str]) -> str:
        """`file:line` of a key, by the keys and places that lead to it; of the nearest one above if it is not there."""
        line = _line(self._root, keys)
        return f"{self.path}:{line}" if line else str(self.path)


def _line(node: yaml.Node | None, loc: Sequence[int | str]) -> int | None:
    """The line of a key in a YAML document; of the nearest key above it where it is not there."""
    if node is None:
        return None
    for part in loc:
        inner: yaml.Node | None = None
        if isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                if key.value == str(part):
                    if part == loc[-1]:
                        return int(key.start_mark.line) + 1
                    inner = value
        elif isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
            inner = node.value[part]
        if inner is None:
            break
        node = inner
    return int(node.start_mark.line) + 1


def yaml_keys(path: Path) -> set[str]:
    """The keys of a YAML file, by which its kind is told; none where it cannot be read: its reader says why."""
    try:
        data = read_yaml(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError, RecursionError):
        return set()
    return {str(key) for key in data} if isinstance(data, dict) else set()
