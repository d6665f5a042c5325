"""The GGUF backend with the real embedded model, and with files that are none."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from r_eval.errors import UserError
from r_eval.llms.base import LLM, LLMError, Message, Request, make_llm
from r_eval.llms.model_files import MODELS, fetch_model, file_fingerprint
from tests.chat_server import SEARCH

pytestmark = pytest.mark.slow

CONTEXT = 512
EMBEDDED = "gguf/smollm2-135m"


@pytest.fixture(scope="module")
def loop() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as runner:
        yield runner


@pytest.fixture(scope="module")
def llm(loop: asyncio.Runner) -> Iterator[LLM]:
    made = make_llm(EMBEDDED, {"context": CONTEXT, "connections": 2, "max_tokens": 12})
    loop.run(made.open())
    yield made
    loop.run(made.close())


def user(text: str, **more: Any) -> Request:
    return Request((Message("user", text),), **more)


def slots_at_work(llm: Any) -> int:
    with urllib.request.urlopen(f"{llm._server.listening_address}/slots", timeout=300) as answer:
        return sum(bool(slot["is_processing"]) for slot in json.load(answer))


# Replies


def test_the_model_answers_and_tools_without_a_template_for_them_are_described(loop: asyncio.Runner, llm: LLM) -> None:
    reply = loop.run(llm.generate(user("What is the capital of France? Answer with one word.")))
    assert "Paris" in reply.text
    assert reply.estimated is False
    assert llm.native_tools is False
    described = loop.run(llm.generate(user("Where is Kenya?", tools=(SEARCH,), max_tokens=2)))
    assert described.tokens.prompt > reply.tokens.prompt + 50


def test_what_a_prompt_shares_with_an_earlier_one_is_not_computed_again(loop: asyncio.Runner, llm: LLM) -> None:
    shared = "The rivers of Kenya are the Tana, the Athi, the Ewaso Ng'iro, the Mara, the Nzoia and the Turkwel. " * 3
    loop.run(llm.generate(user(f"{shared} Which is the longest?", max_tokens=1)))
    reply = loop.run(llm.generate(user(f"{shared} Which is the shortest?", max_tokens=1)))
    assert 80 < reply.tokens.cached < reply.tokens.prompt


def test_a_request_longer_than_the_context_is_the_systems_doing(loop: asyncio.Runner, llm: LLM) -> None:
    with pytest.raises(LLMError, match="context") as caught:
        loop.run(llm.generate(user("word " * 2 * CONTEXT)))
    assert caught.value.cause == "context"
    assert loop.run(llm.generate(user("Hello"))).text


def test_a_generation_that_nobody_waits_for_is_stopped(loop: asyncio.Runner, llm: LLM) -> None:
    async def given_up() -> None:
        async with asyncio.timeout(0.3):
            await llm.generate(user("Count from 1 to 1000.", max_tokens=CONTEXT - 50))

    before = loop.run(llm.generate(user("Hello", max_tokens=1)))
    with pytest.raises(TimeoutError):
        loop.run(given_up())
    end = time.monotonic() + 60
    while slots_at_work(llm) and time.monotonic() < end:
        time.sleep(0.1)
    assert slots_at_work(llm) == 0
    assert before.text == loop.run(llm.generate(user("Hello", max_tokens=1))).text


# Files


def test_content_and_context_are_the_identity_and_it_must_be_open(loop: asyncio.Runner, tmp_path: Path) -> None:
    path = tmp_path / "模型.gguf"
    path.write_bytes(b"GGUF")
    small, large = (make_llm(f"gguf/{path}", {"context": context}) for context in (256, 512))
    assert small.identity() == large.identity() | {"context": 256}
    assert small.identity()["file"] == file_fingerprint(path)
    assert make_llm(EMBEDDED).identity()["file"] == MODELS["smollm2-135m"].sha256
    with pytest.raises(LLMError, match="not open"):
        loop.run(small.generate(user("Hello")))
    with pytest.raises(UserError, match="smollm2-135m"):
        fetch_model("smollm2-136m")


def test_a_missing_file_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(UserError) as caught:
        asyncio.run(make_llm(f"gguf/{tmp_path}").open())
    assert f"{tmp_path}: no such file. Embedded models: {EMBEDDED}" in str(caught.value)


OPEN = """
import asyncio, sys
from r_eval.errors import UserError
from r_eval.llms.base import make_llm
for path in sys.argv[1:]:
    try:
        asyncio.run(make_llm(f"gguf/{path}").open())
    except UserError as error:
        print(error)
"""


def test_a_damaged_gguf_file_is_refused_and_does_not_end_the_process(tmp_path: Path) -> None:
    whole = fetch_model("smollm2-135m").read_bytes()
    header = bytearray(whole[:100_000])
    header[8:24] = b"\xff" * 16
    noise = b"<html>Not found</html>", b"GGUF" + bytes(range(256)) * 100
    pieces = [*noise, whole[:4], whole[:500_000], whole[:-1000], bytes(header)]
    paths = [tmp_path / f"{number}.gguf" for number in range(len(pieces))]
    for path, content in zip(paths, pieces, strict=True):
        path.write_bytes(content)
    command = [sys.executable, "-c", OPEN, *map(str, paths)]
    lines = subprocess.run(command, capture_output=True, text=True, timeout=100, check=True).stdout.splitlines()
    assert len(lines) == len(paths)
    assert all(str(path) in line and "damaged" in line for path, line in zip(paths, lines, strict=True))


# The process

AT_WORK = """
import asyncio, signal
from r_eval.llms.base import Message, Request, make_llm
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it

async def main():
    llm = make_llm("gguf/smollm2-135m", {"context": 4096, "connections": 2})
    await llm.open()
    print("open", flush=True)
    request = Request((Message("user", "Count from 1 to 1000."),), max_tokens=3000)
    await asyncio.gather(*(llm.generate(request) for _ in range(6)))
asyncio.run(main())
"""


def test_an_interrupted_process_ends_soon_whatever_is_under_way() -> None:
    command, pipe = [sys.executable, "-c", AT_WORK], subprocess.PIPE
    process = subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "open\n", process.communicate(timeout=60)
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == -signal.SIGINT
