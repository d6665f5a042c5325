"""A served environment answers programs of its own machine, unless a flag says otherwise."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

R_EVAL = Path(sys.executable).with_name("r-eval")


def serve(*words: str) -> tuple[subprocess.Popen[str], str]:
    """A server's process and its address."""
    process = subprocess.Popen(
        [R_EVAL, "serve", "wiki", "--http", "0", *words], stderr=subprocess.PIPE, encoding="utf-8"
    )
    assert process.stderr is not None
    line = process.stderr.readline()
    return process, line.partition(" at ")[2].split()[0]


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    process, found = serve()
    yield found
    process.terminate()
    process.wait(60)


def status(address: str, **headers: str) -> int:
    request = urllib.request.Request(f"{address}/openapi.json", headers={k.title(): v for k, v in headers.items()})
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            json.load(answer)
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


def own_address() -> str:
    """An address of this machine that others can reach; nothing is sent to find it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
            found = str(probe.getsockname()[0])
        except OSError:
            found = "127.0.0.1"
    if found.startswith("127."):
        pytest.skip("this machine has no address but that of the loopback")
    return found


def test_a_server_is_at_the_loopback_address(address: str) -> None:
    assert urlsplit(address).hostname == "127.0.0.1"
    assert status(address) == 200


def test_a_server_cannot_be_reached_from_elsewhere(address: str) -> None:
    with pytest.raises(OSError, match=r"refused|unreachable|timed out"):
        socket.create_connection((own_address(), urlsplit(address).port or 0), timeout=5)


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"host": "evil.example"}, 403),
        ({"host": "127.0.0.1.evil.example"}, 403),
        ({"host": "localhost:1"}, 200),
        ({"host": "[::1]"}, 200),
        ({"origin": "https://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "http://localhost:3000"}, 200),
    ],
)
def test_what_another_site_has_a_browser_send_is_refused(address: str, headers: dict[str, str], expected: int) -> None:
    assert status(address, **headers) == expected


def test_another_address_needs_a_flag() -> None:
    process, found = serve("--host", "127.0.0.2")
    try:
        assert urlsplit(found).hostname == "127.0.0.2"
        assert status(found) == 200
    finally:
        process.terminate()
        process.wait(60)
