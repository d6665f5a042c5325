"""The HTTP server behind the workflow `agent`: an episode's LLM as chat completions, its query APIs as an MCP server.

One server on 127.0.0.1 serves all episodes of an event loop. Each episode has a token, valid for that episode only and
until its end. Requests of a program are queued and carried out one at a time in the episode's own task: parallel
requests have an order, limits and failures arise as in the other workflows, and nothing is recorded after the end.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import secrets
import time
import weakref
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeVar

from r_eval.environments.base import EnvironmentFailure
from r_eval.environments.schema import ApiSpec
from r_eval.environments.serve.mcp_server import asgi_response, server_of
from r_eval.environments.session import CallResult
from r_eval.llms.base import LLMError, Message
from r_eval.workflows.agent_messages import (
    MODEL,
    Body,
    InvalidRequest,
    completion,
    completion_chunks,
    parse_body,
    parse_request,
)
from r_eval.workflows.base import CALLS_PER_TURN, LimitReached, Limits, LLMProtocol, SessionProtocol

if TYPE_CHECKING:
    from aiohttp import web

T = TypeVar("T")
SDK = "mcp.server.streamable_http_manager"
MAX_BODY = 4 << 20
"""Bytes of a request."""
GRACE_SECONDS = 10.0
"""How long a program may take to answer once it has reached a limit."""
MAX_WAITING = 64
"""Requests of one episode that may wait at once."""


class RequestRefused(Exception):
    """A request is refused; `status` is the HTTP status of the response.

    Client libraries retry none of these statuses.
    """

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status, self.code = status, code


class AgentEpisode:
    """One episode as its program reaches it.

    Attributes:
        token: Opens this episode.
        limit_reached: The first limit that the program reached; every later request is refused.
    """

    def __init__(self, session: SessionProtocol, llm: LLMProtocol, limits: Limits) -> None:
        self.token = f"agent-{secrets.token_urlsafe(24)}"
        self.specs: dict[str, ApiSpec] = session.specs
        self.limit_reached: LimitReached | None = None
        self._session, self._llm, self._limits = session, llm, limits
        self._queue: asyncio.Queue[tuple[Callable[[], Awaitable[Any]], asyncio.Future[Any]] | None] = asyncio.Queue()
        self._messages: dict[bytes, Message] = {}
        self._turns = self._calls = 0
        self._own_seconds, self._since = 0.0, time.monotonic()
        self._is_over = self._is_stopped = False
        self._grace: asyncio.TimerHandle | None = None

    async def complete(self, data: bytes) -> tuple[Body, dict[str, Any]]:
        """The parsed body of a request and its completion. An invalid request also costs a step.

        Raises:
            Refused: The request is invalid, a limit is reached, or the LLM failed.
        """

        async def generate() -> tuple[Body, dict[str, Any]]:
            if self._turns >= self._limits.steps:
                raise LimitReached("steps", f"no answer within {self._limits.steps} LLM calls")
            self._turns += 1
            try:
                body = parse_body(data)
                request = parse_request(body, self._messages)
            except InvalidRequest as error:
                self._llm.note(f"An invalid request was refused: {error}")
                raise RequestRefused(400, "invalid_request", str(error)) from None
            return body, completion(await self._llm.generate(request), request, body, self._turns)

        return await self._enqueue(generate)

    async def call(self, api: str, arguments: dict[str, Any]) -> CallResult:
        """Call a query API; a refusal becomes an error that the program's LLM can read."""

        async def call() -> CallResult:
            max_calls = CALLS_PER_TURN * self._limits.steps
            if self._calls >= max_calls:
                raise LimitReached("steps", f"more than {max_calls} calls of query APIs ({CALLS_PER_TURN} per step)")
            self._calls += 1
            return await self._session.call(api, arguments)

        try:
            return await self._enqueue(call)
        except RequestRefused as refusal:
            return CallResult(None, str(refusal), refusal.code)

    async def serve(self) -> None:
        """Carry out the program's requests in order until `stop`.

        Raises:
            LLMError, EnvironmentFailure: The episode ends.
        """
        while not self._is_stopped:
            item = await self._queue.get()
            if item is None:
                continue
            work, future = item
            if self._is_stopped:
                _settle(future, _episode_over())
                continue
            try:
                self._count_own_time()
                if self.limit_reached is not None:
                    raise self.limit_reached
                result = await work()
            except RequestRefused as refusal:
                _settle(future, refusal)
            except LimitReached as limit:
                _settle(future, RequestRefused(400, "limit_reached", f"This evaluation reached a limit: {limit}."))
                if limit.cause == "seconds" or not self._limits.last_chance:
                    raise
                if self.limit_reached is None:
                    self.limit_reached = limit
                    self._grace = asyncio.get_running_loop().call_later(GRACE_SECONDS, self.stop)
            except BaseException as error:
                _settle(future, RequestRefused(400, "episode_over", f"The episode is over: {_reason(error)}."))
                raise
            else:
                if not future.done():
                    future.set_result(result)
            self._since = time.monotonic()

    def stop(self) -> None:
        """Let `serve` return; queued requests are refused by `close`."""
        self._is_stopped = True
        self._queue.put_nowait(None)

    def close(self) -> None:
        """Refuse queued and later requests."""
        self._is_over = True
        if self._grace is not None:
            self._grace.cancel()
        while not self._queue.empty():
            if (item := self._queue.get_nowait()) is not None:
                _settle(item[1], _episode_over())

    async def _enqueue(self, work: Callable[[], Awaitable[T]]) -> T:
        """Queue work and return its result.

        Raises:
            Refused: It was not carried out.
        """
        if self._is_over or self._is_stopped:
            raise _episode_over()
        if self._queue.qsize() >= MAX_WAITING:
            raise RequestRefused(400, "too_many_requests", f"More than {MAX_WAITING} requests at once.")
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._queue.put_nowait((work, future))
        return await future

    def _count_own_time(self) -> None:
        """Count the time that the program has worked since the latest call.

        Raises:
            LimitReached: The program has used up the time of an episode.
        """
        self._own_seconds += time.monotonic() - self._since
        if self._own_seconds > self._limits.seconds:
            raise LimitReached("seconds", f"the program worked for more than {self._limits.seconds:g} s")


