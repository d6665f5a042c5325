"""Nothing is sent where the grid has not said so: a server that redirects is not followed."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Awaitable, Callable, Iterator

import pytest
from aiohttp import web

from r_eval.environments.aminer.environment import AMiner
from r_eval.environments.base import EnvironmentFailure
from r_eval.errors import UserError
from r_eval.llms.base import LLMError, Message, Request
from r_eval.llms.base import make_llm as make
from tests.serving import serving


@dataclasses.dataclass(frozen=True)
class Elsewhere:
    """A server that redirects everything to another, which takes note of what it is asked."""

    address: str
    other: str
    reached: list[str]


def answering(handler: Callable[[web.Request], Awaitable[web.Response]]) -> web.Application:
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", handler)
    return app


@pytest.fixture(params=[302, 307, 308])
def elsewhere(request: pytest.FixtureRequest) -> Iterator[Elsewhere]:
    reached: list[str] = []

    async def note(got: web.Request) -> web.Response:
        reached.append(got.path)
        return web.Response(status=404)

    with serving(answering(note)) as target:
        other = target.replace("http://127.0.0.1", "localhost")

        async def redirect(got: web.Request) -> web.Response:
            return web.Response(status=request.param, headers={"Location": f"http://{other}{got.path}"})

        with serving(answering(redirect)) as address:
            yield Elsewhere(address, other, reached)


def test_an_llms_server_that_redirects_is_not_followed(elsewhere: Elsewhere, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_KEY", "no-usual-form-0123456789")
    llm = make("openai/m", {"base_url": f"{elsewhere.address}/v1", "api_key_env": "SOME_KEY"})

    async def ask() -> None:
        try:
            await llm.open()
            await llm.generate(Request((Message("user", "Hello"),)))
        finally:
            await llm.close()

    with pytest.raises((UserError, LLMError), match=f"redirects to {elsewhere.other}"):
        asyncio.run(ask())
    assert elsewhere.reached == []


def test_a_live_aminer_that_redirects_is_not_followed(elsewhere: Elsewhere) -> None:
    with pytest.raises(EnvironmentFailure, match="check the address"):
        AMiner(source="live", base_url=elsewhere.address).searchPerson(name="Ada")
    assert elsewhere.reached == []
