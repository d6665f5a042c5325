"""A key is written nowhere, whatever a server does with it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from r_eval.errors import UserError
from r_eval.llms.base import make_llm
from r_eval.llms.secrets import Secrets
from tests.chat_server import ASK, USED, Answer, Server, good
from tests.chat_server import run as serve
from tests.commands import R_EVAL
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


BEARER = f"Bearer {KEY}"
FAILURES = {
    "refuses later": Answer(401, {"error": {"message": f"your key is {BEARER}"}}, {"X-Key": BEARER}),
    "breaks": Answer(418, f"<p>{BEARER}</p>", content_type="text/html"),
}


async def printed_by_run(server: Server, folder: Path) -> bytes:
    """Everything that a run against a server prints."""
    runner = await server.start()
    (folder / "grid.yaml").write_text(GRID.format(url=server.url), encoding="utf-8")
    command = [R_EVAL, "run", "grid.yaml", "--debug"]
    pipes = {"stdout": asyncio.subprocess.PIPE, "stderr": asyncio.subprocess.STDOUT}
    process = await asyncio.create_subprocess_exec(*command, cwd=folder, **pipes)
    printed, _ = await process.communicate()
    await runner.cleanup()
    return printed


@pytest.mark.parametrize("failure", FAILURES)
def test_a_key_is_in_no_output_record_report_or_cache(
    failure: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_KEY", KEY)
    monkeypatch.setenv("R_EVAL_REPLIES", str(tmp_path / "replies"))
    server = Server(FAILURES[failure], opening=(good(f"Finish[{BEARER}]", reasoning_content=BEARER),))
    printed = asyncio.run(printed_by_run(server, tmp_path))
    assert {headers["Authorization"] for headers in server.headers} == {BEARER}
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
     "&#115;k-hs3c&#x2f;Key+1é", "SK-HS3C/KEY+1É", "sk-hs3c&sol;Key&plus;1&eacute;",
     "sk-hs3c/Key&amp;#43;1&amp;amp;eacute;"],
)  # fmt: skip
def test_a_key_is_removed_from_an_error_in_any_escaping(repeated: str) -> None:
    assert Secrets("sk-hs3c/Key+1é").strike(f"bad key {repeated}, sorry") == "bad key [key], sorry"


@pytest.mark.parametrize("hostile", ["\\" * 10**6, "s" * 10**6, "%73" * 10**5, "&#115;" * 10**5])
def test_no_error_is_slow_to_search(hostile: str) -> None:
    assert quickest(lambda: Secrets("sk-0123456789-0123456789").strike(hostile), 0.25) < 0.25


@pytest.mark.parametrize(
    ("name", "settings"),
    [("sk-0123456789abcdef", {}), ("org/0123456789abcdef0123456789abcdef", {}),
     ("x", {"api_key_env": "sk-0123456789abcdef"}), ("x", {"headers": {"Authorization": "Bearer 0123456789abcdef"}}),
     ("x", {"api_key_header": "sk-0123456789abcdef"}), ("x", {"api_key_header": "not a header"})],
)  # fmt: skip
def test_a_key_in_a_setting_is_refused_without_repeating_it(name: str, settings: dict[str, Any]) -> None:
    with pytest.raises(UserError, match=r"api_key_|headers takes") as caught:
        make_llm(f"openai/{name}", settings)
    assert "0123456789abcdef" not in str(caught.value)
