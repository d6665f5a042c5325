"""The Python interface: `run`, `arun`, `load_run`, and the `Run` that they return."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from r_eval.errors import UserError
from r_eval.event_loops import in_event_loop
from r_eval.folder import RunFolder
from r_eval.grid import Grid
from r_eval.records import Episode
from r_eval.runner.observer import RunObserver
from r_eval.runner.run import Runner
from r_eval.runner.run import arun as run_in_folder

if TYPE_CHECKING:
    import pandas

    from r_eval.analysis.early_stopping import Rule
    from r_eval.analysis.results import Results


class Run:
    """A run on disk; everything is read when it is needed."""

    def __init__(self, path: str | Path) -> None:
        self.folder = RunFolder(path)
        self.path = self.folder.path

    def __repr__(self) -> str:
        from r_eval.analysis.warnings import counted

        try:
            manifest, state = self.folder.manifest(), self.state
        except (UserError, OSError):
            return f"<Run {self.path}: cannot be read>"
        episodes = counted(sum(cell["episodes"] for cell in manifest["cells"]), "episode")
        systems, tasks = counted(len(manifest["systems"]), "system"), counted(len(manifest["tasks"]), "task")
        return f"<Run {self.path}: {state}, {episodes}, {systems}, {tasks}>"

    def episodes(self) -> Iterator[Episode]:
        """The episodes, one after the other, validated, without loading the run into memory."""
        return self.folder.episodes()

    @property
    def state(self) -> str:
        """running, complete, incomplete, interrupted, budget (one is reached) or crashed."""
        return self.folder.state()

    def summary(self) -> str:
        """The score table and the response types as text."""
        from r_eval.analysis.summary import text_summary

        return text_summary(self._results())

    def report(self, out: str | Path | None = None, figures: bool = True) -> Path:
        """Write the report; returns the path of its page.

        Args:
            out: Its folder; `report` in the run's by default.
            figures: Whether the figures for papers are drawn; they take a few seconds.
        """
        from r_eval.analysis.report import write_report

        return write_report(self._results(), Path(out) if out is not None else self.path / "report", figures=figures)

    def to_pandas(self) -> pandas.DataFrame:
        """One row per recorded episode; the columns and their types are the same for every run (docs/records.md).

        Scores are from 0 to 1, times are seconds, money is USD. An infrastructure failure is a row without a score
        (`missing`); an episode that has not been run yet has no row.

        Raises:
            UserError: A record cannot be read.
        """
        from r_eval.analysis.results import episodes_of

        return episodes_of(self.folder)

    def causes(self) -> pandas.DataFrame:
        """Failed episodes by system, condition and cause: `episodes`, and their `share` of the recorded ones."""
        from r_eval.analysis.errors import causes

        return causes(self._results())

    def responses(self) -> pandas.DataFrame:
        """Episodes by system, condition and response type: `episodes`, and their `share` of the recorded ones."""
        from r_eval.analysis.errors import responses

        return responses(self._results())

    def deployment(self) -> pandas.DataFrame:
        """Quality (0 to 1), seconds, tokens and USD per episode by system, condition and domain ("all" is over all)."""
        from r_eval.analysis.deployment import deployment

        return deployment(self._results())

    def _repr_html_(self) -> str:
        """The score table and the response types, as a notebook shows them."""
        from r_eval.analysis.summary import html_summary

        return html_summary(self._results())

    def _results(self) -> Results:
        from r_eval.analysis.results import load

        return load(self.folder)


async def arun(grid: Grid, out: str | Path | None = None, **options: Any) -> Run:
    """Run a grid, or resume it, inside an event loop; takes the same options as `run`."""
    if not isinstance(grid, Grid):
        raise UserError(f"run needs a Grid, such as Grid.load('grid.yaml') or Grid(tasks=[...], ...), not {grid!r:.80}")
    rule: Rule | None = None
    if grid.stop_early is not None:
        from r_eval.analysis.early_stopping import Rule

        rule = Rule(**grid.stop_early.model_dump())
    return Run((await run_in_folder(grid, out, rule, **options)).path)


def run(
    grid: Grid,
    out: str | Path | None = None,
    *,
    limit: int | None = None,
    connections: int | None = None,
    engine: str = "local",
    fresh: bool = False,
    cache: bool | None = None,
    observer: RunObserver | None = None,
    on_runner: Callable[[Runner], None] | None = None,
) -> Run:
    """Run a grid, or resume it; works in a notebook too, where an event loop is running already.

    Args:
        out: The folder of the run; by default `runs/<grid name>`. Episodes that it holds are kept.
        limit: Keep only the first so many questions of every task.
        connections: Concurrent requests to every LLM, in place of its own number.
        engine: "local", this process, or "ray", a Ray cluster.
        fresh: Move what is in the folder aside and start over.
        cache: Whether replies of earlier runs are reused; None does so for LLMs at temperature 0.
        observer: Is called as the run proceeds; see `r_eval.runner.observer`.
        on_runner: Called with the `Runner` before it starts; its `stop` ends the run early.

    Raises:
        UserError: The grid is wrong, or the folder holds a run that differs from it.
    """
    stops: list[Callable[[], None]] = []

    def started(runner: Runner) -> None:
        stops.append(runner.stop)
        if on_runner is not None:
            on_runner(runner)

    options = {"limit": limit, "connections": connections, "engine": engine, "fresh": fresh, "cache": cache}
    return in_event_loop(arun(grid, out, **options, observer=observer, on_runner=started), stops)


def load_run(path: str | Path) -> Run:
    """The run in a folder.

    Raises:
        UserError: The folder holds none.
    """
    found = Run(path)
    found.folder.manifest()
    return found
