"""An agent in plain Python: function calling over the addresses that R-Eval passes to each program."""

import json
import os
import urllib.request


def post(url, body):
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    headers["Authorization"] = f"Bearer {os.environ['OPENAI_API_KEY']}"
    with urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), headers)) as answer:
        return json.load(answer)


def mcp(method, **params):
    return post(os.environ["R_EVAL_MCP_URL"], {"jsonrpc": "2.0", "id": 1, "method": method, "params": params})["result"]


def chat(messages, tools):
    body = {"model": os.environ["OPENAI_MODEL"], "messages": messages, "tools": tools}
    return post(f"{os.environ['OPENAI_BASE_URL']}/chat/completions", body)["choices"][0]["message"]


def as_function(tool):
    about = {"name": tool["name"], "description": tool["description"], "parameters": tool["inputSchema"]}
    return {"type": "function", "function": about}


tools = [as_function(tool) for tool in mcp("tools/list")["tools"]]
messages = [
    {"role": "system", "content": f"Look things up with the tools, then answer. {os.environ['R_EVAL_INSTRUCTION']}"},
    {"role": "user", "content": os.environ["R_EVAL_QUESTION"]},
]
while (message := chat(messages, tools)).get("tool_calls"):
    messages.append(message)
    for call in message["tool_calls"]:
        function = call["function"]
        result = mcp("tools/call", name=function["name"], arguments=json.loads(function["arguments"]))
        text = "\n".join(part["text"] for part in result["content"])
        messages.append({"role": "tool", "tool_call_id": call["id"], "content": text})
print(json.dumps({"answer": message["content"]}))
