"""Every environment does what the contract that users get says.

A new one joins by a class here: how it is opened, and some calls.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import pytest

from r_eval.environments.aminer import AMiner
from r_eval.environments.base import Environment
from r_eval.environments.opening import open_environment
from r_eval.environments.serve import http as serve
from r_eval.environments.wiki import Wiki
from r_eval.testing import Call, EnvironmentContract
from tests import mediawiki, wikis
from tests.aminer_server import http_app
from tests.serving import serving

PERSON = AMiner().records("person")[0]
PERSON_ID = {"person_id": PERSON["person_id"]}
PUBLICATION = AMiner().records("publication")[0]


# The embedded ones


class TestEmbeddedWiki(EnvironmentContract):
    calls = [("Search", {"entity": "France"}), ("Lookup", {"keyword": "the"}), ("Search", {"entity": "Mercury"})]
    nothing = [("Lookup", {"keyword": "the"}), ("Search", {"entity": "Frnace"}), ("Search", {"entity": "Qqqq xyzzy"})]
    kinds = ["country", "city", "scientist"]

    def environment(self) -> Environment:
        return Wiki()


class AMinerContract(EnvironmentContract):
    calls: ClassVar[list[Call]] = [
        ("searchPerson", {"name": PERSON["name"]}),
        ("searchPerson", {"organization": PERSON["organization"], "interest": PERSON["interests"][0]}),
        ("searchPublication", {"publication_info": PUBLICATION["title"]}),
        *((api, PERSON_ID) for api in ("getPersonBasicInfo", "getPersonInterest", "getPersonPubs", "getCoauthors")),
        ("getPublication", {"publication_id": PUBLICATION["pub_id"]}),
    ]
    nothing: ClassVar[list[Call]] = [
        ("searchPerson", {"name": "Nobody Of This Name"}),
        ("searchPerson", {}),
        ("getPersonInterest", {"person_id": "0" * 24}),
        ("getPublication", {"publication_id": "../../etc/passwd"}),
    ]


class TestEmbeddedAMiner(AMinerContract):
    kinds = ["person", "publication", "coauthorship"]

    def environment(self) -> Environment:
        return AMiner()


# The same environments from elsewhere


class WikiContract(EnvironmentContract):
    """The pages of `wikis`."""

    calls: ClassVar[list[Call]] = [
        ("Search", {"entity": "Kenya"}),
        *(("Lookup", {"keyword": keyword}) for keyword in ("nairobi", "railwey")),
        *(("Search", {"entity": entity}) for entity in ("Land of tea", "Mercury", "東京")),
    ]
    nothing: ClassVar[list[Call]] = [
        ("Lookup", {"keyword": "tea"}),
        *(("Search", {"entity": entity}) for entity in ("Kennya", "Qqqq xyzzy")),
    ]


class TestZimFile(WikiContract):
    @pytest.fixture
    def environment(self, tmp_path: Path) -> Environment:
        return wikis.zim(tmp_path)


class TestLiveMediaWiki(WikiContract):
    @pytest.fixture
    def environment(self, installed_wiki: mediawiki.MediaWiki, tmp_path: Path) -> Iterator[Environment]:
        with installed_wiki.running() as served:
            yield wikis.live(served, tmp_path / "replies.sqlite")


class TestAMinerOverHTTP(AMinerContract):
    @pytest.fixture
    def environment(self, tmp_path: Path) -> Iterator[Environment]:
        pytest.importorskip("requests_cache", reason="a live AMiner needs requests-cache (extra aminer)")
        with serving(http_app(AMiner())) as address:
            yield AMiner(source="live", base_url=address, cache=str(tmp_path / "replies.sqlite"))


# Those that are no classes


class PantryContract(EnvironmentContract):
    """A pantry, opened by a name as a grid has it."""

    calls: ClassVar[list[Call]] = [("find_dish", {"name": "pi", "limit": 1}), ("ingredients", {"dish": "pizza"})]
    nothing: ClassVar[list[Call]] = [("find_dish", {"name": "unicorn"}), ("ingredients", {"dish": "unicorn"})]


class TestMCPServer(PantryContract):
    @pytest.fixture
    def environment(self, pantry: Environment) -> Iterator[Environment]:
        pytest.importorskip("mcp", reason="the MCP SDK is not installed (pip install mcp)")
        with serving(serve.http_app(pantry)) as address:
            yield open_environment(f"mcp:{address}/mcp")


class TestOpenAPIServer(PantryContract):
    @pytest.fixture
    def environment(self, pantry: Environment) -> Iterator[Environment]:
        with serving(serve.http_app(pantry)) as address:
            yield open_environment(f"openapi:{address}/openapi.json")


LANGCHAIN = '''
from langchain_core.tools import ToolException, tool

DISHES = {"pizza": ["flour", "tomato", "cheese"], "omelette": ["egg", "butter"]}

@tool(parse_docstring=True)
def find_dish(name: str, limit: int = 5) -> list[str]:
    """Find dishes by a part of their name.

    Args:
        name: A part of the name.
        limit: At most so many.
    """
    return [dish for dish in DISHES if name in dish][:limit]

@tool(parse_docstring=True)
async def ingredients(dish: str) -> list[str]:
    """List what is in a dish.

    Args:
        dish: The dish's exact name.
    """
    if dish not in DISHES:
        raise ToolException(f"There is no dish {dish}.")
    return DISHES[dish]

def pantry():
    """Dishes and what is in them."""
    return [find_dish, ingredients]
'''


class TestLangChainTools(PantryContract):
    @pytest.fixture
    def environment(self, tmp_path: Path) -> Environment:
        pytest.importorskip("langchain_core", reason="needs langchain-core (extra langchain)")
        (tmp_path / "pantry.py").write_text(LANGCHAIN, encoding="utf-8")
        return open_environment(f"langchain:{tmp_path / 'pantry.py'}:pantry")
