"""The Python side of the command line: `run`, `arun`, `load_run` and the `Run` that they give back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from r_eval.errors import MissingExtra
from r_eval.folder import RunFolder, json_line, write_whole
from r_eval.grid import Grid
from r_eval.records import Episode
from r_eval.runner.run import Runner
from r_eval.runner.run import arun as _arun
from r_eval.runner.watching import Watcher

if TYPE_CHECKING:
    import pandas

Result = TypeVar("Result")


class Run:
    """A run on disk; everything is read when it is asked for."""

    def __init__(self, path: str | Path) -> None:
        self.folder = RunFolder(path)
        self.path = self.folder.path

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

        return text_summary(self.folder)

    def report(self, out: str | Path | None = None, figures: bool = True) -> Path:
        """Write the report; returns the path of its page.

        Args:
            out: Its folder; `report` in the run's by default.
            figures: Whether the figures for papers are drawn; they take a few seconds.
        """
        from r_eval.analysis.report import write_report

        return write_report([self.folder], Path(out) if out is not None else self.path / "report", figures=figures)

    def to_pandas(self) -> pandas.DataFrame:
        """One row an episode: the record's fields flat, `score` (0 to 1), `response_type`, further metrics.

        `replayed` counts the replies that came from the reply store; they have the seconds that they took when made.

        Raises:
            UserError: pandas is not installed.
        """
        try:
            import pandas
        except ImportError:
            raise MissingExtra("pandas", "pandas", "Run.to_pandas") from None
        return pandas.DataFrame(list(self._rows()))

    def to_parquet(self, path: str | Path) -> None:
        """Write the rows of `to_pandas` as a Parquet file.

        Raises:
            UserError: pandas or pyarrow is not installed.
        """
        frame = self.to_pandas()
        try:
            frame.to_parquet(path)
        except ImportError:
            raise MissingExtra("pyarrow", "parquet", "Run.to_parquet") from None

    def to_jsonl(self, path: str | Path) -> None:
        """Write the rows of `to_pandas` as JSON Lines, one after the other, without loading the run into memory."""
        write_whole(Path(path), (json_line(row) for row in self._rows()))

    def _repr_html_(self) -> str:
        """The score table and the response types, as a notebook shows them; with matplotlib also as pictures."""
        from r_eval.analysis.notebook import html_summary

        return html_summary(self.folder)

    def _rows(self) -> Iterator[dict[str, Any]]:
        from r_eval.analysis.scoring import ensure_scored

        ensure_scored(self.folder)
        for cell in self.folder.cells():
            scores = self.folder.scores(cell)
            for episode in self.folder.cell_episodes(cell):
                score = scores.get(episode.episode_id)
                if score is None:  # recorded since, by a run that goes on
                    continue
                yield {
                    **flat(episode.model_dump(exclude={"steps", "schema_"})),
                    "steps": len(episode.steps),
                    "replayed": sum(step.replayed for step in episode.steps),
                    "score": score["score"],
                    "response_type": score["response_type"],
                    **score["metrics"],
                }


def flat(record: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """A record without nested mappings: `{"usage": {"calls": 1}}` becomes `{"usage_calls": 1}`."""
    result: dict[str, Any] = {}
    for key, value in record.items():
        if isinstance(value, dict):
            result.update(flat(value, f"{prefix}{key}_"))
        else:
            result[f"{prefix}{key}"] = value
    return result


async def arun(
    grid: Grid,
    out: str | Path | None = None,
    *,
    limit: int | None = None,
    connections: int | None = None,
    engine: str = "local",
    fresh: bool = False,
    cache: bool | None = None,
    watcher: Watcher | None = None,
    on_runner: Callable[[Runner], None] | None = None,
) -> Run:
    """Run a grid, or go on with it, inside an event loop; see `r_eval.runner.run.arun`."""
    how: dict[str, Any] = {"limit": limit, "connections": connections, "engine": engine}
    how |= {"fresh": fresh, "cache": cache}
    folder = await _arun(grid, out, watcher=watcher, on_runner=on_runner, **how)
    return Run(folder.path)


def run(grid: Grid, out: str | Path | None = None, **options: Any) -> Run:
    """Run a grid, or go on with it; takes the options of `arun`.

    Raises:
        RuntimeError: An event loop is running already (a notebook, say): use `await arun(...)` there.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return in_event_loop(arun(grid, out, **options))
    raise RuntimeError("an event loop is running here: use  await r_eval.arun(...)")


def in_event_loop(job: Coroutine[Any, Any, Result]) -> Result:
    """Carry out a coroutine as `asyncio.run` does, on uvloop's event loop where it is installed."""
    try:
        from uvloop import new_event_loop
    except ImportError:
        return asyncio.run(job)
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        return runner.run(job)


def load_run(path: str | Path) -> Run:
    """A run that lies on disk.

    Raises:
        UserError: There is none.
    """
    found = Run(path)
    found.folder.manifest()
    return found
