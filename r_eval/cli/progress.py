"""The progress of a run on standard error: a bar per LLM in a terminal, plain lines elsewhere."""

from __future__ import annotations

import collections
import contextlib
import sys
import time
from collections.abc import Iterator, Mapping

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn

from r_eval.analysis.warnings import counted
from r_eval.cli.options import harmless
from r_eval.folder import Cell
from r_eval.llms.replay import LLMUsage
from r_eval.records import INFRASTRUCTURE_FAILURES, Episode
from r_eval.runner.grid_entries import NO_LLM
from r_eval.runner.observer import RunObserver
from r_eval.runner.plan import Plan
from r_eval.runner.terms import terms

PLAIN_SECONDS = 10.0
"""Between two lines, where there is no terminal."""


class ProgressObserver(RunObserver):
    """Draws the bars, or prints a line every `PLAIN_SECONDS` and one for every LLM that is done.

    Args:
        live: Whether standard error is a terminal.
    """

    def __init__(self, live: bool) -> None:
        self._live, self._printed = live, time.monotonic()
        self._console = Console(stderr=True, highlight=False)
        pace = TextColumn("{task.fields[pace]}")
        columns = (TextColumn("{task.description}"), BarColumn(20), MofNCompleteColumn(), pace)
        self.bars = Progress(*columns, console=self._console, disable=not live, speed_estimate_period=600)
        self._ids: dict[str, TaskID] = {}
        self._failed = collections.Counter[str]()
        self._delayed: list[str] = []

    def started(self, plan: Plan, done: dict[Cell, int], spent: Mapping[str, LLMUsage]) -> None:
        totals, recorded = collections.Counter[str](), collections.Counter[str]()
        for cell in plan.cells:
            totals[cell.cell.llm] += len(cell.planned.questions) * plan.grid.epochs
            recorded[cell.cell.llm] += done[cell.cell]
        for llm, total in totals.items():
            self._ids[llm] = self.bars.add_task(escape(label(llm)), total=total, completed=recorded[llm], pace="")
        before = f", {recorded.total()} of them recorded before" if recorded.total() else ""
        systems = len({cell.cell.system for cell in plan.cells})
        self.note(f"{plan.episodes()} episodes of {counted(systems, 'system')}{before}")
        for line in terms(plan):
            self.note(line)
        self.bars.start()

    def loading(self, llm: str) -> None:
        if llm != NO_LLM:
            self.bars.update(self._ids[llm], description=f"{escape(llm)} (loading)")
            if not self._live:
                self.note(f"loading {llm}")

    def finished(self, episode: Episode) -> None:
        while self._delayed:
            self.note(self._delayed.pop(0))
        llm = episode.llm
        self._failed[llm] += episode.outcome.kind in INFRASTRUCTURE_FAILURES
        self.bars.update(self._ids[llm], advance=1, description=escape(label(llm)))
        task = self.bars.tasks[self._ids[llm]]
        facts = [f"{self._failed[llm]} failed"] if self._failed[llm] else []
        if task.finished:
            facts.append("done")
        elif task.speed and task.time_remaining is not None:
            facts += [f"{60 * task.speed:.3g} episodes/min", f"{duration(task.time_remaining)} left"]
        self.bars.update(task.id, pace=", ".join(facts))
        if not self._live and (task.finished or time.monotonic() - self._printed >= PLAIN_SECONDS):
            self._printed = time.monotonic()
            self.note(", ".join([f"{label(llm)}: {task.completed:.0f} of {task.total:.0f}", *facts]))

    def failed(self, llm: str, why: str) -> None:
        # before the first episode it is not known whether any LLM can be used; if none can, an error says why
        self._delayed.append(f"r-eval: {why}")
        if self._failed:
            self.note(self._delayed.pop())

    def on_budget(self, why: str) -> None:
        self.note(f"r-eval: {why}; the episodes in progress finish")

    def note(self, line: str) -> None:
        """Print a line; a server may have written a part of it."""
        if self._live:
            self._console.print(harmless(line), markup=False)
        else:
            sys.stderr.write(f"{harmless(line)}\n")
            sys.stderr.flush()


@contextlib.contextmanager
def make_observer(quiet: bool) -> Iterator[RunObserver]:
    """What shows the progress of a run: nothing, bars, or lines."""
    if quiet:
        yield RunObserver()
        return
    observer = ProgressObserver(live=sys.stderr.isatty())
    try:
        yield observer
    finally:
        observer.bars.stop()


def label(llm: str) -> str:
    """The name of an LLM as it is printed."""
    return "(no LLM)" if llm == NO_LLM else llm


def duration(seconds: float) -> str:
    """Seconds in the unit that fits."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
