"""A Python function as an LLM."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from r_eval.errors import UserError
from r_eval.llms.base import LLM, Message, Reply, Request
from r_eval.llms.make import make

ASK = Request((Message("system", "Be very brief."), Message("user", "Where is Kenya?")))


def scripted(folder: Path, code: str, name: str = "answer") -> LLM:
    path = folder / "script.py"
    path.write_text(f"from r_eval.llms.base import Reply, ToolCall, LLMError\n{code}", encoding="utf-8")
    return make(f"scripted/{path}:{name}")


def reply(llm: LLM) -> Reply:
    return asyncio.run(llm.generate(ASK))


def test_a_text_becomes_a_reply(tmp_path: Path) -> None:
    assert reply(scripted(tmp_path, "def answer(request): return 'In Africa.'")).text == "In Africa."


def test_the_function_sees_the_request(tmp_path: Path) -> None:
    code = "def answer(request): return request.messages[-1].content.upper()"
    assert reply(scripted(tmp_path, code)).text == "WHERE IS KENYA?"


def test_words_count_as_tokens_and_say_that_they_are_estimated(tmp_path: Path) -> None:
    found = reply(scripted(tmp_path, "def answer(request): return 'In Africa.'"))
    assert (found.tokens.prompt, found.tokens.completion, found.tokens.cached) == (6, 2, 0)
    assert found.estimated is True


def test_a_whole_reply_is_passed_on(tmp_path: Path) -> None:
    found = reply(scripted(tmp_path, "def answer(request): return Reply('', (ToolCall('a', 'Search', {}),))"))
    assert [call.name for call in found.tool_calls] == ["Search"]
    assert found.estimated is False


def test_the_function_may_be_async(tmp_path: Path) -> None:
    code = "import asyncio\nasync def answer(request):\n    await asyncio.sleep(0)\n    return 'later'"
    assert reply(scripted(tmp_path, code)).text == "later"


def test_what_is_no_text_becomes_its_text(tmp_path: Path) -> None:
    assert reply(scripted(tmp_path, "def answer(request): return 42")).text == "42"


def test_it_takes_tools_natively(tmp_path: Path) -> None:
    assert scripted(tmp_path, "def answer(request): return ''").native_tools


def test_what_the_function_raises_comes_out(tmp_path: Path) -> None:
    llm = scripted(tmp_path, "def answer(request): raise ValueError('no')")
    with pytest.raises(ValueError, match="no"):
        reply(llm)


def test_a_name_without_a_function_is_told_the_form() -> None:
    with pytest.raises(UserError, match=r"expected scripted/<file\.py>:<function>"):
        make("scripted/script.py")


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"none\.py: no such file"):
        make(f"scripted/{tmp_path / 'none.py'}:answer")


def test_a_function_that_is_not_there_is_told_which_are(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"has no reply; it defines: answer"):
        scripted(tmp_path, "def answer(request): return ''", "reply")


def test_what_is_no_function_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is not a function"):
        scripted(tmp_path, "answer = 42")


def test_a_file_with_an_error_is_named_with_the_error(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"script\.py: importing it fails: ZeroDivisionError"):
        scripted(tmp_path, "1 / 0")
