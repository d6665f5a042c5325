"""A server that speaks the Responses API and refuses whatever OpenAI's refuses; for the tests of whatever calls one."""

from __future__ import annotations

import asyncio
import itertools
import json
import re
import time
from typing import Any

from aiohttp import web

from tests import chat_server
from tests.chat_server import KEY, Answer

TOKEN = "eyJ0eXAi.eyJvaWQi.entra-token_of-Azure"
SCOPE = "https://cognitiveservices.azure.com"
USAGE = {
    "input_tokens": 20,
    "input_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 0},
    "output_tokens": 5,
    "output_tokens_details": {"reasoning_tokens": 2},
    "total_tokens": 25,
}
PARAMETERS = {"model": str, "input": list, "instructions": str, "max_output_tokens": int, "temperature": (int, float)}
PARAMETERS |= {"tools": list, "tool_choice": str, "store": bool, "include": list, "reasoning": dict, "stream": bool}
ROLES = ("user", "assistant", "developer")
TOOL = {"type", "name", "description", "parameters", "strict"}
KEYS = {
    "function_call": {"type", "id", "call_id", "name", "arguments", "status"},
    "function_call_output": {"type", "call_id", "output"},
    "reasoning": {"type", "id", "summary", "content", "encrypted_content", "status"},
    "message": {"type", "id", "role", "content", "status", "phase"},
}


class Wrong(Exception):
    """A request that the server does not take; `error` is the body's `error`."""

    def __init__(self, message: str, param: str | None = None, code: str | None = None) -> None:
        super().__init__(message)
        self.error = {"message": message, "type": "invalid_request_error", "param": param, "code": code}


def text(*parts: str, **more: Any) -> dict[str, Any]:
    content = [{"type": "output_text", "text": part, "annotations": [], "logprobs": []} for part in parts]
    return {"type": "message", "id": "msg", "role": "assistant", "status": "completed", "content": content, **more}


def call(name: str, arguments: Any, **more: Any) -> dict[str, Any]:
    written = arguments if isinstance(arguments, str) else json.dumps(arguments)
    item = {"type": "function_call", "id": "fc", "call_id": "call", "name": name, "arguments": written}
    return {**item, "status": "completed", **more}


def reasoning(*summaries: str, **more: Any) -> dict[str, Any]:
    summary = [{"type": "summary_text", "text": one} for one in summaries]
    return {"type": "reasoning", "id": "rs", "summary": summary, "encrypted_content": "gAAA", **more}


def response(*items: dict[str, Any], usage: Any = USAGE, status: str = "completed", **more: Any) -> Answer:
    body = {"id": "resp_1", "object": "response", "created_at": 1, "model": "m", "error": None, "output": list(items)}
    return Answer(body={**body, "incomplete_details": None, "status": status, "usage": usage, **more})


def bad(status: int, message: str, code: str | None = None, **headers: str) -> Answer:
    answer = chat_server.bad(status, message, **headers)
    answer.body["error"] |= {"param": None, "code": code}
    return answer


