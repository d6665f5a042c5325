"""One measured run of R-Eval in a process of its own; takes a specification as JSON, prints figures as JSON.

python benchmarks/harness_one.py '{"questions": 1000, ...}' FOLDER
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from harness_work import grid
from measure import peak


def main(spec: dict[str, Any], folder: Path) -> dict[str, Any]:
    from r_eval import Grid, run
    from r_eval.analysis.scoring import score_run

    os.environ["R_EVAL_REPLIES"] = str(folder / "replies.sqlite")
    planned = Grid(**grid(folder, spec))
    wall, cpu = time.perf_counter(), time.process_time()
    done = run(planned, folder / "run")
    ran, ran_cpu = time.perf_counter() - wall, time.process_time() - cpu
    scores = score_run(done.folder) if spec["score"] else None
    seconds, seconds_cpu = time.perf_counter() - wall, time.process_time() - cpu
    wall = time.perf_counter()
    if spec["resume"]:
        run(planned, folder / "run")
    resumed = time.perf_counter() - wall
    episodes = spec["questions"] * spec["epochs"] * max(1, len(spec["llms"]))
    files = list((folder / "run" / "episodes").rglob("*.jsonl"))
    return {
        "episodes": episodes,
        "lines": sum(1 for path in files for _ in path.open("rb")),
        "seconds": seconds,
        "run": ran,
        "run_cpu": ran_cpu,
        "cpu": seconds_cpu,
        "resume": resumed,
        "peak": peak(),
        "bytes": sum(path.stat().st_size for path in files) / episodes,
        "mean": scores.mean if scores else None,
        "state": done.state,
    }


if __name__ == "__main__":
    print(json.dumps(main(json.loads(sys.argv[1]), Path(sys.argv[2]))))
