"""What providers answer, in every documented shape: each backend understands it, and each workflow survives it."""

from __future__ import annotations

import asyncio
import json

import pytest

from r_eval.llms.base import Reply, make_llm
from r_eval.llms.reply import parse_reply
from r_eval.records import Episode
from r_eval.workflows.base import Limits
from tests.chat_server import ASK, Answer, Server
from tests.contracts.test_workflows import ASKING, WORKFLOWS
from tests.llms.reply_shapes import SHAPES
from tests.workflow_contract import Pantry, Talker, played


async def answers() -> list[Reply]:
    """What the backend makes of each shape, in their order."""
    server = Server(*(Answer(body=json.loads(json.dumps(shape.body()))) for shape in SHAPES))
    runner = await server.start()
    llm = make_llm("openai/some-model", {"base_url": server.url, "native_tools": True})
    await llm.open()
    made = [await llm.generate(ASK) for _ in SHAPES]
    await llm.close()
    await runner.cleanup()
    return made


def test_every_shape_is_understood_over_chat_completions() -> None:
    for shape, reply in zip(SHAPES, asyncio.run(answers()), strict=True):
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
