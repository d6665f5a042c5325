"""An MCP server as an environment: real servers as processes, one written with the SDK and our own."""

from __future__ import annotations

import asyncio
import os
import shlex
import subprocess
import sys
import time
from typing import Any

import pytest

from r_eval.environments.opening import open_environment
from r_eval.environments.sandbox import Sandbox
from r_eval.environments.session import Session
from r_eval.errors import UserError
from tests.environments.conftest import Ask

pytest.importorskip("mcp", reason="the MCP SDK is not installed (pip install mcp)")

SHOP = """
import os
from mcp.server.mcpserver import MCPServer

app = MCPServer("shop", instructions="Things to buy.")
seen = []

@app.tool()
def find(name: str) -> str:
    return name

@app.tool(name="last-seen")
def last_seen(item: str = "") -> str:
    seen.append(item)
    return ",".join(seen)

@app.tool()
def pid() -> int:
    return os.getpid()

@app.tool()
def secret() -> list[str]:
    return [os.environ.get(name, "nothing") for name in ("SHOP_SECRET", "SHOP_OTHER")]

app.run()
"""


@pytest.fixture(scope="module")
def command(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("a folder") / "shop.py"
    path.write_text(SHOP, encoding="utf-8")
    return f"mcp:{shlex.join([sys.executable, str(path)])}"


def gone(pid: int) -> bool:
    """Whether a process is gone, or goes within a few seconds."""
    for _ in range(100):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    return False


def test_tools_are_chosen_and_the_version_follows_the_choice(command: str) -> None:
    every = open_environment(command)
    one, other = (
        open_environment(command, {"tools": names, "description": "A shop."})
        for names in ("find, last*", ["find", "last-seen"])
    )
    assert (list(one.specs()), one.description, every.description) == (
        ["find", "last_seen"],
        "A shop.",
        "Things to buy.",
    )
    assert every.version != one.version == other.version


def test_a_process_gets_the_variables_that_are_named_and_no_others(
    command: str, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_SECRET", "hush")
    monkeypatch.setenv("SHOP_OTHER", "hush")
    environment = open_environment(command, {"pass_env": ["SHOP_SECRET"], "shared": True})
    assert ask(environment, "secret").value == ["hush", "nothing"]


def test_every_session_has_a_server_of_its_own_and_ends_it(command: str, sandbox: Sandbox) -> None:
    environment = open_environment(command)
    sessions = [Session(environment, sandbox) for _ in "ab"]

    async def calls() -> list[Any]:
        for session, item in zip(sessions, "ab", strict=True):
            await session.call("last_seen", {"item": item})
        found = [await session.call("last_seen", {"item": "c"}) for session in sessions]
        pids = [await session.call("pid", {}) for session in sessions]
        return [result.value for result in (*found, *pids)]

    first, second, *pids = asyncio.run(calls())
    assert (first, second) == ("a,c", "b,c")
    sessions[0].close()
    assert gone(pids[0])
    assert asyncio.run(sessions[1].call("pid", {})).value == pids[1]
    sessions[1].close()
    assert gone(pids[1])


def test_a_process_ends_with_the_one_that_started_it(command: str) -> None:
    code = f"""
import asyncio
from r_eval.environments.opening import open_environment
print(asyncio.run(open_environment({command!r}).open().call("pid", {{}})))
"""
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert gone(int(process.stdout))
    assert "Traceback" not in process.stderr


@pytest.mark.parametrize(
    ("where", "settings", "message"),
    [
        ("no-such-program --x", {}, "cannot be reached: FileNotFoundError"),
        (f"{sys.executable} -c 'raise SystemExit(\"no licence\")'", {}, "it said: no licence"),
        ("http://127.0.0.1:9/mcp", {}, "cannot be reached: "),
        ("'unclosed", {}, "No closing quotation"),
        ("$SHOP", {"tools": ["no*"]}, r"no tool of the MCP server is named no\*; its tools: find, last-seen"),
        ("$SHOP", {"pass_env": ["NOT_SET_ANYWHERE"]}, "the environment variable NOT_SET_ANYWHERE is not set"),
    ],
)
def test_a_server_that_is_not_there_and_wrong_settings_are_the_persons_error(
    command: str, where: str, settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(UserError, match=message):
        open_environment(command if where == "$SHOP" else f"mcp:{where}", settings)
