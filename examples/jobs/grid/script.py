"""The grid of grid.yaml as a script: runs it, writes the report and prints the scores."""

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
    result = run(grid())
    sys.stdout.write(f"{result.summary()}\n{result.report(figures=False)}\n")
