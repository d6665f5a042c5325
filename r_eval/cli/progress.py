"""How a run goes, on standard error: a live table in a terminal, plain lines elsewhere."""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from r_eval.analysis.scoring import score_episode
from r_eval.folder import Cell
from r_eval.records import Episode
from r_eval.runner.plan import Plan
from r_eval.runner.watching import Silent, Watcher

if TYPE_CHECKING:
    from rich.live import Live
    from rich.table import Table

PLAIN_SECONDS = 10.0


@dataclasses.dataclass
class Progress:
    """Of one system."""

    wanted: int = 0
    kept: int = 0
    done: int = 0
    scored: int = 0
    total: float = 0.0
    tokens: int = 0
    failed: int = 0
    first: float | None = None
    last: float = 0.0

    @property
    def mean(self) -> str:
        return f"{100 * self.total / self.scored:.1f}" if self.scored else "-"

    @property
    def speed(self) -> str:
        """Tokens a second, read and written, while the system was at work."""
        busy = self.last - self.first if self.first is not None else 0.0
        return f"{self.tokens / busy:,.0f}" if busy > 0.2 and self.tokens else "-"

    @property
    def left(self) -> str:
        """Time left, from the pace so far."""
        rest = self.wanted - self.kept - self.done
        if rest <= 0:
            return "done"
        busy = self.last - self.first if self.first is not None else 0.0
        return clock(rest * busy / self.done) if self.done else "-"


class Board(Silent):
    """Counts what happens, per system."""

    def __init__(self) -> None:
        self.systems: dict[str, Progress] = {}
        self.metrics: dict[str, str] = {}
        self.note = ""
        self._begun: dict[str, float] = {}

    def started(self, plan: Plan, done: dict[Cell, int]) -> None:
        self.metrics = {p.task.name: p.task.metric for p in plan.tasks}
        for cell in plan.cells:
            progress = self.systems.setdefault(cell.cell.system, Progress())
            progress.wanted += len(cell.planned.asked) * plan.grid.epochs
            progress.kept += done[cell.cell]

    def loading(self, llm: str) -> None:
        self.note = f"loading {llm}"

    def finished(self, episode: Episode) -> None:
        self.note = ""
        progress = self.systems[episode.system]
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


class Plain(Board):
    """Lines: at most one every few seconds, and one for every system that is done."""

    def __init__(self) -> None:
        super().__init__()
        self._said = time.monotonic()

    def started(self, plan: Plan, done: dict[Cell, int]) -> None:
        super().started(plan, done)
        kept = sum(done.values())
        again = f", {kept} of them recorded before" if kept else ""
        sys.stderr.write(f"{plan.episodes()} episodes of {len(self.systems)} systems{again}\n")

    def loading(self, llm: str) -> None:
        sys.stderr.write(f"loading {llm}\n")

    def finished(self, episode: Episode) -> None:
        super().finished(episode)
        progress = self.systems[episode.system]
        if progress.left != "done" and time.monotonic() - self._said < PLAIN_SECONDS:
            return
        self._said = time.monotonic()
        sys.stderr.write(
            f"{episode.system}: {progress.kept + progress.done} of {progress.wanted}, mean F1 {progress.mean}, "
            f"{progress.speed} tokens/s, {'done' if progress.left == 'done' else progress.left + ' left'}\n"
        )
        sys.stderr.flush()


class LiveTable(Board):
    """A table that is drawn again as things happen; begins with the run, so that nothing before it is overdrawn."""

    def __init__(self) -> None:
        super().__init__()
        self._live: Live | None = None

    def started(self, plan: Plan, done: dict[Cell, int]) -> None:
        from rich.console import Console
        from rich.live import Live

        super().started(plan, done)
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
    shown.add_column("system", no_wrap=True, overflow="ellipsis")
    for name in ("done", "of", "mean F1", "tokens/s", "time left"):
        shown.add_column(name, justify="right", no_wrap=True)
    totals: collections.Counter[str] = collections.Counter()
    for name, progress in board.systems.items():
        done = progress.kept + progress.done
        totals.update(done=done, of=progress.wanted)
        state = f"{progress.failed} failed" if progress.failed else progress.left
        shown.add_row(escape(name), str(done), str(progress.wanted), progress.mean, progress.speed, state)
    shown.add_row("all", str(totals["done"]), str(totals["of"]), "", "", "", style="bold")
    return shown


def clock(seconds: float) -> str:
    """Seconds as a person says them."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
