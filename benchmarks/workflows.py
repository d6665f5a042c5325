"""What each workflow does on the demo grid: score, LLM calls, tokens and seconds, as the table of docs/workflows.md.

The figures are those of the run's deployment table, an episode. Replies are kept in the cache; a second run is
therefore quick, and has no seconds for episodes with replayed replies. `--fresh` makes every reply anew.

    python benchmarks/workflows.py [--questions 4] [--fresh]
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

from r_eval import run
from r_eval.analysis.deployment import deployment
from r_eval.analysis.results import load
from r_eval.cli.demo import demo_grid

HEADER = ("workflow", "score, %", "95 % interval", "LLM calls", "prompt tokens", "reply tokens", "seconds")


def line(row: Any) -> list[str]:
    """The cells of one workflow's line; an episode's mean, where it is not a percentage."""
    ends = [_number(end, 100, 1) for end in (row.quality_low, row.quality_high)]
    taken = ((row.calls, 1), (row.prompt_tokens, 0), (row.completion_tokens, 0), (row.seconds_mean, 1))
    return [
        row.workflow,
        _number(row.quality, 100, 1),
        " to ".join(ends) if all(ends) else "",
        *(_number(number, 1, places) for number, places in taken),
    ]


def _number(value: float, factor: float, places: int) -> str:
    return "" if value != value else f"{factor * value:,.{places}f}"


def markdown(lines: list[list[str]]) -> str:
    """A table: the first column to the left, the others to the right."""
    rule = ["---", *("---:" for _ in HEADER[1:])]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in [list(HEADER), rule, *lines])


def main(questions: int, fresh: bool) -> None:
    grid = demo_grid()
    with tempfile.TemporaryDirectory() as folder:
        done = run(grid, Path(folder) / "run", limit=questions, cache=False if fresh else None)
        results, state = load(done.folder), done.state
    taken = deployment(results)
    llm = grid.llms[0].llm
    print(f"{llm}, {len(results.tasks)} tasks of {min(questions, grid.samples or questions)} questions, run {state}\n")
    print(markdown([line(row) for row in taken[taken["domain"] == "all"].itertuples()]))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=int, default=4, help="questions a task; the demo grid has up to four")
    parser.add_argument("--fresh", action="store_true", help="neither take replies from the cache nor keep any")
    main(**vars(parser.parse_args()))
