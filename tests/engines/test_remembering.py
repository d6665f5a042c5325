"""What a worker remembers: a further call waits until the run's own process has heard of the replies before it."""

from __future__ import annotations

import asyncio

from r_eval.engines.messages import NOTHING, Kept, Replied, Wanted
from r_eval.engines.remembering import FarMemory, Notebook, Outbox
from r_eval.llms.answers import Answers
from r_eval.llms.base import LLM, Message, Reply, Request


class Counting(LLM):
    """An LLM that counts its calls."""

    calls = 0

    async def generate(self, request: Request) -> Reply:
        self.calls += 1
        return Reply("yes")


def episode(llm: LLM, outbox: Outbox, kept: Kept | None = None) -> Answers:
    notebook = Notebook(outbox)
    notebook.begin("e", kept or {})
    return FarMemory(None, None, False, {}, outbox, notebook).of_episode(llm, "e", "scope", 0)


async def asked_twice() -> tuple[list[int], list[str]]:
    """The calls made before and after the run's process has heard, and what it was told by then."""
    llm, outbox = Counting("counting", "", {}), Outbox()
    answers = episode(llm, outbox)
    await answers.answer(Request((Message("user", "one"),)))
    second = asyncio.create_task(answers.answer(Request((Message("user", "two"),))))
    batch = await anext(outbox.batches())
    await asyncio.sleep(0)
    if not any(isinstance(message, Wanted) for message in batch):
        batch += await anext(outbox.batches())
    calls = [llm.calls]
    outbox.answered(NOTHING, None)
    await second
    return [*calls, llm.calls], [type(message).__name__ for message in batch]


def test_the_next_call_waits_until_the_reply_before_it_was_heard_of() -> None:
    calls, _ = asyncio.run(asked_twice())
    assert calls == [1, 2]


def test_the_reply_is_told_before_the_question_whether_it_was_heard() -> None:
    _, told = asyncio.run(asked_twice())
    assert told == [Replied.__name__, Wanted.__name__]


def test_the_first_call_waits_for_nothing() -> None:
    llm = Counting("counting", "", {})
    asyncio.run(asyncio.wait_for(episode(llm, Outbox()).answer(Request((Message("user", "one"),))), 1))
    assert llm.calls == 1
