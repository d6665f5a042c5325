"""What every LLM backend must do, whatever stands behind it.

A new backend joins by being added to `BACKENDS`. The OpenAI and the LangChain backend talk to a real server: the one of
llama.cpp, which speaks that protocol, with the same real model as the GGUF and the transformers backend.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from r_eval.llms.base import LLM, Message, Reply, Request, ToolCall, ToolSpec, make_llm
from r_eval.llms.gguf import GGUF
from r_eval.llms.replay import ReplyStores
from r_eval.runner.episode_llm import EpisodeLLM
from r_eval.workflows.base import Limits
from tests.embedded_model import embedded_hf
from tests.tiny_models import causal_model

SCRIPT = '''
import re
from r_eval.llms.base import Reply, ToolCall
from r_eval.records import Tokens

def speak(request):
    """A little model: counts, or calls the tool that it is offered; takes a word for a token."""
    question = request.messages[-1].content
    if request.tools:
        return Reply("", (ToolCall("a", request.tools[0].name, {"country": re.findall("of (.*?)[?]", question)[0]}),))
    words = " ".join(str(n) for n in range(1, 100)).split()
    reply = words[: request.max_tokens or 12]
    finish = "length" if len(reply) < len(words) else "stop"
    text = " ".join(reply)
    for stop in request.stop:
        if stop in text:
            text, finish = text.partition(stop)[0], "stop"
    prompt = sum(len(m.content.split()) for m in request.messages)
    return Reply(text, finish=finish, tokens=Tokens(prompt=prompt, completion=len(reply)))
'''

CHAT = """
from langchain_openai import ChatOpenAI

def chat():
    return ChatOpenAI(model="smollm2-135m", base_url="{address}/v1", api_key="none")
"""

COUNT = "Count from 1 to 100. Reply with the numbers, separated by spaces."
CAPITAL = ToolSpec(
    "get_capital",
    "Look up the capital of a country.",
    {"type": "object", "properties": {"country": {"type": "string"}}, "required": ["country"]},
)


@pytest.fixture(scope="module")
def loop() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as runner:
        yield runner


@pytest.fixture(scope="module")
def gguf(loop: asyncio.Runner) -> Iterator[LLM]:
    made = make_llm("gguf/smollm2-135m", {"context": 1024, "connections": 2, "max_tokens": 60})
    loop.run(made.open())
    yield made
    loop.run(made.close())


def an_openai(local: GGUF, folder: Path) -> LLM:
    settings = {"base_url": f"{local._server.listening_address}/v1", "native_tools": False, "max_tokens": 60}
    return make_llm("openai/smollm2-135m", settings)


def a_scripted(local: GGUF, folder: Path) -> LLM:
    path = folder / "speak.py"
    path.write_text(SCRIPT, encoding="utf-8")
    return make_llm(f"scripted/{path}:speak")


def an_hf(local: GGUF, folder: Path) -> LLM:
    pytest.importorskip("gguf", reason="needs the extra hf")
    pytest.importorskip("torch", reason="needs the extra hf")
    return embedded_hf(context=1024, max_tokens=60)


def a_base_hf(local: GGUF, folder: Path) -> LLM:
    pytest.importorskip("torch", reason="needs the extra hf")
    return make_llm(f"hf/{causal_model(folder, context=4096)}", {"max_tokens": 8})


def a_langchain(local: GGUF, folder: Path) -> LLM:
    path = folder / "chat.py"
    path.write_text(CHAT.format(address=local._server.listening_address), encoding="utf-8")
    return make_llm(f"langchain/{path}:chat", {"native_tools": False, "max_tokens": 60})


pytestmark = pytest.mark.slow

BACKENDS: dict[str, Callable[[GGUF, Path], LLM]] = {
    "gguf": lambda local, folder: local,
    "hf": an_hf,
    "hf, base": a_base_hf,
    "langchain": a_langchain,
    "openai": an_openai,
    "scripted": a_scripted,
}


@pytest.fixture(scope="module", params=BACKENDS)
def llm(
    request: pytest.FixtureRequest, loop: asyncio.Runner, gguf: GGUF, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LLM]:
    made = BACKENDS[request.param](gguf, tmp_path_factory.mktemp("llms"))
    loop.run(made.open())
    yield made
    if made is not gguf:
        loop.run(made.close())


@pytest.fixture
def count(loop: asyncio.Runner, llm: LLM) -> Callable[..., Reply]:
    """The reply to the request for numbers."""
    return lambda **limits: loop.run(llm.generate(counting(**limits)))


def counting(max_tokens: int | None = None, stop: tuple[str, ...] = ()) -> Request:
    return Request((Message("user", COUNT),), stop=stop, max_tokens=max_tokens)


def test_a_reply_holds_no_more_tokens_than_asked_for_and_says_so(count: Callable[..., Reply]) -> None:
    reply = count(max_tokens=5)
    assert (reply.tokens.completion, reply.finish) == (5, "length")
    assert 0 <= reply.tokens.cached <= reply.tokens.prompt > 0


def test_a_reply_ends_before_a_stop_and_says_so(count: Callable[..., Reply]) -> None:
    whole = count().text
    stop = whole[len(whole) // 2 :][:2]
    reply = count(stop=(stop,))
    assert (reply.text.rstrip(), reply.finish) == (whole.partition(stop)[0].rstrip(), "stop")


def test_the_same_request_has_the_same_reply(count: Callable[..., Reply]) -> None:
    assert count().text == count().text


def test_requests_at_the_same_time_have_their_own_replies(loop: asyncio.Runner, llm: LLM) -> None:
    async def all_at_once() -> list[Reply]:
        return list(await asyncio.gather(*(llm.generate(counting(n)) for n in (2, 4, 6, 8))))

    replies = loop.run(all_at_once())
    assert [reply.tokens.completion for reply in replies] == [2, 4, 6, 8]
    assert all(long.text.startswith(short.text) for short, long in itertools.pairwise(replies))


def demonstration(country: str, capital: str) -> list[Message]:
    call = ToolCall("call_0", CAPITAL.name, {"country": country})
    return [
        Message("user", f"What is the capital of {country}?"),
        Message("assistant", "", (call,)),
        Message("tool", capital, call_id=call.id, name=call.name),
        Message("assistant", capital),
    ]


def test_an_offered_tool_is_called(loop: asyncio.Runner, llm: LLM) -> None:
    if not llm.chat:
        pytest.skip("a random model calls nothing")
    question = Message("user", "What is the capital of Spain?")
    shown = (*demonstration("France", "Paris"), *demonstration("Italy", "Rome"))
    request = Request((Message("system", "Be brief."), *shown, question), tools=(CAPITAL,))
    speaking = EpisodeLLM(llm, Limits(), [], ReplyStores().of_episode(llm, "episode", "", 0))
    (call,) = loop.run(speaking.generate(request)).tool_calls
    assert (call.name, call.arguments, call.error) == (CAPITAL.name, {"country": "Spain"}, None)
    assert call.id
