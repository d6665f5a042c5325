"""The HTTP server behind the workflow `agent`: an episode's LLM as chat completions, its query APIs as an MCP server.

Each episode has a server of its own on 127.0.0.1 and a token. Requests wait in a queue; the workflow carries them out
one at a time in the order in which they came, so that a limit or a failure ends the episode as in other workflows.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from typing import Any

from aiohttp import web

from r_eval.environments.serve.mcp_server import asgi_response, server_of
from r_eval.environments.session import CallResult
from r_eval.workflows.agent_messages import MODEL, InvalidRequest, completion, completion_chunks, parse_request
from r_eval.workflows.base import LimitReached, Limits, LLMProtocol, SessionProtocol
from r_eval.workflows.conversation import CALLS_PER_TURN

MAX_BODY = 4 << 20
"""Bytes of a request."""
GRACE_SECONDS = 10.0
"""How long a program may take to answer once it has reached a limit."""
ENDPOINTS = "POST /v1/chat/completions, GET /v1/models, and MCP at /mcp/<token>"


class RequestRefused(Exception):
    """A request is refused; `status` is the HTTP status of the response, one that client libraries do not retry."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status, self.code = status, code


class AgentEpisode:
    """One episode as its program reaches it.

    Attributes:
        address: `http://127.0.0.1:<port>`.
        token: Opens this episode.
        limit_reached: The first limit that the program reached; every later request is refused.
    """

    def __init__(self, session: SessionProtocol, llm: LLMProtocol, limits: Limits) -> None:
        self.address, self.token = "", f"agent-{secrets.token_urlsafe(24)}"
        self.specs = session.specs
        self.limit_reached: LimitReached | None = None
        self._session, self._llm, self._limits = session, llm, limits
        self._turns = self._calls = 0
        self._end: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queue: asyncio.Queue[tuple[Callable[[], Awaitable[Any]], asyncio.Future[Any]] | None] = asyncio.Queue()

    async def serve(self, until: Coroutine[Any, Any, None]) -> None:
        """Carry out requests until the program's end, or the end of its grace period.

        Raises:
            LLMError, EnvironmentFailure, LimitReached: The episode ends.
        """
        ending = asyncio.create_task(until)
        ending.add_done_callback(lambda task: self._queue.put_nowait(None))
        own_seconds = 0.0
        try:
            while True:
                since = time.monotonic()
                request = await self._queue.get()
                own_seconds += time.monotonic() - since
                if request is None or ending.done():
                    return ending.result() if ending.done() else None
                if own_seconds > self._limits.seconds:
                    raise LimitReached("seconds", f"the program worked for more than {self._limits.seconds:g} s")
                work, response = request
                response.set_result(await self._attempt(work))
        finally:
            ending.cancel()
            self._end.set_result(None)  # what was under way or waits is refused, as is all that comes

    async def complete(self, data: bytes) -> web.Response:
        """The response to a chat completion. An invalid request also costs a step.

        Raises:
            RequestRefused: The request is invalid, or a limit is reached.
        """

        async def generate() -> web.Response:
            if self._turns >= self._limits.steps:
                raise LimitReached("steps", f"no answer within {self._limits.steps} LLM calls")
            self._turns += 1
            try:
                body, request = parse_request(data)
            except InvalidRequest as error:
                self._llm.note(f"An invalid request was refused: {error}")
                raise RequestRefused(400, "invalid_request", str(error)) from None
            whole = completion(await self._llm.generate(request), request, body, self._turns)
            if not body.stream:
                return web.json_response(whole)
            events = [json.dumps(chunk) for chunk in completion_chunks(whole, body)]
            text = "".join(f"data: {event}\n\n" for event in [*events, "[DONE]"])
            return web.Response(text=text, content_type="text/event-stream")

        response: web.Response = await self._perform(generate)
        return response

    async def call(self, api: str, arguments: dict[str, Any]) -> CallResult:
        """Call a query API; a refusal becomes an error that the program's LLM can read."""

        async def call() -> CallResult:
            max_calls = CALLS_PER_TURN * self._limits.steps
            if self._calls >= max_calls:
                raise LimitReached("steps", f"more than {max_calls} calls of query APIs ({CALLS_PER_TURN} per step)")
            self._calls += 1
            return await self._session.call(api, arguments)

        try:
            result: CallResult = await self._perform(call)
        except RequestRefused as refusal:
            return CallResult(None, str(refusal), refusal.code)
        return result

    async def _perform(self, work: Callable[[], Awaitable[Any]]) -> Any:
        """The result of work, which is done once all earlier work is.

        Raises:
            RequestRefused: It was not carried out, or it failed.
        """
        response = asyncio.get_running_loop().create_future()
        self._queue.put_nowait((work, response))
        await asyncio.wait([response, self._end], return_when=asyncio.FIRST_COMPLETED)
        if not response.done():
            raise RequestRefused(400, "episode_over", "The episode is over.")
        if isinstance(result := response.result(), RequestRefused):
            raise result
        return result

    async def _attempt(self, work: Callable[[], Awaitable[Any]]) -> Any:
        """The result of work or its refusal. Most limits leave the program a grace period; any other error gets out."""
        try:
            if self.limit_reached is not None:
                raise self.limit_reached
            return await work()
        except RequestRefused as refusal:
            return refusal
        except LimitReached as limit:
            if limit.cause == "seconds" or not self._limits.last_chance:
                raise
            if self.limit_reached is None:
                self.limit_reached = limit
                asyncio.get_running_loop().call_later(GRACE_SECONDS, self._queue.put_nowait, None)
            return RequestRefused(400, "limit_reached", f"This evaluation reached a limit: {limit}.")


