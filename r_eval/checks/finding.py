"""What a check finds, and where."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import Literal

from r_eval.errors import UserError

Severity = Literal["error", "warning", "note"]


@dataclasses.dataclass(frozen=True)
class Finding:
    """One thing found in a target.

    Attributes:
        target: As it was typed.
        place: `file:line` where it is known, else the target.
        severity: An error makes scores wrong or runs fail; a warning makes them worse than they need be; a note says
            what was looked at.
        what: What was found.
        todo: What to do about it; "" for a note.
    """

    target: str
    place: str
    severity: Severity
    what: str
    todo: str = ""

    def line(self) -> str:
        """As one line of text."""
        text = f"{self.place}: {self.severity}: {self.what}"
        return " ".join((f"{text}; {self.todo}" if self.todo else text).split())


def of_user_error(target: str, error: UserError, place: str = "") -> Finding:
    """The finding of a file or name that cannot be used at all; its place is taken from the front of the message."""
    text = str(error)
    name = re.escape(target) if text.startswith(f"{target}:") else r"\S+\.(?:ya?ml|jsonl?|py)"
    if found := re.match(rf"({name}(?::\d+)?): ", text):
        place, text = found[1], text[found.end() :]
    return Finding(target, place or target, "error", text, "nothing else was checked there")


def relative_path(path: str | Path) -> str:
    """A path as a person reads it: relative where it lies below the present folder."""
    path = Path(path)
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)
