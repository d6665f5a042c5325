"""The cost of servers that reply with too much data or too slowly, also for the episodes of another LLM.

    python benchmarks/hostile_servers.py [--questions 20] [--timeout 3]

Each line is a run of two LLMs in a separate process: one behind a hostile server, the other behind a sound server that
replies in 50 ms. Memory is the peak of the process minus that of the same run with two sound servers.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import multiprocessing
import os
import sys
import tempfile
import time
import zlib
from collections import Counter
from pathlib import Path
from typing import Any

from aiohttp import web
from measure import peak

CASES = {
    "sound": "a sound reply",
    "bomb": "a reply of 1 GB, compressed to 1 MB",
    "large": "a body of 300 MB",
    "arguments": "a tool call with 20 MB of arguments",
    "slow": "a byte a second",
    "calls": "100,000 tool calls",
    "nested": "2 MB of opening brackets as arguments",
}


def reply(content: str | None = "北京 🌍", calls: list[Any] | None = None) -> bytes:
    message = {"role": "assistant", "content": content, "tool_calls": calls}
    usage = {"prompt_tokens": 20, "completion_tokens": 5}
    return json.dumps({"choices": [{"message": message, "finish_reason": "stop"}], "usage": usage}).encode()


def call(number: int, arguments: str) -> dict[str, Any]:
    return {"id": f"c{number}", "type": "function", "function": {"name": "Finish", "arguments": arguments}}


def bomb() -> bytes:
    """A gigabyte of spaces in a reply's text, compressed."""
    whole = reply("@")
    start, end = whole.split(b"@")
    packer = zlib.compressobj(9, wbits=31)
    pieces = [
        packer.compress(start),
        *(packer.compress(b" " * (1 << 20)) for _ in range(1024)),
        packer.compress(end),
    ]
    return b"".join([*pieces, packer.flush()])


class Servers:
    """Servers, whose case is the first part of the path."""

    def __init__(self) -> None:
        self._bodies = {
            "sound": reply(),
            "bomb": bomb(),
            "large": reply("x" * (300 << 20)),
            "arguments": reply(None, [call(0, json.dumps({"answer": "x" * (20 << 20)}))]),
            "calls": reply(None, [call(i, "{}") for i in range(100_000)]),
            "nested": reply(None, [call(0, '{"answer": ' + "[" * (2 << 20))]),
        }

    async def chat(self, request: web.Request) -> web.StreamResponse:
        if "tests the connection" in await request.text():
            return web.Response(body=self._bodies["sound"], content_type="application/json")
        case = request.match_info["case"]
        if case == "slow":
            stream = web.StreamResponse(headers={"Content-Type": "application/json"})
            await stream.prepare(request)
            with contextlib.suppress(ConnectionError):  # until the other side has enough
                while True:
                    await stream.write(b" ")
                    await asyncio.sleep(1)
            return stream
        await asyncio.sleep(0.05)
        headers = {"Content-Encoding": "gzip"} if case == "bomb" else {}
        return web.Response(body=self._bodies[case], content_type="application/json", headers=headers)


def serve(port: Any) -> None:
    asyncio.run(_serve(port))


async def _serve(port: Any) -> None:
    app = web.Application(client_max_size=1 << 28)
    app.router.add_post("/{case}/v1/chat/completions", Servers().chat)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    port.send(runner.addresses[0][1])
    await asyncio.Event().wait()


def measure_case(case: str, ports: list[int], questions: int, timeout: float, result: Any) -> None:
    """Run the grid of a case; send the peak memory, the seconds and the outcomes of both LLMs' episodes."""
    import r_eval

    hostile, sound = (f"http://127.0.0.1:{port}" for port in ports)
    llms = [
        {"llm": "openai/hostile", "base_url": f"{hostile}/{case}/v1", "timeout": timeout, "connections": 4},
        {"llm": "openai/sound", "base_url": f"{sound}/sound/v1", "connections": 4},
    ]
    with tempfile.TemporaryDirectory() as folder:
        os.environ["R_EVAL_REPLIES"] = f"{folder}/replies"
        grid = r_eval.Grid(llms=llms, workflows=["fc"], tasks=["aminer/soay-easy"], samples=questions)
        start = time.perf_counter()
        end_seconds: dict[str, float] = {}

        class EndTimes:
            """Records when an LLM's last episode ended."""

            def finished(self, episode: Any) -> None:
                end_seconds[episode.llm] = time.perf_counter() - start

            def __getattr__(self, name: str) -> Any:
                return lambda *_: None

        done = r_eval.run(grid, out=f"{folder}/run", observer=EndTimes())
        kinds = {name: Counter(e.outcome.kind for e in done.episodes() if e.llm == name) for name in end_seconds}
    result.send((peak(), end_seconds, kinds))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=int, default=20)
    parser.add_argument("--timeout", type=float, default=3.0)
    options = parser.parse_args()
    spawn = multiprocessing.get_context("spawn")
    ports = []
    for _ in range(2):  # a process each: sending 300 MB must not hold up the sound server
        port_here, port_there = spawn.Pipe()
        spawn.Process(target=serve, args=(port_there,), daemon=True).start()
        ports.append(port_here.recv())
    base = 0.0
    print(
        f"{'the server sends':40} {'MiB above':>9} {'seconds':>8} {'sound LLM: s':>13}  its episodes; the sound LLM's"
    )
    for case, description in CASES.items():
        receiver, sender = spawn.Pipe()
        process = spawn.Process(target=measure_case, args=(case, ports, options.questions, options.timeout, sender))
        process.start()
        peak_memory, end_seconds, kinds = receiver.recv()
        process.join()
        base = base or peak_memory
        counts = [kinds["openai/hostile"], kinds["openai/sound"]]
        outcomes = "; ".join(", ".join(f"{n} {kind}" for kind, n in kinds_of_llm.items()) for kinds_of_llm in counts)
        seconds = f"{end_seconds['openai/hostile']:8.1f} {end_seconds['openai/sound']:13.1f}"
        print(f"{description:40} {peak_memory - base:9.0f} {seconds}  {outcomes}")
        sys.stdout.flush()


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))
    main()
