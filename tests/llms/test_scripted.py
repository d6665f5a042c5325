"""A Python function as an LLM."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

from r_eval.errors import UserError
from r_eval.llms.base import LLM, LLMError, Message, Reply, Request, ToolCall, make_llm

ASK = Request((Message("system", "Be very brief."), Message("user", "Where is Kenya?")))


def scripted(folder: Path, code: str, name: str = "answer") -> LLM:
    path = folder / "script.py"
    path.write_text(f"from r_eval.llms.base import Reply, ToolCall, LLMError\n{code}", encoding="utf-8")
    return make_llm(f"scripted/{path}:{name}")


def reply(llm: LLM) -> Reply:
    return asyncio.run(llm.generate(ASK))


def failure(llm: LLM) -> LLMError:
    with pytest.raises(LLMError) as caught:
        reply(llm)
    return caught.value


def test_a_text_becomes_a_reply_with_its_words_as_estimated_tokens(tmp_path: Path) -> None:
    answer = reply(scripted(tmp_path, "def answer(request): return 'In Africa.'"))
    assert (answer.text, answer.finish, answer.estimated) == ("In Africa.", "stop", True)
    assert (answer.tokens.prompt, answer.tokens.completion, answer.tokens.cached) == (6, 2, 0)


@pytest.mark.parametrize(
    "expression",
    [
        "request.messages[-1]['content'].upper()",
        "request.messages[-1].content.upper()",
        "[m for m in request.messages if m['role'] == 'user'][0]['content'].upper()",
        "json.loads(json.dumps(request.messages))[1]['content'].upper()",
        "request.messages.pop().get('content').upper()",
    ],
)
def test_the_messages_are_a_list_of_dicts(expression: str, tmp_path: Path) -> None:
    code = f"import json\ndef answer(request): return {expression}"
    assert reply(scripted(tmp_path, code)).text == "WHERE IS KENYA?"


def test_a_call_and_its_result_are_in_the_chat_completions_format(tmp_path: Path) -> None:
    code = """
import json
def answer(request):
    (call,), result = request.messages[0]["tool_calls"], request.messages[1]
    assert request.messages[0].tool_calls[0].arguments == json.loads(call["function"]["arguments"])
    return f"{call['function']['name']} {call['id'] == result['tool_call_id']} {result['name']} {result['content']}"
"""
    call = ToolCall("a", "Search", {"entity": "Найроби"})
    messages = (Message("assistant", "", (call,)), Message("tool", "Кения", call_id="a", name="Search"))
    llm = scripted(tmp_path, code)
    assert asyncio.run(llm.generate(Request(messages))).text == "Search True Search Кения"


def test_a_whole_reply_is_passed_on(tmp_path: Path) -> None:
    answer = reply(scripted(tmp_path, "def answer(request): return Reply('', (ToolCall('a', 'Search', {}),))"))
    assert [call.name for call in answer.tool_calls] == ["Search"]
    assert answer.estimated is False


@pytest.mark.parametrize(
    "code",
    [
        "async def answer(request):\n    await asyncio.sleep(0)\n    return 'later'",
        "async def later():\n    return 'later'\ndef answer(request):\n    return later()",
        "class Later:\n    async def __call__(self, request):\n        return 'later'\nanswer = Later()",
    ],
    ids=["function", "coroutine of a function", "object"],
)
def test_the_function_may_be_async(code: str, tmp_path: Path) -> None:
    assert reply(scripted(tmp_path, f"import asyncio\n{code}")).text == "later"


def test_a_function_that_blocks_stops_neither_the_loop_nor_other_calls(tmp_path: Path) -> None:
    llm = scripted(tmp_path, "import time\ndef answer(request):\n    time.sleep(0.3)\n    return 'ok'")

    async def main() -> float:
        calls = asyncio.gather(*(llm.generate(ASK) for _ in range(llm.connections)))
        longest, last = 0.0, time.monotonic()
        while not calls.done():
            await asyncio.sleep(0.01)
            longest, last = max(longest, time.monotonic() - last), time.monotonic()
        await llm.close()
        return longest

    begun = time.monotonic()
    assert asyncio.run(main()) < 0.25
    assert time.monotonic() - begun < 0.3 * llm.connections


def test_half_a_surrogate_pair_is_replaced(tmp_path: Path) -> None:
    for value in ("'Найроби \\ud83c'", "Reply('Найроби \\ud83c')"):
        folder = tmp_path / str(len(value))
        folder.mkdir()
        assert reply(scripted(folder, f"def answer(request): return {value}")).text == "Найроби \ufffd"


@pytest.mark.parametrize("keyword", ["def", "async def"])
@pytest.mark.parametrize(
    ("statement", "problem"),
    [
        ("return 1 / 0", "ZeroDivisionError: division by zero (script.py line 4)"),
        ("return next(iter([]))", "StopIteration"),
        ("raise SystemExit('bye')", "SystemExit"),
        ("raise TimeoutError('slow')", "TimeoutError: slow (script.py line 4)"),
        ("return request.messages['x']", "TypeError"),
        ("return json.loads('{')", "(script.py line 4)"),
    ],
)
def test_an_exception_is_a_failure_that_names_the_line(
    statement: str, problem: str, keyword: str, tmp_path: Path
) -> None:
    error = failure(scripted(tmp_path, f"import json\n{keyword} answer(request):\n    {statement}"))
    assert error.cause == "request"
    assert str(error).startswith("script.py:answer: ")
    assert problem in str(error)
    assert "(script.py line 4)" in str(error)


@pytest.mark.parametrize("value", ["None", "42", "b'x'", "['x']", "Reply(None)"])
def test_what_is_neither_text_nor_reply_is_a_failure(value: str, tmp_path: Path) -> None:
    error = failure(scripted(tmp_path, f"def answer(request): return {value}"))
    assert error.cause == "request"
    assert "script.py:answer returned " in str(error)


def test_the_function_may_raise_a_failure_of_its_own(tmp_path: Path) -> None:
    error = failure(scripted(tmp_path, "def answer(request): raise LLMError('context', 'too long')"))
    assert (error.cause, str(error)) == ("context", "too long")


def test_a_function_that_takes_too_long_is_a_timeout(tmp_path: Path) -> None:
    scripted(tmp_path, "import time\ndef answer(request):\n    time.sleep(0.5)\n    return 'late'")
    llm = make_llm(f"scripted/{tmp_path / 'script.py'}:answer", {"timeout": 0.05})
    assert failure(llm).cause == "timeout"


def test_a_name_without_a_function_is_told_the_form() -> None:
    with pytest.raises(UserError, match=r"expected scripted/<file\.py>:<function>"):
        make_llm("scripted/script.py")


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"none\.py: no such file"):
        make_llm(f"scripted/{tmp_path / 'none.py'}:answer")


def test_a_function_that_is_not_there_is_told_which_are(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"has no reply; it defines: answer"):
        scripted(tmp_path, "def answer(request): return ''", "reply")


def test_what_is_no_function_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is not a function"):
        scripted(tmp_path, "answer = 42")


def test_a_file_with_an_error_is_named_with_the_error(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"script\.py: importing it fails: ZeroDivisionError"):
        scripted(tmp_path, "1 / 0")
