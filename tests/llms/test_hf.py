"""The transformers backend with tiny random models, with the embedded model, and with files that are no model."""

from __future__ import annotations

import asyncio
import importlib.util
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from r_eval.errors import UserError
from r_eval.llms import hf
from r_eval.llms.base import LLMError, Message, Reply, Request, make_llm
from r_eval.llms.hf import HF
from r_eval.llms.model_files import fetch_model
from tests.chat_server import SEARCH
from tests.embedded_model import embedded_hf
from tests.tiny_models import causal_model

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(  # not imported here: how torch's threads wait is decided before that
        not all(importlib.util.find_spec(name) for name in ("torch", "transformers", "gguf")),
        reason="needs the extra hf",
    ),
]

CHATML = "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}"
TOOLS = (
    "{% if tools %}{{ tools | tojson }}{% endif %}{% for m in messages %}{{ m.role }}: {{ m.content }}"
    "{% for c in m.tool_calls or [] %}{{ c.function.name }}={{ c.function.arguments | tojson }}{% endfor %}{% endfor %}"
)
REFUSES_SYSTEM = (
    "{{ bos_token }}{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('System role not "
    "supported') }}{% endif %}{{ m.role }}: {{ m.content }}\n{% endfor %}"
)
DROPS_SYSTEM = "{% for m in messages if m.role != 'system' %}{{ m.role }}: {{ m.content }}\n{% endfor %}"
PROMPTS = ["Question: who?\nAnswer:", "", "内罗毕在哪里？", "Где Найроби? " * 9, "🗼" * 12]


def user(text: str, **more: Any) -> Request:
    return Request((Message("user", text),), **more)


def opened(folder: Path, template: str | None = None, **settings: Any) -> HF:
    llm = make_llm(f"hf/{causal_model(folder, template)}", {"max_tokens": 24, "dtype": "float32", **settings})
    assert isinstance(llm, HF)
    asyncio.run(llm.open())
    return llm


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HF]:
    llm = opened(tmp_path_factory.mktemp("base"))
    yield llm
    asyncio.run(llm.close())


def ask(llm: HF, request: Request) -> Reply:
    return asyncio.run(llm.generate(request))


def together(llm: HF, requests: list[Request]) -> list[Any]:
    async def main() -> list[Any]:
        return list(await asyncio.gather(*map(llm.generate, requests), return_exceptions=True))

    return asyncio.run(main())


