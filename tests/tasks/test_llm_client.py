"""What an LLM wrote, as one clean line."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path

import pytest

from r_eval.errors import UserError
from r_eval.tasks import llm_client
from r_eval.tasks.llm_client import LLMClient, one_line, prompt, reply_cache


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (" Who? ", "Who?"),
        ("“Who?”", "Who?"),
        ("**«Кто?»**", "Кто?"),
        ("「谁？」", "谁？"),
        ("`Who?`", "Who?"),
        ("Question: Who?", "Who?"),
        ("Here is the reworded question: Who?", "Who?"),
        ("改写后的问题：谁？", "谁？"),
        ("Who: he?", "Who: he?"),
        ("Qui\u00a0?", "Qui ?"),
        ("Who?\nMe.", None),
        ("Who\x1b[31m?", None),
        ("\u202eWho?", None),
        ("Who, of all the people?", None),
        ("", None),
    ],
)
def test_a_line_is_short_and_clean(text: str, line: str | None) -> None:
    assert one_line(text, 12) == line


@pytest.mark.parametrize(
    ("cause", "expected"),
    [("context", ""), ("content_filter", ""), ("key", None)],
    ids=["too long", "blocked", "no key"],
)
def test_a_prompt_that_gets_no_reply_stops_the_work_only_if_the_llm_is_down(
    cause: str, expected: str | None, tmp_path: Path
) -> None:
    code = f"from r_eval.llms.base import LLMError\n\ndef write(request):\n    raise LLMError('{cause}', 'no')\n"
    (tmp_path / "writer.py").write_text(code, encoding="utf-8")
    llm = f"scripted/{tmp_path}/writer.py:write"
    with pytest.raises(UserError, match="failed: no") if expected is None else contextlib.nullcontext():
        assert asyncio.run(LLMClient(llm).complete("Who?")) == expected


def test_what_is_filled_into_a_prompt_is_not_read_for_names_again() -> None:
    assert "$words" in prompt("closed_book.en", words="1", question="Is it $words?")


def test_how_many_replies_came_is_logged_while_the_llm_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(llm_client, "PROGRESS_SECONDS", 0.05)
    code = "import time\n\ndef write(request):\n    time.sleep(0.2)\n    return '好'\n"
    (tmp_path / "writer.py").write_text(code, encoding="utf-8")
    llm = f"scripted/{tmp_path}/writer.py:write"

    async def ask(times: int) -> None:
        with reply_cache("own") as replies:
            client = LLMClient(llm, replies)
            assert [await client.complete("Who?") for _ in range(times)] == ["好"] * times

    asyncio.run(ask(2))
    assert f"{llm}: replies so far: 1" in caplog.messages
