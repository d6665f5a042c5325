"""The stub of an OpenAI-compatible server, in a process of its own; prints its port, and its counts at the end.

    python benchmarks/harness_stub.py [--seconds 0.2] [--steps 3] [--rate 0]

`/v1` answers after `--seconds`, `/MS/v1` after MS milliseconds. With a rate, requests beyond so many a second get 429
with Retry-After. It ends with its standard input.
"""

from __future__ import annotations

import argparse
import asyncio
import collections
import json
import sys
import time

from aiohttp import web
from harness_work import served


class Stub:
    def __init__(self, seconds: float, steps: int, rate: float) -> None:
        self.seconds, self.steps, self.rate = seconds, steps, rate
        self.good = self.refused = 0
        self.first = self.last = 0.0
        self.times: collections.deque[float] = collections.deque()

    async def chat(self, request: web.Request) -> web.Response:
        now = time.monotonic()
        body = json.loads(await request.read())
        if self.rate and not self.allows(now):
            self.refused += 1
            wait = self.times[0] + 1.0 - now
            headers = {"Retry-After": f"{max(0.0, wait):.3f}"}
            return web.json_response({"error": {"message": "slow down"}}, status=429, headers=headers)
        seconds = int(request.match_info["ms"]) / 1000 if "ms" in request.match_info else self.seconds
        if seconds:
            await asyncio.sleep(seconds)
        message = served(body, self.steps)
        if message.get("content") != "ready":
            self.first = self.first or now
            self.good, self.last = self.good + 1, time.monotonic()
        finish = "tool_calls" if message.get("tool_calls") else "stop"
        choice = {"index": 0, "message": message, "finish_reason": finish}
        usage = {"prompt_tokens": 300, "completion_tokens": 20, "total_tokens": 320}
        head = {"id": "x", "object": "chat.completion", "created": 0, "model": "stub"}
        return web.json_response({**head, "choices": [choice], "usage": usage})

    def allows(self, now: float) -> bool:
        """Whether the last second has room for one more."""
        while self.times and self.times[0] <= now - 1.0:
            self.times.popleft()
        if len(self.times) >= self.rate:
            return False
        self.times.append(now)
        return True


async def main(seconds: float, steps: int, rate: float) -> None:
    stub = Stub(seconds, steps, rate)
    app = web.Application(client_max_size=1 << 26)
    app.router.add_post("/v1/chat/completions", stub.chat)
    app.router.add_post(r"/{ms:\d+}/v1/chat/completions", stub.chat)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, backlog=1024)
    await site.start()
    print(json.dumps({"port": runner.addresses[0][1]}), flush=True)
    await asyncio.to_thread(sys.stdin.read)
    counts = {"good": stub.good, "refused": stub.refused, "span": stub.last - stub.first, "cpu": time.process_time()}
    print(json.dumps(counts), flush=True)
    await runner.cleanup()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=0.0)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--rate", type=float, default=0.0)
    asyncio.run(main(**vars(parser.parse_args())))
