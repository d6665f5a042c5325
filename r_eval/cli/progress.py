"""How a run goes, LLM by LLM, on standard error: a live table in a terminal, plain lines elsewhere."""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import sys
import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from r_eval.analysis.scoring import score_episode
from r_eval.folder import Cell
from r_eval.llms.replay import LLMUsage
from r_eval.records import Episode, Tokens
from r_eval.runner.plan import NO_LLM, Plan
from r_eval.runner.watching import Silent, Watcher

if TYPE_CHECKING:
    from rich.live import Live
    from rich.table import Table

PLAIN_SECONDS = 10.0


@dataclasses.dataclass
class Progress:
    """Of all that one LLM answers.

    Attributes:
        wanted: Episodes in all.
        kept: Those that were recorded before.
        priced: Whether it is known what the LLM costs.
    """

    wanted: int = 0
    kept: int = 0
    done: int = 0
    scored: int = 0
    total: float = 0.0
    tokens: int = 0
    failed: int = 0
    priced: bool = False
    first: float | None = None
    last: float = 0.0

    @property
    def mean(self) -> str:
        return f"{100 * self.total / self.scored:.1f}" if self.scored else "-"

    @property
    def busy(self) -> float:
        """Seconds from the first episode's beginning to the last one's end, in this session."""
        return self.last - self.first if self.first is not None else 0.0

    @property
    def rate(self) -> str:
        """Episodes a minute."""
        return figure(60 * self.done / self.busy) if self.busy > 0.2 else "-"

    @property
    def speed(self) -> str:
        """Tokens a second, read and written."""
        return f"{self.tokens / self.busy:,.0f}" if self.busy > 0.2 and self.tokens else "-"

    @property
    def left(self) -> str:
        """Time left, from the pace so far."""
        rest = self.wanted - self.kept - self.done
        if rest <= 0:
            return "done"
        return clock(rest * self.busy / self.done) if self.done else "-"


class Board(Silent):
    """Counts what happens, per LLM."""

    def __init__(self) -> None:
        self.lanes: dict[str, Progress] = {}
        self.metrics: dict[str, str] = {}
        self.note = ""
        self._spent: Mapping[str, LLMUsage] = {}

    def started(self, plan: Plan, done: dict[Cell, int], spent: Mapping[str, LLMUsage]) -> None:
        self.metrics = {p.task.name: p.task.metric for p in plan.tasks}
        self._spent = spent
        for cell in plan.cells:
            llm = cell.cell.llm
            progress = self.lanes.setdefault(llm, Progress())
            progress.priced = llm != NO_LLM and plan.llms[llm].cost(Tokens()) is not None
            progress.wanted += len(cell.planned.asked) * plan.grid.epochs
            progress.kept += done[cell.cell]

    def loading(self, llm: str) -> None:
        self.note = f"loading {llm}"

    def finished(self, episode: Episode) -> None:
        self.note = ""
        progress = self.lanes[episode.llm]
        moment = time.monotonic()
        if progress.first is None:
            progress.first = moment - episode.seconds.total
        progress.last = moment
        progress.done += 1
        progress.tokens += episode.usage.prompt_tokens + episode.usage.completion_tokens
        score = score_episode(episode, self.metrics[episode.task])["score"]
        if score is None:
            progress.failed += 1
        else:
            progress.scored += 1
            progress.total += score

    def failed(self, llm: str, why: str) -> None:
        self.note = why
        sys.stderr.write(f"r-eval: {why}\n")

    def held(self, why: str) -> None:
        self.note = f"{why}; the episodes under way finish"
        sys.stderr.write(f"r-eval: {self.note}\n")

    def money(self, llm: str) -> str:
        """What the run has spent on an LLM, earlier sessions included, in USD."""
        spent = self._spent.get(llm)
        cost = spent.cost if spent is not None else 0.0
        return figure(cost) if self.lanes[llm].priced and cost is not None else "-"


