"""Nothing is sent where the grid has not said so: a server that redirects is not followed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator

import pytest
from aiohttp import web

from r_eval.environments.aminer.environment import AMiner
from r_eval.environments.base import EnvironmentFailure
from r_eval.errors import UserError
from r_eval.llms.base import LLMError, Message, Request, make_llm
from tests.serving import serving

REACHED: list[str] = []
"""The paths that were requested of the other server."""


def answering(handler: Callable[[web.Request], Awaitable[web.Response]]) -> web.Application:
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", handler)
    return app


@pytest.fixture(params=[302, 307, 308])
def redirecting(request: pytest.FixtureRequest) -> Iterator[str]:
    """The address of a server that redirects everything to another."""

    async def note(got: web.Request) -> web.Response:
        REACHED.append(got.path)
        return web.Response(status=404)

    with serving(answering(note)) as target:

        async def redirect(got: web.Request) -> web.Response:
            location = target.replace("127.0.0.1", "localhost") + got.path
            return web.Response(status=request.param, headers={"Location": location})

        with serving(answering(redirect)) as address:
            yield address
    assert REACHED == []


def test_an_llms_server_that_redirects_is_not_followed(redirecting: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_KEY", "no-usual-form-0123456789")
    llm = make_llm("openai/m", {"base_url": f"{redirecting}/v1", "api_key_env": "SOME_KEY"})

    async def ask() -> None:
        try:
            await llm.open()
            await llm.generate(Request((Message("user", "Hello"),)))
        finally:
            await llm.close()

    with pytest.raises((UserError, LLMError), match="redirects to localhost:"):
        asyncio.run(ask())


def test_a_live_aminer_that_redirects_is_not_followed(redirecting: str) -> None:
    with pytest.raises(EnvironmentFailure, match="check the address"):
        AMiner(source="live", base_url=redirecting).searchPerson(name="Ada")
