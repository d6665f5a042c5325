"""The transformers backend with the real embedded model, and with files that are none."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from r_eval.errors import MissingExtra, UserError
from r_eval.llms import hf
from r_eval.llms.base import LLMError, Message, Reply, Request, ToolCall, ToolSpec
from r_eval.llms.hf import HF
from r_eval.llms.make import make
from r_eval.llms.pull import pull
from tests.embedded_model import EMBEDDED, embedded_hf

pytestmark = pytest.mark.skipif(  # not imported here: how torch's threads wait is decided before that
    not all(importlib.util.find_spec(name) for name in ("torch", "transformers", "gguf")),
    reason="needs the extra hf",
)

CONTEXT = 512
PROMPTS = [
    "What is the capital of France? Answer with one word.",
    "Hi",
    "Write a sentence about rivers. " * 8,
    "Count from 1 to 100.",
    "List three animals, and say what each of them eats.\n" * 3,
]
SEARCH = ToolSpec("Search", "Find a page.", {"type": "object", "properties": {"entity": {"type": "string"}}})


@pytest.fixture(scope="module")
def llm() -> Iterator[HF]:
    made = embedded_hf(context=CONTEXT, max_tokens=12)
    asyncio.run(made.open())
    yield made
    asyncio.run(made.close())


def said(text: str, **more: Any) -> Request:
    return Request((Message("user", text),), **more)


def ask(llm: HF, request: Request) -> Reply:
    return asyncio.run(llm.generate(request))


def together(llm: HF, requests: list[Request]) -> list[Reply]:
    async def main() -> list[Reply]:
        return list(await asyncio.gather(*(llm.generate(request) for request in requests)))

    return asyncio.run(main())


@pytest.fixture
def batches(llm: HF, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The sizes of the batches that are generated."""
    sizes: list[int] = []
    generate = llm._generate

    def counted(jobs: Any) -> list[Reply]:
        sizes.append(len(jobs))
        return generate(jobs)

    monkeypatch.setattr(llm, "_generate", counted)
    monkeypatch.setattr(hf, "GATHERING", 0.2)  # enough on a busy machine
    return sizes


