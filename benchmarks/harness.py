"""The runner's own cost compared with Inspect AI: episodes per second, processor time and use of connections.

Every run has a separate process; the stub server of its LLM is in this one. Runs of R-Eval and the peer alternate, so
that both see the same machine; medians are printed, with Inspect's figures on an idle machine in brackets.

    python -m benchmarks.harness [--repeats 3] [--scale 1] [--peer PYTHON]

`--peer` is the Python of a virtual environment with inspect-ai and openai. `--scale 0.1` does a tenth of the work.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from benchmarks.measure import machine, options, peak

ROOT = Path(__file__).parents[1]
Figures = dict[str, Any]
CALLS = 3
"""LLM calls of an episode, which looks words up until the last one."""
ANSWER = "Ada"
ENVIRONMENT = '''
from r_eval.environments import query_api


@query_api
def look(word: str) -> str:
    """Look a word up.

    Args:
        word: The word.
    """
    return f"{word} is a word of {len(word)} letters, and its answer is Ada."
'''


def scripted(request: Any) -> str:
    """The scripted LLM."""
    return react_reply(sum(message.role == "user" for message in request.messages) - 1)


def react_reply(count: int) -> str:
    """ReAct's reply after a number of observations."""
    if count + 1 < CALLS:
        return f"Thought {count + 1}: I look up word number {count}.\nAction {count + 1}: look[word{count}]"
    return f"Thought {count + 1}: I know it now.\nAction {count + 1}: Finish[{ANSWER}]"


def stub_message(body: dict[str, Any]) -> dict[str, Any]:
    """The stub server's message: a tool call if tools are offered, as the peer does, else ReAct's reply."""
    roles = [message["role"] for message in body["messages"]]
    if not body.get("tools"):
        return {"role": "assistant", "content": react_reply(roles.count("user") - 1)}
    count = roles.count("tool")
    if count + 1 >= CALLS:
        return {"role": "assistant", "content": ANSWER}
    function = {"name": "look", "arguments": json.dumps({"word": f"word{count}"})}
    return {"role": "assistant", "tool_calls": [{"id": f"call_{count}", "type": "function", "function": function}]}


def stub_app(delay: float) -> Any:
    """An OpenAI-compatible server that replies after some seconds."""
    from aiohttp import web

    async def chat(request: web.Request) -> web.Response:
        message = stub_message(json.loads(await request.read()))
        await asyncio.sleep(delay)
        usage = {"prompt_tokens": 300, "completion_tokens": 20, "total_tokens": 320}
        head = {"id": "x", "object": "chat.completion", "created": 0, "model": "stub"}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        return web.json_response({**head, "choices": [choice], "usage": usage})

    app = web.Application(client_max_size=1 << 26)
    app.router.add_post("/v1/chat/completions", chat)
    return app


def run_once(spec: Figures, folder: Path) -> Figures:
    """The figures of a scored run with `questions`, `connections` and the LLM's `base_url` ("": a scripted one)."""
    from r_eval import Grid, run
    from r_eval.analysis.scoring import score_run

    os.environ["R_EVAL_REPLIES"] = str(folder / "replies.sqlite")
    with (folder / "questions.jsonl").open("w", encoding="utf-8") as file:
        for i in range(spec["questions"]):
            text = f"Which name do the words of number {i} stand for?"
            file.write(json.dumps({"id": f"q{i}", "question": text, "answers": [ANSWER], "level": "KS"}) + "\n")
    (folder / "words.py").write_text(ENVIRONMENT, encoding="utf-8")
    stub = {"llm": "openai/stub", "base_url": spec["base_url"], "connections": spec["connections"]}
    task = {"task": "words", "questions": "questions.jsonl", "environment": "./words.py", "metric": "exact_match"}
    grid = Grid(
        workflows=["react"],
        llms=[stub if spec["base_url"] else f"scripted/{__file__}:scripted"],
        tasks=[task],
        shots=0,
        limits={"steps": CALLS},
        folder=folder,
    )
    wall, cpu = time.perf_counter(), time.process_time()
    result = run(grid, folder / "run")
    run_seconds = time.perf_counter() - wall
    score_run(result.folder)
    figures = {"seconds": time.perf_counter() - wall, "run": run_seconds, "cpu": time.process_time() - cpu}
    return {
        **figures,
        "peak": peak(),
        "episodes": sum(1 for _ in result.episodes()),
        "mean": float(result.to_pandas()["score"].mean()),
    }


