"""Any environment over HTTP: `GET /openapi.json` describes it, `POST /<query API>` with a JSON object of arguments
calls it. Where the MCP SDK is installed, `/mcp` is an MCP server over the same environment.

The answer is the value as JSON. Errors are `{"error": observation}`: 404 where nothing was found or there is no such
query API, 422 where the arguments do not fit, 500 where the environment failed.

A client has a session, so that what a query API leaves behind (the page that Lookup reads) is there for its next call:
by the header or cookie `X-Session`, whose value the client may choose. Without one it gets a cookie.

At an address of this machine alone, requests that a web page of another site made its reader's browser send are
refused, with 403: those that call the server by another name, and those that another origin sends.
"""

from __future__ import annotations

import asyncio
import importlib.util
import ipaddress
import json
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from pydantic_core import to_json

from r_eval.environments.base import Environment, EnvironmentFailure
from r_eval.environments.serve.mcp_server import Sessions, add_mcp
from r_eval.errors import UserError
from r_eval.text import clean_data

if TYPE_CHECKING:
    from aiohttp import web

SESSION = "X-Session"
LONGEST_ID = 200
STATUS = {None: 200, "unknown_api": 404, "not_found": 404, "bad_arguments": 422, "temporary": 503, "tool_error": 400}


def serve_http(
    environment: Environment,
    port: int,
    host: str = "127.0.0.1",
    started: Callable[[str], None] = lambda address: None,
) -> None:
    """Serve an environment until SIGINT or SIGTERM.

    Args:
        port: 0 for any free one.
        started: Called with the address once it answers.

    Raises:
        UserError: The port cannot be opened.
    """
    asyncio.run(_serve(http_app(environment), port, host, started))


async def _serve(app: web.Application, port: int, host: str, started: Callable[[str], None]) -> None:
    from aiohttp import web

    over = asyncio.Event()
    app.middlewares.append(_own_requests())
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=2.0)
    await runner.setup()
    try:
        await web.TCPSite(runner, host, port).start()
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, over.set)
        started(f"http://{host}:{runner.addresses[0][1]}")
        await over.wait()
    except OSError as error:
        raise UserError(f"port {port} of {host} cannot be opened: {error.strerror or error}") from None
    finally:
        await runner.cleanup()


def http_app(environment: Environment) -> web.Application:
    """The application over an environment."""
    from aiohttp import web

    sessions = Sessions(environment)

    async def describe(request: web.Request) -> web.Response:
        return _json(openapi(environment))

    async def call(request: web.Request) -> web.Response:
        client = (request.headers.get(SESSION) or request.cookies.get(SESSION, ""))[:LONGEST_ID]
        key, session = sessions.of(client)
        try:
            arguments = json.loads(await request.text() or "{}")
            if not isinstance(arguments, dict):
                raise ValueError("it is no object")
            result = await session.call(request.match_info["api"], arguments)
            answer = _json({"error": result.observation} if result.error else result.value, STATUS[result.error])
        except (ValueError, LookupError, RecursionError) as error:
            answer = _json({"error": f"The arguments must be a JSON object: {error}."}, 422)
        except EnvironmentFailure as failure:
            answer = _json({"error": str(failure)}, 500)
        if not client:
            answer.set_cookie(SESSION, key, httponly=True, samesite="Strict")
        return answer

    async def close(app: web.Application) -> AsyncIterator[None]:
        yield
        sessions.close()

    app = web.Application()
    app.router.add_get("/openapi.json", describe)
    if importlib.util.find_spec("mcp") is not None:
        add_mcp(app, environment, sessions)
    app.router.add_post("/{api}", call)
    app.cleanup_ctx.append(close)
    return app


def _own_requests() -> Any:
    """The middleware that refuses what other sites had a browser send."""
    from aiohttp import web

    @web.middleware
    async def own(request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]) -> Any:
        here = request.transport.get_extra_info("sockname") if request.transport else None
        names = [request.host, *(origin.partition("://")[2] for origin in request.headers.getall("Origin", []))]
        if here and _is_loopback(here[0]) and not all(_is_loopback(urlsplit(f"//{one}").hostname) for one in names):
            return _json({"error": "This server answers programs of its own machine only."}, 403)
        return await handler(request)

    return own


def _is_loopback(host: Any) -> bool:
    try:
        return ipaddress.ip_address(str(host)).is_loopback
    except ValueError:
        return bool(host == "localhost")


def openapi(environment: Environment) -> dict[str, Any]:
    """The OpenAPI 3.1 document of an environment as it is served here."""
    error = _content({"type": "object", "properties": {"error": {"type": "string"}}, "required": ["error"]})
    errors = {"404": "Nothing was found", "422": "The arguments do not fit", "500": "The environment failed"}
    failures = {status: {"description": text, "content": error} for status, text in errors.items()}
    paths = {}
    for name, spec in environment.specs().items():
        about = {"operationId": name, "summary": spec.summary, "description": spec.details}
        value = {"description": "What was found", "content": _content(spec.result)}
        body = {"required": True, "content": _content(spec.json_schema())}
        operation = {key: text for key, text in about.items() if text}
        paths[f"/{name}"] = {"post": {**operation, "requestBody": body, "responses": {"200": value, **failures}}}
    title = type(environment).__name__
    info = {"title": title, "version": environment.version, "description": environment.description or title}
    return {"openapi": "3.1.0", "info": info, "servers": [{"url": "/"}], "paths": paths}


def _content(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}


def _json(value: Any, status: int = 200) -> web.Response:
    from aiohttp import web

    text = to_json(clean_data(value), inf_nan_mode="null")
    return web.Response(body=text, status=status, content_type="application/json", charset="utf-8")
