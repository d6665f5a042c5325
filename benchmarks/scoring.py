"""How long a run takes to be scored and analysed, and how much memory: seconds, episodes a second, MiB at the peak.

    python benchmarks/scoring.py [--episodes 100000] [--steps 3] [--keep FOLDER]

The run is made up: short episodes of four systems and four tasks, a third of them wrong, with observations of about
thirty words. It is scored in a process of its own, so that the peak is that of scoring alone; then every analysis is
made: averages with intervals and ranks, all pairs, matching, upper bounds, errors, deployment.
"""

from __future__ import annotations

import argparse
import functools
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from r_eval.folder import Cell, CellWriter, RunFolder
from r_eval.records import SCHEMA, Episode, Outcome, OutcomeKind, Step, Tokens, Usage

SYSTEMS = (("react", "small"), ("react", "large"), ("pal", "small"), ("fc", "large"))
TASKS = (("wiki/high-freq", "wiki", "KS"), ("wiki/hotpotqa", "wiki", "KA"), ("aminer/soay-easy", "aminer", "KS"))
WORDS = [
    *("river", "north", "first", "crossed", "early", "party", "known"),
    *("for", "its", "mills", "and", "of", "the", "in"),
]
GOLDS = ("Lake Turkana", "Mombasa", "Grace Ogot;Wangari Maathai", "1963", "yes", "['KDD', 'WWW']", "東京都")
ENDINGS: tuple[tuple[OutcomeKind, str], ...] = (("finished", ""), ("finished", ""), ("exhausted", "steps"))


def write_run(path: Path, episodes: int, steps: int) -> RunFolder:
    """A run of about so many episodes."""
    rng = random.Random(0)
    run = RunFolder(path)
    cells = [Cell(*system, "clean", task[0]) for system in SYSTEMS for task in TASKS]
    each = -(-episodes // len(cells))
    for cell in cells:
        writer = CellWriter(cell.path(run.episodes_root))
        for number in range(each):
            writer.append(episode(cell, number, steps, rng).model_dump_json(by_alias=True))
        writer.close()
    manifest = {
        "schema": 1,
        "name": path.name,
        "state": "complete",
        "systems": [{"name": "+".join(system), "workflow": system[0], "llm": system[1]} for system in SYSTEMS],
        "tasks": [{"name": name, "domain": domain, "level": level} for name, domain, level in TASKS],
        "conditions": ["clean"],
        "cells": [{**cell._asdict(), "episodes": each, "fingerprint": "f"} for cell in cells],
    }
    run.run_file.write_text(json.dumps(manifest), encoding="utf-8")
    return run


def episode(cell: Cell, number: int, steps: int, rng: random.Random) -> Episode:
    """One episode: its last step is the answer, of the others every second one is a call."""
    _, domain, level = next(task for task in TASKS if task[0] == cell.task)
    gold = rng.choice(GOLDS)
    kind, cause = rng.choice(ENDINGS)
    answer = gold if rng.random() < 0.67 else " ".join(rng.sample(WORDS, 3))
    made = []
    for place in range(steps - 1):
        if place % 2 == 0:
            made.append(Step(kind="thought", text="I should search for it.", tokens=Tokens(prompt=400, completion=30)))
            continue
        text = " ".join([*rng.choices(WORDS, k=25), gold if rng.random() < 0.5 else "Nakuru", *rng.sample(WORDS, 5)])
        made.append(Step(kind="call", api="Search", arguments={"entity": "Kenya"}, observation=f"{text.capitalize()}."))
    return Episode(
        schema=SCHEMA,
        episode_id=f"{rng.getrandbits(64):016x}",
        question_id=f"q{number}",
        task=cell.task,
        domain=domain,
        level="KS" if level == "KS" else "KA",
        workflow=cell.workflow,
        llm=cell.llm,
        condition=cell.condition,
        question="Which of them is it that lies in the north?",
        golds=[gold],
        answer=answer,
        outcome=Outcome(kind=kind, cause=cause),
        steps=[*made, Step(kind="answer", text=answer, observation="finish")],
        usage=Usage(calls=2, prompt_tokens=900, completion_tokens=60),
    )


def score(path: Path) -> None:
    """Score the run and print what it took."""
    from r_eval.analysis.scoring import score_run

    started, worked = time.perf_counter(), time.process_time()
    scores = score_run(RunFolder(path))
    seconds, worked = time.perf_counter() - started, time.process_time() - worked
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{scores.episodes:,} episodes in {seconds:.1f} s, {scores.episodes / seconds:,.0f} a second "
        f"({scores.episodes / worked:,.0f} a second of processor time), peak {peak:.0f} MiB"
    )
    analyse(path)


def analyse(path: Path) -> None:
    """Make every analysis of the run and print what each took."""
    from r_eval.analysis.compare import pairs
    from r_eval.analysis.deployment import choose, deployment
    from r_eval.analysis.errors import causes, responses
    from r_eval.analysis.matching import partners, upper_bound
    from r_eval.analysis.results import load
    from r_eval.analysis.scores import averages, scores

    started = time.perf_counter()
    results = load(RunFolder(path))
    held = results.episodes.memory_usage(deep=True).sum() / 2**20
    print(f"  {'loaded':<14} {time.perf_counter() - started:5.1f} s, the frame holds {held:,.0f} MiB")
    views = (scores, averages, pairs, responses, causes, deployment, partners, upper_bound)
    jobs = {view.__name__: view for view in views}
    jobs["choose"] = functools.partial(choose, max_seconds=5.0)
    begun = time.perf_counter()
    for name, job in jobs.items():
        started = time.perf_counter()
        job(results)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"  {name:<14} {time.perf_counter() - started:5.1f} s, peak so far {peak:,.0f} MiB")
    print(f"all analyses {time.perf_counter() - begun:.1f} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--episodes", type=int, default=100_000)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--keep", type=Path, help="make the run here and leave it; or score the one there")
    parser.add_argument("--score", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.score:
        score(asked.score)
        return
    with tempfile.TemporaryDirectory() as temporary:
        path = asked.keep or Path(temporary) / "run"
        if not (path / "run.json").exists():
            write_run(path, asked.episodes, asked.steps)
        subprocess.run([sys.executable, __file__, "--score", str(path)], check=True)


if __name__ == "__main__":
    main()