class Plain(Board):
    """Lines: at most one every few seconds, and one for every LLM that is done."""

    def __init__(self) -> None:
        super().__init__()
        self._said = time.monotonic()

    def started(self, plan: Plan, done: dict[Cell, int], spent: Mapping[str, LLMUsage]) -> None:
        super().started(plan, done, spent)
        kept, systems = sum(done.values()), {cell.cell.system for cell in plan.cells}
        again = f", {kept} of them recorded before" if kept else ""
        sys.stderr.write(f"{plan.episodes()} episodes of {len(systems)} systems{again}\n")

    def loading(self, llm: str) -> None:
        sys.stderr.write(f"loading {llm}\n")

    def finished(self, episode: Episode) -> None:
        super().finished(episode)
        llm, progress = episode.llm, self.lanes[episode.llm]
        if progress.left != "done" and time.monotonic() - self._said < PLAIN_SECONDS:
            return
        self._said = time.monotonic()
        facts = [f"{progress.kept + progress.done} of {progress.wanted}"]
        facts += [f"{progress.failed} failed"] if progress.failed else []
        facts += [f"mean score {progress.mean}", f"{progress.rate} episodes/min"]
        facts += [f"{progress.speed} tokens/s"] if llm != NO_LLM else []
        facts += [f"{self.money(llm)} USD"] if progress.priced else []
        facts += ["done" if progress.left == "done" else f"{progress.left} left"]
        sys.stderr.write(f"{named(llm)}: {', '.join(facts)}\n")
        sys.stderr.flush()


class LiveTable(Board):
    """A table that is drawn again as things happen; begins with the run, so that nothing before it is overdrawn."""

    def __init__(self) -> None:
        super().__init__()
        self._live: Live | None = None

    def started(self, plan: Plan, done: dict[Cell, int], spent: Mapping[str, LLMUsage]) -> None:
        from rich.console import Console
        from rich.live import Live

        super().started(plan, done, spent)
        self._live = Live(get_renderable=lambda: table(self), console=Console(stderr=True), refresh_per_second=4)
        self._live.start()

    def close(self) -> None:
        if self._live is not None:
            self._live.stop()


@contextlib.contextmanager
def make_watcher(quiet: bool) -> Iterator[Watcher]:
    """What shows the run: nothing, a live table, or lines."""
    if quiet or not sys.stderr.isatty():
        yield Silent() if quiet else Plain()
        return
    board = LiveTable()
    try:
        yield board
    finally:
        board.close()


def table(board: Board) -> Table:
    """The live table."""
    from rich.box import SIMPLE_HEAD
    from rich.markup import escape
    from rich.table import Table

    shown = Table(box=SIMPLE_HEAD, pad_edge=False, caption=escape(board.note) or None, caption_justify="left")
    shown.add_column("LLM", overflow="ellipsis")  # the one column that gives way where there is little room
    for name in ("done", "failed", "mean score", "per min", "tokens/s", "USD", "time left"):
        shown.add_column(name, justify="right", no_wrap=True)
    totals: collections.Counter[str] = collections.Counter()
    for llm, progress in board.lanes.items():
        done = progress.kept + progress.done
        totals.update(done=done, of=progress.wanted, failed=progress.failed)
        counts = [f"{done}/{progress.wanted}", str(progress.failed or "")]
        pace = [progress.mean, progress.rate, progress.speed, board.money(llm), progress.left]
        shown.add_row(escape(named(llm)), *counts, *pace)
    counts = [f"{totals['done']}/{totals['of']}", str(totals["failed"] or "")]
    shown.add_row("all", *counts, *[""] * 5, style="bold")
    return shown


def named(llm: str) -> str:
    """An LLM's name as it is shown."""
    return "(no LLM)" if llm == NO_LLM else llm


def figure(number: float) -> str:
    """A number with as many places as are worth reading."""
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}" if number >= 1 else f"{number:.2g}"


def clock(seconds: float) -> str:
    """Seconds as a person says them."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
