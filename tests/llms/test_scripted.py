"""A Python function as an LLM."""

from __future__ import annotations

import asyncio
import contextlib
import re
import time
from pathlib import Path

import pytest

from r_eval.errors import UserError
from r_eval.llms.base import LLM, LLMError, Message, Reply, Request, make_llm

ASK = Request((Message("system", "Be very brief."), Message("user", "Where is Kenya?")))


def scripted(folder: Path, code: str) -> LLM:
    path = folder / "script.py"
    path.write_text(f"from r_eval.llms.base import Reply, ToolCall, LLMError\n{code}", encoding="utf-8")
    return make_llm(f"scripted/{path}:answer")


def reply(llm: LLM) -> Reply:
    return asyncio.run(llm.generate(ASK))


def failure(llm: LLM) -> LLMError:
    with pytest.raises(LLMError) as caught:
        reply(llm)
    return caught.value


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ("request.messages[-1]['content'].upper()", "WHERE IS KENYA?"),
        ("request.messages[-1].content.upper()", "WHERE IS KENYA?"),
        ("json.loads(json.dumps(request.messages))[0]['role']", "system"),
        ("copy.deepcopy(request.messages).pop().get('content')", "Where is Kenya?"),
        ("'Найроби \\ud83c'", "Найроби \ufffd"),
        ("asyncio.sleep(0, 'later')", "later"),
        ("Reply('Найроби \\ud83c')", "Найроби \ufffd"),
        ("Reply('', (ToolCall('a', 'Search', {}),))", ""),
        ("Reply('Kenya', tokens={'prompt': 9, 'completion': 1})", "Kenya"),
    ],
)
def test_the_messages_are_a_list_of_dicts_and_a_text_or_a_whole_reply_comes_back(
    expression: str, text: str, tmp_path: Path
) -> None:
    answer = reply(scripted(tmp_path, f"import asyncio, copy, json\ndef answer(request): return {expression}"))
    assert answer.text == text
    assert answer.estimated is ("tokens" not in expression)
    assert answer.tokens.prompt >= 6
    assert "Reply" in expression or (answer.tokens.prompt, answer.tokens.completion) == (6, len(text.split()))
    assert [call.name for call in answer.tool_calls] == ["Search"] * ("ToolCall" in expression)


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


@pytest.mark.parametrize(
    ("keyword", "statement", "problem"),
    [
        ("def", "return 1 / 0", "ZeroDivisionError: division by zero"),
        ("async def", "return next(iter([]))", "StopIteration"),
        ("def", "raise SystemExit('bye')", "SystemExit"),
        ("async def", "raise TimeoutError('slow')", "TimeoutError: slow"),
        ("async def", "await asyncio.gather(asyncio.to_thread(exit))", "SystemExit"),
    ],
)
def test_an_exception_is_a_failure_that_names_the_line(
    keyword: str, statement: str, problem: str, tmp_path: Path
) -> None:
    error = failure(scripted(tmp_path, f"import asyncio\n{keyword} answer(request):\n    {statement}"))
    assert error.cause == "request"
    assert str(error).startswith("script.py:answer: ")
    assert problem in str(error)
    assert "(script.py:4, in answer)" in str(error)


@pytest.mark.parametrize(
    "wrong",
    ["text=5", "tokens=None", "reasoning=['hm']", "finish='over'", "extra={'a': object()}",
     "tool_calls=[{'name': 'f'}]",
     "tool_calls=(ToolCall(None, 'f', {}),)", "tool_calls=(ToolCall('', 'f', {'a': {1}}),)", "extra={'a': {1: ...}}"],
)  # fmt: skip
def test_a_reply_that_no_record_can_hold_is_the_functions_failure(wrong: str, tmp_path: Path) -> None:
    error = failure(scripted(tmp_path, f"def answer(request): return Reply(**{{'text': 'ok', **dict({wrong})}})"))
    assert (error.cause, "script.py:answer returned a Reply that" in str(error)) == ("request", True)


def test_a_function_that_takes_too_long_is_a_timeout(tmp_path: Path) -> None:
    scripted(tmp_path, "import time\ndef answer(request):\n    time.sleep(0.5)\n    return 'late'")
    llm = make_llm(f"scripted/{tmp_path / 'script.py'}:answer", {"timeout": 0.05})
    assert failure(llm).cause == "timeout"


@pytest.mark.parametrize(
    ("code", "problem"),
    [
        ("def answer(): ...", "takes ()"),
        ("def answer(request, tools): ...", "takes (request, tools)"),
        ("async def answer(*, request): ...", "takes (*, request)"),
        ("class answer: ...", "is a class"),
        ("def answer(request): yield 'Kenya'", "is a generator"),
        ("async def answer(request): yield 'Kenya'", "is a generator"),
        *(
            (code, "")
            for code in ("answer = '{}'.format", "def answer(*all): ...", "def answer(request, shots=1): ...")
        ),
    ],
)
def test_a_function_that_cannot_answer_is_refused_before_a_run(code: str, problem: str, tmp_path: Path) -> None:
    place = "script.py" if "class" in code else "script.py:3"
    refused = pytest.raises(UserError, match=re.escape(f"{place}: answer {problem}") + ".*write `def answer")
    with refused if problem else contextlib.nullcontext():
        scripted(tmp_path, f"\n{code}")
