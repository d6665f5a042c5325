"""What the environments of this room share: which tools they offer, and the warning about those that they cannot.

A tool that cannot be offered (its schema is not one, its body is of a type that cannot be sent) is left out, and the
others work. One warning names all that are left out, all whose schema is offered with fewer rules than declared, and
all that do not declare that they only read.
"""

from __future__ import annotations

import functools
import logging
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from r_eval.environments.base import OWN_TIMEOUT, Environment
from r_eval.environments.schema import ApiSpec
from r_eval.environments.tools.declared import DeclaredSpec, declare
from r_eval.text import printable

MOST_TOOLS = 128
"""As many tools as the LLM servers take."""
NAMED_TOOLS = 12
"""How many tools of a kind a warning names."""
LONGEST_REASON = 200
LARGEST = 5_000_000
"""Bytes of an answer."""
LONGEST_ERROR = 2000
"""Characters of an error that a model reads."""
TOO_LARGE = f"The answer is larger than {LARGEST // 1_000_000} MB. Ask for less."
CAREFUL = "may change something, since they do not declare that they only read"


class RemoteTool(NamedTuple):
    """A tool as somebody else declares it.

    Attributes:
        name: What it is called where it is from.
        only_reads: Whether it declares that it changes nothing; None where tools of its kind cannot declare that.
        read: Its description, the schema of its arguments and that of its result; notes what these allow beyond
            the declaration, and raises ValueError if the tool cannot be offered.
        target: What a call of it needs.
    """

    name: str
    only_reads: bool | None
    read: Callable[[list[str]], tuple[str, Any, Any]]
    target: Any


class ToolEnvironment(Environment):
    """An environment whose query APIs are tools that somebody else declares.

    Attributes:
        read_only: The query APIs that declare that they change nothing.
    """

    timeout = OWN_TIMEOUT
    copies_state = False
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

    def _offer(self, where: str, tools: Sequence[RemoteTool], setting: str) -> None:
        """Offer tools; one warning, once in a process, says what is worth a warning.

        Args:
            where: The environment, for messages.
            setting: Which setting chooses some of the tools.

        Raises:
            ValueError: There are too many tools, or none can be offered.
        """
        if len(tools) > MOST_TOOLS:
            raise ValueError(f"{len(tools):,} tools are too many for a model (at most {MOST_TOOLS}); {setting}")
        specs: dict[str, DeclaredSpec] = {}
        offered: dict[str, RemoteTool] = {}
        left_out, loosened = [], []
        for tool in tools:
            notes: list[str] = []
            try:
                spec = declare(tool.name, *tool.read(notes), used_names=specs, notes=notes)
            except (ValueError, RecursionError) as error:
                left_out.append(f"{tool.name} ({str(error)[:LONGEST_REASON]})")
                continue
            if notes:
                loosened.append(f"{tool.name} ({'; '.join(notes)[:LONGEST_REASON]})")
            specs[spec.name], offered[spec.name] = spec, tool
        if not specs:
            raise ValueError(f"none of its tools can be offered: {_listed(left_out) or 'it has none'}")
        self._specs, self._targets = specs, {name: tool.target for name, tool in offered.items()}
        self.read_only = frozenset(name for name, tool in offered.items() if tool.only_reads)
        writing = [name for name, tool in offered.items() if tool.only_reads is False]
        groups = {"left out": left_out, "offered with a looser schema": loosened, CAREFUL: writing}
        parts = [f"{what}: {_listed(names)}" for what, names in groups.items() if names]
        if parts:
            _warn_once(printable(f"{where}: {'. '.join(parts)}."))


@functools.cache
def _warn_once(message: str) -> None:
    logging.getLogger("r_eval").warning("%s", message)


def _listed(names: Sequence[str]) -> str:
    more = len(names) - NAMED_TOOLS
    return ", ".join(names[:NAMED_TOOLS]) + (f" and {more} more" if more > 0 else "")


def name_list(names: Sequence[str] | str) -> list[str]:
    """A setting that lists names: a list, or one text with commas between them, as a command line has it."""
    return [name.strip() for name in (names.split(",") if isinstance(names, str) else names) if name.strip()]


def from_variables(names: Mapping[str, str]) -> dict[str, str]:
    """Values out of environment variables, which are named so that no file contains a secret.

    Raises:
        ValueError: A variable is not set.
    """
    missing = [variable for variable in names.values() if variable not in os.environ]
    if missing:
        raise ValueError(f"the environment variable {missing[0]} is not set")
    return {key: os.environ[variable] for key, variable in names.items()}
