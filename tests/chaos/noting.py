"""A stub of an OpenAI-compatible server in a process of its own; it writes down every call that it answered.

    python tests/chaos/noting.py LOG SECONDS

It prints its port, answers each call after so many seconds, and ends with its standard input. A call is known by
its workflow, the number in the question, and its turn in the conversation, however often it is made. The log has a
JSON line for each answer that was given to the system whole; times are of the clock that all processes of a machine
share.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
import sys
import time
from pathlib import Path
from typing import IO, Any

from aiohttp import web

TURNS = 3
LONG = "长" * (5_000_000 // 3)
"""Five megabytes, a part of the first reply to question 7."""
NUMBER = re.compile(r"the words of number (\d+)")


def read(body: dict[str, Any]) -> tuple[str, int, int]:
    """Which call a request is: workflow, number of the question, turn."""
    messages = body["messages"]
    number = int(NUMBER.findall(str([message.get("content") for message in messages]))[-1])
    if body.get("tools"):
        return "fc", number, sum(message["role"] == "tool" for message in messages)
    return "react", number, sum(message["role"] == "assistant" for message in messages)


def answer(workflow: str, number: int, turn: int) -> dict[str, Any]:
    """Two words are looked up, then comes the answer, which is wrong for every third question; nothing is in ASCII."""
    said = "Bob" if number % 3 == 0 else "Ada"
    last = turn + 1 >= TURNS
    thought = f"“第{turn + 1}步” – ну что ж 🌍\u2028{LONG if number == 7 and not turn else ''}"
    if workflow == "react":
        act = f"Finish[{said}]" if last else f"look[词{turn}]"
        return {"role": "assistant", "content": f"Thought {turn + 1}: {thought}\nAction {turn + 1}: {act}"}
    name, arguments = (
        ("Finish", {"return_type": "give_answer", "answer": said}) if last else ("look", {"word": f"词{turn}"})
    )
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {
        "role": "assistant",
        "content": thought,
        "tool_calls": [{"id": f"c{turn}", "type": "function", "function": function}],
    }


class Noting:
    """The server."""

    def __init__(self, log: IO[bytes], seconds: float) -> None:
        self._log, self._seconds = log, seconds

    async def chat(self, request: web.Request) -> web.StreamResponse:
        received = time.monotonic()
        raw = await request.read()
        body = json.loads(raw)
        if "tests the connection" in str(body["messages"]):
            return web.json_response(wrapped({"role": "assistant", "content": "ready"}))
        call = read(body)
        port = request.transport.get_extra_info("peername")[1] if request.transport else 0
        await asyncio.sleep(self._seconds)
        response = web.json_response(wrapped(answer(*call)))
        try:
            await response.prepare(request)
            await response.write_eof()
        except ConnectionError:
            return response  # who asked is dead
        digest = hashlib.blake2b(raw, digest_size=8).hexdigest()
        note = {"call": call, "port": port, "received": received, "written": time.monotonic(), "body": digest}
        self._log.write(json.dumps(note).encode() + b"\n")
        return response


def wrapped(message: dict[str, Any]) -> dict[str, Any]:
    finish = "tool_calls" if message.get("tool_calls") else "stop"
    usage = {"prompt_tokens": 30, "completion_tokens": 5, "total_tokens": 35}
    return {"choices": [{"index": 0, "message": message, "finish_reason": finish}], "usage": usage}


async def main(log: Path, seconds: float) -> None:
    with log.open("ab", buffering=0) as file:
        app = web.Application(client_max_size=1 << 26)
        app.router.add_post("/v1/chat/completions", Noting(file, seconds).chat)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0, backlog=1024).start()
        sys.stdout.write(f"{runner.addresses[0][1]}\n")
        sys.stdout.flush()
        await asyncio.to_thread(sys.stdin.read)
        await runner.cleanup()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), float(sys.argv[2])))
