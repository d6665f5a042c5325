"""Agents of LangChain and LangGraph, as a stranger would write them; the tests run them as workflows."""

from __future__ import annotations

from typing import Any


def by_hand(tools: list[Any], model: Any) -> Any:
    """The smallest agent there is: it carries out calls until there are none, or until Finish."""
    from langchain_core.messages import AIMessage
    from langchain_core.runnables import RunnableLambda

    known = {tool.name: tool for tool in tools}
    able = model.bind_tools(tools)

    async def agent(state: dict[str, Any]) -> dict[str, Any]:
        messages = list(state["messages"])
        while True:
            reply: AIMessage = await able.ainvoke(messages)
            messages.append(reply)
            if not reply.tool_calls:
                return {"messages": messages}
            for call in reply.tool_calls:
                tool = known.get(call["name"], known["Finish"])
                messages.append(await tool.ainvoke(call))
                if tool.name == "Finish" and call["args"]:
                    return {"messages": messages}

    return RunnableLambda(agent)


def in_a_thread(tools: list[Any], model: Any) -> Any:
    """A synchronous agent; LangChain runs it in a thread."""
    from langchain_core.runnables import RunnableLambda

    known = {tool.name: tool for tool in tools}
    able = model.bind_tools(tools)

    def agent(state: dict[str, Any]) -> dict[str, Any]:
        messages = list(state["messages"])
        while True:
            reply = able.invoke(messages)
            messages.append(reply)
            if not reply.tool_calls:
                return {"messages": messages}
            messages += [known.get(call["name"], known["Finish"]).invoke(call) for call in reply.tool_calls]

    return RunnableLambda(agent)


def prebuilt(tools: list[Any], model: Any) -> Any:
    """LangChain's own agent."""
    from langchain.agents import create_agent

    return create_agent(model, tools, system_prompt="You are a cook.")


def graph(tools: list[Any], model: Any) -> Any:
    """A graph of LangGraph with synchronous nodes, as its tutorials have it."""
    from langgraph.graph import END, START, MessagesState, StateGraph
    from langgraph.prebuilt import ToolNode, tools_condition

    able = model.bind_tools(tools)

    def ask(state: Any) -> dict[str, Any]:
        return {"messages": [able.invoke(state["messages"])]}

    built = StateGraph(MessagesState)
    built.add_node("ask", ask)
    built.add_node("tools", ToolNode(tools))
    built.add_edge(START, "ask")
    built.add_conditional_edges("ask", tools_condition, {"tools": "tools", END: END})
    built.add_edge("tools", "ask")
    return built.compile()


def stubborn(tools: list[Any], model: Any) -> Any:
    """Catches whatever is raised and answers all the same."""
    agent = by_hand(tools, model)

    class Stubborn:
        async def ainvoke(self, state: dict[str, Any]) -> str:
            for _ in range(3):
                try:
                    return str((await agent.ainvoke(state))["messages"][-1].text)
                except Exception:
                    continue
            return "whatever"

    return Stubborn()


def side_by_side(tools: list[Any], model: Any) -> Any:
    """Makes many calls at the same time."""
    import asyncio

    class Many:
        async def ainvoke(self, state: dict[str, Any]) -> str:
            find = next(tool for tool in tools if tool.name == "find_dish")
            names = "zyxwvutsrqponml"
            found = await asyncio.gather(*(find.ainvoke({"name": name}) for name in names))
            return str((await model.ainvoke("\n".join(found))).text)

    return Many()


def picks(tools: list[Any], model: Any) -> Any:
    """Asks for its answer in a form of its own."""
    from langchain_core.runnables import RunnableLambda

    schema = {
        "title": "Pick",
        "description": "A dish.",
        "type": "object",
        "properties": {"dish": {"type": "string"}},
        "required": ["dish"],
    }
    chosen = model.with_structured_output(schema)
    return RunnableLambda(lambda state: state["messages"]) | chosen | RunnableLambda(lambda pick: str(pick["dish"]))


async def later(tools: list[Any], model: Any) -> Any:
    """A factory that is asynchronous."""
    return by_hand(tools, model)


def idle(tools: list[Any], model: Any) -> Any:
    """Never ends and never asks."""
    import asyncio

    class Idle:
        async def ainvoke(self, state: dict[str, Any]) -> str:
            while True:
                await asyncio.sleep(0.01)

    return Idle()


def nothing(tools: list[Any], model: Any) -> Any:
    """Gives no agent."""
    return None


def no_messages(tools: list[Any], model: Any) -> Any:
    """Gives something without messages."""

    class Odd:
        async def ainvoke(self, state: dict[str, Any]) -> dict[str, Any]:
            return {"result": 1}

    return Odd()


NO_FUNCTION = 3
