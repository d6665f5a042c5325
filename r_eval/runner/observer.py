"""What a run tells of itself while it goes on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from r_eval.folder import Cell
from r_eval.llms.replay import LLMUsage
from r_eval.records import Episode
from r_eval.runner.plan import Plan


class RunObserver(Protocol):
    """Is told what happens, to show it."""

    def started(self, plan: Plan, done: dict[Cell, int], spent: Mapping[str, LLMUsage]) -> None:
        """The run begins.

        Args:
            done: How many episodes of each cell are kept from before.
            spent: What each LLM was really asked; goes on counting.
        """

    def loading(self, llm: str) -> None:
        """An LLM is being made ready."""

    def finished(self, episode: Episode) -> None:
        """An episode is recorded."""

    def failed(self, llm: str, why: str) -> None:
        """An LLM could not be opened (its episodes are recorded as llm_failure), or was stopped during the run."""

    def held(self, why: str) -> None:
        """A budget is reached: no more episodes are begun."""


class NullObserver:
    """Shows nothing."""

    def started(self, plan: Plan, done: dict[Cell, int], spent: Mapping[str, LLMUsage]) -> None: ...

    def loading(self, llm: str) -> None: ...

    def finished(self, episode: Episode) -> None: ...

    def failed(self, llm: str, why: str) -> None: ...

    def held(self, why: str) -> None: ...
