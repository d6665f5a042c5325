"""Errors meant for the person who typed the command: one sentence, no traceback."""

from __future__ import annotations


class UserError(Exception):
    """The command or a file it was given is wrong: says what, where, and what to do. Exit status 2."""


class MissingExtra(UserError):
    """An optional dependency is not installed; names the command that installs it."""

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        super().__init__(f"{purpose} needs {package}: type  pip install 'r-eval[{extra}]'")