@contextlib.asynccontextmanager
async def open_episode(session: SessionProtocol, llm: LLMProtocol, limits: Limits) -> AsyncIterator[AgentEpisode]:
    """An episode whose program can reach it over HTTP until the context ends."""
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

    episode = AgentEpisode(session, llm, limits)
    mcp = server_of(lambda context: episode, "r-eval", is_structured=False)
    manager = StreamableHTTPSessionManager(mcp, json_response=True, stateless=True)

    async def respond(request: web.Request) -> web.Response:
        path = request.path.rstrip("/")
        kind, _, token = path.removeprefix("/").partition("/")
        if kind != "mcp":
            token = request.headers.get("Authorization", "").rpartition(" ")[2]
        if token != episode.token:
            raise RequestRefused(401, "invalid_token", "The token is not that of the running episode.")
        if kind == "mcp":
            if request.method == "POST":
                return await asgi_response(manager.handle_request, request)
            return web.Response(status=405, headers={"Allow": "POST"})
        if (request.method, path) == ("POST", "/v1/chat/completions"):
            return await episode.complete(await request.read())
        if request.method == "GET" and f"{path}/".startswith("/v1/models/"):
            model = {"id": MODEL, "object": "model", "owned_by": "r-eval", "created": 0}
            return web.json_response({"object": "list", "data": [model]} if path == "/v1/models" else model)
        hint = " Set your SDK to chat completions." if path.endswith("/responses") else ""
        raise RequestRefused(404, "not_found", f"There is only {ENDPOINTS}.{hint}")

    async def handle(request: web.Request) -> web.Response:
        try:
            return await respond(request)
        except RequestRefused as refusal:
            error = {"message": str(refusal), "type": "r_eval", "code": refusal.code, "param": None}
            return web.json_response({"error": error}, status=refusal.status)

    app = web.Application(client_max_size=MAX_BODY)
    app.router.add_route("*", "/{path:.*}", handle)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    try:
        async with manager.run():
            try:
                await runner.setup()
                await web.TCPSite(runner, "127.0.0.1", 0).start()
                episode.address = f"http://127.0.0.1:{runner.addresses[0][1]}"
                yield episode
            finally:
                await runner.cleanup()
    except BaseExceptionGroup as group:  # the SDK's task group wraps the error that ends the episode
        error = group.exceptions[0]
        raise error from error.__cause__
