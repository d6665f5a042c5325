"""Versions of a question set: major.minor.patch, compared as numbers."""

from __future__ import annotations

import re
from typing import NamedTuple, Self

from r_eval.errors import UserError

_FORM = re.compile(r"(0|[1-9][0-9]{0,8})\.(0|[1-9][0-9]{0,8})\.(0|[1-9][0-9]{0,8})")


class Version(NamedTuple):
    """A version of a question set.

    The minor number counts seasons. Parts are compared as numbers:

    >>> Version.parse("1.9.0") < Version.parse("1.10.0"), str(Version.parse("1.9.0").next())
    (True, '1.10.0')
    """

    major: int = 1
    minor: int = 0
    patch: int = 0

    @classmethod
    def parse(cls, text: str) -> Self:
        """The version that a text stands for.

        Raises:
            UserError: It is not three numbers with a point between them.
        """
        found = _FORM.fullmatch(text)
        if found is None:
            raise UserError(f"{text[:40]!r} is no version: expected major.minor.patch in numbers, such as 1.10.0")
        return cls(*map(int, found.groups()))

    def next(self) -> Self:
        """The version of the season after this one: the minor number is one higher, the patch 0."""
        return self._replace(minor=self.minor + 1, patch=0)

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}.{self.patch}"
