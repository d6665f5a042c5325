"""What a run tells of itself while it goes on."""

from __future__ import annotations

from collections.abc import Mapping

from r_eval.folder import Cell
from r_eval.llms.replay import LLMUsage
from r_eval.records import Episode
from r_eval.runner.plan import Plan


class RunObserver:
    """Is called as a run proceeds; each method does nothing unless a subclass overrides it."""

    def started(self, plan: Plan, done: dict[Cell, int], spent: Mapping[str, LLMUsage]) -> None:
        """The run begins.

        Args:
            done: How many episodes of each cell are recorded from before.
            spent: What was requested of each LLM; goes on counting.
        """

    def loading(self, llm: str) -> None:
        """An LLM is being opened."""

    def finished(self, episode: Episode) -> None:
        """An episode is recorded."""

    def failed(self, llm: str, why: str) -> None:
        """An LLM could not be opened, or was stopped during the run: its remaining episodes are not started."""

    def on_budget(self, why: str) -> None:
        """A budget is exhausted: no more episodes are started."""
