"""Errors meant for the person who typed the command: one sentence, no traceback."""

from __future__ import annotations


class UserError(Exception):
    """The command or a file it was given is wrong: says what, where, and what to do. Exit status 2."""


class MissingExtra(UserError):
    """An optional dependency is not installed; names the command that installs it."""

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        self.command = f"pip install 'r-eval[{extra}]'"
        super().__init__(f"{purpose} needs {package}: type  {self.command}")


class Unwritable(UserError):
    """A file of the run cannot be written (the disk is full, say): the run ends, and goes on when it is run again."""

    def __init__(self, path: object, error: Exception) -> None:
        why = getattr(error, "strerror", None) or str(error)
        if isinstance(error, FileNotFoundError):
            said = f"{path} was deleted while the run went on; the same command runs again what is missing"
        else:
            kept = "What was recorded is kept; make room, and the same command goes on"
            said = f"{path} cannot be written: {why}. {kept}"
        super().__init__(said)
