"""The two addresses of an agent: chat completions as OpenAI's own client reads them, MCP as the SDK's client does."""

from __future__ import annotations

import asyncio
import dataclasses
import json
from collections.abc import Callable, Coroutine
from typing import Any

import aiohttp
import pytest

from r_eval.environments.base import Environment
from r_eval.environments.sandbox import Sandbox
from r_eval.environments.session import Session
from r_eval.llms.base import Message, Reply, Request, ToolCall
from r_eval.records import Step, Tokens
from r_eval.runner.episode_llm import EpisodeLLM
from r_eval.workflows.agent_messages import Body, completion, parse_request
from r_eval.workflows.agent_server import AgentEpisode, open_episode
from r_eval.workflows.base import Limits
from tests.workflow_contract import Talker
from tests.workflows.conftest import LLMClient, talker

pytest.importorskip("mcp", reason="the MCP SDK is not installed (extra: mcp)")
USER = {"role": "user", "content": "Which dish?"}
TOOL = {"type": "function", "function": {"name": "find_dish", "description": "Find.", "parameters": {"type": "object"}}}


@dataclasses.dataclass
class Open:
    """An open episode, the LLM that it talks to and the steps that it has recorded."""

    episode: AgentEpisode
    llm: Talker
    steps: list[Step]

    @property
    def mcp_url(self) -> str:
        return f"{self.episode.address}/mcp/{self.episode.token}"

    async def request(
        self, body: Any, path: str = "/v1/chat/completions", token: str | None = None, method: str = "POST"
    ) -> tuple[int, Any]:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {self.episode.token if token is None else token}"}
        headers["Content-Type"] = "application/json"
        url = self.episode.address + path.replace("TOKEN", self.episode.token)
        async with (
            aiohttp.ClientSession(headers=headers) as client,
            client.request(method, url, data=data) as response,
        ):
            return response.status, json.loads(await response.text() or "{}")

    def openai(self) -> Any:
        """OpenAI's own client."""
        package = pytest.importorskip("openai")
        return package.AsyncOpenAI(base_url=f"{self.episode.address}/v1", api_key=self.episode.token)


Use = Callable[..., Any]


@pytest.fixture
def use(pantry: Environment, sandbox: Sandbox) -> Use:
    """Does something with an open episode."""

    def with_episode(speaker: LLMClient, work: Callable[[Open], Coroutine[Any, Any, Any]], **bounds: Any) -> Open:
        async def main() -> Open:
            llm, steps, limits = talker(speaker), list[Step](), Limits(**bounds)
            session = Session(pantry, sandbox, steps.append, limits.observation)
            async with open_episode(session, EpisodeLLM(llm, limits, steps), limits) as episode:
                opened = Open(episode, llm, steps)
                await episode.serve(work(opened))
            return opened

        return asyncio.run(main())

    return with_episode


def test_the_client_of_openai_gets_text_calls_and_usage(use: Use) -> None:
    call = ToolCall("", "find_dish", {"name": "ω"})
    replies = [Reply("", (call,), "tool_calls", Tokens(prompt=7, completion=3)), Reply("café", finish="length")]

    async def work(opened: Open) -> None:
        async with opened.openai() as client:
            assert [model.id async for model in client.models.list()] == ["r-eval"]
            first = await client.chat.completions.create(model="x", messages=[USER], tools=[TOOL])
            (made,) = first.choices[0].message.tool_calls
            assert (made.id, made.function.name) == ("call00000", "find_dish")
            assert json.loads(made.function.arguments) == {"name": "ω"}
            assert (first.choices[0].finish_reason, first.usage.total_tokens) == ("tool_calls", 10)
            messages = [USER, first.choices[0].message, {"role": "tool", "tool_call_id": made.id, "content": "none"}]
            second = await client.chat.completions.create(
                model="x", messages=messages, tools=[TOOL], stop=["\n"], max_tokens=9, temperature=1.5
            )
            assert (second.choices[0].message.content, second.choices[0].finish_reason) == ("café", "length")
        request = opened.llm.requests[1]
        assert request.messages[1:] == (
            Message("assistant", "", (ToolCall("call00000", "find_dish", {"name": "ω"}),)),
            Message("tool", "none", call_id="call00000", name="find_dish"),
        )
        assert (request.stop, request.max_tokens, request.tools[0].name) == (("\n",), 9, "find_dish")

    use(replies, work)


