"""Nothing leaves this machine: a scripted grid and its report look up no name and connect to nothing but loopback."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.chat_server import Server, good
from tests.commands import R_EVAL
from tests.serving import serving

GUARD = '''
"""Writes down every address that the process asks for, and stops it where that is not this machine."""

import ipaddress
import os
import socket
import sys


def guard(event, arguments):
    if event in ("socket.connect", "socket.sendto", "socket.sendmsg"):
        address = arguments[1]
        host = address[0] if isinstance(address, tuple) else None
    elif event in ("socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr"):
        host = arguments[0]
    else:
        return
    if host is None:
        return
    host = host.decode() if isinstance(host, bytes) else str(host)
    with open(os.environ["GUARD_LOG"], "a", encoding="utf-8") as log:
        log.write(f"{event} {host}\\n")
    try:
        local = ipaddress.ip_address(host).is_loopback
    except ValueError:
        local = host == "localhost"
    if not local:
        os.write(2, f"guard: {event} to {host}\\n".encode())
        os._exit(97)


sys.addaudithook(guard)
'''
LLM = """
def reply(request):
    return "Action: searchPerson(name=\\"Jonas\\")" if len(request.messages) % 4 else "Action: Finish[Ada]"
"""
WORKFLOWS = "[direct, react, pal, {workflow: dfsdt, max_calls: 4}, fc, oracle]"


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    (tmp_path / "guard").mkdir()
    (tmp_path / "guard" / "sitecustomize.py").write_text(GUARD, encoding="utf-8")
    (tmp_path / "llm.py").write_text(LLM, encoding="utf-8")
    (tmp_path / "addresses").touch()
    return tmp_path


def guarded(desk: Path, *command: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(desk / "guard"), "GUARD_LOG": str(desk / "addresses")}
    return subprocess.run(command, cwd=desk, env=environment, capture_output=True, encoding="utf-8", timeout=300)


def addresses(desk: Path) -> list[str]:
    return (desk / "addresses").read_text(encoding="utf-8").splitlines()


def write_grid(desk: Path, llm: str) -> None:
    tasks = "aminer/soay-*, wiki/high-freq, wiki/hotpotqa"
    text = f"llms: [{llm}]\nworkflows: {WORKFLOWS}\ntasks: [{tasks}]\nsamples: 2\nlimits: {{steps: 4}}\n"
    (desk / "grid.yaml").write_text(text, encoding="utf-8")


@pytest.mark.parametrize(
    "code",
    [
        "import socket; socket.getaddrinfo('example.invalid', 80)",
        "import asyncio; asyncio.run(asyncio.open_connection('192.0.2.1', 80))",
    ],
)
def test_the_guard_stops_what_would_leave_the_machine(desk: Path, code: str) -> None:
    done = guarded(desk, sys.executable, "-c", code)
    assert done.returncode == 97
    assert "guard: " in done.stderr


def test_a_scripted_grid_and_its_report_connect_to_nothing(desk: Path) -> None:
    write_grid(desk, "scripted/./llm.py:reply")
    for command in ("run grid.yaml", "report runs/grid --out report"):
        done = guarded(desk, str(R_EVAL), *command.split())
        assert done.returncode == 0, done.stderr
    assert (desk / "report" / "index.html").is_file()
    assert addresses(desk) == []


def test_a_grid_over_a_local_server_connects_to_that_server_only(desk: Path) -> None:
    with serving(Server(good("Ada")).app()) as address:
        write_grid(desk, f"{{llm: openai/m, base_url: '{address}/v1'}}")
        done = guarded(desk, str(R_EVAL), "run", "grid.yaml", "--quiet")
    assert done.returncode == 0, done.stderr
    assert set(addresses(desk)) == {"socket.connect 127.0.0.1"}


@pytest.mark.parametrize("words", [["list", "llms"], ["doctor"], ["call", "wiki", "Search", "entity=Kenya"]])
def test_the_other_commands_connect_to_nothing(desk: Path, words: list[str]) -> None:
    assert guarded(desk, str(R_EVAL), *words).returncode == 0
    assert addresses(desk) == []