def measure(chosen: argparse.Namespace, count: int, connections: int = 10, delay: float = -1) -> list[Figures]:
    """The medians of R-Eval and, if there is one, of the peer.

    Args:
        delay: Seconds of the stub server; -1 for LLMs within the processes.
    """
    sides = [(sys.executable, "harness")] + [(chosen.peer, "harness_peer")] * bool(chosen.peer)
    spec = {"questions": max(10, round(count * chosen.scale)), "connections": connections}
    runs = [[run_process(*side, spec, delay) for side in sides] for _ in range(chosen.repeats)]
    return [
        {name: statistics.median(one[name] for one in of_side) for name in of_side[0]}
        for of_side in zip(*runs, strict=True)
    ]


def run_process(python: str, module: str, spec: Figures, delay: float) -> Figures:
    """The figures of a run in a process of its own; this process serves its LLM."""
    from tests.serving import serving

    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="harness-"))
        address = stack.enter_context(serving(stub_app(delay))) if delay >= 0 else ""
        spec = {**spec, "base_url": address and f"{address}/v1"}
        command = [python, "-m", f"benchmarks.{module}", "--run", json.dumps(spec), "--folder", folder]
        output = subprocess.check_output(command, text=True, cwd=folder, env={**os.environ, "PYTHONPATH": str(ROOT)})
    figures: Figures = json.loads(output.splitlines()[-1])
    if (figures["episodes"], figures["mean"]) != (spec["questions"], 1):
        raise SystemExit(f"{module}: {figures}: episodes are missing or wrong")
    return figures


def show(label: str, values: Iterable[str], aim: str = "") -> None:
    print(f"{label:<44} {'   peer '.join(f'{value:>10}' for value in values)}   {aim}", flush=True)


def show_processor_time(figures: list[Figures], aim: str = "") -> None:
    calls = (f"{1000 * one['cpu'] / one['episodes'] / CALLS:.2f}" for one in figures)
    show("  processor time per LLM call, ms", calls, aim)


def show_rates(label: str, figures: list[Figures], aim: str) -> None:
    show(f"{label}, episodes per second", (f"{one['episodes'] / one['seconds']:.1f}" for one in figures), aim)
    show_processor_time(figures)
    show("  peak memory, MiB", (f"{one['peak']:.0f}" for one in figures))


def main() -> None:
    chosen = options(__doc__, repeats=3, scale=1.0, peer="", run="", folder="")
    if chosen.run:  # in a process of its own
        print(json.dumps(run_once(json.loads(chosen.run), Path(chosen.folder))))
        return
    print(machine())
    show_rates("own cost, a scripted LLM", measure(chosen, 1000), "20 x the peer [56]")
    show_rates("HTTP, 10 connections", measure(chosen, 1000, delay=0), "20 x the peer [34.5]")
    for connections, aim in ((10, "0.95 [0.79]"), (50, "0.93 [0.39]"), (200, "0.90 [0.09]")):
        figures = measure(chosen, 20 * connections, connections, 0.2)
        ideal = figures[0]["episodes"] * CALLS * 0.2 / connections
        shares = (f"{ideal / one['run']:.3f}" for one in figures)
        show(f"fill, {connections} connections, ideal {ideal:.0f} s", shares, aim)
        show_processor_time(figures, "0.5" if connections == 200 else "")


if __name__ == "__main__":
    main()
