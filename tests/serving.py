"""Real web servers for tests, over loopback."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any

from aiohttp import web


@contextmanager
def serving(app: web.Application, port: int = 0) -> Iterator[str]:
    """The address of an application that runs on a thread of its own, begun and ended by one task."""
    loop, over = asyncio.new_event_loop(), asyncio.Event()
    address: Future[str] = Future()

    async def serve() -> None:
        runner = web.AppRunner(app, access_log=None)
        try:
            await runner.setup()
            await web.TCPSite(runner, "127.0.0.1", port).start()
            address.set_result(f"http://127.0.0.1:{runner.addresses[0][1]}")
            await over.wait()
        except Exception as error:
            address.set_exception(error)
        finally:
            await runner.cleanup()

    thread = threading.Thread(target=loop.run_until_complete, args=[serve()])
    thread.start()
    try:
        yield address.result()
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join()
        loop.close()


class Scripted:
    """A server that answers every request with the next of its answers, and the last one for ever.

    An answer is JSON data, a response, or a function that gives one or waits for it.

    Attributes:
        requests: All that came, each with its moment.
    """

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.requests: list[tuple[float, web.Request]] = []
        self.app = web.Application()
        self.app.router.add_route("*", "/{path:.*}", self._answer)

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        self.requests.append((time.monotonic(), request))
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        answer = answer() if callable(answer) else answer
        answer = await answer if isinstance(answer, Awaitable) else answer
        return answer if isinstance(answer, web.StreamResponse) else web.json_response(answer)
