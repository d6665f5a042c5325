"""What each workflow does on the demo grid: score, LLM calls, tokens and seconds, as the table of docs/workflows.md.

The figures are those of the run's deployment table, an episode. Replies are kept in the cache; a second run is
therefore quick, and has no seconds for episodes with replayed replies. `--fresh` makes every reply anew.

    python benchmarks/workflows.py [--questions 4] [--fresh]
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from r_eval import run
from r_eval.analysis.deployment import Deployed, deployment
from r_eval.analysis.published import load
from r_eval.analysis.rows import Row
from r_eval.analysis.systems import systems
from r_eval.cli.demo import demo_grid

HEADER = ("workflow", "score, %", "95 % interval", "LLM calls", "prompt tokens", "reply tokens", "seconds")


def line(row: Row, use: Deployed) -> list[str]:
    """The cells of one workflow's line; an episode's mean, where it is not a percentage."""
    overall = row.overall
    taken = ((use.calls, 1), (use.prompt_tokens, 0), (use.completion_tokens, 0), (use.seconds, 1))
    none = overall.low is None or overall.high is None
    return [
        row.workflow,
        _number(overall.mean, 100, 1),
        "" if none else f"{_number(overall.low, 100, 1)} to {_number(overall.high, 100, 1)}",
        *(_number(number.mean if number else None, 1, places) for number, places in taken),
    ]


def _number(value: float | None, factor: float, places: int) -> str:
    return "" if value is None else f"{factor * value:,.{places}f}"


def markdown(lines: list[list[str]]) -> str:
    """A table: the first column to the left, the others to the right."""
    rule = ["---", *("---:" for _ in HEADER[1:])]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in [list(HEADER), rule, *lines])


def main(questions: int, fresh: bool) -> None:
    grid = demo_grid()
    with tempfile.TemporaryDirectory() as folder:
        done = run(grid, Path(folder) / "run", limit=questions, cache=False if fresh else None)
        aggregates, taken = load(done.folder), deployment(systems(done.folder))
        state = done.state
    llm = grid.llms[0].llm
    print(
        f"{llm}, {len(aggregates.tasks)} tasks of {min(questions, grid.samples or questions)} questions, run {state}\n"
    )
    print(markdown([line(row, use) for row, use in zip(aggregates.rows, taken, strict=True)]))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=int, default=4, help="questions a task; the demo grid has up to four")
    parser.add_argument("--fresh", action="store_true", help="neither take replies from the cache nor keep any")
    main(**vars(parser.parse_args()))
