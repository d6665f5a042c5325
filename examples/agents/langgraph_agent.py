"""An agent built with LangChain and LangGraph, with the query APIs as its tools.

It needs langchain, langchain-openai and langchain-mcp-adapters, in its own environment if R-Eval's has version 2 of the
MCP SDK: `command: [/path/to/venv/bin/python, langgraph_agent.py]`.
"""

import asyncio
import json
import os

from langchain.agents import create_agent
from langchain_mcp_adapters.client import MultiServerMCPClient
from langchain_openai import ChatOpenAI


async def main():
    servers = {"domain": {"transport": "streamable_http", "url": os.environ["R_EVAL_MCP_URL"]}}
    tools = await MultiServerMCPClient(servers).get_tools()
    model = ChatOpenAI(model=os.environ["OPENAI_MODEL"])
    prompt = f"Look things up with the tools, then answer. {os.environ['R_EVAL_INSTRUCTION']}"
    agent = create_agent(model, tools, system_prompt=prompt)
    state = await agent.ainvoke({"messages": [("user", os.environ["R_EVAL_QUESTION"])]})
    print(json.dumps({"answer": state["messages"][-1].text}))


asyncio.run(main())
