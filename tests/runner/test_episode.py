"""What an episode records of its LLM's replies."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from r_eval import Grid, run
from r_eval.llms.base import LLM, LLMError, Message, Reply, Request, ToolCall
from r_eval.records import Step
from r_eval.runner.episode import EpisodeLLM
from r_eval.workflows.base import Limits


class Says(LLM):
    """Always the same reply."""

    def __init__(self, reply: Reply) -> None:
        super().__init__("says", "says", {})
        self.reply = reply

    async def generate(self, request: Request) -> Reply:
        return self.reply


def said(reply: Reply) -> tuple[Reply, Step]:
    """The reply as a workflow gets it, and the step that is recorded."""
    steps: list[Step] = []
    llm = EpisodeLLM(Says(reply), Limits(), steps)
    return asyncio.run(llm.generate(Request((Message("user", "Where?"),)))), steps[0]


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        (Reply("Nairobi"), None),
        (Reply("", (ToolCall("1", "Search", {}),)), None),
        (Reply("Nai", finish="length"), "length"),
        (Reply("I will not.", finish="refusal"), "refusal"),
        (Reply(" \n"), "empty"),
    ],
)
def test_a_reply_that_is_not_whole_says_why(reply: Reply, error: str | None) -> None:
    assert said(reply)[1].error == error


@pytest.mark.parametrize("text", ["", "Nai"])
def test_a_reply_that_a_content_filter_blocked_is_recorded_and_final(text: str) -> None:
    steps: list[Step] = []
    llm = EpisodeLLM(Says(Reply(text, finish="content_filter")), Limits(), steps)
    with pytest.raises(LLMError, match="content filter") as caught:
        asyncio.run(llm.generate(Request((Message("user", "Where?"),))))
    assert (caught.value.cause, steps[0].text, steps[0].error) == ("content_filter", text, "content_filter")


def test_a_workflow_is_not_given_the_thinking_which_is_recorded_apart() -> None:
    reply, step = said(Reply("<think>Kenya</think>Nairobi"))
    assert (reply.text, step.text, step.reasoning) == ("Nairobi", "Nairobi", "Kenya")


SLOW = '''
import time

from r_eval.environments import Environment, query_api


class Slow(Environment):
    """A domain that takes its time."""

    def for_documents(self, documents):
        time.sleep(0.5)
        return self

    def close(self):
        time.sleep(0.5)

    @query_api
    def find(self, name: str) -> str:
        """Find a name."""
        return name
'''


@pytest.mark.parametrize("workflow", ["direct", "react"])
def test_the_seconds_of_an_episode_are_without_opening_and_closing_its_environment(
    workflow: str, tmp_path: Path
) -> None:
    (tmp_path / "slow.py").write_text(SLOW, encoding="utf-8")
    (tmp_path / "llm.py").write_text("def reply(request):\n    return 'Action: Finish[北京]'\n", encoding="utf-8")
    (tmp_path / "q.jsonl").write_text('{"id": "1", "question": "首都?", "answers": ["北京"]}\n', encoding="utf-8")
    task = {"task": "cities", "questions": "q.jsonl", "environment": "./slow.py:Slow"}
    parts: dict[str, Any] = {"llms": ["scripted/llm.py:reply"], "tasks": [task], "shots": 0, "folder": tmp_path}
    (episode,) = run(Grid(workflows=[workflow], **parts), tmp_path / "run").episodes()
    assert (episode.outcome.kind, episode.seconds.total < 0.4) == ("finished", True)
