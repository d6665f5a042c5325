"""The text files that a person names, and the folder where R-Eval keeps its own."""

from __future__ import annotations

import os
from pathlib import Path

import yaml

from r_eval.errors import UserError


def cache_folder() -> Path:
    """Where R-Eval keeps what it fetched and built: R_EVAL_CACHE, else the platform's cache folder."""
    from platformdirs import user_cache_path

    chosen = os.environ.get("R_EVAL_CACHE")
    return Path(chosen) if chosen else user_cache_path("r-eval")


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


def yaml_keys(path: Path) -> set[str]:
    """The keys of a YAML file, by which its kind is told; none where it cannot be read: its reader says why."""
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError, RecursionError):
        return set()
    return {str(key) for key in data} if isinstance(data, dict) else set()