@pytest.fixture
def steps(llm: HF, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of rows in every step of generation."""
    taken: list[int] = []
    ended = llm._ended

    def counted(jobs: Any, rows: Any, torch: Any) -> Any:
        taken.append(len(jobs))
        return ended(jobs, rows, torch)

    monkeypatch.setattr(llm, "_ended", counted)
    monkeypatch.setattr(hf, "GATHERING", 0.2)  # enough on a busy machine
    return taken


# Replies


def test_the_model_answers(llm: HF) -> None:
    reply = ask(llm, said(PROMPTS[0]))
    assert "Paris" in reply.text
    assert reply.finish == "stop"
    assert "<|im_end|>" not in reply.text


def test_a_prompt_has_the_same_reply_alone_and_in_a_batch(llm: HF, batches: list[int]) -> None:
    requests = [said(prompt, max_tokens=8) for prompt in PROMPTS]
    alone = [ask(llm, request) for request in requests]
    assert together(llm, requests) == alone
    assert batches == [1] * len(PROMPTS) + [len(PROMPTS)]


def test_every_row_of_a_batch_has_its_own_length_and_stop(llm: HF) -> None:
    requests = [
        said(PROMPTS[3], max_tokens=3),
        said(PROMPTS[3], max_tokens=14, stop=("3", "\n4")),
        said(PROMPTS[3], max_tokens=14),
        said(PROMPTS[0], max_tokens=20, stop=("aris",)),
    ]
    short, stopped, long, capital = replies = together(llm, requests)
    assert (short.tokens.completion, short.finish) == (3, "length")
    assert (long.tokens.completion, long.finish) == (14, "length")
    assert stopped.text == long.text.partition("3")[0]
    assert stopped.finish == capital.finish == "stop"
    assert "aris" not in capital.text
    assert 0 < stopped.tokens.completion < 14
    assert [r.tokens.completion for r in replies] == [ask(llm, r).tokens.completion for r in requests]


def test_generation_ends_at_a_stop_of_many_tokens(llm: HF) -> None:
    whole = ask(llm, said(PROMPTS[3], max_tokens=24)).text
    stop = whole[10:]
    reply = ask(llm, said(PROMPTS[3], max_tokens=60, stop=(stop,)))
    assert reply.text == whole[:10]
    assert reply.tokens.completion < 30


def test_an_empty_stop_stops_nothing(llm: HF) -> None:
    assert ask(llm, said("Hi", max_tokens=4, stop=("",))) == ask(llm, said("Hi", max_tokens=4))


def test_the_end_that_the_model_writes_is_counted_and_the_prompt_without_its_padding(llm: HF) -> None:
    first, second = together(llm, [said(PROMPTS[0]), said(PROMPTS[2])])
    assert first.tokens.prompt < second.tokens.prompt
    assert first.tokens.completion == len(llm._tokenizer(first.text)["input_ids"]) + 1
    assert first.estimated is False


def test_more_requests_than_a_batch_holds_wait_for_the_next(llm: HF, batches: list[int]) -> None:
    replies = together(llm, [said("Hi", max_tokens=1)] * 11)
    assert len({reply.text for reply in replies}) == 1
    assert sum(batches) == 11
    assert max(batches) == llm.batch == 8


def test_requests_that_come_one_after_another_are_gathered_while_more_come(llm: HF, batches: list[int]) -> None:
    async def main() -> None:
        tasks = []
        for _ in range(6):
            tasks.append(asyncio.create_task(llm.generate(said("Hi", max_tokens=1))))
            await asyncio.sleep(0.04)
        await asyncio.gather(*tasks)

    asyncio.run(main())
    assert batches == [6]


def test_a_sampled_reply_is_a_reply(llm: HF, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(llm, "temperature", 1.5)
    texts = {reply.text for reply in together(llm, [said(PROMPTS[2])] * 6)}
    assert len(texts) > 1


def test_a_seed_gives_a_reply_again_alone_or_in_a_batch(llm: HF, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(llm, "temperature", 1.5)
    requests = [said(PROMPTS[2], seed=seed) for seed in (1, 2, 1, 3)]
    replies = [reply.text for reply in together(llm, requests)]
    assert replies[0] == replies[2] == ask(llm, requests[0]).text
    assert len(set(replies)) == 3


def test_drawing_follows_the_probabilities() -> None:
    import torch

    from r_eval.llms.drawing import Drawing

    scores = torch.tensor([0.0, 1.0, 2.0, -1.0]).repeat(20_000, 1)
    drawn = Drawing(list(range(20_000)), 0.7)(torch.zeros(20_000, 1), scores).argmax(dim=1)
    shares = torch.bincount(drawn, minlength=4) / 20_000
    assert torch.allclose(shares, torch.softmax(scores[0] / 0.7, dim=0), atol=0.015)


@pytest.mark.parametrize(
    "text",
    ["", "\0", "a\ud800b", "🗼" * 50, "<|im_start|>system\n<|im_end|>", "{{ x }} {% raw %}"],
    ids=["nothing", "nul", "half a pair", "emoji", "marks", "template"],
)
def test_any_text_is_answered(llm: HF, text: str) -> None:
    assert isinstance(ask(llm, said(text, max_tokens=2)).text, str)


# Context, failures, cancellation


def test_a_request_longer_than_the_context_is_told_before_anything_is_generated(llm: HF, batches: list[int]) -> None:
    with pytest.raises(LLMError, match="context of 512") as caught:
        ask(llm, said("word " * CONTEXT))
    assert caught.value.cause == "context"
    assert batches == []
    assert ask(llm, said("Hi")).text


def test_a_reply_ends_where_the_context_ends(llm: HF) -> None:
    reply = ask(llm, said("word " * 470, max_tokens=400))
    assert reply.tokens.prompt + reply.tokens.completion <= CONTEXT


def test_what_breaks_a_batch_is_the_outcome_of_its_requests_only(llm: HF, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(jobs: Any) -> list[Reply]:
        raise RuntimeError("out of memory")

    async def main() -> list[Any]:
        return await asyncio.gather(*(llm.generate(said("Hi")) for _ in range(3)), return_exceptions=True)

    with monkeypatch.context() as patched:
        patched.setattr(llm, "_generate", broken)
        errors = asyncio.run(main())
    assert [(type(e), e.cause) for e in errors] == [(LLMError, "server")] * 3
    assert all("out of memory" in str(error) for error in errors)
    assert ask(llm, said("Hi")).text


def limited(llm: HF, rows: int, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Let the device hold so many rows; the sizes of the batches that are tried."""
    import torch

    tried: list[int] = []
    generate = llm._generate

    def held(jobs: Any) -> list[Reply]:
        tried.append(len(jobs))
        if len(jobs) > rows:
            raise torch.OutOfMemoryError("CUDA out of memory.")
        return generate(jobs)

    monkeypatch.setattr(llm, "_generate", held)
    monkeypatch.setattr(hf, "GATHERING", 0.1)
    return tried


def test_a_batch_that_the_device_cannot_hold_is_generated_in_halves(llm: HF, monkeypatch: pytest.MonkeyPatch) -> None:
    requests = [said(prompt, max_tokens=4) for prompt in PROMPTS]
    alone = [ask(llm, request) for request in requests]
    tried = limited(llm, 2, monkeypatch)
    assert together(llm, requests) == alone
    assert tried == [5, 2, 3, 1, 2]


def test_a_request_that_the_device_cannot_hold_says_so(llm: HF, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        limited(llm, 0, patched)
        with pytest.raises(LLMError, match="memory is too small for a prompt of") as caught:
            ask(llm, said("Hi"))
    assert caught.value.cause == "server"
    assert ask(llm, said("Hi")).text


def test_a_request_that_is_given_up_does_not_break_its_batch(llm: HF, steps: list[int]) -> None:
    async def main() -> list[Any]:
        tasks = [asyncio.create_task(llm.generate(said(PROMPTS[3], max_tokens=n))) for n in (10, 400, 10)]
        while not steps:
            await asyncio.sleep(0.01)
        tasks[1].cancel()
        return await asyncio.gather(*tasks, return_exceptions=True)

    first, given_up, last = asyncio.run(main())
    assert steps == [3] * 10
    assert isinstance(given_up, asyncio.CancelledError)
    assert first == last == ask(llm, said(PROMPTS[3], max_tokens=10))


def test_a_request_that_is_given_up_before_its_turn_is_never_generated(llm: HF, batches: list[int]) -> None:
    async def main() -> Reply:
        tasks = [asyncio.create_task(llm.generate(said("Hi", max_tokens=2))) for _ in range(3)]
        await asyncio.sleep(0)
        tasks[0].cancel()
        tasks[2].cancel()
        return await tasks[1]

    assert asyncio.run(main()).tokens.completion == 2
    assert batches == [1]


def test_a_loop_that_ends_in_the_middle_leaves_the_next_one_a_backend_that_answers(llm: HF, steps: list[int]) -> None:
    async def given_up() -> None:
        task = asyncio.create_task(llm.generate(said(PROMPTS[3], max_tokens=400)))
        while not steps:
            await asyncio.sleep(0.01)
        task.cancel()

    asyncio.run(given_up())
    assert ask(llm, said("Hi", max_tokens=1)).tokens.completion == 1
    assert len(steps) < 100


# Chat templates

CHATML = "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}"
WITH_TOOLS = (
    "{% if tools %}{{ tools | tojson }}{% endif %}{% for m in messages %}{{ m.role }}: {{ m.content }}"
    "{% for c in m.tool_calls or [] %}{{ c.function.name }}={{ c.function.arguments | tojson }}{% endfor %}"
    "{% endfor %}"
)


def test_the_embedded_template_takes_no_tools_and_is_not_troubled_by_them(llm: HF) -> None:
    assert llm.native_tools is False
    assert isinstance(ask(llm, said("Hi", tools=(SEARCH,), max_tokens=2)).text, str)


def test_a_template_that_shows_tools_makes_them_native_and_gets_arguments_as_data(
    llm: HF, monkeypatch: pytest.MonkeyPatch
) -> None:
    from r_eval.llms.hf import _takes_tools

    monkeypatch.setattr(llm._tokenizer, "chat_template", CHATML)
    assert not _takes_tools(llm._tokenizer)
    monkeypatch.setattr(llm._tokenizer, "chat_template", WITH_TOOLS)
    assert _takes_tools(llm._tokenizer)
    call = ToolCall("a", "Search", {"entity": "Kenya"})
    messages = (Message("user", "Where?"), Message("assistant", "", (call,)), Message("tool", "Africa", call_id="a"))
    shown = llm._tokenizer.decode(llm._prompt(Request(messages, tools=(SEARCH,))))
    assert json.dumps(SEARCH.description) in shown
    assert 'Search={"entity": "Kenya"}' in shown


def test_a_template_that_refuses_is_an_error_of_the_request(llm: HF, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(llm._tokenizer, "chat_template", "{{ raise_exception('no system role') }}")
    with pytest.raises(LLMError, match="no system role") as caught:
        ask(llm, said("Hi"))
    assert caught.value.cause == "request"


# Opening and closing


def test_an_llm_that_is_not_open_says_so() -> None:
    unopened = make(EMBEDDED)
    with pytest.raises(LLMError, match="not open"):
        asyncio.run(unopened.generate(said("Hi")))
    asyncio.run(unopened.close())


def test_closing_lets_go_of_the_model_and_tells_those_who_wait(llm: HF, steps: list[int]) -> None:
    lent = make(EMBEDDED, {"batch": 1, "connections": 2})
    assert isinstance(lent, HF)
    lent._load = lambda: None  # type: ignore[method-assign]
    lent._tokenizer, lent._readable = llm._tokenizer, llm._readable
    lent._ended = llm._ended  # type: ignore[method-assign]

    async def main() -> list[Any]:
        await lent.open()
        lent._model = llm._model
        tasks = [asyncio.create_task(lent.generate(said(PROMPTS[3], max_tokens=400))) for _ in range(2)]
        while not steps:
            await asyncio.sleep(0.01)
        await lent.close()
        return await asyncio.gather(*tasks, return_exceptions=True)

    errors = asyncio.run(main())
    assert [(type(e), e.cause) for e in errors] == [(LLMError, "connection")] * 2
    assert lent._model is lent._tokenizer is None
    assert len(steps) < 100


def test_loading_draws_no_bars(capfd: pytest.CaptureFixture[str]) -> None:
    from transformers import modeling_gguf_pytorch_utils as reader

    from r_eval.llms.hf_loading import quiet

    before = reader.tqdm
    with quiet():
        assert list(reader.tqdm(range(3))) == [0, 1, 2]
    assert reader.tqdm is before
    assert capfd.readouterr() == ("", "")


def test_the_identity_is_the_same_before_and_after_opening(llm: HF) -> None:
    again = make(EMBEDDED, {"context": CONTEXT, "max_tokens": 12, "dtype": "float32"})
    assert again.identity() == llm.identity()
    assert make(EMBEDDED, {"context": 256}).identity() != make(EMBEDDED, {"context": 512}).identity()


@pytest.mark.parametrize("settings", [{"batch": 0}, {"dtype": "int8"}, {"context": "long"}])
def test_a_wrong_setting_is_refused_by_name(settings: dict[str, Any]) -> None:
    with pytest.raises(UserError, match=next(iter(settings))):
        make(EMBEDDED, settings)


def test_without_transformers_the_command_that_installs_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(MissingExtra, match=r"r-eval\[hf\]"):
        asyncio.run(make(EMBEDDED).open())


def test_the_module_imports_nothing_heavy() -> None:
    code = "import sys, r_eval.llms.hf; print({'torch', 'transformers'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300)
    assert done.stdout == "set()\n"


def refused(path: Path | str) -> str:
    with pytest.raises(UserError) as caught:
        asyncio.run(make(f"hf/{path}").open())
    return str(caught.value)


def test_a_path_that_leads_nowhere_is_named(tmp_path: Path) -> None:
    assert str(tmp_path / "no.gguf") in refused(tmp_path / "no.gguf")
    assert str(tmp_path / "none") in refused(tmp_path / "none")


def test_a_folder_without_a_model_is_refused(tmp_path: Path) -> None:
    assert str(tmp_path) in refused(tmp_path)


def test_a_file_that_is_no_gguf_is_refused(tmp_path: Path) -> None:
    for name in ("wrong.gguf", "model.safetensors"):
        (tmp_path / name).write_bytes(b"<html>Not found</html>")
        assert "is not a GGUF file" in refused(tmp_path / name)


@pytest.mark.parametrize("size", [4, 8, 1000, 500_000, -1000])
def test_a_cut_gguf_file_is_refused_by_name(tmp_path: Path, size: int) -> None:
    path = tmp_path / "cut.gguf"
    path.write_bytes(pull("smollm2-135m").read_bytes()[:size])
    message = refused(path)
    assert str(path) in message
    assert "damaged" in message
