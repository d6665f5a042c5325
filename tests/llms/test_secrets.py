"""A key is written nowhere, whatever a server does with it."""

from __future__ import annotations

import asyncio
import base64
import os
import sys
from pathlib import Path

import pytest
from aiohttp import web

from r_eval.errors import UserError
from r_eval.llms.base import make_llm
from r_eval.llms.secrets import Secrets
from tests.chat_server import ASK, USED, Server, good
from tests.chat_server import run as serve
from tests.timing import quickest

KEY = "no-usual-form-0123456789abcdef"

GRID = """
llms:
  - llm: openai/some-model
    base_url: {url}
    api_key_env: SOME_KEY
    native_tools: false
workflows: [react, direct]
tasks: [wiki/high-freq]
samples: 2
limits: {{steps: 2}}
"""


class Telltale(Server):
    """A server that repeats the key in everything that it says, and fails in a way that its kind decides."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.kind = kind
        self.keys: set[str] = set()

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        sent = request.headers["Authorization"]
        self.keys.add(sent)
        body = await request.json()
        opening = "tests the connection" in str(body["messages"])
        said = {"error": {"message": f"your key is {sent}"}}
        if self.kind == "refuses later" and not opening:
            return web.json_response(said, status=401, headers={"X-Key": sent})
        if self.kind == "breaks" and not opening:
            return web.Response(text=f"<p>{sent}</p>", content_type="text/html", status=418)
        message = {"role": "assistant", "content": f"Finish[{sent}]", "reasoning_content": sent}
        return web.json_response({"choices": [{"message": message, "finish_reason": "stop"}], "usage": None})


async def run_against(kind: str, folder: Path) -> tuple[Telltale, bytes]:
    """The server, and everything that a run against it prints."""
    server = Telltale(kind)
    runner = await server.start()
    (folder / "grid.yaml").write_text(GRID.format(url=server.url), encoding="utf-8")
    executable = str(Path(sys.executable).with_name("r-eval"))
    try:
        process = await asyncio.create_subprocess_exec(
            *[executable, "run", "grid.yaml", "--debug"],
            cwd=folder,
            env={**os.environ, "SOME_KEY": KEY, "R_EVAL_REPLIES": str(folder / "replies")},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        printed, _ = await process.communicate()
    finally:
        await runner.cleanup()
    return server, printed


@pytest.mark.parametrize("kind", ["refuses later", "breaks"])
def test_a_key_is_in_no_output_record_report_or_cache(kind: str, tmp_path: Path) -> None:
    server, printed = asyncio.run(run_against(kind, tmp_path))
    assert server.keys == {f"Bearer {KEY}"}
    found = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert any("episodes" in path.parts for path in found)
    assert [path for path, content in found.items() if KEY.encode() in content] == []
    assert KEY.encode() not in printed


@pytest.mark.parametrize("key", ["none", "1", "EMPTY", KEY])
def test_a_reply_is_never_touched_whatever_the_key_is(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", key)
    text = f"none of the latest 10 contests is EMPTY in a local area {KEY}"
    reply = serve(Server(good(text, usage=USED)), lambda llm: llm.generate(ASK))
    assert reply.text == text


@pytest.mark.parametrize(
    "repeated",
    ["sk-hs3c/Key+1é", "sk-hs3c\\/Key+1é", "sk\\u002dhs3c/Key\\u002b1\\u00e9", "sk-hs3c%2FKey%2b1%c3%a9",
     "sk-hs3c%252FKey%2b1%c3%a9", "sk\\x2dhs3c\\057Key+1é",
     "&#115;k-hs3c&#x2f;Key+1é", "SK-HS3C/KEY+1É"],
)  # fmt: skip
def test_a_key_is_removed_from_an_error_in_any_escaping(repeated: str) -> None:
    assert Secrets("sk-hs3c/Key+1é").strike(f"bad key {repeated}, sorry") == "bad key [key], sorry"


@pytest.mark.parametrize("before", ["", ":", "Bearer ", "user:"])
def test_a_key_is_removed_in_base64_wherever_it_stands(before: str) -> None:
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        encoded = encode(f"{before}sk-hs3c/Key+1 and more".encode()).decode()
        assert "[key]" in Secrets("sk-hs3c/Key+1").strike(encoded)


@pytest.mark.parametrize("hostile", ["\\" * 10**6, "s" * 10**6, "%73" * 10**5, "&#115;" * 10**5])
def test_no_error_is_slow_to_search(hostile: str) -> None:
    assert quickest(lambda: Secrets("sk-0123456789-0123456789").strike(hostile), 0.25) < 0.25


@pytest.mark.parametrize(
    ("name", "settings"),
    [("sk-0123456789abcdef", {}), ("org/0123456789abcdef0123456789abcdef", {}),
     ("x", {"api_key_env": "sk-0123456789abcdef"}),
     ("x", {"api_key_header": "sk-0123456789abcdef"}), ("x", {"api_key_header": "not a header"})],
)  # fmt: skip
def test_a_key_in_a_setting_is_refused_without_repeating_it(name: str, settings: dict[str, str]) -> None:
    with pytest.raises(UserError, match="api_key_") as caught:
        make_llm(f"openai/{name}", settings)
    assert "0123456789abcdef" not in str(caught.value)
