"""One measured run of R-Eval; takes a specification as JSON and prints figures as JSON.

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
    plan = Grid(**grid(folder, spec))
    wall, cpu = time.perf_counter(), time.process_time()
    result = run(plan, folder / "run")
    run_seconds, run_cpu = time.perf_counter() - wall, time.process_time() - cpu
    scores = score_run(result.folder) if spec["score"] else None
    seconds, seconds_cpu = time.perf_counter() - wall, time.process_time() - cpu
    wall = time.perf_counter()
    if spec["resume"]:
        run(plan, folder / "run")
    resume_seconds = time.perf_counter() - wall
    episodes = spec["questions"] * spec["epochs"] * max(1, len(spec["llms"]))
    files = list((folder / "run" / "episodes").rglob("*.jsonl"))
    return {
        "episodes": episodes,
        "lines": sum(1 for path in files for _ in path.open("rb")),
        "seconds": seconds,
        "run": run_seconds,
        "run_cpu": run_cpu,
        "cpu": seconds_cpu,
        "resume": resume_seconds,
        "peak": peak(),
        "bytes": sum(path.stat().st_size for path in files) / episodes,
        "mean": scores.mean if scores else None,
        "state": result.state,
    }


if __name__ == "__main__":
    print(json.dumps(main(json.loads(sys.argv[1]), Path(sys.argv[2]))))