class Server(chat_server.Server):
    """Plays its answers in order; items get ids of their own as they are sent, "URL" in a setting is its address.

    It is also the endpoint at which azure-identity gets a managed identity's token, as on App Service.

    Args:
        opening: Answers to the first requests, those that an LLM makes when it is opened.
        refuses: Parameters that its model does not take.
        signs_in: Whether the identity gets a token.
    """

    llm = "responses/some-model"

    def __init__(
        self, *answers: Answer, opening: tuple[Answer, ...] = (), refuses: tuple[str, ...] = (), signs_in: bool = True
    ) -> None:
        ready = response(text("ready"))
        super().__init__(*(answers or (ready,)), opening=opening or (ready,))
        self.refuses, self.signs_in = refuses, signs_in
        self.wrong: list[str] = []
        self.paths: list[str] = []
        self._ids = itertools.count()
        self._sent: dict[str, dict[str, Any]] = {}
        self._pairs: dict[str, str] = {}

    def app(self) -> web.Application:
        app = web.Application(client_max_size=2**26)
        app.router.add_get("/msi/token", self._token)
        app.router.add_post("/{path:.*}", self._create)
        return app

    def settings(self, more: dict[str, Any]) -> dict[str, Any]:
        where = more if "azure_endpoint" in more else {"base_url": "URL/v1", **more}
        host = self.url.removesuffix("/v1")
        return {k: v.replace("URL", host) if isinstance(v, str) else v for k, v in where.items()}

    async def _token(self, request: web.Request) -> web.Response:
        if not self.signs_in or request.headers.get("X-IDENTITY-HEADER") != KEY or request.query["resource"] != SCOPE:
            return web.json_response({"statusCode": 400, "message": "No managed identity was found"}, status=400)
        about = {"expires_on": str(int(time.time()) + 3600), "resource": SCOPE, "token_type": "Bearer"}
        return web.json_response({"access_token": TOKEN, **about})

    async def _create(self, request: web.Request) -> web.Response:
        self.headers.append(dict(request.headers))
        self.paths.append(request.path_qs)
        body = await request.json()
        opening = "tests the connection" in str(body.get("input"))
        try:
            self._check_key(request)
            self._check(body)
        except Wrong as wrong:
            (self.opened if opening else self.bodies).append(body)
            self.wrong.append(str(wrong))
            return web.json_response({"error": wrong.error}, status=401 if wrong.error["code"] else 400)
        answer = self._next(body, opening)
        await asyncio.sleep(answer.seconds)
        if isinstance(answer.body, bytes | str):
            return web.Response(status=answer.status, body=answer.body, headers=answer.headers)
        return web.json_response(self._named(answer.body), status=answer.status, headers=answer.headers)

    def _named(self, data: Any) -> Any:
        """An answer whose items have ids of their own, which a later request is held to."""
        if not isinstance(data, dict) or not isinstance(data.get("output"), list):
            return data
        items = [dict(item) if isinstance(item, dict) else item for item in data["output"]]
        objects = [item for item in items if isinstance(item, dict)]
        for item in objects:
            number = next(self._ids)
            for key in ("id", "call_id"):
                if item.get(key) in ("msg", "fc", "rs", "call"):
                    item[key] = f"{item[key]}_{number}"
            if item.get("encrypted_content"):
                item["encrypted_content"] = f"gAAA{number}=="
            if isinstance(item.get("id"), str):
                self._sent[item["id"]] = item
        for one, following in itertools.pairwise(objects):
            if one.get("type") == "reasoning":
                self._pairs[one["id"]] = str(following.get("id"))
        return {**data, "output": items}

    def _check_key(self, request: web.Request) -> None:
        given = request.headers.get("Authorization", "").removeprefix("Bearer ") or request.headers.get("api-key")
        if given not in (KEY, TOKEN):
            raise Wrong(f"Incorrect API key provided: {given}.", None, "invalid_api_key")

    def _check(self, body: dict[str, Any]) -> None:
        for name, value in body.items():
            if name not in PARAMETERS:
                raise Wrong(f"Unknown parameter: '{name}'.", name)
            if not isinstance(value, PARAMETERS[name]):  # type: ignore[arg-type]
                raise Wrong(f"Invalid type for '{name}'.", name)
            if name in self.refuses:
                param = "reasoning.effort" if name == "reasoning" else name
                what = "Encrypted content" if name == "include" else f"Unsupported parameter: '{param}'"
                raise Wrong(f"{what} is not supported with this model.", param)
        if body.get("max_output_tokens", 16) < 16:
            raise Wrong("Invalid 'max_output_tokens': integer below minimum value.", "max_output_tokens")
        if body.get("store") is not False:
            raise Wrong("store must be false for this organization", "store")
        for tool in body.get("tools", ()):
            if not {"type", "name", "parameters"} <= set(tool) <= TOOL or tool["type"] != "function":
                raise Wrong("Missing required parameter: 'tools[0].name'.", "tools[0].name")
        self._check_input(body["input"])

    def _check_input(self, items: list[dict[str, Any]]) -> None:
        calls: list[str] = []
        answered: list[str] = []
        ids = [item["id"] for item in items if "id" in item]
        if not items:
            raise Wrong("One of 'input' must be provided.", "input")
        around = zip([{}, *items], items, [*items[1:], {}], strict=False)
        for position, (before, item, following) in enumerate(around):
            kind = item.get("type", "message")
            if kind == "message" and "id" not in item:
                if set(item) - {"type"} != {"role", "content"} or item["role"] not in ROLES:
                    raise Wrong(f"Invalid message: {item}", f"input[{position}]")
                if not isinstance(item["content"], str) or not item["content"]:
                    raise Wrong("Empty message", f"input[{position}].content")
                continue
            if kind in KEYS and not set(item) <= KEYS[kind]:
                raise Wrong(f"Unknown parameter: 'input[{position}].{min(set(item) - KEYS[kind])}'.", "input")
            sent = self._sent.get(item.get("id", ""))
            if kind == "function_call":
                calls.append(item["call_id"])
                if not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", item["name"]) or not isinstance(item["arguments"], str):
                    raise Wrong(f"Invalid 'input[{position}].name'", f"input[{position}].name")
                json.loads(item["arguments"])
                needs = next((rs for rs, fc in self._pairs.items() if fc == item.get("id")), None)
                if needs is not None and before.get("id") != needs:
                    raise Wrong(f"Item '{item['id']}' was provided without its required 'reasoning' item: '{needs}'.")
            elif kind == "function_call_output":
                if item["call_id"] not in calls or item["call_id"] in answered:
                    raise Wrong(f"No tool call found for function call output with call_id {item['call_id']}.", "input")
                answered.append(item["call_id"])
            elif sent is None:
                raise Wrong(f"Item with id '{item.get('id')}' not found.", "input")
            elif item != sent:
                raise Wrong(f"The item '{item['id']}' could not be verified.", "input")
            if kind == "reasoning" and self._pairs.get(item["id"]) != following.get("id"):
                raise Wrong(f"Item '{item['id']}' was provided without its required following item.")
        if len({*calls}) < len(calls) or len({*ids}) < len(ids):
            raise Wrong("Duplicate item found with id.", "input")
        if {*calls} - {*answered}:
            raise Wrong(f"No tool output found for function call {min({*calls} - {*answered})}.", "input")