def _episode_over() -> RequestRefused:
    return RequestRefused(400, "episode_over", "The episode is over.")


def _settle(future: asyncio.Future[Any], error: Exception) -> None:
    if not future.done():
        future.set_exception(error)


def _reason(error: BaseException) -> str:
    return str(error) if isinstance(error, LLMError | EnvironmentFailure) else "it was ended"


class AgentServer:
    """The server of one event loop, open while an episode uses it.

    It runs in a task of its own, since the MCP SDK must be closed by the task that opened it.

    Attributes:
        address: `http://127.0.0.1:<port>`, once an episode is admitted.
    """

    def __init__(self) -> None:
        self.address = ""
        self._episodes: dict[str, AgentEpisode] = {}
        self._over = asyncio.Event()
        self._ready: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._serve())

    @contextlib.asynccontextmanager
    async def admit(self, episode: AgentEpisode) -> AsyncIterator[None]:
        """Accept requests with the episode's token until the context ends."""
        self._episodes[episode.token] = episode
        try:
            self.address = await asyncio.shield(self._ready)
            yield
        finally:
            episode.close()
            del self._episodes[episode.token]
            if not self._episodes:
                _servers.pop(asyncio.get_running_loop(), None)
                self._over.set()
                await asyncio.wait([self._task])

    async def _serve(self) -> None:
        try:
            from aiohttp import web
            from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

            mcp = server_of(self._mcp_episode, "r-eval", is_structured=False)
            manager = StreamableHTTPSessionManager(mcp, json_response=True, stateless=True)

            async def call_tool(request: web.Request) -> web.StreamResponse:
                if request.method != "POST":
                    return web.Response(status=405, headers={"Allow": "POST"})
                if request.match_info["token"] not in self._episodes:
                    return _refusal(RequestRefused(401, "invalid_token", "No running episode has this address."))
                return await asgi_response(manager.handle_request, request)

            app = web.Application(client_max_size=MAX_BODY)
            app.router.add_get("/v1/models", self._list_models)
            app.router.add_post("/v1/chat/completions", self._complete)
            app.router.add_route("*", "/mcp/{token}", call_tool)
            app.router.add_route("*", "/{other:.*}", _not_found)
            runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
            async with manager.run():
                await runner.setup()
                await web.TCPSite(runner, "127.0.0.1", 0, backlog=1024).start()
                self._ready.set_result(f"http://127.0.0.1:{runner.addresses[0][1]}")
                await self._over.wait()
                await runner.cleanup()
        except Exception as error:
            if self._ready.done():
                raise
            self._ready.set_exception(error)

    def _mcp_episode(self, context: Any) -> AgentEpisode:
        """The episode of an MCP request, whose token is the last part of its address.

        Raises:
            PermissionError: The episode is over.
        """
        episode = self._episodes.get(context.request.url.path.rpartition("/")[2])
        if episode is None:
            raise PermissionError("the episode is over")
        return episode

    def _http_episode(self, request: web.Request) -> AgentEpisode:
        token = request.headers.get("Authorization", "").removeprefix("Bearer ").strip()
        episode = self._episodes.get(token)
        if episode is None:
            raise RequestRefused(401, "invalid_api_key", "The API key does not belong to a running episode.")
        return episode

    async def _list_models(self, request: web.Request) -> web.StreamResponse:
        try:
            self._http_episode(request)
        except RequestRefused as refusal:
            return _refusal(refusal)
        model = {"id": MODEL, "object": "model", "owned_by": "r-eval", "created": 0}
        return _response(json.dumps({"object": "list", "data": [model]}))

    async def _complete(self, request: web.Request) -> web.StreamResponse:
        try:
            body, answer = await self._http_episode(request).complete(await request.read())
        except RequestRefused as refusal:
            return _refusal(refusal)
        if not body.stream:
            return _response(json.dumps(answer))
        events = [f"data: {json.dumps(chunk)}\n\n" for chunk in completion_chunks(answer, body)]
        return _response("".join([*events, "data: [DONE]\n\n"]), content_type="text/event-stream")


_servers: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, AgentServer] = weakref.WeakKeyDictionary()


def agent_server() -> AgentServer:
    """The server of the running event loop, started if needed."""
    loop = asyncio.get_running_loop()
    if loop not in _servers:
        _servers[loop] = AgentServer()
    return _servers[loop]


async def _not_found(request: web.Request) -> web.StreamResponse:
    endpoints = "POST /v1/chat/completions, GET /v1/models, and MCP at /mcp/<token>"
    hint = " Set your SDK to chat completions." if request.path.endswith("/responses") else ""
    return _refusal(RequestRefused(404, "not_found", f"There is only {endpoints}.{hint}"))


def _refusal(refusal: RequestRefused) -> web.Response:
    error = {"message": str(refusal), "type": "r_eval", "code": refusal.code, "param": None}
    return _response(json.dumps({"error": error}), refusal.status)


def _response(text: str, status: int = 200, content_type: str = "application/json") -> web.Response:
    """A response with a text body."""
    from aiohttp import web

    return web.Response(body=text.encode(), status=status, content_type=content_type)
