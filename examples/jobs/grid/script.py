"""The same as grid.yaml, as a script: a grid, its run, its report, and a table of scores."""

import sys

from r_eval import Grid, run

WARM = {"llm": "gguf/smollm2-135m", "name": "smollm2-warm", "max_tokens": 48, "temperature": 0.8}
COLD = {"llm": "gguf/smollm2-135m", "name": "smollm2", "max_tokens": 48}


def grid() -> Grid:
    return Grid(
        name="grid",
        llms=[COLD, WARM],
        workflows=["direct", "react", "pal", "fc", "oracle"],
        tasks=["wiki/high-freq", "aminer/soay-easy"],
        samples=3,
        shots=3,
        limits={"steps": 3, "observation": 100},
    )


if __name__ == "__main__":
    done = run(grid())
    sys.stdout.write(f"{done.summary()}\n{done.report(figures=False)}\n")
