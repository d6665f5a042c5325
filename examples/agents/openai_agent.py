"""An agent built with the OpenAI Agents SDK (openai-agents) with the query APIs as its tools."""

import asyncio
import json
import os

from agents import Agent, Runner, set_default_openai_api, set_tracing_disabled
from agents.mcp import MCPServerStreamableHttp


async def main():
    set_default_openai_api("chat_completions")
    set_tracing_disabled(True)
    async with MCPServerStreamableHttp({"url": os.environ["R_EVAL_MCP_URL"]}) as server:
        prompt = f"Look things up with the tools, then answer. {os.environ['R_EVAL_INSTRUCTION']}"
        agent = Agent("scholar", instructions=prompt, model=os.environ["OPENAI_MODEL"], mcp_servers=[server])
        result = await Runner.run(agent, os.environ["R_EVAL_QUESTION"])
    print(json.dumps({"answer": result.final_output}))


asyncio.run(main())
