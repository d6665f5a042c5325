"""The records of an environment, for all the templates that are filled from them."""

from __future__ import annotations

from typing import Any

from r_eval.environments.base import Environment
from r_eval.tasks.templates.wording import Shown


class KnownRecords:
    """An environment's records, each kind asked for once, and what questions show of them.

    Attributes:
        shown: Shared by all phrasings: it tells records apart by their places in memory, where this keeps them.
    """

    def __init__(self, environment: Environment) -> None:
        self._environment = environment
        self._kinds: dict[str, list[dict[str, Any]]] = {}
        self.shown = Shown()

    def of(self, kind: str) -> list[dict[str, Any]]:
        """All records of a kind.

        Raises:
            KeyError: There is no such kind.
        """
        if kind not in self._kinds:
            self._kinds[kind] = self._environment.records(kind)
        return self._kinds[kind]
