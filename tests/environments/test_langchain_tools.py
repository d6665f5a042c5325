"""LangChain tools, toolkits and retrievers as an environment."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from r_eval.environments.base import EnvironmentFailure
from r_eval.environments.opening import open_environment
from r_eval.environments.sandbox import Sandbox
from r_eval.environments.session import CallResult, Session
from r_eval.errors import UserError

pytest.importorskip("langchain_core", reason="langchain-core is not installed (pip install 'r-eval[langchain]')")

FACTORIES = '''
import asyncio, time
from typing import Annotated, Literal, Optional
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.tools import BaseTool, BaseToolkit, InjectedToolArg, StructuredTool, Tool, ToolException, tool
from pydantic import BaseModel, Field


@tool(parse_docstring=True)
def find_dish(name: str, limit: int = 2, order: Literal["name", "time"] = "name") -> list[dict]:
    """Find dishes.

    Args:
        name: A part of the name.
        limit: At most so many.
    """
    return [{"name": f"{name} {i}"} for i in range(limit)]


@tool
async def later(what: str) -> str:
    """Say it later."""
    await asyncio.sleep(0)
    return what


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


class Even(BaseModel):
    number: int = Field(description="An even number.", multiple_of=2)


even = StructuredTool.from_function(lambda number: number // 2, name="half-of", description="Halve.", args_schema=Even)
plain = Tool(name="shout", func=str.upper, description="Shout.")
declared = StructuredTool.from_function(
    lambda **given: given, name="declared", description="Take a JSON schema.",
    args_schema={"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]},
)
blocks = StructuredTool.from_function(
    lambda: [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}], name="blocks", description="Blocks."
)


def kitchen():
    """A kitchen."""
    return [find_dish, later, refuse, crash, slow, injected, even, plain, declared, blocks]


class Toolkit(BaseToolkit):
    def get_tools(self) -> list[BaseTool]:
        return [find_dish, later]


class Shelf(BaseRetriever):
    """Finds what holds a word."""

    def _get_relevant_documents(self, query, *, run_manager):
        texts = ["flour and water", "water and salt"]
        found = [Document(page_content=t, metadata={"title": t[:5], "score": 1}) for t in texts if query in t]
        return found + [Document(page_content="no title")]


def shelf():
    """A shelf."""
    return Shelf()


def both():
    return [find_dish, Shelf()]


def fails():
    raise RuntimeError("no index")


def wrong():
    return "text"


def empty():
    return []
'''


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("langchain") / "kitchen.py"
    path.write_text(FACTORIES, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def kitchen(file: Path) -> Any:
    return open_environment(f"langchain:{file}:kitchen", {"timeout": 2})


@pytest.fixture
def call(kitchen: Any, sandbox: Sandbox) -> Callable[..., CallResult]:
    session = Session(kitchen, sandbox)
    return lambda api, **arguments: asyncio.run(session.call(api, arguments))


# What is offered


def test_the_tools_are_the_query_apis(kitchen: Any) -> None:
    names = ["find_dish", "later", "refuse", "crash", "slow", "injected", "half_of", "shout", "declared", "blocks"]
    assert list(kitchen.specs()) == names
    assert kitchen.description == "A kitchen."


@pytest.mark.parametrize(
    ("api", "stub"),
    [
        ("find_dish", "def find_dish(name: str, limit: int = 2, order: Literal['name', 'time'] = 'name') -> Any:"),
        ("injected", "def injected(what: str) -> Any:"),
        ("half_of", "def half_of(number: int) -> Any:"),
        ("shout", "def shout(tool_input: str) -> Any:"),
        ("declared", "def declared(a: int) -> Any:"),
        ("blocks", "def blocks() -> Any:"),
    ],
)
def test_a_tools_schema_is_its_signature(kitchen: Any, api: str, stub: str) -> None:
    assert kitchen.specs()[api].stub().startswith(stub)


def test_descriptions_are_those_of_the_docstring(kitchen: Any) -> None:
    spec = kitchen.specs()["find_dish"]
    assert spec.summary == "Find dishes."
    assert [p.description for p in spec.parameters] == ["A part of the name.", "At most so many.", ""]


def test_a_toolkit_gives_its_tools(file: Path) -> None:
    assert list(open_environment(f"langchain:{file}:Toolkit").specs()) == ["find_dish", "later"]


def test_a_retriever_is_one_query_api(file: Path, sandbox: Sandbox) -> None:
    environment = open_environment(f"langchain:{file}:shelf")
    assert environment.specs()["Retrieve"].stub().startswith("def Retrieve(query: str) -> list[Document]:")
    result = asyncio.run(Session(environment, sandbox).call("Retrieve", {"query": "salt"}))
    assert result.value == [{"title": "water", "text": "water and salt"}, {"text": "no title"}]


def test_tools_and_retrievers_go_together(file: Path) -> None:
    assert list(open_environment(f"langchain:{file}:both").specs()) == ["find_dish", "Retrieve"]


def test_the_version_follows_the_tools(file: Path, kitchen: Any) -> None:
    assert open_environment(f"langchain:{file}:kitchen").version == kitchen.version
    assert open_environment(f"langchain:{file}:both").version != kitchen.version


# Calls


@pytest.mark.parametrize(
    ("api", "arguments", "value"),
    [
        ("find_dish", {"name": "pie", "limit": "1"}, [{"name": "pie 0"}]),
        ("later", {"what": "x"}, "x"),
        ("injected", {"what": "x"}, "x for nobody"),
        ("half_of", {"number": 8}, 4),
        ("shout", {"tool_input": "hey"}, "HEY"),
        ("declared", {"a": "1"}, {"a": 1}),
        ("blocks", {}, "one\ntwo"),
    ],
)
def test_what_a_tool_gives_is_the_value(
    call: Callable[..., CallResult], api: str, arguments: dict[str, Any], value: Any
) -> None:
    result = call(api, **arguments)
    assert (result.error, result.value) == (None, value)


@pytest.mark.parametrize(
    ("api", "arguments", "error", "said"),
    [
        ("refuse", {"what": "egg"}, "tool_error", "There is no egg."),
        ("find_dish", {"nme": "pie"}, "bad_arguments", "find_dish has no argument 'nme'. Did you mean 'name'?"),
        ("half_of", {"number": 3}, "bad_arguments", "argument 'number' must be int, not 3 (multipleOf: 2)."),
        ("injected", {"what": "x", "user": "me"}, "bad_arguments", "injected has no argument 'user'"),
    ],
)
def test_what_a_tool_refuses_is_an_observation(
    call: Callable[..., CallResult], api: str, arguments: dict[str, Any], error: str, said: str
) -> None:
    result = call(api, **arguments)
    assert result.error == error
    assert said in result.observation


@pytest.mark.parametrize(
    ("api", "arguments", "said"),
    [("crash", {"what": "egg"}, "crash failed: KeyError: 'egg'"), ("slow", {}, "slow gave no answer within 2 s")],
)
def test_a_tool_that_breaks_is_a_failure(
    call: Callable[..., CallResult], api: str, arguments: dict[str, Any], said: str
) -> None:
    with pytest.raises(EnvironmentFailure, match=said):
        call(api, **arguments)


# What cannot be opened


@pytest.mark.parametrize(
    ("factory", "said"),
    [
        ("fails", "fails: RuntimeError: no index"),
        ("wrong", "gives a str: expected tools, a toolkit or a retriever"),
        ("empty", "gives no tools"),
        ("nothing", "has no nothing; it defines: "),
    ],
)
def test_a_factory_that_gives_no_tools_is_the_persons_error(file: Path, factory: str, said: str) -> None:
    with pytest.raises(UserError) as caught:
        open_environment(f"langchain:{file}:{factory}")
    assert said in str(caught.value)


@pytest.mark.parametrize("name", ["langchain:", "langchain:kitchen", "langchain:no.such:thing"])
def test_a_name_without_a_factory_is_the_persons_error(name: str) -> None:
    with pytest.raises(UserError):
        open_environment(name)
