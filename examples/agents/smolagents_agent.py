"""An agent built with smolagents (smolagents[mcp,openai]) with the query APIs as its tools."""

import json
import os

from smolagents import MCPClient, OpenAIModel, ToolCallingAgent

with MCPClient({"url": os.environ["R_EVAL_MCP_URL"], "transport": "streamable-http"}) as tools:
    for argument in (argument for tool in tools for argument in tool.inputs.values()):
        argument["nullable"] = "default" in argument  # smolagents requires every other argument
    model = OpenAIModel(
        model_id=os.environ["OPENAI_MODEL"],
        api_base=os.environ["OPENAI_BASE_URL"],
        api_key=os.environ["OPENAI_API_KEY"],
    )
    agent = ToolCallingAgent(tools=tools, model=model, verbosity_level=0)
    answer = agent.run(f"{os.environ['R_EVAL_QUESTION']}\n{os.environ['R_EVAL_INSTRUCTION']}")
print(json.dumps({"answer": str(answer)}))
