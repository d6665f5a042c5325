"""Nothing is sent where the grid has not said so: a server that redirects is not followed."""

from __future__ import annotations

import asyncio
import http.server
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from r_eval.environments.aminer.environment import AMiner
from r_eval.environments.base import EnvironmentFailure
from r_eval.errors import UserError
from r_eval.llms.base import LLMError, Message, Request
from r_eval.llms.base import make_llm as make


class Elsewhere:
    """A server that redirects everything to another, which takes note of what it is asked."""

    def __init__(self, status: int) -> None:
        self.reached: list[str] = []
        elsewhere = self

        class Other(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                elsewhere.reached.append(self.path)
                self.send_error(404)

            do_GET = do_POST

            def log_message(self, *arguments: Any) -> None: ...

        self.other = serving(Other)

        class First(Other):
            def do_POST(self) -> None:
                self.send_response(status)
                self.send_header("Location", f"http://localhost:{elsewhere.other.server_port}{self.path}")
                self.send_header("Content-Length", "0")
                self.end_headers()

            do_GET = do_POST

        self.first = serving(First)

    def close(self) -> None:
        for server in (self.first, self.other):
            server.shutdown()
            server.server_close()


def serving(handler: type[http.server.BaseHTTPRequestHandler]) -> http.server.ThreadingHTTPServer:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    return server


@pytest.fixture(params=[302, 307, 308])
def elsewhere(request: pytest.FixtureRequest) -> Iterator[Elsewhere]:
    made = Elsewhere(request.param)
    yield made
    made.close()


def test_an_llms_server_that_redirects_is_not_followed(elsewhere: Elsewhere, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_KEY", "no-usual-form-0123456789")
    url = f"http://127.0.0.1:{elsewhere.first.server_port}/v1"
    llm = make("openai/m", {"base_url": url, "api_key_env": "SOME_KEY"})

    async def ask() -> None:
        try:
            await llm.open()
            await llm.generate(Request((Message("user", "Hello"),)))
        finally:
            await llm.close()

    with pytest.raises((UserError, LLMError), match=f"redirects to localhost:{elsewhere.other.server_port}"):
        asyncio.run(ask())
    assert elsewhere.reached == []


def test_a_live_aminer_that_redirects_is_not_followed(elsewhere: Elsewhere) -> None:
    with pytest.raises(EnvironmentFailure, match="check the address"):
        AMiner(source="live", base_url=f"http://127.0.0.1:{elsewhere.first.server_port}").searchPerson(name="Ada")
    assert elsewhere.reached == []
