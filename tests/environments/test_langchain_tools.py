"""LangChain tools, toolkits and retrievers as an environment."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from r_eval.environments.base import EnvironmentFailure
from r_eval.environments.opening import open_environment
from r_eval.errors import UserError
from tests.environments.conftest import Ask

pytest.importorskip("langchain_core", reason="langchain-core is not installed (pip install 'r-eval[langchain]')")

FACTORIES = '''
import asyncio
from typing import Annotated, Literal
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.tools import BaseTool, BaseToolkit, InjectedToolArg, StructuredTool, Tool, ToolException, tool

@tool(parse_docstring=True)
def find_dish(name: str, limit: int = 2, order: Literal["name", "time"] = "name") -> list[dict]:
    """Find dishes.

    Args:
        name: A part of the name.
        limit: At most so many.
    """
    return [{"name": f"{name} {i}"} for i in range(limit)]


@tool
def refuse(what: str) -> str:
    """Refuse."""
    raise ToolException(f"There is no {what}.")


@tool
def crash(what: str) -> str:
    """Crash."""
    raise KeyError(what)


@tool
async def slow() -> str:
    """Take long."""
    await asyncio.sleep(30)
    return ""


@tool
def injected(what: str, user: Annotated[str, InjectedToolArg] = "nobody") -> str:
    """Take an argument that no model sees."""
    return f"{what} for {user}"


plain = Tool(name="shout", func=str.upper, description="Shout.")
blocks = StructuredTool.from_function(
    lambda: [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}], name="blocks", description="Blocks."
)


def kitchen():
    """A kitchen."""
    return [find_dish, refuse, crash, slow, injected, plain, blocks]


class Toolkit(BaseToolkit):
    def get_tools(self) -> list[BaseTool]:
        return [find_dish, refuse]


class Shelf(BaseRetriever):
    """Finds what holds a word."""

    def _get_relevant_documents(self, query, *, run_manager):
        texts = ["flour and water", "water and salt"]
        found = [Document(page_content=t, metadata={"title": t[:5], "score": 1}) for t in texts if query in t]
        return found + [Document(page_content="no title")]


def shelf():
    """A shelf."""
    return Shelf()


def fails():
    raise RuntimeError("no index")


def wrong():
    return "text"
'''


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("langchain") / "kitchen.py"
    path.write_text(FACTORIES, encoding="utf-8")
    return path


def test_the_tools_of_a_toolkit_are_query_apis(file: Path) -> None:
    assert list(open_environment(f"langchain:{file}:Toolkit").specs()) == ["find_dish", "refuse"]


def test_a_retriever_finds_documents(file: Path, ask: Ask) -> None:
    environment = open_environment(f"langchain:{file}:shelf")
    result = ask(environment, "Retrieve", query="salt")
    assert result.value == [{"title": "water", "text": "water and salt"}, {"text": "no title"}]
    spec = environment.specs()["Retrieve"]
    assert (spec.summary, spec.parameters[0].description, environment.description) == (
        "Find the documents that say most about a query.",
        "What to look for.",
        "A shelf.",
    )


@pytest.mark.parametrize(
    ("api", "arguments", "error", "value"),
    [
        ("find_dish", {"name": "pie", "limit": "1"}, None, [{"name": "pie 0"}]),
        ("injected", {"what": "x"}, None, "x for nobody"),
        ("shout", {"tool_input": "hey"}, None, "HEY"),
        ("blocks", {}, None, "one\ntwo"),
        ("refuse", {"what": "egg"}, "tool_error", "There is no egg."),
        ("injected", {"what": "x", "user": "me"}, "bad_arguments", "injected has no argument 'user'"),
        ("crash", {"what": "egg"}, "failure", "crash failed: KeyError: 'egg'"),
        ("slow", {}, "failure", "slow gave nothing within 2 s"),
    ],
)
def test_what_a_tool_gives_is_the_value_what_it_refuses_an_observation_and_a_crash_a_failure(
    file: Path, ask: Ask, api: str, arguments: dict[str, Any], error: str | None, value: Any
) -> None:
    kitchen = open_environment(f"langchain:{file}:kitchen", {"timeout": 2})
    if error == "failure":
        with pytest.raises(EnvironmentFailure, match=value):
            ask(kitchen, api, **arguments)
        return
    result = ask(kitchen, api, **arguments)
    assert result.error == error
    assert value in result.observation if error else result.value == value


@pytest.mark.parametrize(
    ("factory", "message"),
    [
        ("$FILE:fails", "fails: RuntimeError: no index"),
        ("$FILE:wrong", "gives a str: expected tools, a toolkit or a retriever"),
        ("no.such:thing", "cannot import no.such"),
    ],
)
def test_a_factory_that_gives_no_tools_is_the_persons_error(file: Path, factory: str, message: str) -> None:
    with pytest.raises(UserError) as caught:
        open_environment(f"langchain:{factory.replace('$FILE', str(file))}")
    assert message in str(caught.value)
