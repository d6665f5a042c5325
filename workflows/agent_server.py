"""The HTTP server behind the workflow `agent`: an episode's LLM as chat completions, its query APIs as an MCP server.

Each episode has a server of its own on 127.0.0.1 and a token. Requests are carried out one at a time in the order in
which they came, and none after the end of the episode. A limit or a failure ends the episode as in other workflows.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from typing import Any, TypeVar

from aiohttp import web

from r_eval.environments.base import EnvironmentFailure
from r_eval.environments.serve.mcp_server import asgi_response, server_of
from r_eval.environments.session import CallResult
from r_eval.llms.base import LLMError
from r_eval.workflows.agent_messages import (
    MODEL,
    InvalidRequest,
    completion,
    completion_chunks,
    parse_body,
    parse_request,
)
from r_eval.workflows.base import CALLS_PER_TURN, LimitReached, Limits, LLMProtocol, SessionProtocol

T = TypeVar("T")
SDK = "mcp.server.streamable_http_manager"
MAX_BODY = 4 << 20
"""Bytes of a request."""
GRACE_SECONDS = 10.0
"""How long a program may take to answer once it has reached a limit."""
MAX_WAITING = 64
"""Requests that may wait at once."""
ENDPOINTS = "POST /v1/chat/completions, GET /v1/models, and MCP at /mcp/<token>"


class RequestRefused(Exception):
    """A request is refused; `status` is the HTTP status of the response, one that client libraries do not retry."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status, self.code = status, code

    def response(self) -> web.Response:
        """The refusal in the form of OpenAI's errors."""
        error = {"message": str(self), "type": "r_eval", "code": self.code, "param": None}
        return web.json_response({"error": error}, status=self.status)


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
        self._turns = self._calls = self._waiting = 0
        self._own_seconds, self._since = 0.0, time.monotonic()
        self._lock = asyncio.Lock()
        self._is_over = False
        self._failure: BaseException | None = None
        self._stopped: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._current: asyncio.Task[Any] | None = None

    async def serve(self, until: Coroutine[Any, Any, None]) -> None:
        """Accept requests until the program's end, the end of its grace period, or a failure.

        Raises:
            LLMError, EnvironmentFailure, LimitReached: The episode ends.
        """
        ending = asyncio.create_task(until)
        try:
            await asyncio.wait({ending, self._stopped}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            ending.cancel()
            self._is_over = True
        async with self._lock:  # a request that is being carried out is recorded
            if self._failure is not None:
                raise self._failure

    async def close(self) -> None:
        """Refuse waiting and later requests, and cancel the one that is being carried out."""
        self._is_over = True
        if self._current is not None:
            self._current.cancel()
            await asyncio.wait({self._current})

    async def complete(self, data: bytes) -> web.Response:
        """The response to a chat completion. An invalid request also costs a step.

        Raises:
            RequestRefused: The request is invalid, a limit is reached, or the LLM failed.
        """

        async def generate() -> web.Response:
            if self._turns >= self._limits.steps:
                raise LimitReached("steps", f"no answer within {self._limits.steps} LLM calls")
            self._turns += 1
            try:
                body = parse_body(data)
                request = parse_request(body)
            except InvalidRequest as error:
                self._llm.note(f"An invalid request was refused: {error}")
                raise RequestRefused(400, "invalid_request", str(error)) from None
            whole = completion(await self._llm.generate(request), request, body, self._turns)
            if not body.stream:
                return web.json_response(whole)
            events = [json.dumps(chunk) for chunk in completion_chunks(whole, body)]
            text = "".join(f"data: {event}\n\n" for event in [*events, "[DONE]"])
            return web.Response(text=text, content_type="text/event-stream")

        return await self._perform(generate)

    async def call(self, api: str, arguments: dict[str, Any]) -> CallResult:
        """Call a query API; a refusal becomes an error that the program's LLM can read."""

        async def call() -> CallResult:
            max_calls = CALLS_PER_TURN * self._limits.steps
            if self._calls >= max_calls:
                raise LimitReached("steps", f"more than {max_calls} calls of query APIs ({CALLS_PER_TURN} per step)")
            self._calls += 1
            return await self._session.call(api, arguments)

        try:
            return await self._perform(call)
        except RequestRefused as refusal:
            return CallResult(None, str(refusal), refusal.code)

    async def _perform(self, work: Callable[[], Awaitable[T]]) -> T:
        """Carry out work once all earlier work is done.

        Raises:
            RequestRefused: It was not carried out, or it failed.
        """
        if self._waiting > MAX_WAITING:
            raise RequestRefused(400, "too_many_requests", f"More than {MAX_WAITING} requests at once.")
        self._waiting += 1
        try:
            async with self._lock:
                if self._is_over or self._stopped.done():
                    raise RequestRefused(400, "episode_over", "The episode is over.")
                self._current = asyncio.create_task(self._attempt(work))  # it outlives a client that goes away
                result = await self._current
        finally:
            self._waiting -= 1
        if isinstance(result, RequestRefused):
            raise result
        return result

    async def _attempt(self, work: Callable[[], Awaitable[T]]) -> T | RequestRefused:
        """The result of work; an error ends the episode, except for a limit that leaves the program a grace period."""
        try:
            self._check_limits()
            return await work()
        except RequestRefused as refusal:
            return refusal
        except LimitReached as limit:
            if limit.cause == "seconds" or not self._limits.last_chance:
                self._fail(limit)
            elif self.limit_reached is None:
                self.limit_reached = limit
                asyncio.get_running_loop().call_later(GRACE_SECONDS, self._stop)
            return RequestRefused(400, "limit_reached", f"This evaluation reached a limit: {limit}.")
        except BaseException as error:  # noqa: BLE001  it ends the episode and not the server
            if not self._is_over:
                self._fail(error)
            reason = str(error) if isinstance(error, LLMError | EnvironmentFailure) else "it was ended"
            return RequestRefused(400, "episode_over", f"The episode is over: {reason}.")
        finally:
            self._since = time.monotonic()

    def _check_limits(self) -> None:
        """Count the time that the program has worked since the latest request.

        Raises:
            LimitReached: It has used up the time of an episode, or reached another limit before.
        """
        self._own_seconds += time.monotonic() - self._since
        if self._own_seconds > self._limits.seconds:
            raise LimitReached("seconds", f"the program worked for more than {self._limits.seconds:g} s")
        if self.limit_reached is not None:
            raise self.limit_reached

    def _fail(self, error: BaseException) -> None:
        self._failure = error
        self._stop()

    def _stop(self) -> None:
        if not self._stopped.done():
            self._stopped.set_result(None)


@contextlib.asynccontextmanager
async def open_episode(session: SessionProtocol, llm: LLMProtocol, limits: Limits) -> AsyncIterator[AgentEpisode]:
    """An episode whose program can reach it over HTTP until the context ends."""
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

    episode = AgentEpisode(session, llm, limits)
    mcp = server_of(lambda context: episode, "r-eval", is_structured=False)
    manager = StreamableHTTPSessionManager(mcp, json_response=True, stateless=True)

    async def complete(request: web.Request) -> web.StreamResponse:
        return await episode.complete(await request.read())

    async def list_models(request: web.Request) -> web.StreamResponse:
        model = {"id": MODEL, "object": "model", "owned_by": "r-eval", "created": 0}
        return web.json_response({"object": "list", "data": [model]})

    async def call_tool(request: web.Request) -> web.StreamResponse:
        if request.method != "POST":
            return web.Response(status=405, headers={"Allow": "POST"})
        return await asgi_response(manager.handle_request, request)

    async def not_found(request: web.Request) -> web.StreamResponse:
        hint = " Set your SDK to chat completions." if request.path.endswith("/responses") else ""
        raise RequestRefused(404, "not_found", f"There is only {ENDPOINTS}.{hint}")

    @web.middleware
    async def authorize(request: web.Request, handler: Any) -> web.StreamResponse:
        header = request.headers.get("Authorization", "").removeprefix("Bearer ").strip()
        try:
            if request.match_info.get("token", header) != episode.token:
                raise RequestRefused(401, "invalid_token", "The token is not that of the running episode.")
            response: web.StreamResponse = await handler(request)
        except RequestRefused as refusal:
            return refusal.response()
        return response

    app = web.Application(client_max_size=MAX_BODY, middlewares=[authorize])
    app.router.add_get("/v1/models", list_models)
    app.router.add_post("/v1/chat/completions", complete)
    app.router.add_route("*", "/mcp/{token}", call_tool)
    app.router.add_route("*", "/{other:.*}", not_found)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    try:
        async with manager.run():
            try:
                await runner.setup()
                await web.TCPSite(runner, "127.0.0.1", 0).start()
                episode.address = f"http://127.0.0.1:{runner.addresses[0][1]}"
                yield episode
            finally:
                await episode.close()
                await runner.cleanup()
    except BaseExceptionGroup as group:  # the SDK's task group wraps the error that ends the episode
        error = group.exceptions[0]
        raise error from error.__cause__