@pytest.fixture
def batches(base: HF, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The sizes of the batches that are generated."""
    sizes: list[int] = []
    replies = base._replies

    def counted(model: Any, jobs: Any) -> list[Reply]:
        sizes.append(len(jobs))
        return replies(model, jobs)

    monkeypatch.setattr(base, "_replies", counted)
    monkeypatch.setattr(hf, "BATCH_WAIT", 0.2)  # enough on a busy machine
    return sizes


def shown(llm: HF, request: Request) -> str:
    return str(llm._tokenizer.decode(llm._encode(request)))


# Base models


def test_a_base_model_completes_the_texts_of_the_messages(base: HF) -> None:
    assert (base.chat, base.adaptations) == (False, {})
    request = Request((Message("system", "Answer."), Message("user", "Q: 你好\nA:")))
    assert shown(base, request) == "<s>Answer.\nQ: 你好\nA:"
    assert ask(base, request).tokens.prompt == len("Answer.\nQ: 你好\nA:".encode()) + 1


# Batches


def test_a_prompt_has_the_same_reply_alone_and_in_a_batch(base: HF, batches: list[int]) -> None:
    requests = [user(prompt, max_tokens=9) for prompt in PROMPTS]
    alone = [ask(base, request) for request in requests]
    assert together(base, requests) == alone
    assert batches == [1] * len(PROMPTS) + [len(PROMPTS)]


def test_every_row_of_a_batch_has_its_own_length_and_stop_text(base: HF) -> None:
    whole = ask(base, user(PROMPTS[3])).text
    stops = [whole[5:7], whole[4:9], whole[3]]  # of one token and of many
    requests = [user(PROMPTS[3], max_tokens=3), user(PROMPTS[3], stop=("",)), user(PROMPTS[0], max_tokens=5)]
    requests += [user(PROMPTS[3], stop=(stop, "never")) for stop in stops]
    replies = together(base, requests)
    assert [(r.tokens.completion, r.finish) for r in replies[:3]] == [(3, "length"), (24, "length"), (5, "length")]
    assert replies[1].text == whole
    assert [(r.text, r.finish) for r in replies[3:]] == [(whole.partition(stop)[0], "stop") for stop in stops]
    assert [r.tokens.completion for r in replies] == [ask(base, r).tokens.completion for r in requests]
    assert all(r.tokens.completion < 24 for r in replies[3:])


def test_a_seed_gives_the_same_reply_whatever_is_generated_at_the_same_time(tmp_path: Path) -> None:
    llm = opened(tmp_path, temperature=1.0)
    texts = [reply.text for reply in together(llm, [user("Hi", seed=seed) for seed in (1, 2, 1, None, None)])]
    assert texts[0] == texts[2] == ask(llm, user("Hi", seed=1)).text
    assert len(set(texts)) == 4
    asyncio.run(llm.close())


# Failures and cancellation


def test_a_request_longer_than_the_context_fails_before_anything_is_generated(base: HF, batches: list[int]) -> None:
    with pytest.raises(LLMError, match="context of 512") as caught:
        ask(base, user("字" * 200))
    assert caught.value.cause == "context"
    assert batches == []
    reply = ask(base, user("x" * 500, max_tokens=400))
    assert reply.tokens.prompt + reply.tokens.completion == 512


def test_a_cancelled_request_does_not_break_its_batch(base: HF, batches: list[int]) -> None:
    async def main() -> list[Any]:
        tasks = [asyncio.create_task(base.generate(user("Hi", max_tokens=n))) for n in (40, 400)]
        while not batches:
            await asyncio.sleep(0.01)
        tasks[1].cancel()
        return await asyncio.gather(*tasks, return_exceptions=True)

    reply, cancelled = asyncio.run(main())
    assert isinstance(cancelled, asyncio.CancelledError)
    assert reply == ask(base, user("Hi", max_tokens=40))


# Chat templates

SYSTEM = (Message("system", "Be brief."), Message("user", "Где?"))


@pytest.mark.parametrize(
    ("template", "tools", "adapted", "prompt"),
    [
        (CHATML, False, False, "system: Be brief.\nuser: Где?\n"),
        (TOOLS, True, False, "system: Be brief.user: Где?"),
        (REFUSES_SYSTEM, False, True, "<s>user: Be brief.\n\nГде?\n"),
        (DROPS_SYSTEM, False, True, "user: Be brief.\n\nГде?\n"),
    ],
    ids=["plain", "tools", "refuses system", "drops system"],
)
def test_a_template_gets_a_conversation_in_the_form_that_it_takes(
    template: str, tools: bool, adapted: bool, prompt: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    llm = opened(tmp_path, template)
    assert llm.chat
    assert llm.native_tools is tools
    assert shown(llm, Request(SYSTEM)) == prompt
    assert list(llm.adaptations) == ["system"] * adapted
    assert sum("system message" in record.message for record in caplog.records) == adapted
    assert ask(llm, Request(SYSTEM, tools=(SEARCH,), max_tokens=2)).tokens.completion == 2
    asyncio.run(llm.close())


# The embedded model


def test_the_embedded_model_answers(tmp_path: Path) -> None:
    llm = embedded_hf(context=512, max_tokens=12)
    asyncio.run(llm.open())
    texts = ["a\ud800b", "\0", "<|im_start|>system\n<|im_end|>", "{{ x }} {% raw %}"]
    question = user("What is the capital of France? Answer with one word.", tools=(SEARCH,))
    reply, *others = together(llm, [question, *(user(text, max_tokens=2) for text in texts)])
    assert "Paris" in reply.text
    assert "<|im_end|>" not in reply.text
    assert (reply.finish, reply.estimated, llm.native_tools) == ("stop", False, False)
    assert all(isinstance(other.text, str) for other in others)
    asyncio.run(llm.close())


# Settings and files


def test_a_file_or_folder_without_a_whole_model_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "wrong.gguf").write_bytes(b"<html>Not found</html>")
    (tmp_path / "cut.gguf").write_bytes(fetch_model("smollm2-135m").read_bytes()[:500_000])
    problems = {"no.gguf": "no such file", "none": "cannot be loaded", "": "cannot be loaded"}
    problems |= {"wrong.gguf": "is it damaged?", "cut.gguf": "is it damaged?"}
    for name, problem in problems.items():
        with pytest.raises(UserError, match=problem) as caught:
            asyncio.run(make_llm(f"hf/{tmp_path / name}").open())
        assert str(tmp_path / name) in str(caught.value)


def test_without_a_network_a_model_of_the_hub_is_refused_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub import hf_api

    monkeypatch.setattr(hf_api.api, "endpoint", "http://127.0.0.1:9")
    begun = time.monotonic()
    with pytest.raises(UserError, match="nobody/none cannot be loaded"):
        asyncio.run(make_llm("hf/nobody/none").open())
    assert time.monotonic() - begun < 20  # it was almost a minute
