"""The text files that a person names, and the folder where R-Eval keeps its own."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import yaml

from r_eval.errors import UserError


def cache_folder() -> Path:
    """Where R-Eval keeps what it fetched and built: R_EVAL_CACHE, else the platform's cache folder."""
    from platformdirs import user_cache_path

    chosen = os.environ.get("R_EVAL_CACHE")
    return Path(chosen) if chosen else user_cache_path("r-eval")


def user_path(name: str | Path) -> Path:
    """A path in which ~ is the home of a user; one that no user has is left as it is."""
    return Path(os.path.expanduser(name))  # noqa: PTH111  Path.expanduser raises for users that there are not


def is_file(path: Path) -> bool:
    """Whether a name stands for a file; what cannot be a path at all, as a long text, does not."""
    return os.path.isfile(path)  # noqa: PTH113  Path.is_file raises for names that are too long


def is_folder(path: Path) -> bool:
    """Whether a name stands for a folder; what cannot be a path at all, as a long text, does not."""
    return os.path.isdir(path)  # noqa: PTH112  Path.is_dir raises for names that are too long


def read_text(path: Path, what: str) -> str:
    """The text of a file, without a byte order mark.

    Args:
        what: What the file should be, for the message about one that is not there.

    Raises:
        UserError: It is not there, or is no UTF-8 text.
    """
    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise UserError(f"{path}: no such {what}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: cannot be read as UTF-8 text ({error})") from None


def read_yaml(text: str | bytes, loader: type[yaml.SafeLoader] = yaml.SafeLoader) -> Any:
    """What a YAML document says: plain data, never an object of a class that it names.

    Raises:
        yaml.YAMLError: It is no YAML, or its aliases stand for themselves or for more than `MOST_VALUES` values.
        ValueError, RecursionError: A value cannot be made, or stands too deep.
    """
    reader = loader(text)
    try:
        root = reader.get_single_node()
        if root is None:
            return None
        _spelt_out(root, {})
        return reader.construct_document(root)
    finally:
        reader.dispose()


MOST_VALUES = 1_000_000
"""As many values as the aliases of a file may stand for: a few lines could mean more than any memory holds."""


def _spelt_out(node: yaml.Node, known: dict[int, int]) -> int:
    """How many values a part of a document has once each alias is written out."""
    if isinstance(node, yaml.ScalarNode):
        return 1
    if id(node) not in known:
        known[id(node)] = 0  # until it is known: an alias that leads back here is met with it
        pairs = node.value if isinstance(node, yaml.MappingNode) else [(one,) for one in node.value]
        known[id(node)] = 1 + sum(_spelt_out(part, known) for pair in pairs for part in pair)
    if not 0 < known[id(node)] <= MOST_VALUES:
        wrong = "stands for itself" if not known[id(node)] else f"stands for more than {MOST_VALUES:,} values"
        raise yaml.constructor.ConstructorError(None, None, f"what is here {wrong}", node.start_mark)
    return known[id(node)]


def yaml_keys(path: Path) -> set[str]:
    """The keys of a YAML file, by which its kind is told; none where it cannot be read: its reader says why."""
    try:
        data = read_yaml(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError, RecursionError):
        return set()
    return {str(key) for key in data} if isinstance(data, dict) else set()
