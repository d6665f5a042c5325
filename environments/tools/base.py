"""What the environments of this room share: which tools they offer, and what they say of those that they cannot offer.

A tool that cannot be offered (its schema is not one, its body is of a type that cannot be sent) is left out, and the
others work. One warning names all that are left out, all whose schema is offered with fewer rules than declared, and
all that do not declare that they only read.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from r_eval.environments.base import OWN_TIMEOUT, Environment
from r_eval.environments.schema import ApiSpec
from r_eval.environments.tools.declared import DeclaredSpec, printable

logger = logging.getLogger("r_eval")

MOST_TOOLS = 128
"""As many tools as the LLM servers take."""
NAMED_TOOLS = 12
"""How many tools of a kind a warning names."""
LONGEST_REASON = 200
LARGEST = 5_000_000
"""Bytes of an answer."""
_warned: set[str] = set()


class ToolEnvironment(Environment):
    """An environment whose query APIs are tools that somebody else declares.

    Attributes:
        read_only: The query APIs that declare that they change nothing.
    """

    timeout = OWN_TIMEOUT
    read_only: frozenset[str] = frozenset()
    _specs: Mapping[str, DeclaredSpec]
    _description = ""
    _version = ""

    @property
    def version(self) -> str:
        """Hash of what the tools say of themselves, which is all that is known of them."""
        return self._version

    @property
    def description(self) -> str:
        """The setting `description`, or else what the tools say of themselves as a whole."""
        return printable(self._description)

    def specs(self) -> dict[str, ApiSpec]:
        return dict(self._specs)

    def render(self, api: str, value: Any) -> str:
        return printable(super().render(api, value))


class Offer:
    """The tools that an environment offers.

    Args:
        where: The environment, for messages.
        declares_reading: Whether tools of this kind can declare that they change nothing.
    """

    def __init__(self, where: str, declares_reading: bool = True) -> None:
        self.where = printable(where)
        self._declares_reading = declares_reading
        self.specs: dict[str, DeclaredSpec] = {}
        self.read_only: set[str] = set()
        self._left_out: list[str] = []
        self._changed: list[str] = []

    def add(self, name: str, reads: bool, declare: Callable[[list[str]], DeclaredSpec]) -> DeclaredSpec | None:
        """The spec of a tool, or None if it cannot be offered.

        Args:
            name: What it is called where it is from.
            reads: Whether it declares that it changes nothing.
            declare: Makes its spec and notes what that allows beyond the declaration; raises ValueError where there
                can be none.
        """
        notes: list[str] = []
        try:
            spec = declare(notes)
        except (ValueError, RecursionError) as error:
            self._left_out.append(f"{name} ({str(error)[:LONGEST_REASON]})")
            return None
        if notes:
            self._changed.append(f"{name} ({'; '.join(notes)[:LONGEST_REASON]})")
        self.specs[spec.name] = spec
        if reads:
            self.read_only.add(spec.name)
        return spec

    def close(self) -> None:
        """Warn of what is worth a warning, once for each environment.

        Raises:
            ValueError: No tool is left.
        """
        if not self.specs:
            raise ValueError(f"none of its tools can be offered: {_named(self._left_out) or 'it has none'}")
        writing = [name for name in self.specs if name not in self.read_only] if self._declares_reading else []
        parts = [
            f"left out: {_named(self._left_out)}" if self._left_out else "",
            f"offered with a looser schema: {_named(self._changed)}" if self._changed else "",
            f"may change something, since they do not declare that they only read: {_named(writing)}"
            if writing
            else "",
        ]
        message = f"{self.where}: {'. '.join(filter(None, parts))}."
        if any(parts) and message not in _warned:
            _warned.add(message)
            logger.warning("%s", printable(message))


def _named(names: Sequence[str]) -> str:
    more = len(names) - NAMED_TOOLS
    return ", ".join(names[:NAMED_TOOLS]) + (f" and {more} more" if more > 0 else "")


def too_many(count: int, setting: str) -> ValueError:
    """The error for more tools than a model can be given."""
    return ValueError(f"{count:,} tools are too many for a model (at most {MOST_TOOLS}); choose some with {setting}:")


def name_list(names: Sequence[str] | str | None) -> list[str] | None:
    """A setting that lists names: a list, or one text with commas between them, as a command line has it."""
    if names is None:
        return None
    return [name.strip() for name in names.split(",") if name.strip()] if isinstance(names, str) else list(names)


def hash_of(*parts: Any) -> str:
    """A short hash of plain data."""
    text = json.dumps(parts, sort_keys=True, default=str)
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=8).hexdigest()


def from_variables(names: Mapping[str, str]) -> dict[str, str]:
    """Values out of environment variables, which are named so that a secret stands in no file.

    Raises:
        ValueError: A variable is not set.
    """
    missing = [variable for variable in names.values() if variable not in os.environ]
    if missing:
        raise ValueError(f"the environment variable {missing[0]} is not set")
    return {key: os.environ[variable] for key, variable in names.items()}
