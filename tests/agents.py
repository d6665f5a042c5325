"""Programs of users as functions, for the workflow `agent`; each runs in a process of its own."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any


def post(url: str, key: str, body: Any) -> Any:
    """The JSON that a server answers, an error's too."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    headers = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
    request = urllib.request.Request(url, data, headers | {"Authorization": f"Bearer {key}"})
    try:
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        return {"status": error.code, **json.load(error)}


class Client:
    """The two addresses of an episode."""

    def __init__(self, base_url: str, api_key: str, mcp_url: str) -> None:
        self.base_url, self.api_key, self.mcp_url = base_url, api_key, mcp_url

    def chat(self, messages: Any, **more: Any) -> Any:
        """The message that the LLM answers; what the server says where there is none."""
        listed = [{"role": "user", "content": messages}] if isinstance(messages, str) else messages
        body = {"model": "any", "messages": listed, **more}
        data = post(f"{self.base_url}/chat/completions", self.api_key, body)
        return data["choices"][0]["message"] if "choices" in data else data

    def mcp(self, method: str, **params: Any) -> Any:
        """The result of a method of the MCP server."""
        answer = post(self.mcp_url, "", {"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        return answer.get("result", answer)

    def call(self, api: str, /, **arguments: Any) -> str:
        """What a tool says."""
        return str(self.mcp("tools/call", name=api, arguments=arguments)["content"][0]["text"])


def answer(
    question: str,
    base_url: str,
    api_key: str,
    mcp_url: str,
    instruction: str = "",
    demonstrations: Any = (),
    domain: str = "",
) -> str:
    """Function calling, with demonstrations as text."""
    client = Client(base_url, api_key, mcp_url)
    examples = "\n".join(f"Question: {shot['question']}\nAnswer: {shot['answer']}" for shot in demonstrations)
    system = {"role": "system", "content": f"{domain}\n{instruction}\n{examples}"}
    messages = [system, {"role": "user", "content": question}]
    offered = [{"name": tool["name"], "parameters": tool["inputSchema"]} for tool in client.mcp("tools/list")["tools"]]
    tools = [{"type": "function", "function": function} for function in offered]
    while True:
        reply = client.chat(messages, tools=tools)
        if "error" in reply:
            raise RuntimeError(reply["error"]["message"])
        if not reply.get("tool_calls"):
            return str(reply["content"] or "")
        messages.append(reply)
        for call in reply["tool_calls"]:
            found = client.call(call["function"]["name"], **json.loads(call["function"]["arguments"]))
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": found})


async def asynchronous(question: str, base_url: str, api_key: str, mcp_url: str) -> dict[str, str]:
    """One LLM call, from a coroutine that prints on the way and returns what a program would print."""
    sys.stdout.write("this is no answer\n")
    client = Client(base_url, api_key, mcp_url)
    return {"answer": (await asyncio.to_thread(client.chat, question))["content"]}


def show_input(**episode: Any) -> str:
    """The input, tools, variables and folder of the program."""
    client = Client(episode["base_url"], episode["api_key"], episode["mcp_url"])
    variables = {name: value for name, value in os.environ.items() if name != "LC_CTYPE"}  # Python's own
    data = {"keys": episode, "variables": variables, "files": [*map(str, Path().iterdir())], "folder": str(Path.cwd())}
    return json.dumps({**data, "tools": client.mcp("tools/list")["tools"]}, ensure_ascii=False)


def until_refused(question: str, base_url: str, api_key: str, mcp_url: str) -> str:
    """Asks until it is refused, and answers with the refusal."""
    client = Client(base_url, api_key, mcp_url)
    while "error" not in (reply := client.chat(question)):
        pass
    return f"{reply['status']} {reply['error']['code']}"


def mistaken(question: str, base_url: str, api_key: str, mcp_url: str) -> str:
    """Makes invalid requests until it is refused for good."""
    client, number = Client(base_url, api_key, mcp_url), 1
    while (code := client.chat([], n=2)["error"]["code"]) == "invalid_request":
        number += 1
    return f"{number} {code}"


def looks_until_refused(question: str, base_url: str, api_key: str, mcp_url: str) -> str:
    """Calls a query API until it is refused."""
    client, calls = Client(base_url, api_key, mcp_url), 0
    while "limit" not in client.call("find_dish", name="o"):
        calls += 1
    return str(calls)


def stubborn(question: str, base_url: str, api_key: str, mcp_url: str) -> str:
    """Ignores every refusal."""
    client = Client(base_url, api_key, mcp_url)
    while True:
        client.chat(question)


def hangs(question: str) -> str:
    """Does nothing for ever, and cannot be asked to end."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while True:
        time.sleep(1)


def floods() -> None:
    """Writes for ever."""
    while True:
        sys.stderr.write("x" * 1_000_000)


def forks(question: str, base_url: str, api_key: str, mcp_url: str) -> str:
    """Leaves children behind that hold its output open, some in groups of their own."""
    children = [subprocess.Popen(["sleep", "60"], stdout=sys.__stdout__, start_new_session=n > 2) for n in range(5)]
    return " ".join(str(child.pid) for child in children)


def dies(question: str, base_url: str, api_key: str, mcp_url: str) -> str:
    """Is killed in the midst of its work."""
    Client(base_url, api_key, mcp_url).chat(question)
    os.kill(os.getpid(), signal.SIGKILL)
    return "never"


def raises(question: str) -> str:
    """Fails."""
    raise ValueError("the agent is broken: ß")
