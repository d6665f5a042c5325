"""The cost of servers that reply with too much data or too slowly, also for the episodes of another LLM.

    python -m benchmarks.hostile_servers [--questions 20] [--timeout 3]

Each line is a run of two LLMs in a separate process: one behind a hostile server, the other behind a sound server that
replies in 50 ms. Memory is the peak of the process minus that of the same run with two sound servers.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import multiprocessing
import os
import tempfile
import time
import zlib
from collections import Counter
from collections.abc import Callable
from typing import Any

from aiohttp import web

from benchmarks.measure import alone, options, peak
from tests.serving import serving


def reply(content: str | None = "北京 🌍", calls: list[Any] | None = None) -> bytes:
    message = {"role": "assistant", "content": content, "tool_calls": calls}
    usage = {"prompt_tokens": 20, "completion_tokens": 5}
    return json.dumps({"choices": [{"message": message, "finish_reason": "stop"}], "usage": usage}).encode()


def reply_of_calls(*arguments: str) -> bytes:
    calls = ({"name": "Finish", "arguments": text} for text in arguments)
    return reply(None, [{"id": f"c{n}", "type": "function", "function": call} for n, call in enumerate(calls)])


def bomb() -> bytes:
    """A gigabyte of spaces in a reply's text, compressed."""
    start, end = reply("@").split(b"@")
    packer = zlib.compressobj(9, wbits=31)
    spaces = (packer.compress(b" " * (1 << 20)) for _ in range(1024))
    return b"".join([packer.compress(start), *spaces, packer.compress(end), packer.flush()])


CASES: dict[str, tuple[str, Callable[[], bytes]]] = {
    "sound": ("a sound reply", reply),
    "bomb": ("a reply of 1 GB, compressed to 1 MB", bomb),
    "large": ("a body of 300 MB", lambda: reply("x" * (300 << 20))),
    "arguments": (
        "a tool call with 20 MB of arguments",
        lambda: reply_of_calls(json.dumps({"answer": "x" * (20 << 20)})),
    ),
    "slow": ("a byte a second", reply),
    "calls": ("100,000 tool calls", lambda: reply_of_calls(*["{}"] * 100_000)),
    "nested": ("2 MB of opening brackets as arguments", lambda: reply_of_calls('{"answer": ' + "[" * (2 << 20))),
}
"""By the first part of a server's path, what it sends."""


def servers() -> web.Application:
    bodies = {case: make() for case, (_, make) in CASES.items()}

    async def chat(request: web.Request) -> web.StreamResponse:
        case = request.match_info["case"]
        if "tests the connection" in await request.text():
            case = "sound"
        if case == "slow":
            stream = web.StreamResponse(headers={"Content-Type": "application/json"})
            await stream.prepare(request)
            with contextlib.suppress(ConnectionError):  # until the other side has enough
                while True:
                    await stream.write(b" ")
                    await asyncio.sleep(1)
        await asyncio.sleep(0.05)
        headers = {"Content-Encoding": "gzip"} if case == "bomb" else {}
        return web.Response(body=bodies[case], content_type="application/json", headers=headers)

    app = web.Application(client_max_size=1 << 28)
    app.router.add_post("/{case}/v1/chat/completions", chat)
    return app


def serve(port: Any) -> None:
    with serving(servers()) as address:
        port.send(address)
        time.sleep(1 << 20)


def measure_case(
    hostile: str, sound: str, case: str, questions: int, timeout: float
) -> tuple[float, dict[str, float], dict[str, Any]]:
    """Peak memory in MiB, and by LLM the seconds to its last episode and the outcomes."""
    import r_eval
    from r_eval.runner.observer import RunObserver

    class EndTimes(RunObserver):
        def finished(self, episode: Any) -> None:
            seconds[episode.llm] = time.perf_counter() - start

    llms = [
        {"llm": "openai/hostile", "base_url": f"{hostile}/{case}/v1", "timeout": timeout, "connections": 4},
        {"llm": "openai/sound", "base_url": f"{sound}/sound/v1", "connections": 4},
    ]
    with tempfile.TemporaryDirectory() as folder:
        os.environ["R_EVAL_REPLIES"] = f"{folder}/replies"
        grid = r_eval.Grid(llms=llms, workflows=["fc"], tasks=["aminer/soay-easy"], samples=questions)
        start, seconds = time.perf_counter(), dict[str, float]()
        done = r_eval.run(grid, out=f"{folder}/run", observer=EndTimes())
        outcomes = {name: Counter(e.outcome.kind for e in done.episodes() if e.llm == name) for name in seconds}
    return peak(), seconds, outcomes


def main() -> None:
    chosen = options(__doc__, questions=20, timeout=3.0)
    urls, base = [], 0.0
    for _ in range(2):  # a process each: sending 300 MB must not hold up the sound server
        here, there = multiprocessing.Pipe()
        multiprocessing.get_context("spawn").Process(target=serve, args=(there,), daemon=True).start()
        urls.append(here.recv())
    print(f"{'the server sends':40} {'MiB above':>9}  hostile LLM: seconds, episodes; the sound LLM's")
    for case, (description, _) in CASES.items():
        memory, seconds, outcomes = alone(measure_case, *urls, case, chosen.questions, chosen.timeout)
        base = base or memory
        by_llm = (f"{seconds[llm]:8.1f} {dict(outcomes[llm])}" for llm in ("openai/hostile", "openai/sound"))
        print(f"{description:40} {memory - base:9.0f} {'; '.join(by_llm)}", flush=True)


if __name__ == "__main__":
    main()