def test_a_stream_holds_the_same(use: Use) -> None:
    calls = tuple(ToolCall("", "find_dish", {"name": name}) for name in ("a", "b"))

    async def work(opened: Open) -> None:
        async with opened.openai() as client:
            async with client.chat.completions.stream(model="x", messages=[USER]) as stream:
                whole = (await stream.get_final_completion()).choices[0]
            assert [call.function.arguments for call in whole.message.tool_calls] == ['{"name": "a"}', '{"name": "b"}']
            assert (whole.message.content, whole.finish_reason) == ("日本", "tool_calls")
            options = {"include_usage": True}
            chunks = await client.chat.completions.create(
                model="x", messages=[USER], stream=True, stream_options=options
            )
            *_, last = [chunk async for chunk in chunks]
            assert last.usage.total_tokens == 12

    use([Reply("日本", calls, "tool_calls", Tokens(prompt=10, completion=2))], work)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_the_client_of_the_mcp_sdk_sees_what_a_model_is_shown_and_no_more(use: Use, mode: Any) -> None:
    from mcp import Client

    async def work(opened: Open) -> None:
        async with Client(opened.mcp_url, mode=mode) as client:
            (find, _) = (await client.list_tools()).tools
            assert (find.name, find.input_schema["required"], find.output_schema) == ("find_dish", ["name"], None)
            found = await client.call_tool("find_dish", {"name": "ome"})
            assert (found.content[0].text, found.structured_content) == (opened.steps[0].observation, None)
            wrong = await client.call_tool("ingredients", {"dish": "soup"})
            assert (wrong.is_error, wrong.content[0].text) == (True, opened.steps[1].observation)
        assert [step.error for step in opened.steps] == [None, "not_found"]

    use("", work)


def test_an_episode_is_open_for_its_own_token_until_its_end(use: Use) -> None:
    async def work(opened: Open) -> None:
        statuses = [(await opened.request({"messages": [USER]}, token=token))[0] for token in (None, "", "agent-wrong")]
        assert statuses == [200, 401, 401]
        assert (await opened.request({}, "/mcp/TOKENx"))[0] == 401

    opened = use("one", work)
    assert len(opened.steps) == 1
    with pytest.raises(aiohttp.ClientConnectionError):
        asyncio.run(opened.request({"messages": [USER]}))


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"{", "the body is not JSON"),
        (b"[" * 100_000, "the body is not JSON"),
        ([], "the body"),
        ({"messages": "hello"}, "messages"),
        ({"messages": [{"role": "wizard", "content": "x"}]}, "the role 'wizard' is unknown"),
        ({"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}]}, "must be text"),
        ({"messages": [{"role": "user", "content": None}]}, "must be text"),
        ({"messages": [{"role": "tool", "content": "x"}]}, "needs its tool_call_id"),
        ({"messages": [{"role": "assistant", "content": 3}]}, "a message of the assistant cannot be read"),
        ({"messages": [USER], "n": 2}, "n: "),
        ({"messages": [USER], "logprobs": True}, "logprobs: "),
        ({"messages": [USER], "functions": [{"name": "find_dish"}]}, "functions: "),
        ({"messages": [USER], "response_format": {"type": "json_object"}}, "response_format.type: "),
        ({"messages": [USER], "max_tokens": -1}, "max_tokens: "),
        ({"messages": [USER], "tools": [{"type": "web_search"}]}, "tools.0"),
        ({"messages": [USER], "tools": [{"function": {"name": "find dish"}}]}, "tools: each needs a name of its own"),
        ({"messages": [USER], "tools": [TOOL, TOOL]}, "tools: each needs a name of its own"),
        ({"messages": [USER], "tools": [{"function": {"name": "f", "parameters": {"type": "string"}}}]}, "'object'"),
        ({"messages": [USER], "tools": [TOOL], "tool_choice": {"function": {"name": "no"}}}, "the tool 'no'"),
    ],
)
def test_an_invalid_request_is_refused_and_recorded(use: Use, body: Any, message: str) -> None:
    async def work(opened: Open) -> None:
        status, refusal = await opened.request(body)
        assert (status, refusal["error"]["code"]) == (400, "invalid_request")
        assert message in refusal["error"]["message"]
        (step,) = opened.steps
        assert step.text == f"An invalid request was refused: {refusal['error']['message']}"

    use("", work)


LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "part"),
    [
        ("POST", "/v1/chat/completions/", {"messages": [USER]}, 200, "hello"),
        ("GET", "/v1/models/", None, 200, "'object': 'list'"),
        ("GET", "/v1/models/gpt-4o", None, 200, "'object': 'model'"),
        ("POST", "/mcp/TOKEN/", LIST, 200, "find_dish"),
        ("GET", "/mcp/TOKEN", None, 405, ""),
        ("DELETE", "/mcp/TOKEN", None, 405, ""),
        ("POST", "/v1/embeddings", {}, 404, "There is only POST /v1/chat/completions"),
        ("POST", "/v1/responses", {}, 404, "Set your SDK to chat completions"),
    ],
)
def test_addresses_may_end_in_a_slash_and_others_are_refused_with_those_that_exist(
    use: Use, method: str, path: str, body: Any, status: int, part: str
) -> None:
    async def work(opened: Open) -> None:
        found, data = await opened.request(body, path, method=method)
        assert (found, part in str(data)) == (status, True), data

    use(["hello"], work)


def test_requests_at_once_are_answered_one_after_another(use: Use) -> None:
    async def work(opened: Open) -> None:
        requests = [opened.request({"messages": [{"role": "user", "content": str(i)}]}) for i in range(50)]
        answers = [
            (status, data["choices"][0]["message"]["content"]) for status, data in await asyncio.gather(*requests)
        ]
        assert answers == [(200, f"<{i}>") for i in range(50)]

    opened = use(lambda request: f"<{request.messages[0].content}>", work, steps=50)
    assert len(opened.steps) == 50


def request_of(**body: Any) -> Request:
    return parse_request(json.dumps({"messages": [USER], **body}).encode())[1]


def test_system_messages_become_one_and_content_may_have_parts() -> None:
    parts = [{"type": "text", "text": "Which "}, {"type": "text", "text": "dish?"}]
    systems = [{"role": "developer", "content": "A"}, {"role": "system", "content": "B"}]
    messages = request_of(messages=[{"role": "user", "content": parts}, *systems]).messages
    assert messages == (Message("system", "A\n\nB"), Message("user", "Which dish?"))
    assert request_of(messages=[{"role": "user", "content": "\ud800 x"}]).messages == (Message("user", "\ufffd x"),)


def test_numbers_may_be_written_as_floats_and_what_is_empty_is_not_refused() -> None:
    request = request_of(max_tokens=256.0, functions=[], tools=[], tool_choice="auto", n=1, stop=None, logprobs=False)
    assert (request.max_tokens, request.tools, request.stop) == (256, (), ())


def test_a_reply_is_no_longer_than_the_llms_own_limit(use: Use) -> None:
    async def work(opened: Open) -> None:
        for length in (100_000, 9):
            await opened.request({"messages": [USER], "max_tokens": length})
        assert [request.max_tokens for request in opened.llm.requests] == [None, 9]

    use(["hello"], work)


def test_a_tool_that_must_be_called_is_offered_alone() -> None:
    other = {"type": "function", "function": {"name": "other"}}
    choice = {"type": "function", "function": {"name": "find_dish"}}
    request = request_of(tools=[TOOL, other], tool_choice=choice)
    assert ([tool.name for tool in request.tools], request.tool_choice) == (["find_dish"], "required")


def test_ids_of_calls_are_those_of_the_server_unless_they_were_there_before() -> None:
    call = {"id": "call00000", "type": "function", "function": {"name": "find_dish", "arguments": "{}"}}
    request = request_of(messages=[USER, {"role": "assistant", "content": None, "tool_calls": [call]}])
    reply = Reply("", (ToolCall("call00000", "find_dish", {}), ToolCall("own.1", "find_dish", {})))
    for parallel, ids in ((None, ["call00001", "own.1"]), (False, ["call00001"])):
        body = Body(messages=[USER], parallel_tool_calls=parallel)
        message = completion(reply, request, body, 1)["choices"][0]["message"]
        assert [entry["id"] for entry in message["tool_calls"]] == ids


def test_what_a_provider_wants_back_is_handed_on() -> None:
    call = ToolCall("a", "find_dish", {}, extra={"function": {"thought_signature": "s"}})
    whole = completion(Reply("", (call,), extra={"details": [1]}), Request(()), Body(messages=[USER]), 1)
    again = request_of(messages=[USER, whole["choices"][0]["message"]]).messages[1]
    assert (again.extra, again.tool_calls) == ({"details": [1]}, (call,))
