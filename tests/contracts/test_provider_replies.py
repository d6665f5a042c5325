"""What providers answer, in every documented shape: each backend understands it, and each workflow survives it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from r_eval.llms.base import LLM, LLMError, Reply, make_llm
from r_eval.llms.reply import parse_reply
from r_eval.records import Episode
from r_eval.workflows.base import Limits
from tests.chat_server import ASK, Answer, Server
from tests.contracts.test_workflows import ASKING, WORKFLOWS
from tests.llms.reply_shapes import SHAPES
from tests.workflow_contract import Pantry, Talker, played


async def an_openai(url: str, folder: Path) -> LLM:
    llm = make_llm("openai/some-model", {"base_url": url, "native_tools": True})
    await llm.open()
    return llm


def replies(open_llm: Callable[..., Any], folder: Path) -> list[Reply | LLMError]:
    """What becomes of each shape, in their order."""

    async def one(llm: LLM) -> Reply | LLMError:
        try:
            return await llm.generate(ASK)
        except LLMError as error:
            return error

    async def main() -> list[Reply | LLMError]:
        server = Server(*(Answer(body=json.loads(json.dumps(shape.body()))) for shape in SHAPES))
        runner = await server.start()
        llm = await open_llm(server.url, folder)
        made = [await one(llm) for _ in SHAPES]
        await llm.close()
        await runner.cleanup()
        return made

    return asyncio.run(main())


def test_every_shape_is_understood_over_chat_completions(tmp_path: Path) -> None:
    for shape, reply in zip(SHAPES, replies(an_openai, tmp_path), strict=True):
        assert isinstance(reply, Reply), (shape, reply)
        calls = tuple((call.name, call.arguments) for call in reply.tool_calls)
        read = (reply.text, calls, reply.reasoning, reply.finish, not reply.estimated, reply.extra)
        assert read == (shape.text, shape.calls, shape.reasoning, shape.finish, shape.counted, shape.extra), shape
        assert not shape.counted or (reply.tokens.prompt, reply.tokens.completion) == (20, 2), shape


@pytest.mark.parametrize("name", ASKING)
def test_every_workflow_survives_every_shape(name: str) -> None:
    for shape in SHAPES:
        talker = Talker(lambda _, shape=shape: parse_reply(shape.body()))  # type: ignore[misc]
        episode = played(WORKFLOWS[name], talker, Pantry(), Limits(steps=2, calls=6))
        assert episode.outcome.kind not in ("tool_failure", "llm_failure"), (shape, episode.outcome)
        assert Episode.model_validate_json(episode.model_dump_json()) == episode
