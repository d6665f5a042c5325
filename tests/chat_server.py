"""A server that speaks chat completions and misbehaves as it is told to; for the tests of whatever calls one."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import time
from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import web

from r_eval.llms.base import Message, Request, ToolSpec, make_llm

KEY = "sk-very-secret-1234567890"
ASK = Request((Message("user", "Where is Kenya?"),))
SEARCH = ToolSpec("Search", "Find a page.", {"type": "object", "properties": {"entity": {"type": "string"}}})


@dataclasses.dataclass
class Answer:
    """What the server sends for one request; `drop` closes the connection in the middle of the body."""

    status: int = 200
    body: Any = None
    headers: dict[str, str] = dataclasses.field(default_factory=dict)
    content_type: str = "application/json"
    drop: bool = False
    seconds: float = 0.0


def good(text: str | None = "In Africa.", finish: str = "stop", usage: Any = None, **message: Any) -> Answer:
    choice = {"message": {"role": "assistant", "content": text, **message}, "finish_reason": finish}
    return Answer(body={"choices": [choice], "usage": usage})


def bad(status: int, message: str = "no", **headers: str) -> Answer:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer(status, {"error": {"message": message, "type": "some_error"}}, named)


USED = {"prompt_tokens": 20, "completion_tokens": 2}


class Server:
    """Plays its answers in order, the last one for ever; keeps what it was asked, and when.

    The call that an LLM makes when it is opened has answers of its own, `opening`; by default it goes well.
    """

    llm = "openai/some-model"

    def __init__(self, *answers: Answer, opening: tuple[Answer, ...] = ()) -> None:
        self.answers = list(answers)
        self.opening = list(opening) or [good("ready", usage=USED)]
        self.opened: list[dict[str, Any]] = []
        self.bodies: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.times: list[float] = []
        self.url = ""

    def app(self) -> web.Application:
        app = web.Application(client_max_size=2**26)
        app.router.add_post("/v1/chat/completions", self._chat)
        return app

    def settings(self, more: dict[str, Any]) -> dict[str, Any]:
        """The settings of an LLM that is asked here."""
        return {"base_url": self.url, **more}

    async def start(self) -> web.AppRunner:
        runner = web.AppRunner(self.app(), shutdown_timeout=0.05)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        self.url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
        return runner

    def _next(self, body: dict[str, Any], opening: bool) -> Answer:
        (self.opened if opening else self.bodies).append(body)
        answers = self.opening if opening else self.answers
        return answers.pop(0) if len(answers) > 1 else answers[0]

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        self.headers.append(dict(request.headers))
        body = await request.json()
        opening = "tests the connection" in str(body["messages"])
        if not opening:
            self.times.append(time.monotonic())
        answer = self._next(body, opening)
        await asyncio.sleep(answer.seconds)
        text = answer.body if isinstance(answer.body, str) else json.dumps(answer.body)
        if not answer.drop:
            head = {"headers": answer.headers, "content_type": answer.content_type}
            return web.Response(status=answer.status, text=text, **head)
        stream = web.StreamResponse(headers={"Content-Length": str(len(text) + 100)})
        await stream.prepare(request)
        await stream.write(text.encode())
        assert request.transport is not None
        request.transport.abort()
        return stream


def run(server: Server, talk: Callable[[Any], Awaitable[Any]], **settings: Any) -> Any:
    """Open an LLM at the server, talk to it, close everything."""

    async def main() -> Any:
        runner = await server.start()
        llm = make_llm(server.llm, server.settings(settings))
        try:
            await llm.open()
            return await talk(llm)
        finally:
            await llm.close()
            await llm.close()  # which may be called more than once
            await runner.cleanup()

    return asyncio.run(main())
