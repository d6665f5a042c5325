"""What a run tells of itself while it goes on."""

from __future__ import annotations

from typing import Protocol

from r_eval.folder import Cell
from r_eval.records import Episode
from r_eval.runner.plan import Plan


class Watcher(Protocol):
    """Is told what happens, to show it."""

    def started(self, plan: Plan, done: dict[Cell, int]) -> None:
        """The run begins; `done` says how many episodes of each cell are kept from before."""

    def loading(self, llm: str) -> None:
        """An LLM is being made ready."""

    def finished(self, episode: Episode) -> None:
        """An episode is recorded."""

    def failed(self, llm: str, why: str) -> None:
        """An LLM could not be opened; its episodes are recorded as llm_failure."""


class Silent:
    """Shows nothing."""

    def started(self, plan: Plan, done: dict[Cell, int]) -> None: ...

    def loading(self, llm: str) -> None: ...

    def finished(self, episode: Episode) -> None: ...

    def failed(self, llm: str, why: str) -> None: ...
