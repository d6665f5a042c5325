"""The records of an environment, for all the templates that are filled from them."""

from __future__ import annotations

from typing import Any

from r_eval.environments.base import Environment


class KnownRecords:
    """An environment's records, each kind asked for once: records are told apart by their places in memory."""

    def __init__(self, environment: Environment) -> None:
        self._environment = environment
        self._kinds: dict[str, list[dict[str, Any]]] = {}

    def of(self, kind: str) -> list[dict[str, Any]]:
        """All records of a kind.

        Raises:
            KeyError: The kind is unknown.
        """
        if kind not in self._kinds:
            self._kinds[kind] = self._environment.records(kind)
        return self._kinds[kind]
