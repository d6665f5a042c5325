"""A stub of an OpenAI-compatible server; prints its port.

python benchmarks/harness_stub.py [--seconds 0.2] [--steps 3]
"""

from __future__ import annotations

import argparse
import asyncio
import json

from aiohttp import web
from harness_work import served


async def main(seconds: float, steps: int) -> None:
    async def chat(request: web.Request) -> web.Response:
        body = json.loads(await request.read())
        await asyncio.sleep(seconds)
        choice = {"index": 0, "message": served(body, steps), "finish_reason": "stop"}
        usage = {"prompt_tokens": 300, "completion_tokens": 20, "total_tokens": 320}
        head = {"id": "x", "object": "chat.completion", "created": 0, "model": "stub"}
        return web.json_response({**head, "choices": [choice], "usage": usage})

    app = web.Application(client_max_size=1 << 26)
    app.router.add_post("/v1/chat/completions", chat)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, backlog=1024).start()
    print(runner.addresses[0][1], flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=0.0)
    parser.add_argument("--steps", type=int, default=3)
    asyncio.run(main(**vars(parser.parse_args())))
